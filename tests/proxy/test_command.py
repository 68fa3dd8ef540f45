"""`workbench proxy` as a command: its first line, what it starts, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from workbench.cli.main import main
from workbench.config.errors import WrongCall
from workbench.log.store import Store
from workbench.proxy.launch import launch
from workbench.proxy.routes import ProxySettings, Upstreams
from workbench.traces import codex, opencode, pi

ASK = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello there"}]}).encode()


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "WORKBENCH_DATA_DIR": str(folder / "data"), "WORKBENCH_CONFIG_DIR": str(folder)}
    command = [sys.executable, "-m", "workbench", "proxy", *arguments]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def asked(address: str) -> str:
    request = urllib.request.Request(f"{address}/v1/chat/completions", ASK, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as came:
        return str(json.load(came)["choices"][0]["message"]["content"])


def test_what_opencode_is_given_already_stays_and_is_led_through_the_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {"anthropic": {"options": {"apiKey": "k"}}, "openai": {"options": {"baseURL": "http://gateway/v1"}}, "x": {}}
    monkeypatch.setenv("OPENCODE_CONFIG_CONTENT", json.dumps({"theme": "dark", "provider": own}))

    def given() -> dict[str, Any]:
        made = launch(["opencode"], "http://p", tmp_path).environment["OPENCODE_CONFIG_CONTENT"]
        return dict(json.loads(made))

    assert (given()["theme"], given()["provider"]["x"]) == ("dark", {})
    assert given()["provider"]["anthropic"]["options"] == {"baseURL": "http://p/v1", "apiKey": "k"}
    assert given()["provider"]["openai"]["options"]["baseURL"] == "http://gateway/v1"
    for wrong in ('{"provider": "mine"}', "[1]", "no JSON"):
        monkeypatch.setenv("OPENCODE_CONFIG_CONTENT", wrong)
        assert given()["provider"]["google"]["options"] == {"baseURL": "http://p/v1beta"}


@pytest.mark.long
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_the_address_is_the_first_line_and_a_signal_ends_it(tmp_path: Path, ending: signal.Signals) -> None:
    with started(tmp_path, "--to", "rehearsal") as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert "rehearsal" in asked(address)
        process.send_signal(ending)
        _, errors = process.communicate(timeout=120)
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
        _, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (0, "")
    assert not [*(tmp_path / "data").glob("proxy-*"), *(tmp_path / "data" / "proxies").iterdir()]


@pytest.mark.long
def test_json_says_where_and_how(tmp_path: Path) -> None:
    with started(tmp_path, "--to", "http://127.0.0.1:9/v1", "--json") as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
    assert told["address"].startswith("http://127.0.0.1:")
    assert told["dialects"] == ["chat", "responses", "anthropic", "gemini"]
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
        out, errors = process.communicate(timeout=120)
    assert process.returncode == 3
    assert errors == ""
    assert out.splitlines()[0].startswith("http://127.0.0.1:")
    assert "rehearsal model" in out
    with Store.open(tmp_path / "data" / "workbench.db") as store:
        assert [info.folder for info in store.list()] == [os.getcwd()]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["codex"], "Codex"),
        (["/usr/bin/python3.11", "-u", "src/oa.py", "run ls"], "oa.py"),
        (["python", "-c", "import this\nprint(1)"], "python"),
        (["./my-agent", "oa.py"], "my-agent"),
    ],
)
def test_an_agent_that_is_not_known_has_the_name_of_its_program(command: list[str], name: str, tmp_path: Path) -> None:
    assert launch(command, "http://127.0.0.1:1/t", tmp_path).agent == name


@pytest.mark.long
def test_a_command_that_is_not_there_is_named(tmp_path: Path) -> None:
    with started(tmp_path, "--to", "rehearsal", "--", "no-such-agent") as process:
        _, errors = process.communicate(timeout=120)
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
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "not recorded" in errors


def test_agents_are_told_in_their_own_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "mine")
    address = "http://127.0.0.1:1/t"
    made = launch(["/usr/bin/codex", "exec", "hi"], address, tmp_path, rehearsal=True)
    assert made.agent == codex.NAME
    assert made.command == ("/usr/bin/codex", "-c", f'openai_base_url="{address}/v1"', "exec", "hi")
    assert made.environment["OPENAI_API_KEY"] == "rehearsal"
    assert "ANTHROPIC_API_KEY" not in made.environment
    made = launch(["opencode"], address, tmp_path)
    assert made.agent == opencode.NAME
    given = json.loads(made.environment["OPENCODE_CONFIG_CONTENT"])
    assert given["provider"]["anthropic"]["options"]["baseURL"] == f"{address}/v1"
    assert "OPENAI_API_KEY" not in made.environment
    made = launch(["copilot", "-p", "hi"], address, tmp_path, rehearsal=True)
    assert (made.environment["COPILOT_MODEL"], made.environment["GOOGLE_GENERATIVE_AI_API_KEY"]) == ("rehearsal",) * 2
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    gemini = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    made = launch(["gemini"], address, tmp_path, rehearsal=True)
    assert [name in made.environment for name in gemini] == [True, False], "it warns where both are set"
    made = launch(["python", "own.py"], address, tmp_path, rehearsal=True)
    assert [name in made.environment for name in gemini] == [True, True]
    monkeypatch.setenv("GOOGLE_API_KEY", "mine")
    made = launch(["gemini"], address, tmp_path, rehearsal=True)
    assert [name in made.environment for name in gemini] == [False, False]
    made = launch(["pi", "-p", "hi"], address, tmp_path)
    assert made.agent == pi.NAME
    assert address in Path(made.command[2]).read_text()
    assert made.command[3:] == ("-p", "hi")


@pytest.mark.long
def test_what_a_breakpoint_holds_is_listed_and_let_go_by_other_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORKBENCH_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))

    def said(*arguments: str) -> str:
        assert main([*arguments]) == 0
        return capsys.readouterr().out

    def held() -> dict[str, Any]:
        while not (found := [each for each in json.loads(said("held", "--json"))["held"] if each["session"]]):
            assert not coming.done()
        one: dict[str, Any] = found[0]
        return one

    assert main(["break", "every"]) == 2
    assert "no proxy runs" in capsys.readouterr().err
    with started(tmp_path, "--to", "rehearsal", "--break", "text:hello") as process, ThreadPoolExecutor() as pool:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert "text:hello" in said("break")
        coming = pool.submit(asked, address)
        one = held()
        assert one["why"] == "“hello” is new in it"
        assert "hello there" in said("held", one["id"])
        assert one["id"] in said("held")
        [agent] = json.loads(said("agents", "--json"))["sessions"]
        assert (agent["source"], agent["recorded_by"]) == (one["session"], "proxy")
        assert (agent["running"], agent["held"], agent["title"]) == (True, True, "hello there")
        assert " held " in said("agents")
        assert said("status").endswith(" · hello there · m · held\n")
        assert main(["release", one["id"], "--body", str(tmp_path / "none.json")]) == 2
        body = json.loads(said("held", one["id"], "--json"))["body"]
        body["messages"][0]["content"] = "hello, say nothing but otherwise"
        (tmp_path / "body.json").write_text(json.dumps(body))
        said("release", one["id"].partition("-")[2], "--body", str(tmp_path / "body.json"))
        assert coming.result(timeout=120)
        while not (status := json.loads(said("status", "--json")))[0]["tokens"]:
            assert process.poll() is None
        assert (len(status), status[0]["held"], status[0]["recorded_by"]) == (1, False, "proxy")
        assert "text:hello, every" in said("break", "every")
        coming = pool.submit(asked, address)
        said("release", held()["id"], "--answer", "by hand")
        assert coming.result(timeout=120) == "by hand"
        assert json.loads(said("break", "--clear", "--json"))["proxies"][0]["rules"] == []
        assert "rehearsal" in asked(address)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)
    assert not [*(tmp_path / "data" / "proxies").iterdir()]
    with Store.open(tmp_path / "data" / "workbench.db") as store:
        (first, *_) = sorted(store.list(), key=lambda info: info.created)
        session = first.id
    listed = json.loads(said("requests", session, "--json"))["requests"]
    assert listed[1]["instead_of"] == listed[0]["seq"]
    assert f"in place of {listed[0]['seq']}" in said("requests", session)
    assert (listed[0]["held"]["rule"], listed[0]["held"]["end"], listed[1]["held"]) == ("text:hello", "changed", None)
    [by_hand] = [each for each in listed if each["held"] and each["held"]["end"] == "answered"]
    assert "answered by hand" in said("requests", session)
    told = said("plan", session, "--nth", str(by_hand["number"]))
    assert f"request {by_hand['number']} of {len(listed)}; answered by hand, so nothing was sent" in told


MANY_RESULTS = """
import json, os, urllib.request
talk = [{"role": "user", "content": "look"}]
for step in range(6):
    call = {"id": f"c{step}", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    talk += [{"role": "assistant", "content": None, "tool_calls": [call]}]
    talk += [{"role": "tool", "tool_call_id": f"c{step}", "content": "a line\\n" * 900}]
body = json.dumps({"model": "m", "messages": talk}).encode()
urllib.request.urlopen(urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body)).read()
"""


@pytest.mark.long
def test_a_policy_on_the_way_says_what_it_does_and_did(tmp_path: Path) -> None:
    knobs = ("--policy", "layers", "--set", "masking.keep_first=0", "--set", "masking.keep_last=2")
    with started(tmp_path, "--to", "rehearsal", *knobs, "--", sys.executable, "-c", MANY_RESULTS) as process:
        out, errors = process.communicate(timeout=60)
    assert out.splitlines()[1] == (
        "policy layers masking.keep_first=0 masking.keep_last=2: masks results of tools but for the last 2 of the turn "
        "and cuts results over 8,000 tokens, as soon as that frees 4,000 tokens at once"
    )
    assert process.returncode == 0
    assert errors == "workbench proxy: the policy masked or cut 4 results in 1 batch; 1 request changed\n"


@pytest.mark.long
def test_a_policy_is_set_for_a_session_of_a_running_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORKBENCH_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("WORKBENCH_CONFIG_DIR", str(tmp_path))
    knobs = ("--set", "masking.keep_first=0", "--set", "masking.keep_last=2")

    def said(*arguments: str) -> str:
        assert main(["policy", *arguments]) == 0
        return capsys.readouterr().out

    assert "no proxy runs" in said()
    with started(tmp_path, "--to", "rehearsal") as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        environment = {**os.environ, "OPENAI_BASE_URL": f"{address}/v1"}
        subprocess.run([sys.executable, "-c", MANY_RESULTS], env=environment, check=True)
        while not (found := json.loads(said("--json"))["sessions"]):
            assert process.poll() is None
        assert (found[0]["policy"], found[0]["own"]) == (None, False)
        session = found[0]["session"]
        [words, change] = said(session, "layers", *knobs, "--dry-run").splitlines()
        assert words.startswith(
            "layers masking.keep_first=0 masking.keep_last=2 masks results of tools but for the last 2"
        )
        assert change.startswith("in the latest request: 4 results masked")
        assert json.loads(said(session, "--json"))["policy"] is None, "nothing was changed by looking"
        *_, last = said(session, "layers", *knobs).splitlines()
        assert last.endswith("layers masking.keep_first=0 masking.keep_last=2 (of its own)")
        subprocess.run([sys.executable, "-c", MANY_RESULTS], env=environment, check=True)
        assert json.loads(said(session, "--json"))["results"] == 4
        assert "4 of them whole again from the next batch on" in said(session, "--undo")
        assert json.loads(said(session, "off", "--json"))["leaving"] == 4
        assert main(["policy", session, "off", "--set", "x=1"]) == 2
        assert main(["policy", session, "--undo"]) == 2
        assert "nothing to undo on the way" in capsys.readouterr().err
    assert main(["policy", session, "layers"]) == 2
    assert "no proxy that runs writes this session" in capsys.readouterr().err
    told = said(session, "layers", *knobs, "--dry-run")
    assert "(about 5,443 tokens) would be sent as it was" in told, "it was sent so, and that is told without a proxy"


def test_a_policy_that_is_none_is_told_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["proxy", "--policy", "nope"]) == 2
    assert "nope" in capsys.readouterr().err
