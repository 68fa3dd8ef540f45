"""Who has no token cannot keep the agent out, and what lies in the folder of proxies breaks no command."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from contextlib import suppress
from pathlib import Path

import pytest
from aiohttp import web

from hostile.tally import call
from proxy.test_server import ASK, WHOLE, proxy
from support.provider import Answer, Provider
from support.waiting import GIVE_UP
from workbench.cli.proxy import _quiet_log
from workbench.config.paths import data_dir
from workbench.config.processes import process_start
from workbench.proxy import token_server
from workbench.proxy.control import FOLDER, running_proxies
from workbench.proxy.token_server import REMEMBERED, OncePerMinute, TokenServer

FINE = Answer(body=WHOLE, content_type="application/json")


async def _ended(reader: asyncio.StreamReader) -> bool:
    try:
        return await asyncio.wait_for(reader.read(), GIVE_UP) == b""
    except ConnectionError:
        return True


async def test_idle_connections_make_room_for_the_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_server, "MOST_STRANGERS", 10)
    async with Provider(FINE) as provider, proxy(tmp_path, provider.url) as running:
        port = int(running.address.split(":")[2].split("/")[0])
        kept = [(await asyncio.open_connection("127.0.0.1", port)) for _ in range(30)]
        for _ in range(2):  # and the agent's own connection stays
            async with running.client.post(running.url, json=ASK) as came:
                assert await came.read() == WHOLE
        ended = await asyncio.gather(*(_ended(reader) for reader, _ in kept[:20]))
        assert all(ended)
        for _, writer in kept:
            writer.close()


@pytest.mark.parametrize("said", [b"", b"GET / HT", b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n"])
async def test_a_connection_without_the_token_is_ended_in_time(
    said: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_server, "STRANGER_SECONDS", 0.2)
    async with Provider(FINE) as provider, proxy(tmp_path, provider.url) as running:
        port = int(running.address.split(":")[2].split("/")[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(said)
        with suppress(ConnectionError):
            assert b"200" not in await asyncio.wait_for(reader.read(), GIVE_UP)
        writer.close()


def test_the_same_error_is_reported_once() -> None:
    quiet = OncePerMinute()
    record = logging.LogRecord("a", logging.ERROR, "", 1, "it broke", (), None)
    other = logging.LogRecord("a", logging.ERROR, "", 1, "another", (), None)
    assert [quiet.filter(each) for each in (record, record, other, record)] == [True, False, True, False]


async def test_another_error_of_the_loop_is_reported_too(capsys: pytest.CaptureFixture[str]) -> None:
    async def answer(_: web.BaseRequest) -> web.Response:
        return web.Response()

    server = TokenServer(answer)
    with _quiet_log():
        for error in (OSError("100 % full"), OSError("100 % full"), KeyError("lost")):
            server.on_loop_error(asyncio.get_running_loop(), {"message": "in a callback", "exception": error})
    assert capsys.readouterr().err.splitlines() == [
        "workbench proxy: in a callback: OSError: 100 % full",
        "workbench proxy: in a callback: KeyError: 'lost'",
    ]


def test_only_the_last_errors_are_remembered() -> None:
    quiet = OncePerMinute()
    records = [logging.LogRecord("a", logging.ERROR, "", 1, f"host {at}", (), None) for at in range(REMEMBERED + 1)]
    assert all(map(quiet.filter, records))
    assert not any(map(quiet.filter, records[1:]))
    assert quiet.filter(records[0])


GOOD = {"pid": os.getpid(), "born": process_start(os.getpid()), "control": "http://127.0.0.1:1/token"}
BAD = (
    b"", b"{}", b"[" * 60_000, b"\xff\xfe", b"null",
    *(json.dumps({**GOOD, **bad}).encode() for bad in (
        {"pid": -1}, {"pid": 0}, {"pid": 10**30}, {"pid": 2**31 - 1}, {"pid": 2**40}, {"born": 1e308}, {"born": -5},
        {"control": "http://[::1"}, {"control": "http://127.0.0.1:99999/t"}, {"control": "http://127.0.0.1:-1/t"},
        {"control": "http://evil.example:80/t"}, {"control": ""}, {"control": "file:///etc/passwd"},
        {"control": "http://127.0.0.1:80/a b\r\nX: y"}, {"control": "http://127.0.0.1:x/t"}, {"control": "http://é/"},
    )),
)  # fmt: skip


def test_a_file_that_no_proxy_wrote_is_ignored() -> None:
    folder = data_dir() / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for bad in BAD:
        (folder / "1.json").write_bytes(bad)
        assert running_proxies() == [], bad[:200]
    (folder / "1.json").write_bytes(json.dumps(GOOD).encode())
    assert [proxy.pid for proxy in running_proxies()] == [os.getpid()]


def test_fifos_links_and_folders_among_the_files_break_no_command(tmp_path: Path) -> None:
    folder = data_dir() / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    os.mkfifo(folder / "1.json")
    (folder / "2.json").symlink_to("/dev/zero")
    (folder / "3.json").mkdir()
    (folder / "4.json").write_bytes(json.dumps({**GOOD, "pid": -1}).encode())
    (folder / "5.json").write_bytes(json.dumps({**GOOD, "control": "http://127.0.0.1:99999/t"}).encode())
    assert running_proxies() == []
    for command in (["held"], ["agents"], ["status"]):
        outcome = call(*command)
        assert outcome.code in (0, 1, 2), outcome
        assert "Traceback" not in outcome.err
