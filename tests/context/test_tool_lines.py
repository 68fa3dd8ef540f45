"""A tool call in one line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.recordings import readable_folders
from workbench.config.text import printable
from workbench.context.text_changes import changed_lines
from workbench.context.tool_kinds import _TOOLS, MOST
from workbench.context.tool_lines import call_line, call_parts, shown_path
from workbench.log.events import ToolCall
from workbench.traces.formats import read_conversations, read_file

PATCH = """*** Begin Patch
*** Update File: src/a.py
@@
-old
+new
+more
*** Add File: src/b.py
+first
*** End Patch"""
BLOCKS = "------- SEARCH\none\ntwo\n=======\none\nthree\nfour\n+++++++ REPLACE\n"
TODOS = [{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}, {"status": "pending"}]

LINES: list[tuple[str, dict[str, Any], str]] = [
    # Ours
    ("read_file", {"path": "a.py", "offset": 1, "limit": 80}, "Read a.py 1–80"),
    ("edit_file", {"path": "a.py", "old_text": "x\ny", "new_text": "x\nz\nw"}, "Edit a.py +2 −1"),
    ("write_file", {"path": "x.py", "content": "a\n" * 120}, "Write x.py 120 lines"),
    ("run_command", {"command": "pytest -x"}, "Bash pytest -x"),
    ("search_text", {"pattern": "TODO", "path": "src", "glob": "*.py"}, 'Grep "TODO" in *.py in src'),
    ("list_files", {}, "List ."),
    # Claude Code
    ("Read", {"file_path": "/home/me/proj/src/a.py", "offset": 20, "limit": 10}, "Read src/a.py 20–29"),
    ("Read", {"file_path": "/elsewhere/very/deep/down/a.py"}, "Read …/down/a.py"),
    (
        "Edit",
        {"file_path": "scenario_test.go", "old_string": "a\nb", "new_string": "a\nc"},
        "Edit scenario_test.go +1 −1",
    ),
    ("MultiEdit", {"file_path": "a", "edits": [{"old_string": "", "new_string": "x"}] * 3}, "Edit a +3"),
    ("Bash", {"command": "go test ./...", "description": "run the tests"}, "Bash go test ./..."),
    ("Bash", {"command": "cd /home/me/proj && go vet\ngo test"}, "Bash go vet …"),
    ("Bash", {"command": "cd /srv/www && ls"}, "Bash ls in /srv/www"),
    ("Grep", {"pattern": "a|b", "path": "/home/me/proj/src"}, 'Grep "a|b" in src'),
    ("Glob", {"pattern": "**/*.go"}, 'Find "**/*.go"'),
    (
        "WebFetch",
        {"url": "https://docs.python.org/3/library/?q=1", "prompt": "x"},
        "WebFetch docs.python.org/3/library",
    ),
    ("Task", {"description": "count lines", "prompt": "..."}, 'Task "count lines"'),
    ("TodoWrite", {"todos": TODOS}, "TodoWrite 1 of 3 done"),
    ("TaskUpdate", {"taskId": "6", "status": "completed"}, "TaskUpdate #6 completed"),
    # Codex
    ("apply_patch", {"input": PATCH}, "Edit src/a.py and 1 more +3 −1"),
    ("shell", {"command": ["bash", "-lc", "rg -n x"], "workdir": "/home/me/proj"}, "Bash rg -n x"),
    ("shell", {"command": ["apply_patch", PATCH]}, "Edit src/a.py and 1 more +3 −1"),
    ("exec_command", {"cmd": "ls"}, "Bash ls"),
    ("update_plan", {"plan": [{"step": "x", "status": "completed"}]}, "TodoWrite 1 of 1 done"),
    # Gemini, Qwen
    ("read_file", {"file_path": "a.ts", "offset": 0, "limit": 20}, "Read a.ts 1–20"),
    ("read_file", {"file_path": "a.ts", "start_line": 5}, "Read a.ts 5–"),
    ("replace", {"file_path": "a.ts", "old_string": "x", "new_string": ""}, "Edit a.ts −1"),
    ("run_shell_command", {"command": "npm test"}, "Bash npm test"),
    # Editors of Anthropic's, and OpenHands
    ("str_replace_based_edit_tool", {"command": "view", "path": "a.c", "view_range": [3, -1]}, "Read a.c 3–"),
    ("str_replace_editor", {"command": "create", "path": "a.c", "file_text": "x"}, "Write a.c 1 line"),
    ("str_replace_editor", {"command": "str_replace", "path": "a.c", "old_str": "x", "new_str": "y"}, "Edit a.c +1 −1"),
    ("str_replace_editor", {"command": "insert", "path": "a.c", "insert_line": 3, "new_str": "y\nz"}, "Insert a.c +2"),
    ("execute_bash", {"command": "ls"}, "Bash ls"),
    # opencode, pi, Kimi, Copilot, Cline
    ("edit", {"filePath": "a.ts", "oldString": "x", "newString": "y\nx"}, "Edit a.ts +1"),
    ("edit", {"path": "a.ts", "oldText": "x", "newText": "y"}, "Edit a.ts +1 −1"),
    ("StrReplaceFile", {"path": "a.py", "edit": {"old": "x", "new": "y"}}, "Edit a.py +1 −1"),
    ("ReadFile", {"path": "a.py", "line_offset": 10, "n_lines": 5}, "Read a.py 10–14"),
    ("view", {"path": "a.py"}, "Read a.py"),
    ("replace_in_file", {"path": "a.py", "diff": BLOCKS}, "Edit a.py +2 −1"),
    ("write_to_file", {"path": "a.py", "content": "x\ny"}, "Write a.py 2 lines"),
    ("execute_command", {"command": "make", "requires_approval": False}, "Bash make"),
    ("read_files", {"files": [{"path": "a", "start_line": 1, "end_line": 9}, {"path": "b"}]}, "Read a 1–9 and 1 more"),
    # Servers, and tools that nobody knows
    ("mcp__github__get_issue", {"id": 7, "repo": "x/y"}, "github: get_issue 7 repo=x/y"),
    ("files__read_file", {"path": "a.py"}, "files: read_file a.py"),
    ("functions.exec_command", {"cmd": "ls"}, "Bash ls"),
    ("calculate", {"expression": "1 + 1"}, "calculate 1 + 1"),
    ("fly", {"mode": "fast", "query": "home", "legs": [1, 2]}, "fly home mode=fast legs=[1, 2]"),
    ("fly", {"query": "home", "why": "x" * 60}, f"fly home why={'x' * 49}…"),
    ("submit", {}, "submit"),
]


@pytest.mark.parametrize(
    ("name", "arguments", "line"), LINES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_call_is_told_in_a_line(name: str, arguments: dict[str, Any], line: str) -> None:
    assert call_line(name, arguments, "/home/me/proj") == line
    assert call_line(name, json.dumps(arguments), "/home/me/proj") == line


def test_a_call_that_is_being_written_is_told_as_far_as_it_goes() -> None:
    whole = json.dumps({"path": "a.py", "content": 'one\n"two"\nthree'})
    told = [call_line("write_file", whole[:end]) for end in range(len(whole) + 1)]
    assert "Write a.py" in told
    assert told[-1] == "Write a.py 3 lines"
    assert told[-4] == "Write a.py 3 lines"


def test_of_broken_arguments_the_text_is_told() -> None:
    assert call_line("run_command", "ls -la") == "Bash ls -la"
    assert call_line("read_file", '{"path": "a.py"') == "Read a.py"
    assert call_line("read_file", "[1, 2]") == "Read [1, 2]"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(["path", "file_path", "command", "old_string", "new_str", "edits", "todos", "limit", "offset"])
ARGUMENTS = st.dictionaries(KEYS | st.text(max_size=6), JSON, max_size=5)
TOOLS = st.sampled_from(sorted(_TOOLS)) | st.sampled_from(["str_replace_editor", "mcp__a__read_file"]) | st.text()


@given(TOOLS, ARGUMENTS | st.text() | ARGUMENTS.map(json.dumps), st.sampled_from(["", "/", "/home/me"]))
def test_any_call_makes_one_line_that_a_terminal_can_show(name: str, arguments: Any, folder: str) -> None:
    line = call_line(name, arguments, folder)
    assert line == printable(line)
    assert len(line) <= 3 * MOST + 2


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_what_a_change_adds_and_takes_away_is_the_difference_of_its_lines(old: list[str], new: list[str]) -> None:
    added, removed = changed_lines("\n".join(old), "\n".join(new))
    assert added - removed == len(new) - len(old)
    assert 0 <= removed <= len(old)
    assert (added, removed) == (0, 0) or old != new


def test_a_huge_change_is_counted_without_comparing_all_pairs() -> None:
    old = "\n".join(f"old {number}" for number in range(3_000))
    new = "\n".join(f"new {number}" for number in range(2_000))
    assert changed_lines(f"same\n{old}\nend", f"same\n{new}\nend") == (2_000, 3_000)


def test_paths_are_relative_to_the_folder_or_end_as_they_do() -> None:
    assert shown_path("/home/me/proj/src/a.py", "/home/me/proj") == "src/a.py"
    assert shown_path("/home/me/project/a.py", "/home/me/proj") == "…/project/a.py"
    assert shown_path("/etc/hosts") == "/etc/hosts"
    assert shown_path(r"C:\Users\me\work\deep\a.py") == "…/deep/a.py"
    assert shown_path("src/deep/down/in/a.py") == "src/deep/down/in/a.py"


CLIENTS = readable_folders()


@pytest.mark.skipif(not CLIENTS, reason="no transcripts of real clients here")
@pytest.mark.parametrize("client", CLIENTS, ids=lambda path: os.path.basename(path))
def test_calls_of_real_clients_are_told_by_what_they_do(client: Path) -> None:
    files = sorted(path for path in client.rglob("*.json*") if not path.name.endswith(".meta.json"))
    calls = [body for path in files for body in _calls(path)]
    for call in calls:
        parts = call_parts(call.tool, call.arguments)
        assert parts.verb
        if call.arguments.strip() not in ("", "{}"):
            assert parts.subject or parts.rest, (call.tool, call.arguments[:200])


def _calls(path: Path) -> list[ToolCall]:
    try:
        found = read_conversations(*read_file(str(path)))
    except ValueError:
        return []
    return [body for recording in found for body in recording if isinstance(body, ToolCall)]
