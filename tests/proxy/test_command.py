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

import pytest
from aiohttp import web

from proxy.commands import asked, started
from proxy.test_websockets import serving
from support.waiting import GIVE_UP
from workbench.cli.main import main
from workbench.config.errors import WrongCall
from workbench.log.store import Store
from workbench.proxy.routes import ProxySettings, Upstreams


@pytest.mark.long
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_the_address_is_the_first_line_and_a_signal_ends_it(tmp_path: Path, ending: signal.Signals) -> None:
    with started(tmp_path, "--to", "rehearsal") as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert "rehearsal" in asked(address)
        process.send_signal(ending)
        _, errors = process.communicate(timeout=GIVE_UP)
        assert (process.returncode, errors) == (0, "")
    with Store.open(tmp_path / "data" / "workbench.db") as store:
        assert [info.title for info in store.list()] == ["hello there"]


@pytest.mark.long
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_whoever_has_read_the_address_can_end_it_cleanly(tmp_path: Path, ending: signal.Signals) -> None:
    with started(tmp_path, "--to", "rehearsal") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(ending)
        _, errors = process.communicate(timeout=GIVE_UP)
    assert (process.returncode, errors) == (0, "")
    assert not [*(tmp_path / "data").glob("proxy-*"), *(tmp_path / "data" / "proxies").iterdir()]


@pytest.mark.long
def test_json_says_where_and_how(tmp_path: Path) -> None:
    with started(tmp_path, "--to", "http://127.0.0.1:9/v1", "--json") as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
    assert told["address"].startswith("http://127.0.0.1:")
    assert told["dialects"] == ["chat", "responses", "anthropic", "gemini", "ollama"]
    assert told["to"]["openai"] == "http://127.0.0.1:9/v1"


CLIENT = """
import json, os, sys, urllib.request
base = os.environ["OPENAI_BASE_URL"]
body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello there"}]}).encode()
headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
came = urllib.request.urlopen(urllib.request.Request(base + "/chat/completions", body, headers))
print(json.load(came)["choices"][0]["message"]["content"])
sys.exit(3)
"""


@pytest.mark.long
def test_a_command_is_started_with_the_right_settings_and_ends_it(tmp_path: Path) -> None:
    with started(tmp_path, "--to", "rehearsal", "--", sys.executable, "-c", CLIENT) as process:
        out, errors = process.communicate(timeout=GIVE_UP)
    assert process.returncode == 3
    assert errors == ""
    assert out.splitlines()[0].startswith("http://127.0.0.1:")
    assert "rehearsal model" in out
    with Store.open(tmp_path / "data" / "workbench.db") as store:
        assert [info.folder for info in store.list()] == [os.getcwd()]


@pytest.mark.long
def test_a_command_that_is_not_there_is_named(tmp_path: Path) -> None:
    with started(tmp_path, "--to", "rehearsal", "--", "no-such-agent") as process:
        _, errors = process.communicate(timeout=GIVE_UP)
    assert process.returncode == 2
    assert errors == "workbench: no-such-agent: cannot be started: No such file or directory\n"


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


@pytest.mark.long
def test_a_command_that_asks_nothing_is_told_so_and_why(tmp_path: Path) -> None:
    with started(tmp_path, "--to", "rehearsal", "--", "true") as process:
        _, errors = process.communicate(timeout=GIVE_UP)
    assert process.returncode == 0
    assert errors.startswith("workbench proxy: no request of true passed here, and nothing was recorded: it may")


@pytest.mark.long
def test_on_a_terminal_each_request_is_a_line_without_its_query(tmp_path: Path) -> None:
    ours, its = os.openpty()
    own = {**os.environ, "WORKBENCH_DATA_DIR": str(tmp_path / "data"), "WORKBENCH_CONFIG_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "workbench", "proxy", "--to", "rehearsal"]
    with subprocess.Popen(command, env=own, stdout=its) as process, os.fdopen(ours) as screen:
        os.close(its)
        address = screen.readline().strip()
        urllib.request.urlopen(f"{address}/v1/models?key=secret", timeout=GIVE_UP).read()
        line = next(line for line in screen if "/v1/models" in line and "GET" in line)
        process.terminate()
    assert re.fullmatch(r"\d\d:\d\d:\d\d openai: GET /v1/models: 200, \d+\.\d s\n", line)


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


@pytest.mark.parametrize("place", ["--to", "variable"])
async def test_a_password_in_an_address_is_used_and_shown_nowhere(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    async def told(incoming: web.Request) -> web.Response:
        seen.append(incoming.headers.get("Authorization", ""))
        return web.json_response({"choices": [{"message": {"role": "assistant", "content": "hi"}}]})

    async with serving(told) as url:
        secret = url.replace("http://", "http://me:pass%40word@")
        monkeypatch.setenv("OPENAI_BASE_URL", secret)
        with started(tmp_path, "--json", *(["--to", secret] if place == "--to" else [])) as process:
            assert process.stdout is not None
            first = await asyncio.to_thread(process.stdout.readline)
            said = await asyncio.to_thread(asked, json.loads(first)["address"])
            process.send_signal(signal.SIGTERM)
            out, errors = await asyncio.to_thread(process.communicate, timeout=GIVE_UP)
    assert said == "hi"
    assert seen == ["Basic " + base64.b64encode(b"me:pass@word").decode()]
    assert "pass" not in first + out + errors
    assert json.loads(first)["to"]["openai"] == url


def test_a_password_in_a_wrong_address_is_not_shown() -> None:
    with pytest.raises(WrongCall) as error:
        Upstreams("ftp://me:password@host")
    assert "password" not in str(error.value)
