"""What other commands do with a proxy that runs: breakpoints, and policies on the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from proxy.commands import asked, started
from support.waiting import GIVE_UP
from workbench.cli.main import main
from workbench.log.store import Store


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
        assert coming.result(timeout=GIVE_UP)
        while not (status := json.loads(said("status", "--json")))[0]["tokens"]:
            assert process.poll() is None
        assert (len(status), status[0]["held"], status[0]["recorded_by"]) == (1, False, "proxy")
        assert "text:hello, every" in said("break", "every")
        coming = pool.submit(asked, address)
        said("release", held()["id"], "--answer", "by hand")
        assert coming.result(timeout=GIVE_UP) == "by hand"
        assert json.loads(said("break", "--clear", "--json"))["proxies"][0]["rules"] == []
        assert "rehearsal" in asked(address)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=GIVE_UP)
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


def test_a_policy_on_the_way_says_what_it_does_and_did(capfd: pytest.CaptureFixture[str]) -> None:
    knobs = ("--policy", "layers", "--set", "masking.keep_first=0", "--set", "masking.keep_last=2")
    code = main(["proxy", "--to", "rehearsal", *knobs, "--", sys.executable, "-c", MANY_RESULTS])
    out, errors = capfd.readouterr()
    assert out.splitlines()[1] == (
        "policy layers masking.keep_first=0 masking.keep_last=2: masks results of tools but for the last 2 of the turn "
        "and cuts results over 8,000 tokens, as soon as that frees 4,000 tokens at once"
    )
    assert code == 0
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
    assert "(about 5,443 tokens) would be sent as it was" in told, "it was sent so, and no proxy is needed to say it"


def test_a_policy_that_is_none_is_told_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["proxy", "--policy", "nope"]) == 2
    assert "nope" in capsys.readouterr().err
