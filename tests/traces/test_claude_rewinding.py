"""What the user of Claude Code went back from is not sent any more, and says so; what a rewind summarised, neither."""

from __future__ import annotations

import json
from operator import itemgetter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.logs import number
from support.talk import planned, preset
from workbench.lab.replay.replayed_session import undone_by
from workbench.log.events import Body, Override, Revert
from workbench.traces.formats import read_conversations
from workbench.traces.parents import behind_parents

RECORDED = preset("recorded")


def line(kind: str, content: Any, uuid: str, parent: str | None, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, **({"id": f"m-{uuid}"} if kind == "assistant" else {})}
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "message": message, **more}


def said(text: str, uuid: str, parent: str | None, **more: Any) -> dict[str, Any]:
    return line("user", text, uuid, parent, **more)


def answered(text: str, uuid: str, parent: str) -> dict[str, Any]:
    return line("assistant", [{"type": "text", "text": text}], uuid, parent)


def called(call: str, uuid: str, parent: str, reply: str) -> dict[str, Any]:
    block = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": call}}
    found = line("assistant", [block], uuid, parent)
    return {**found, "message": {**found["message"], "id": reply}}


def result(call: str, uuid: str, parent: str) -> dict[str, Any]:
    return line("user", [{"type": "tool_result", "tool_use_id": call, "content": f"{call} out"}], uuid, parent)


def boundary(uuid: str, parent: str, head: str, tail: str, anchor: str) -> dict[str, Any]:
    kept = {"headUuid": head, "tailUuid": tail, "anchorUuid": anchor}
    noted = {"trigger": "manual", "preTokens": 900, "postTokens": 90, "preservedSegment": kept}
    about = {"type": "system", "subtype": "compact_boundary", "uuid": uuid, "parentUuid": None, "sessionId": "s"}
    return {**about, "logicalParentUuid": parent, "compactMetadata": noted}


def summary(text: str, uuid: str, parent: str) -> dict[str, Any]:
    return said(text, uuid, parent, isCompactSummary=True)


def read(*lines: dict[str, Any]) -> list[Body]:
    [bodies] = read_conversations("file", "\n".join(map(json.dumps, lines)))
    return bodies


def left(*lines: dict[str, Any]) -> list[str]:
    """What the next request would hold."""
    return [row.text or "" for row in planned(read(*lines), RECORDED).items if row.in_request]


TALK = [said("one", "u1", None), answered("1", "a1", "u1"), said("two", "u2", "a1"), answered("2", "a2", "u2")]


def test_what_the_user_went_back_from_is_not_sent_and_says_why() -> None:
    lines = [*TALK, said("two again", "u3", "a1"), answered("3", "a3", "u3")]
    assert left(*lines) == ["one", "1", "two again", "3"]
    gone = next(row for row in planned(read(*lines), RECORDED).items if row.original == "two")
    assert (gone.state, gone.edits[-1].why) == (
        "excluded",
        "undone in Claude Code: its user went back to an earlier message",
    )
    events = number(read(*lines))
    assert undone_by(events) == {event.seq for event in events if isinstance(event.body, Override)} != set()


def test_going_back_to_the_first_message_undoes_all_of_it() -> None:
    assert left(*TALK, said("one again", "u3", None)) == ["one again"]


def test_where_no_line_continues_another_nobody_went_back() -> None:
    lines = [{**each, "parentUuid": None} for each in [*TALK, said("three", "u3", None)]]
    assert left(*lines) == ["one", "1", "two", "2", "three"]
    again = [said("one", "u1", None), said("one again", "u2", None)]
    assert left(*again, answered("1", "a1", "u2")) == ["one again", "1"], "one line continues another"


def test_calls_side_by_side_are_no_branches() -> None:
    lines = [
        said("look", "u1", None),
        called("c1", "a1", "u1", "m"),
        called("c2", "a2", "a1", "m"),
        result("c2", "r2", "a2"),
        result("c1", "r1", "a1"),
        answered("done", "a3", "r1"),
    ]
    assert not any(isinstance(body, Override) for body in read(*lines))


@pytest.mark.parametrize(
    "more",
    [{"isMeta": True}, {"isCompactSummary": True}, {"isSidechain": True, "agentId": "x"}],
    ids=lambda more: next(iter(more)),
)
def test_what_the_program_writes_takes_nobody_back(more: dict[str, Any]) -> None:
    found = read_conversations("file", "\n".join(map(json.dumps, [*TALK, said("noted", "u3", "a1", **more)])))
    assert not any(isinstance(body, Override) for talk in found for body in talk)


def test_going_back_before_a_compaction_takes_it_back() -> None:
    made = [boundary("b", "a2", "u2", "a2", "s"), summary("so far", "s", "b")]
    assert left(*TALK, *made) == ["so far", "two", "2"]
    back = [*TALK, *made, said("two again", "u3", "a1")]
    assert any(isinstance(body, Revert) for body in read(*back))
    assert left(*back) == ["one", "1", "two again"]


def test_a_summary_from_a_message_on_leaves_what_was_before_it_and_stands_behind_it() -> None:
    made = [boundary("b", "a1", "u1", "a1", "b"), summary("since then", "s", "b")]
    assert left(*TALK, *made, said("three", "u3", "s")) == ["one", "1", "since then", "three"]


def test_a_summary_from_a_message_on_that_is_not_there_covers_all() -> None:
    made = [boundary("b", "a2", "u9", "a9", "b"), summary("so far", "s", "b")]
    assert left(*TALK, *made, said("three", "u3", "s")) == ["so far", "three"]


def test_it_leaves_an_earlier_summary_too() -> None:
    first = [boundary("b1", "a1", "u2", "a2", "s1"), summary("begin", "s1", "b1")]
    more = [said("three", "u3", "s1"), answered("3", "a3", "u3")]
    second = [boundary("b2", "s1", "b1", "s1", "b2"), summary("since then", "s2", "b2")]
    assert left(*TALK, *first, *more) == ["begin", "two", "2", "three", "3"]
    assert left(*TALK, *first, *more, *second) == ["begin", "two", "2", "since then"]


def test_a_reply_that_was_written_before_its_question_comes_behind_it() -> None:
    assert left(TALK[1], TALK[0], *TALK[2:]) == ["one", "1", "two", "2"]


@given(st.permutations(TALK))
def test_no_line_stands_before_its_parent(lines: list[dict[str, Any]]) -> None:
    assert left(*lines) == ["one", "1", "two", "2"]


def test_a_line_stays_behind_the_first_that_has_its_parents_id() -> None:
    lines = [("a", ""), ("b", "a"), ("a", "")]
    assert behind_parents(lines, itemgetter(0), itemgetter(1)) == lines


@given(st.lists(st.integers(0, 30), max_size=12))
def test_what_is_left_is_the_path_to_the_last_message(turns: list[int]) -> None:
    """Each number: how many messages its message goes back."""
    lines: list[dict[str, Any]] = []
    path: list[tuple[str, str]] = []
    for at, back in enumerate(turns):
        del path[len(path) - min(back, len(path)) :]
        parent = path[-1][1] if path else None
        lines += [said(f"ask {at}", f"u{at}", parent), answered(f"say {at}", f"a{at}", f"u{at}")]
        path.append((f"u{at}", f"a{at}"))
    expected = [word for ask, _ in path for word in (f"ask {ask[1:]}", f"say {ask[1:]}")]
    assert not lines or left(*lines) == expected
