"""`workbench watch`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from cli.test_json_docs import SHOWN
from live.test_finder import put
from proxy.conftest import Recording, answered, claude, said, user
from session.test_following import TURNS, lines
from support.calls import Call
from workbench import Context
from workbench.cli.watch import find_source, through_proxy
from workbench.config.folders import work_folder
from workbench.live.finder import MOST
from workbench.live.processes import program_running
from workbench.log.store import Store
from workbench.sources.services import Services


def test_every_change_is_a_line_of_json_until_it_is_interrupted(tmp_path: Path) -> None:
    path = put(tmp_path / "1.jsonl", lines(*TURNS[0]).decode())
    command = [sys.executable, "-m", "workbench", "watch", str(path), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        assert first == {
            "schema": 1,
            "source": str(path),
            "agent": "Claude Code",
            "change": "opened",
            "events": first["events"],
            "requests": 1,
            "model": "claude-opus-4-5",
            "tokens": 20_100,
            "window": 200_000,
            "share": 0.1005,
            "cached": 0.0,
            "cost": first["cost"],
            "exact": False,
            "missing": first["missing"],
        }
        assert first.keys() == SHOWN["watch"].keys()
        assert 19_000 < first["missing"] < 20_100
        assert first["cost"] > 0
        raw = lines(*TURNS[1], *TURNS[2])
        with path.open("ab") as file:
            file.write(raw[:-30])
        second = json.loads(process.stdout.readline())
        assert (second["change"], second["requests"], second["tokens"]) == ("grown", 2, 20_200)
        put(tmp_path / "2.jsonl", lines(*TURNS[3]).decode()).rename(path)
        third = json.loads(process.stdout.readline())
        assert (third["change"], third["requests"], third["tokens"]) == ("replaced", 1, 20_400)
        path.unlink()
        assert json.loads(process.stdout.readline())["change"] == "gone"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        assert (process.returncode, out, err) == (0, "", "")


def test_what_is_only_guessed_is_not_told(tmp_path: Path) -> None:
    path = put(tmp_path / "1.jsonl", lines(TURNS[0][0]).decode())
    command = [sys.executable, "-m", "workbench", "watch", str(path), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        process.terminate()
    assert {first[key] for key in ("model", "window", "share", "cached", "exact", "missing")} == {None}
    assert first["requests"] == 0


@contextmanager
def printed(*arguments: str) -> Iterator[Callable[[], Any]]:
    """The lines that `watch` prints, one by one, until the test is over."""
    command = [sys.executable, "-m", "workbench", "watch", *arguments, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        read = process.stdout.readline
        try:
            yield lambda: json.loads(read())
        finally:
            process.kill()


def test_without_a_name_the_active_session_is_printed_and_every_figure_that_is_known(
    tmp_path: Path, project: Path
) -> None:
    path = put(tmp_path / "home/.claude/projects/-x/1.jsonl", in_folder(project, 1).decode())
    os.utime(path, (time.time() - 600,) * 2)
    with printed() as next_line:
        first = next_line()
        assert (first["change"], first["source"], first["agent"]) == ("opened", f"{path}#1", "Claude Code")
        with Context(model="gpt-4o", store="bot", window=16_000) as context:
            context.add("go")
            context.request()
            context.report({"prompt_tokens": 4_000, "completion_tokens": 3})
            last = next_line()
            assert (last["change"], last["agent"]) == ("switched", program_running(os.getpid()))
            while last["tokens"] != 4_000:
                last = next_line()
        known = {key: last[key] for key in ("model", "window", "share", "cached", "exact", "missing")}
        assert known == {
            "model": "gpt-4o",
            "window": 16_000,
            "share": 0.25,
            "cached": 0.0,
            "exact": True,
            "missing": 0,
        }
        assert last["cost"] > 0
        with path.open("ab") as file:
            file.write(in_folder(project, 2))
        os.utime(path, (time.time() + 600,) * 2)
        while last["change"] != "switched" or last["source"] != f"{path}#1":
            last = next_line()
        assert last["requests"] == 2


def in_folder(project: Path, number: int) -> bytes:
    """A turn of Claude Code in a folder."""
    return lines(*({**line, "cwd": str(project)} for line in TURNS[number - 1]))


def test_all_agents_that_run_are_printed_whenever_something_changes(tmp_path: Path, project: Path) -> None:
    path = tmp_path / "home/.claude/projects/-x/1.jsonl"
    agent = subprocess.Popen(["claude", "600"], executable=which("sleep"), cwd=project)
    try:
        put(path, in_folder(project, 1).decode())
        with printed("--all") as next_line, Context(model="gpt-4o", store="bot") as context:
            first = next_line()
            assert first.keys() == SHOWN["watch --all"].keys()
            assert first["agents"][0].keys() == SHOWN["watch --all"]["agents"][0].keys()
            context.add("go")
            with path.open("ab") as file:
                file.write(in_folder(project, 2))
            found = first["agents"]
            while {each["tokens"] for each in found} != {20_200, None}:
                found = next_line()["agents"]
            bot = next(each for each in found if each["recorded_by"] == "workbench")
            assert (bot["title"], bot["folder"]) == ("bot", str(project))
    finally:
        agent.kill()
        agent.wait()


def test_watching_all_takes_no_name_and_json_no_bell(call: Call) -> None:
    assert "expected no name, got claude" in call("watch", "--all", "claude").err
    assert "not allowed with argument --notify" in call("watch", "--notify", "bell", "--json").err
    assert "expected bell, desktop" in call("watch", "--notify", "drum").err
    assert "needs a terminal" in call("watch", "--all").err


def test_what_cannot_be_watched_is_told_in_a_line(call: Call, tmp_path: Path, project: Path) -> None:
    assert "no session of another agent in" in call("watch").err
    assert "nobody: no such file" in call("watch", "nobody", "--json").err
    (project / "no.jsonl").write_text('{"no": "transcript"}\n')
    assert "no transcript of a known format" in call("watch", "no.jsonl", "--json").err
    assert call("watch").code == 2
    path = put(tmp_path / "home/.claude/projects/-x/1.jsonl", lines(*TURNS[0]).decode())
    assert os.path.exists(path)
    assert "needs a terminal" in call("watch", "claude").err


def test_what_passes_the_proxy_comes_before_the_file_of_the_same_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Store.open(tmp_path / "proxy.db") as store:
        recording = Recording(store, client="Claude Code", folder=work_folder())
        recording.pass_through("/v1/messages", claude(user("look")), answered(said("done")))
        name = store.list()[0].id
        with Store.open(tmp_path / "proxy.db") as mine:
            later = mine.list()[0].updated + 1
            assert through_proxy(mine, [], str(tmp_path), later) == name
            assert through_proxy(mine, ["Claude Code"], str(tmp_path), later) == name
            assert through_proxy(mine, ["Codex"], str(tmp_path), 0) == ""
            assert through_proxy(mine, [], str(tmp_path / "elsewhere"), 0) == ""
            recording.sessions.close()
            assert through_proxy(mine, [], str(tmp_path), later) == ""  # what the agent did after it is in its own file
            assert through_proxy(mine, [], str(tmp_path), later - 1) == name
            again = Recording(store, client="pi", folder=work_folder())
            again.pass_through("/v1/messages", claude(user("more")), answered(said("done")))
            again.sessions.close()
            with mine.session(name):  # open on another screen, that is
                assert through_proxy(mine, [], str(tmp_path), later - 1) == store.list()[0].id != name


def test_what_passed_the_proxy_is_found_in_its_folder_when_it_is_over(
    call: Call, tmp_path: Path, project: Path
) -> None:
    with Services() as services:
        recording = Recording(services.store, client="oa.py", folder=work_folder())
        recording.pass_through("/v1/messages", claude(user("look")), answered(said("done")))
        recording.sessions.close()
        name = services.store.list()[0].id
    assert "needs a terminal" in call("watch").err  # not: no session in this folder
    with Services() as services:
        assert find_source(services, "")[0] == name
        told = {"type": "user", "cwd": str(project), "sessionId": "s", "message": {"role": "user", "content": "look"}}
        path = put(tmp_path / "home/.claude/projects/-x/1.jsonl", json.dumps(told))
        os.utime(path, (time.time() - 600,) * 2)
        assert find_source(services, "")[0] == name
        os.utime(path, (time.time() + 600,) * 2)
        assert find_source(services, "")[0] == f"{path}#1"
        assert find_source(services, "claude")[0] == f"{path}#1"


def test_a_session_of_the_library_is_found_in_its_folder(project: Path) -> None:
    with Context(store="bot") as context:
        context.add("go")
        with Services() as services:
            assert find_source(services, "")[0] == services.store.info("bot").id


def test_an_agent_is_found_behind_very_many_newer_sessions_of_others(tmp_path: Path, project: Path) -> None:
    path = put(tmp_path / "home/.claude/projects/p/1.jsonl", lines(*TURNS[0]).decode())
    os.utime(path, (1, 1))
    newer = put(tmp_path / "home/.pi/agent/sessions/p/0.jsonl", '{"type": "session", "id": "x"}\n')
    for number in range(1, MOST):
        os.link(newer, newer.with_name(f"{number}.jsonl"))
    with Services() as services:
        assert find_source(services, "claude")[0] == f"{path}#1"


def test_a_file_is_watched_where_the_home_folder_cannot_be_written(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_DATA_DIR", "/dev/null/data")
    path = put(tmp_path / "home/.claude/projects/p/1.jsonl", lines(*TURNS[0]).decode())
    with Services() as services:
        assert find_source(services, "claude")[0] == f"{path}#1"
