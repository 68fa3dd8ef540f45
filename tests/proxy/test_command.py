"""`workbench proxy` as a command: its first line, what it starts, and how it ends."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from proxy.commands import asked, started
from proxy.test_websockets import serving
from support.waiting import GIVE_UP
from workbench.cli.main import main
from workbench.config.errors import WrongCall
from workbench.config.system import ENDING
from workbench.log.store import Store
from workbench.proxy.launch import Launch
from workbench.proxy.routes import ProxySettings, Upstreams


def left_behind(data: Path) -> list[Path]:
    """What a proxy keeps while it runs."""
    return [*data.glob("proxy-*"), *(data / "proxies").iterdir()]


@pytest.mark.long
@pytest.mark.parametrize(
    "ending", [signal.SIGHUP, *(pytest.param(each, marks=pytest.mark.wide) for each in (signal.SIGINT, signal.SIGTERM))]
)
def test_the_address_is_the_first_line_and_a_signal_ends_it_cleanly(tmp_path: Path, ending: signal.Signals) -> None:
    with started(tmp_path, "--to", "rehearsal") as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert "rehearsal" in asked(address)
        process.send_signal(ending)
        _, errors = process.communicate(timeout=GIVE_UP)
        assert (process.returncode, errors) == (0, "")
    assert left_behind(tmp_path / "data") == []
    with Store.open(tmp_path / "data" / "workbench.db") as store:
        assert [info.title for info in store.list()] == ["hello there"]


CLIENT = """
import json, os, sys, urllib.request
base = os.environ["OPENAI_BASE_URL"]
body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello there"}]}).encode()
headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
came = urllib.request.urlopen(urllib.request.Request(base + "/chat/completions", body, headers))
print(json.load(came)["choices"][0]["message"]["content"])
sys.exit(3)
"""


def test_a_command_is_started_with_the_right_settings_and_ends_it(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["proxy", "--to", "rehearsal", "--", sys.executable, "-c", CLIENT]) == 3
    out, errors = capfd.readouterr()
    assert errors == ""
    assert out.splitlines()[0].startswith("http://127.0.0.1:")
    assert "rehearsal model" in out
    with Store.open() as store:
        assert [info.folder for info in store.list()] == [os.getcwd()]


async def test_a_signal_while_the_recorder_writes_what_an_agent_asked_is_no_error() -> None:
    from workbench.cli.proxy import _with

    loop, handled, problems = asyncio.get_running_loop(), asyncio.Event(), list[Any]()
    loop.set_exception_handler(lambda _, problem: problems.append(problem))
    before = [(each, signal.signal(each, lambda *_: None)) for each in (*ENDING, signal.SIGINT, signal.SIGUSR1)]
    try:
        assert await _with(Launch("python", (sys.executable, "-c", ""), {}), asyncio.Event()) == 0
        loop.add_signal_handler(signal.SIGUSR1, handled.set)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGUSR1)  # the loop handles them in this order
        await handled.wait()
    finally:
        for each, handler in before:
            loop.remove_signal_handler(each)
            signal.signal(each, handler)
    assert problems == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere file names are text")
def test_a_command_is_recorded_in_a_folder_whose_name_is_not_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert main(["proxy", "--to", "rehearsal", "--", sys.executable, "-c", CLIENT]) == 3
    assert capfd.readouterr().err == ""
    with Store.open() as store:
        assert [info.folder for info in store.list()] == [f"{tmp_path}/caf\ufffd"]


def test_a_command_that_is_not_there_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["proxy", "--to", "rehearsal", "--", "no-such-agent"]) == 2
    assert capfd.readouterr().err == "workbench: no-such-agent: cannot be started: No such file or directory\n"


@pytest.mark.parametrize("to", ["nowhere", "ftp://x", "http://", "http://a host"])
def test_an_address_that_is_none_is_refused(to: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["proxy", "--to", to]) == 2
    assert f"--to: {to}: expected an address" in capsys.readouterr().err


def test_who_names_an_address_that_is_none_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "nowhere")
    with pytest.raises(WrongCall, match=r"^ANTHROPIC_BASE_URL: nowhere: expected an address"):
        Upstreams()
    with pytest.raises(WrongCall, match=r"^anthropic under \[proxy\] in config.toml: here: expected an address"):
        Upstreams(settings=ProxySettings(anthropic="here"))


@pytest.mark.long
def test_where_nothing_can_be_stored_the_agent_works_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where the folder should be")
    with started(tmp_path, "--to", "rehearsal") as process:
        assert process.stdout is not None
        assert asked(process.stdout.readline().strip())
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=GIVE_UP)
    assert process.returncode == 0
    assert "not recorded" in errors


def test_a_command_that_asks_nothing_is_told_so_and_why(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["proxy", "--to", "rehearsal", "--", "true"]) == 0
    errors = capfd.readouterr().err
    assert errors.startswith("workbench proxy: no request of true passed here, and nothing was recorded: it may")


@pytest.mark.long
def test_on_a_terminal_each_request_is_a_line_without_its_query_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    ours, its = os.openpty()
    data = tmp_path / "data"
    own = {**os.environ, "WORKBENCH_DATA_DIR": str(data), "WORKBENCH_CONFIG_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "workbench", "proxy", "--to", "rehearsal"]
    with subprocess.Popen(command, env=own, stdout=its, stderr=subprocess.PIPE) as process, os.fdopen(ours) as screen:
        os.close(its)
        address = screen.readline().strip()
        urllib.request.urlopen(f"{address}/v1/models?key=secret", timeout=GIVE_UP).read()
        line = next(line for line in screen if "/v1/models" in line and "GET" in line)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=GIVE_UP)
    assert re.fullmatch(r"\d\d:\d\d:\d\d openai: GET /v1/models: 200, \d+\.\d s\n", line)
    assert (process.returncode, errors) == (0, b"")
    assert left_behind(data) == []


@pytest.mark.long
def test_what_a_killed_proxy_left_is_removed_at_the_next_start(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with started(tmp_path, "--to", "rehearsal") as running, started(tmp_path, "--to", "rehearsal") as killed:
        for process in (running, killed):
            assert process.stdout is not None
            process.stdout.readline()
        assert len([*data.glob("proxy-*")]) == 2
        killed.kill()
        killed.wait()
        with started(tmp_path, "--to", "rehearsal") as following:
            assert following.stdout is not None
            following.stdout.readline()
            assert len([*data.glob("proxy-*")]) == 2, "that of the one that runs stays"


async def test_json_says_where_and_how_and_a_password_in_an_address_is_used_and_shown_nowhere(tmp_path: Path) -> None:
    seen: list[str] = []

    async def told(incoming: web.Request) -> web.Response:
        seen.append(incoming.headers.get("Authorization", ""))
        return web.json_response({"choices": [{"message": {"role": "assistant", "content": "hi"}}]})

    async with serving(told) as url:
        secret = url.replace("http://", "http://me:pass%40word@")
        with started(tmp_path, "--json", "--to", secret) as process:
            assert process.stdout is not None
            first = await asyncio.to_thread(process.stdout.readline)
            said = await asyncio.to_thread(asked, json.loads(first)["address"])
            process.send_signal(signal.SIGTERM)
            out, errors = await asyncio.to_thread(process.communicate, timeout=GIVE_UP)
    assert said == "hi"
    assert seen == ["Basic " + base64.b64encode(b"me:pass@word").decode()]
    assert "pass" not in first + out + errors
    about = json.loads(first)
    assert about["address"].startswith("http://127.0.0.1:")
    assert about["dialects"] == ["chat", "responses", "anthropic", "gemini", "ollama"]
    assert about["to"]["openai"] == url


def test_a_password_in_a_variable_is_used_and_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://me:pass%40word@host/v1")
    upstreams = Upstreams()
    assert upstreams.authorization("openai") == "Basic " + base64.b64encode(b"me:pass@word").decode()
    assert upstreams.listed()["openai"] == "http://host/v1"


def test_a_password_in_a_wrong_address_is_not_shown() -> None:
    with pytest.raises(WrongCall) as error:
        Upstreams("ftp://me:password@host")
    assert "password" not in str(error.value)
