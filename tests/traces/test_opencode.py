"""Sessions of opencode, from its database and from its exports."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from support.talk import planned, preset, spoken
from workbench.config.errors import WrongCall
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Failure,
    ImagePart,
    Override,
    Reasoning,
    Request,
    Setting,
    TextPart,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.sources.source import read_source
from workbench.traces.building import Recording
from workbench.traces.cut_words import OLD_RESULT
from workbench.traces.formats import read_conversations, read_file

TABLES = """
CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, slug TEXT, title TEXT, revert TEXT,
    time_created INTEGER);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
"""
START = 1_794_774_852_000
Message = tuple[dict[str, Any], list[dict[str, Any]]]


def user(*parts: dict[str, Any], **info: Any) -> Message:
    return {"role": "user", "agent": "build", **info}, [*parts]


def reply(*parts: dict[str, Any], **info: Any) -> Message:
    return {"role": "assistant", "modelID": "claude", "providerID": "p", **info}, [*parts]


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **more}


def tool(call: str, **state: Any) -> dict[str, Any]:
    return {"type": "tool", "tool": "read", "callID": call, "state": {"input": {"path": "ü"}, **state}}


def finish(total: int, reason: str = "stop", **tokens: Any) -> dict[str, Any]:
    used = {"input": total, "output": 9, "reasoning": 0, "cache": {"read": 0, "write": 0}, **tokens}
    return {"type": "step-finish", "reason": reason, "tokens": used, "cost": 0.5}


def numbered(messages: tuple[Message, ...]) -> list[Message]:
    """The messages with ids and times, each a second after the one before."""
    return [
        ({"id": f"m{at}", "time": {"created": START + 1000 * at}, **info}, parts)
        for at, (info, parts) in enumerate(messages)
    ]


def store(path: Path, *sessions: tuple[Message, ...], revert: str | None = None) -> Path:
    """A database with sessions called A, B and so on."""
    with sqlite3.connect(path) as made:
        made.executescript(TABLES)
        for at, messages in enumerate(sessions):
            name = chr(ord("A") + at)
            row: tuple[Any, ...] = (f"s{at}", "global", None, "a-slug", name, revert, START - at)
            made.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            for info, parts in numbered(messages):
                created, kept = info["time"]["created"], info["id"] if not at else f"{at}{info['id']}"
                row = (kept, f"s{at}", created, created, json.dumps(info))
                made.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", row)
                for number, part in enumerate(parts):
                    row = (f"{kept}p{number}", kept, f"s{at}", 0, json.dumps(part))
                    made.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?)", row)
    made.close()
    return path


def exported(messages: tuple[Message, ...]) -> str:
    whole: list[Any] = [{"info": {**info, "sessionID": "s"}, "parts": parts} for info, parts in numbered(messages)]
    return json.dumps({"info": {"id": "s", "slug": "a-slug", "title": "A"}, "messages": whole})


def read(tmp_path: Path, *messages: Message) -> Recording:
    """What the database holds behind the title; an export of the same says the same."""
    [found] = read_conversations(*read_file(str(store(tmp_path / "opencode.db", messages))))
    [again] = read_conversations("file", exported(messages))
    assert (found, found.times) == (again, again.times)
    assert found[0] == Setting("title", "A")
    return found


def bodies(tmp_path: Path, *messages: Message) -> list[Body]:
    return read(tmp_path, *messages)[1:]


def test_a_reply_with_its_thoughts_its_report_and_what_came_of_its_calls(tmp_path: Path) -> None:
    thought = {"type": "reasoning", "text": "hm", "metadata": {"anthropic": {"signature": "sig"}}}
    used = finish(3, "tool-calls", reasoning=2, cache={"read": 4, "write": 5})
    assert bodies(
        tmp_path,
        user(text("look"), text("not this", ignored=True)),
        reply(
            {"type": "step-start"},
            thought,
            text("I look."),
            tool("c1", status="completed", output="x", time={"end": START + 1500}),
            tool("c2", status="error", error="no file"),
            tool("c3", status="running"),
            used,
        ),
        user(text("and?")),
    ) == [
        UserMessage("look"),
        Setting("model", "claude"),
        Reasoning("hm", "r1", "sig"),
        AssistantMessage("I look.", "r1", finish="tool_calls", model="claude"),
        ToolCall("c1", "read", '{"path":"ü"}', "r1"),
        ToolCall("c2", "read", '{"path":"ü"}', "r1"),
        ToolCall("c3", "read", '{"path":"ü"}', "r1"),
        Usage("claude", 0, 12, 4, 5, 11, 2, 0.5),
        ToolResult("c1", "x", "read"),
        ToolResult("c2", "no file", "read", is_error=True),
        ToolResult("c3", "[Tool execution was interrupted]", "read", is_error=True),
        UserMessage("and?"),
        Setting("left out", {"text": 1, "step-start": 1}),
    ]


def test_events_have_the_times_of_the_session(tmp_path: Path) -> None:
    found = read(tmp_path, user(text("a")), reply(text("b"), finish(7)))
    assert found.times == [0, START, START + 1000, START + 1000, START + 1000]


def test_several_steps_of_one_message_are_several_requests(tmp_path: Path) -> None:
    done = tool("c1", status="completed", output="x")
    found = bodies(tmp_path, user(text("a")), reply(done, finish(7), text("done"), finish(8), text("cut")))
    assert [(type(body).__name__, getattr(body, "reply", "")) for body in found[2:]] == [
        ("ToolCall", "r1"),
        ("Usage", ""),
        ("ToolResult", ""),
        ("AssistantMessage", "r2"),
        ("Usage", ""),
        ("AssistantMessage", "r3"),
    ]


def test_a_call_of_the_newest_reply_may_still_return(tmp_path: Path) -> None:
    found = bodies(tmp_path, user(text("a")), reply(tool("c1", status="running")))
    assert not any(isinstance(body, ToolResult) for body in found)


def test_files_are_parts_and_what_stands_beside_them_as_text_is_not_sent_twice(tmp_path: Path) -> None:
    picture = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AA=="}
    plain = {"type": "file", "mime": "text/plain", "url": "file:///x"}
    taken = tool("c1", status="completed", output="seen", attachments=[picture])
    found = bodies(tmp_path, user(text("a"), picture, plain), reply(taken, finish(7)))
    shown = ImagePart("data:image/png;base64,AA==")
    assert found[0] == UserMessage((TextPart("a"), shown))
    assert found[4] == ToolResult("c1", (TextPart("seen"), shown), "read")


@pytest.mark.parametrize("then", [START + 2500, START + 3000])
def test_a_result_that_was_cleared_was_whole_until_then(tmp_path: Path, then: int) -> None:
    old = tool("c1", status="completed", output="x" * 99, time={"end": START + 1100, "compacted": then})
    found = read(tmp_path, user(text("a")), reply(old, finish(7)), user(text("b")), user(text("c")))
    assert [type(body).__name__ for body in found[-4:]] == ["ToolResult", "UserMessage", "Override", "UserMessage"]
    seq = found.index(ToolResult("c1", "x" * 99, "read")) + 1
    assert found[-2] == Override("mask", seq, seq, "cleared by opencode to make room", OLD_RESULT)
    assert found.times[-2] == then


@pytest.mark.parametrize(("tail", "last"), [({}, 6), ({"tail_start_id": "m2"}, 5)])
def test_a_compaction_stands_before_what_it_kept_and_has_a_report_of_its_own(
    tmp_path: Path, tail: dict[str, Any], last: int
) -> None:
    found = read(
        tmp_path,
        user(text("one")),
        reply(text("ok"), finish(7)),
        user(text("two")),
        user({"type": "compaction", "auto": True, **tail}),
        reply(text("all of it"), summary=True, finish="stop", parentID="m3", tokens={"input": 70, "output": 3}, cost=0),
        user(text("three")),
    )
    assert found[6:9] == [
        Request("chat", "claude", "compaction"),
        Usage("claude", 0, 70, completion=3, cost=0, request=7),
        Compaction(1, last, "all of it", preface="What did we do so far?\n\n", meta={"made_by": "opencode"}),
    ]
    kept = ["two"] if tail else []
    assert [said for _, said in spoken(planned(found, preset("sliding")))] == [
        "What did we do so far?\n\nall of it",
        *kept,
        "three",
    ]


def test_a_compaction_that_failed_is_a_question_without_an_answer(tmp_path: Path) -> None:
    error = {"name": "APIError", "data": {"message": "too long"}}
    found = bodies(tmp_path, user({"type": "compaction"}), reply(summary=True, parentID="m0", error=error))
    assert found == [
        UserMessage("What did we do so far?"),
        Setting("model", "claude"),
        Failure("transcript", "too long"),
        Override("exclude", 3, 4, "failed in opencode, which does not send it again"),
    ]


def test_what_was_said_until_the_user_stopped_it_is_sent_again(tmp_path: Path) -> None:
    stopped = {"name": "MessageAbortedError", "data": {"message": "stopped"}}
    assert bodies(tmp_path, user(text("a")), reply(text("I w"), error=stopped))[2:] == [
        AssistantMessage("I w", "r1", finish="cancelled", model="claude"),
        Failure("transcript", "stopped"),
    ]


def test_what_was_taken_back_is_out_at_the_end(tmp_path: Path) -> None:
    talk = (user(text("a")), reply(text("b"), finish(7)), user(text("c")), reply(text("d"), finish(8)))
    revert = json.dumps({"messageID": "m2"})
    [found] = read_conversations(*read_file(str(store(tmp_path / "opencode.db", talk, revert=revert))))
    assert found[-1] == Override("exclude", 6, 8, "undone in opencode")


def test_of_several_sessions_one_has_to_be_chosen_and_the_newest_are_named(tmp_path: Path) -> None:
    path = store(tmp_path / "opencode.db", *((user(text(f"hello {at}")),) for at in range(5)))
    with pytest.raises(WrongCall) as told:
        read_source(str(path), lambda: pytest.fail("no store is needed"))
    assert str(told.value) == (
        f'{path}: holds 5 conversations; choose one, as in {path}#1; the last are 5 "A", 4 "B", 3 "C"'
    )
    chosen = read_source(f"{path}#2", lambda: pytest.fail("no store is needed"))
    assert UserMessage("hello 3") in [event.body for event in chosen.events]
    assert chosen.recorded


def test_tables_of_the_same_names_and_objects_of_the_same_keys_are_not_opencode_s(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "other.db") as made:
        made.executescript("CREATE TABLE session (id, title); CREATE TABLE message (id, data); CREATE TABLE part (id)")
    with pytest.raises(WrongCall, match="found a database with the tables 'session', 'message', 'part'"):
        read_conversations(*read_file(str(tmp_path / "other.db")))
    value = {"info": {"id": "x"}, "messages": [{"role": "user", "content": "a"}]}
    assert read_conversations("file", json.dumps(value)) == [[UserMessage("a")]]


def test_a_database_without_a_session_is_told(tmp_path: Path) -> None:
    with pytest.raises(WrongCall, match="but no conversation in it"):
        read_conversations(*read_file(str(store(tmp_path / "opencode.db"))))
