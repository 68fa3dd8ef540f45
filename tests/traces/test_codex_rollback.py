"""What the user of Codex undid is not sent any more, and says so."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.logs import number
from support.talk import planned, preset
from workbench.lab.replay.replayed_session import undone_by
from workbench.log.events import Body, Override
from workbench.traces.formats import read_conversations

RECORDED = preset("recorded")


def line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "t", "type": kind, "payload": payload}


def said(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def message(role: str, text: str) -> dict[str, Any]:
    return line("response_item", **said(role, text))


def rollback(turns: int) -> dict[str, Any]:
    return line("event_msg", type="thread_rolled_back", num_turns=turns)


def read(*lines: dict[str, Any]) -> list[Body]:
    [bodies] = read_conversations("file", "\n".join(map(json.dumps, [line("session_meta", id="s"), *lines])))
    return bodies


def left(*lines: dict[str, Any]) -> list[str]:
    """What the next request would hold."""
    return [row.text or "" for row in planned(read(*lines), RECORDED).items if row.in_request]


TALK = [
    message("user", "one"),
    message("assistant", "1"),
    message("user", "two"),
    line("response_item", type="function_call", name="exec", arguments="{}", call_id="c1"),
    line("response_item", type="function_call_output", call_id="c1", output="out"),
    message("assistant", "2"),
]


def test_turns_that_were_rolled_back_are_not_sent_and_say_why() -> None:
    lines = [*TALK, message("user", "three"), message("assistant", "3"), rollback(2), message("user", "four")]
    assert left(*lines) == ["one", "1", "four"]
    gone = next(row for row in planned(read(*lines), RECORDED).items if row.original == "three")
    assert (gone.state, gone.edits[-1].why) == ("excluded", "rolled back in Codex: its user undid 2 turns")


def test_they_are_gone_under_every_policy_of_the_lab() -> None:
    events = number(read(*TALK, rollback(1), message("user", "three")))
    assert undone_by(events) == {event.seq for event in events if isinstance(event.body, Override)} != set()


@pytest.mark.parametrize(("turns", "expected"), [(0, ["one", "1", "two"]), (1, ["one", "1"]), (2, []), (99, [])])
def test_more_turns_than_there_are_undo_all_of_them(turns: int, expected: list[str]) -> None:
    assert left(*TALK[:3], rollback(turns)) == expected


def test_a_rollback_behind_a_compaction_counts_what_that_kept_and_its_summary() -> None:
    compacted = line("compacted", message="summary", replacement_history=[said("user", "one"), said("user", "summary")])
    begun = [*TALK, compacted, message("user", "three")]
    assert left(*begun, rollback(1)) == ["one", "summary"]
    assert left(*begun, rollback(2)) == ["one"]
    assert left(*begun, rollback(3)) == []


@given(st.lists(st.sampled_from(["user", "assistant", 1, 2, 3]), max_size=20))
def test_what_is_left_is_what_codex_itself_keeps(steps: list[str | int]) -> None:
    lines, history = [message("user", "begin")], [("user", "begin")]
    for at, step in enumerate(steps):
        if step == "assistant" and not history:
            continue  # nobody asked
        if isinstance(step, str):
            lines.append(message(step, f"{step} {at}"))
            history.append((step, f"{step} {at}"))
            continue
        lines.append(rollback(step))
        users = [place for place, (role, _) in enumerate(history) if role == "user"]
        if users:
            history = history[: users[-step] if step <= len(users) else users[0]]
    assert left(*lines) == [text for _, text in history]
