"""A visit of the served screen: one process, which comes and goes with its tab. Real sockets, real processes."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

import pytest

from support.waiting import GIVE_UP, patiently

pytest.importorskip("textual_serve")

import aiohttp

from support.pages import open_page
from workbench.cli import web_session
from workbench.cli.web import WebPage

SCREEN = """
import json, os, sys, time

def draw(text):
    data = text.encode()
    os.write(1, b"D" + len(data).to_bytes(4, "big") + data)

os.write(1, b"a warning of some library\\n__GANGLION__\\n")
draw(f"process {os.getpid()} {'x' * 20}")
"""
"""The beginning of a screen that speaks as Textual does."""
UNTIL_TOLD = """
while b'"quit"' not in os.read(0, 65536):
    pass
"""


def screen(then: str) -> tuple[str, ...]:
    """A command that draws its process's id, and does something."""
    return (sys.executable, "-c", SCREEN + then)


async def visit(client: aiohttp.ClientSession, page: WebPage) -> aiohttp.ClientWebSocketResponse:
    query = page.address.partition("?")[2]
    return await client.ws_connect(f"{page.public_url}/ws?width=80&height=24&{query}")


async def drawn(opened: aiohttp.ClientWebSocketResponse) -> str:
    """What the screen draws first."""
    message = await opened.receive()
    assert message.type == aiohttp.WSMsgType.BINARY, message
    return str(message.data.decode())


async def gone(pid: int) -> None:
    """Wait until there is no such process, not even one that waits to be reaped."""
    async with patiently():
        while True:
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                return
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("then", "grace"),
    [
        (UNTIL_TOLD, GIVE_UP),
        (UNTIL_TOLD + "draw('y' * 1_000_000)", GIVE_UP),  # more than a pipe holds, for nobody
        ("time.sleep(1000)", 0.01),
    ],
    ids=["told", "draws on", "killed"],
)
async def test_a_tab_that_is_closed_ends_its_process(then: str, grace: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_session, "GRACE", grace)
    async with patiently(), open_page(*screen(then)) as page, aiohttp.ClientSession() as client:
        opened = await visit(client, page)
        pid = int((await drawn(opened)).split()[1])
        await opened.close()
        await gone(pid)


async def test_what_is_typed_and_the_size_reach_the_screen() -> None:
    echo = """while b'"quit"' not in (data := os.read(0, 65536)): draw(repr(data))"""
    async with patiently(), open_page(*screen(echo)) as page, aiohttp.ClientSession() as client:
        opened = await visit(client, page)
        await drawn(opened)
        await opened.send_json(["stdin", "ü"])
        assert await drawn(opened) == repr(b"D\0\0\0\x02" + "ü".encode())
        await opened.send_json(["resize", {"width": 100, "height": 30}])
        assert '"width": 100, "height": 30' in await drawn(opened)
        await opened.close()


async def test_two_tabs_are_two_processes_and_one_goes_without_the_other() -> None:
    command = screen(UNTIL_TOLD)
    async with patiently(), open_page(*command) as page, aiohttp.ClientSession() as client:
        tabs = [await visit(client, page) for _ in range(2)]
        first, second = [int((await drawn(each)).split()[1]) for each in tabs]
        assert first != second
        await tabs[0].close()
        await gone(first)
        os.kill(second, 0)
        await tabs[1].close()
        await gone(second)


async def test_a_page_that_is_loaded_again_finds_its_session_free(tmp_path: Path) -> None:
    # A screen that takes its time to let go of what only one may have.
    held = repr(str(tmp_path / "held"))
    holds = f"draw('taken' if os.path.exists({held}) else 'free'); open({held}, 'w').close()"
    lets_go = f"time.sleep(0.2); os.remove({held})"
    command = screen(f"{holds}\n{UNTIL_TOLD}\n{lets_go}")
    async with patiently(), open_page(*command) as page, aiohttp.ClientSession() as client:
        for _ in range(3):
            opened = await visit(client, page)
            assert [(await drawn(opened))[:7], await drawn(opened)] == ["process", "free"]
            await opened.close()


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import sys; sys.exit('workbench: config.toml, line 1: expected TOML')", "workbench: config.toml, line 1"),
        ("import sys; sys.exit(7)", "the screen ended with status 7"),
        ("pass", "the screen ended with status 0"),
        (f"{SCREEN}sys.exit('é' * 500 + chr(27))", "é" * 61),
    ],
    ids=["reason", "status", "no screen", "broken off"],
)
async def test_a_screen_that_fails_tells_the_page_why(
    code: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with (
        patiently(),
        open_page(sys.executable, "-c", code) as page,
        aiohttp.ClientSession() as client,
    ):
        opened = await visit(client, page)
        told = await opened.receive()
        while told.type == aiohttp.WSMsgType.BINARY:
            told = await opened.receive()
        assert told.type == aiohttp.WSMsgType.CLOSE
        assert told.data == aiohttp.WSCloseCode.INTERNAL_ERROR
        assert (told.extra or "").startswith(reason)
    assert "\x1b" not in capsys.readouterr().err


def test_a_screen_ends_with_its_server_however_that_ended(tmp_path: Path) -> None:
    environment = {**os.environ, "TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver"}
    command = [sys.executable, "-m", "workbench.cli.web_process"]
    with Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment, cwd=tmp_path) as shown:
        assert shown.stdin is not None
        assert shown.stdout is not None
        assert shown.stdout.readline() == web_session.GREETING
        shown.stdin.close()
        shown.stdout.read()
        assert shown.wait(GIVE_UP) is not None


def test_a_screen_that_does_not_listen_is_ended_all_the_same() -> None:
    deaf = (
        "import signal; from workbench.cli import tab; tab.GRACE = 0.01\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); tab.end_with(0)"
    )
    with Popen([sys.executable, "-c", deaf], stdin=PIPE) as shown:
        assert shown.poll() is None
        assert shown.stdin is not None
        shown.stdin.close()
        assert shown.wait(GIVE_UP) == 1
