"""Waste: each kind planted and found, what is still needed never called so, and what carrying it cost."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.waste.waste_sample import EDITED, FILE, IDS, call, definition, found, read, run, told
from support.logs import number
from workbench.lab.waste.rules import find_waste
from workbench.log.events import (
    AssistantMessage,
    Body,
    ImagePart,
    SlotContent,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
    text_of,
)

# Repeated


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Read", {"file_path": "/src/app.py"}),
        ("read_file", {"path": "src/app.py", "start_line": 1, "end_line": 80}),
        ("str_replace_editor", {"command": "view", "path": "/src/app.py"}),
        ("exec_command", {"cmd": "cat src/app.py"}),
        ("mcp__github__get_issue", {"number": 12}),
    ],
)
def test_the_same_call_with_the_same_result_makes_the_earlier_copy_waste(tool: str, arguments: dict[str, Any]) -> None:
    parts = [call(tool, FILE, **arguments) for _ in range(3)]
    assert told(found(*parts)) == [("repeated", 3, 5), ("repeated", 5, 7)]


def test_how_and_why_a_call_is_made_does_not_make_it_another() -> None:
    one = call("Bash", FILE, command="git log", description="see the history", timeout=1000)
    other = call("Bash", FILE, command="git log", description="look again")
    assert told(found(one, other)) == [("repeated", 3, 5)]


def test_what_a_later_read_of_the_file_has_in_it_is_waste() -> None:
    part = "\n".join(FILE.splitlines()[10:20])
    assert told(found(read(part, offset=11, limit=10), read(FILE))) == [("repeated", 3, 5)]
    assert found(read(FILE), read(part, offset=11, limit=10)) == [], "the earlier one has more"


def test_codex_writes_another_head_each_time_over_the_same_output() -> None:
    one, other = (
        f"Chunk ID: {name}\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n{FILE}" for name in "ab"
    )
    made = found(call("exec_command", one, cmd="cat a.py"), call("exec_command", other, cmd="cat a.py"))
    assert told(made) == [("repeated", 3, 5)]


def test_the_same_words_of_another_file_are_no_copy() -> None:
    assert found(read(FILE, "/a.py"), read(FILE, "/b.py")) == []


def test_the_same_name_after_a_change_of_folder_is_another_file() -> None:
    assert found(run("cat a.py", FILE), run("cd sub", ""), run("cat a.py", EDITED)) == []
    assert told(found(run("cat a.py", FILE), run("ls", "a.py"), run("cat a.py", EDITED))) == [("overwritten", 3, 7)]


def test_two_pictures_are_not_the_same_because_both_are_pictures() -> None:
    parts: list[list[Body]] = [
        [ToolCall(name, "Read", '{"file_path": "/a.png"}', name), ToolResult(name, (ImagePart(f"data:{name}"),))]
        for name in ("x", "y")
    ]
    assert found(*parts) == []


# Overwritten


def test_a_file_that_was_written_anew_makes_what_was_read_of_it_waste() -> None:
    wrote = call("Write", "File written", file_path="/src/app.py", content="new")
    assert told(found(read(FILE), read("line 1", offset=1, limit=1), wrote)) == [
        ("overwritten", 3, 7),
        ("overwritten", 5, 7),
    ]
    assert told(found(read(FILE), run("cat > /src/app.py <<'EOF'\nnew\nEOF", ""))) == [("overwritten", 3, 5)]


def test_a_file_that_was_edited_is_still_needed_until_it_is_read_again() -> None:
    edit = call("Edit", "done", file_path="/src/app.py", old_string="line 7 ", new_string="line seven ")
    assert found(read(FILE), edit) == []
    assert told(found(read(FILE), edit, read(EDITED))) == [("overwritten", 3, 7)]


@pytest.mark.parametrize(
    "later",
    [
        read(EDITED[:300] + "\n[... 20 lines truncated ...]"),
        read(EDITED + "\n[... 20 lines truncated ...]"),
        read("File unchanged since last read. The content from the earlier result is still current."),
        read(EDITED, offset=1, limit=40),
        call("Write", "added", file_path="/src/app.py", content="more", mode="append"),
        call("Write", "cannot write", True, file_path="/src/app.py", content="new"),
        call("Write", "Error: EACCES: permission denied", file_path="/src/app.py", content="new"),
        call("Write", "[Errno 13] Permission denied: '/src/app.py'", file_path="/src/app.py", content="new"),
    ],
    ids=[
        "cut",
        "cut near its end",
        "refers back",
        "only some lines",
        "appended",
        "failed",
        "failed without a mark",
        "errno",
    ],
)
def test_what_does_not_hold_the_whole_file_takes_the_place_of_nothing(later: list[Body]) -> None:
    assert found(read(FILE), later) == []


@pytest.mark.parametrize(("same", "is_newer"), [(40, True), (20, True), (19, False), (0, False)])
def test_a_file_read_again_is_the_same_file_if_half_of_its_lines_are_left(same: int, is_newer: bool) -> None:
    later = "\n".join([*FILE.splitlines()[:same], *(f"another {at}" for at in range(40 - same)), "one more"])
    expected = [("repeated" if same == 40 else "overwritten", 3, 5)] if is_newer else []
    assert told(found(read(FILE), read(later))) == expected


def todos(*done: str, **more: Any) -> list[Body]:
    return call("TodoWrite", "ok", todos=[{"content": f"step {each}", "status": each} for each in done], **more)


def test_a_list_of_tasks_written_anew_makes_the_call_waste_with_its_result() -> None:
    made = found(todos("pending"), todos("completed", "pending"))
    assert told(made) == [("overwritten", 2, 5)]
    assert made[0].pair == 3
    assert found(todos("pending"), todos("completed", merge=True)) == [], "only a part of the list is written"


# Retried


def test_a_failure_is_waste_once_the_same_went_well() -> None:
    failed = run("pytest tests/a.py -x", "1 failed", is_error=True)
    assert told(found(failed, run("ls", "a"), run("pytest tests/a.py -x", "1 passed"))) == [("retried", 3, 7)]


def test_a_command_with_a_small_change_is_a_retry() -> None:
    failed = run("python tools/make.py --out build --all", "No such file", is_error=True)
    assert told(found(failed, run("python3 tools/make.py --out build --all", "made"))) == [("retried", 3, 5)]


@pytest.mark.parametrize(("between", "is_retry"), [(4, True), (5, False)])
def test_a_command_with_a_small_change_is_a_retry_only_soon_after(between: int, is_retry: bool) -> None:
    failed = run("python tools/make.py --out build --all", "No such file", is_error=True)
    others = [run(f"echo {number}", f"{number}") for number in range(between)]
    made = found(failed, *others, run("python3 tools/make.py --out build --all", "made"))
    assert [each.kind for each in made] == ["retried"] * is_retry


@pytest.mark.parametrize("head", ["Process exited with code 2\nOutput:\nno", "oops\nExit Code: 1"])
def test_an_exit_code_in_the_output_is_a_failure(head: str) -> None:
    parts = [call("exec_command", text, cmd="make all") for text in (head, "made")]
    assert told(found(*parts)) == [("retried", 3, 5)]


@pytest.mark.parametrize(
    ("failed", "later"),
    [
        (run("grep -n port conf/a.toml", "", True), run("grep -n host conf/a.toml", "host")),
        (run("grep -n port conf/a.toml", "", True), run("grep -n port conf/a.toml", "port = 1")),
        (run("make test", "error", True), run("make install", "made")),
        (run("make all", "error", True), run("make all", "error again", True)),
        (run("make all", "The user doesn't want to proceed", True), run("make all", "made")),
        (
            call("Edit", "not found", True, file_path="/a.py", old_string="one", new_string="two"),
            call("Edit", "done", file_path="/a.py", old_string="seven", new_string="eight"),
        ),
        (call("search", "no such index", True, query="a"), call("search", "found", query="b")),
    ],
    ids=["found nothing", "found later", "another target", "failed again", "denied", "another place", "another query"],
)
def test_what_was_not_tried_again_is_still_needed(failed: list[Body], later: list[Body]) -> None:
    assert [item for item in found(failed, later) if item.kind == "retried"] == []


def test_an_edit_that_failed_and_was_made_after_all() -> None:
    text = "def load(path):\n    return open(path)\n"
    failed = call("Edit", "File has not been read yet", True, file_path="/a.py", old_string="x", new_string=text)
    done = call("Edit", "done", file_path="/a.py", old_string="x = 1", new_string=text)
    assert told(found(failed, done)) == [("retried", 3, 5)]


def test_a_call_that_lacked_an_argument() -> None:
    failed, done = call("search", "limit is missing", True, query="a"), call("search", "found", query="a", limit=5)
    assert told(found(failed, done)) == [("retried", 3, 5)]


# Duplicate


def test_a_tool_that_two_servers_bring_is_there_twice() -> None:
    one, other = definition("mcp__a__search"), definition("mcp__b__search")
    assert told(found([one, other])) == [("duplicate", 2, 3)]
    assert told(found([one, other], call("mcp__a__search", "x", q=1))) == [("duplicate", 3, 2)], "the used one stays"
    both = [call(f"mcp__{name}__search", name, q=1) for name in "ab"]
    assert found([one, other], *both) == [], "both are used"
    assert found([one, definition("mcp__b__search", "Search mail.")]) == []


def test_a_definition_that_was_replaced_is_not_there_twice() -> None:
    one, other = definition("mcp__a__search"), definition("mcp__b__search")
    (item,) = found([one, other, SlotContent("tools", "mcp__b__search", "")])
    assert item.until == 4
    assert found([one, SlotContent("tools", "mcp__a__search", ""), other]) == []


def test_instructions_under_two_names_and_a_system_message_said_twice() -> None:
    texts = [SlotContent("instructions", name, "Use tabs.") for name in ("AGENTS.md", "CLAUDE.md")]
    assert told(found(texts)) == [("duplicate", 2, 3)]
    assert told(found([SystemMessage("Be brief."), SystemMessage("Be brief.")])) == [("duplicate", 2, 3)]


# What never is


PATHS, TEXTS = ["/a.py", "/b.py"], [FILE, EDITED, "short", "", "Exit code: 1"]


@st.composite
def calls(draw: st.DrawFn) -> list[Body]:
    path, text, error = draw(st.sampled_from(PATHS)), draw(st.sampled_from(TEXTS)), draw(st.booleans())
    return draw(
        st.sampled_from(
            [
                call("Read", text, error, file_path=path),
                call("Read", text, error, file_path=path, offset=3),
                call("Read", None, file_path=path),
                call("Write", "ok", error, file_path=path, content=text),
                call("Edit", "ok", error, file_path=path, old_string=text, new_string="x"),
                call("Bash", text, error, command=f"cat {path}"),
                call("Bash", text, error, command="make all"),
                call("TodoWrite", "ok", error, todos=[{"content": text, "status": "pending"}]),
                [ToolCall(f"c{next(IDS)}", "Read", json.dumps({"file_path": path}))],
                [UserMessage(text or "go")],
                [SystemMessage(text)],
                [definition(f"mcp__{path[1]}__search")],
                [definition("mcp__c__search"), *call(f"mcp__{path[1]}__search", text)],
                [ToolResult("nobody", text)],
            ]
        )
    )


@given(st.lists(calls(), max_size=25))
def test_waste_is_always_held_or_replaced_later_and_the_last_copy_never_is(parts: list[list[Body]]) -> None:
    events = number([body for part in parts for body in part])
    bodies = {event.seq: event.body for event in events}
    items = find_waste(events)
    wasted = {item.event: item for item in items}
    assert len(wasted) == len(items)
    for item in items:
        body, later = bodies[item.event], bodies[item.by]
        assert not isinstance(body, UserMessage | AssistantMessage)
        assert item.by <= item.since
        last = item
        for _ in items:
            last = wasted.get(last.by, last)
        assert last.by not in wasted, "what stands in the end is no waste"
        if item.kind == "duplicate":
            continue
        assert isinstance(later, ToolResult)
        assert item.event < item.by
        if item.pair:
            assert isinstance(body, ToolCall)
            assert isinstance(bodies[item.pair], ToolResult), "never an open call"
            continue
        assert isinstance(body, ToolResult)
        old, new = text_of(body.content).strip(), text_of(later.content).strip()
        if item.kind == "repeated":
            assert old in new
        elif item.kind == "retried":
            assert not later.is_error
        else:
            assert not later.is_error
            assert old != new
