"""`workbench status`."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from cli.test_json_docs import SHOWN
from live.test_finder import put
from session.test_following import BREAD, claude, lines
from support.calls import Call, Outcome


def turns(folder: Path, *numbers: int) -> bytes:
    """Turns in a folder."""
    made = [line for at in numbers for line in claude(at, f"{BREAD} {at}", input_tokens=20_000 + 100 * at)]
    return lines(*({**line, "cwd": str(folder)} for line in made))


@pytest.fixture
def session(tmp_path: Path, project: Path) -> Iterator[Path]:
    """A process that is called `claude` works in the project, and writes a session; another lies in its folder."""
    path = tmp_path / "home/.claude/projects/-p/11111111-2222-3333-4444-555555555555.jsonl"
    put(path.with_name("old.jsonl"), turns(project, 1).decode())
    executable = which("sleep")
    with subprocess.Popen(["claude", "600"], executable=executable, cwd=project) as process:
        put(path, turns(project, 1, 2).decode())
        yield path
        process.kill()


def test_each_agent_that_runs_is_a_line(call: Call, session: Path, project: Path) -> None:
    out = call("status").out
    assert out.startswith(f"Claude Code · {project} · {BREAD} 1 · 20,200 of 200,000 (10 %) · ")
    assert out.endswith(" · compaction not known · $0.20 · cached 0 %\n")
    assert out.count("\n") == 1
    [found] = call("status", "--json").json
    assert found == {
        "schema": 1,
        "id": session.stem,
        "agent": "Claude Code",
        "source": f"{session}#1",
        "recorded_by": "agent",
        "folder": str(project),
        "title": f"{BREAD} 1",
        "model": "claude-opus-4-5",
        "tokens": 20_200,
        "window": 200_000,
        "share": 0.101,
        "compacts_at": None,
        "left": None,
        "cost": 0.2015,
        "cached": 0.0,
        "held": False,
    }
    assert found.keys() == SHOWN["status"][0].keys()
    assert call("status", "--here").out == out


@pytest.mark.usefixtures("session")
def test_agents_of_other_folders_are_not_here(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert call("status").out
    assert call("status", "--here").out == ""


@pytest.mark.usefixtures("project")
def test_where_none_runs_nothing_is_printed(call: Call) -> None:
    assert (call("status").code, call("status").out) == (0, "")
    assert call("status", "--json").json == []


def test_a_file_is_told_whether_its_agent_runs_or_not(call: Call, tmp_path: Path) -> None:
    path = put(tmp_path / "1.jsonl", turns(tmp_path, 1).decode())
    assert call("status", str(path)).out == "20,100 of 200,000 (10 %) · compaction not known · $0.10 · cached 0 %\n"
    assert call("status", f"{path}#1").out == call("status", str(path)).out
    refused = call("status", str(tmp_path / "none.jsonl"))
    assert (refused.code, "none.jsonl: no such file" in refused.err) == (2, True)
    assert "expected the file of another agent's session" in call("status", f"{path}#9").err


def told(**more: Any) -> str:
    """As Claude Code gives it to the command of its status line."""
    model = {"id": "claude-opus-4-5", "display_name": "Opus"}
    return json.dumps({"hook_event_name": "Status", "session_id": "s", "cwd": "/", "model": model, **more})


def test_claude_codes_status_line_is_about_that_very_session(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def claude_code(given: str) -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        return call("status", "--claude-code")

    path = put(tmp_path / "1.jsonl", turns(tmp_path, 1).decode())
    window = {"context_window_size": 1_000_000}
    assert claude_code(told(transcript_path=str(path))).out.startswith("20,100 of 200,000 (10 %) · ")
    larger = claude_code(told(transcript_path=str(path), context_window=window))
    assert larger.out.startswith("20,100 of 1,000,000 (2.0 %) · ")
    fresh = claude_code(told(transcript_path=str(tmp_path / "not there yet.jsonl")))
    assert (fresh.code, fresh.out) == (0, "claude-opus-4-5 · nothing reported yet\n")
    for given in ("", "3", "{}", '{"transcript_path": 3}'):
        refused = claude_code(given)
        assert (refused.code, refused.out) == (2, "")
        assert "expected an object with a transcript_path" in refused.err


def test_followed_it_is_printed_again_when_it_has_changed(session: Path, project: Path) -> None:
    command = [sys.executable, "-m", "workbench", "status", "--json", "--follow"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())[0]["tokens"] == 20_200
        with session.open("ab") as file:
            file.write(turns(project, 3))
        assert json.loads(process.stdout.readline())[0]["tokens"] == 20_300
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        assert (process.returncode, out, err) == (0, "", "")


def test_neither_litellm_nor_a_screen_is_imported() -> None:
    code = "import sys; from workbench.cli.main import main; main(['status']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"litellm", "textual", "rich", "aiohttp", "tiktoken"} & {*done.stdout.split()}
