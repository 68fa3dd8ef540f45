"""`workbench agents`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from live.test_finder import SAID, SESSIONS, WORK, put
from live.test_reports import REPORTS
from support.calls import Call
from workbench.live.processes import AgentProcess


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for agent, (path, lines) in SESSIONS.items():
        put(tmp_path / path, [*lines, *([REPORTS[agent][0]] if agent in REPORTS else [])])
    put(tmp_path / ".gemini/tmp/bakery/.project_root", WORK)
    put(tmp_path / ".kimi-code/sessions/w/s/state.json", '{"cwd": "/srv/bakery"}')
    return tmp_path


@pytest.mark.usefixtures("home")
def test_all_agents_sessions_are_listed(call: Call) -> None:
    found = call("agents", "--json").json["sessions"]
    assert {each["agent"] for each in found} == {*SESSIONS}
    assert {each["title"] for each in found} == {SAID}
    [codex] = [each for each in found if each["agent"] == "Codex"]
    assert (codex["tokens"], codex["cached"], codex["window"], codex["share"]) == (1000, 900, 258_400, 0.0039)
    assert codex["running"] is False
    lines = call("agents").out.splitlines()
    assert len(lines) == 1 + len(SESSIONS)
    assert any("Codex" in line and "1,000" in line and "0.4 %" in line and WORK in line for line in lines)


@pytest.mark.usefixtures("home")
def test_what_is_listed_can_be_opened(call: Call) -> None:
    [source] = [each["source"] for each in call("agents", "claude", "--json").json["sessions"]]
    assert call("plan", source, "--json").json["items"]


def test_an_id_as_it_is_listed_opens_the_session(call: Call, home: Path) -> None:
    for number in (1, 2):
        put(home / f".claude/projects/-x/0fb1c2d3-1111-4222-8333-44445555666{number}.jsonl", SESSIONS["Claude Code"][1])
    one, two = sorted(line.split()[0] for line in call("agents").out.splitlines() if line.startswith("0fb1c2d3"))
    assert call("plan", one, "--json").json["items"] == call("plan", two, "--json").json["items"] != []
    assert call("requests", one).code == call("waste", two).code == 0
    refused = call("plan", "0fb1c2d3-1111")
    assert (refused.code, "2 sessions have such an id" in refused.err) == (2, True)
    assert "no such file, and there is no session" in call("plan", "0fb1c2d3-9999").err


@pytest.mark.usefixtures("home")
def test_words_and_folders_choose(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [each["agent"] for each in call("agents", "COPI", "dough", "--json").json["sessions"]] == ["Copilot CLI"]
    assert len(call("agents", "--folder", WORK, "--json").json["sessions"]) == len(SESSIONS)
    assert call("agents", "--folder", str(tmp_path), "--json").json["sessions"] == []
    monkeypatch.chdir(tmp_path)
    assert "no session of another agent fits" in call("agents", "--here").out
    assert call("agents", "--running", "--json").json["sessions"] == []
    assert len(call("agents", "--limit", "2", "--json").json["sessions"]) == 2
    refused = call("agents", "--here", "--folder", "x")
    assert (refused.code, "not allowed with" in refused.err) == (2, True)


def test_an_older_session_that_fits_does_not_run_in_place_of_the_newest(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path, lines = SESSIONS["pi"]
    for number, title in enumerate(("the older one", "the newest")):
        said = {"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": title}]}}
        made = put(tmp_path / path.replace("1.jsonl", f"{number}.jsonl"), [*lines[:2], said])
        os.utime(made, (1_000 + number, 1_000 + number))
    monkeypatch.setattr("workbench.sources.all_agents.running_agents", lambda: [AgentProcess("pi", WORK, 0.0)])
    assert [each["title"] for each in call("agents", "--running", "--json").json["sessions"]] == ["the newest"]
    assert call("agents", "older", "--running", "--json").json["sessions"] == []


def test_an_empty_machine_says_where_to_add_places(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "[agents] in config.toml" in call("agents").out
