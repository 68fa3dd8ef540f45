"""Recall: what was cut can be read again by its id, bounded, and never what the user excluded."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.logs import logs, number
from support.requirements import requirement
from support.talk import planned, preset, turns
from workbench.agent.tools import peek_worker
from workbench.agent.tools.base import ToolFailure, ToolLimits, ToolOutcome
from workbench.agent.tools.peek import MOST, SPOKEN, TOKENS, excluded_events, peek_tools, peeked_events
from workbench.agent.tools.registry import Toolbox
from workbench.agent.tools.search_worker import BAD_PATTERN, make_matcher
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Event,
    Override,
    Reasoning,
    Revert,
    SlotContent,
    ToolCall,
    ToolResult,
    UserMessage,
)
from workbench.models.tokens import counter_named

COUNTER = counter_named("o200k_base")
LONG = "\n".join(f"line {at} of the log" for at in range(4_000))
TALK: list[Body] = [
    UserMessage("why is it slow?"),
    ToolCall("a", "run_command", '{"command": "make"}', "r1"),
    ToolResult("a", LONG, "run_command"),
    AssistantMessage("Because of the cache."),
    UserMessage("and now?"),
    Reasoning("secret thoughts"),
    AssistantMessage("Better."),
]


def toolbox(events: Sequence[Event], limits: ToolLimits | None = None) -> Toolbox:
    return Toolbox(Path.cwd(), more=peek_tools(lambda: events, limits))


async def peek(events: Sequence[Event], name: str, limits: ToolLimits | None = None, **arguments: Any) -> ToolOutcome:
    return await toolbox(events, limits).run_tool(f"peek_{name}", json.dumps(arguments))


async def test_an_item_of_which_nothing_fits_is_not_one_that_is_shown() -> None:
    events = number([UserMessage("one"), UserMessage("two"), UserMessage("three")])
    first, last = "[e00001] user\none", "[e00003] user\nthree"
    head = await peek(events, "head", id="1-3", tokens=COUNTER.count(first).tokens)
    tail = await peek(events, "tail", id="1-3", tokens=COUNTER.count(last).tokens)
    assert head.text == f"{first}\n[the beginning: 1 of 3 items]"
    assert tail.text == f"{last}\n[the end: 1 of 3 items]"


async def test_the_beginning_and_the_end_are_read_within_a_bound() -> None:
    events = number(TALK)
    head = await peek(events, "head", id="e00003", tokens=50)
    assert head.text.startswith("line 0 of the log\nline 1")
    assert re.search(r"\n\[the beginning: \d+ of \d\d,\d+ characters\]$", head.text)
    tail = await peek(events, "tail", id="e00003", tokens=50)
    assert "line 3999 of the log\n[the end: " in tail.text
    assert "line 0 of" not in tail.text
    default = await peek(events, "head", id="e00003")
    assert TOKENS * 0.9 < COUNTER.count(default.text).tokens < TOKENS + 30
    assert (await peek(events, "head", id="e00003", tokens=MOST + 1)).is_error


async def test_a_short_text_comes_whole_and_without_a_note() -> None:
    assert await peek(number(TALK), "head", id="e00001") == ToolOutcome("why is it slow?")
    assert await peek(number(TALK), "tail", id="e00002") == ToolOutcome('{"command": "make"}')
    assert await peek(number([ToolResult("a", "")]), "head", id="e00001") == ToolOutcome("[empty]")


async def test_lines_are_found_with_their_numbers_under_the_id_they_belong_to() -> None:
    events = number(TALK)
    assert (await peek(events, "grep", id="e00003", pattern="line 39\\d ")).text.startswith(
        "[e00003] result of run_command\n391: line 390 of the log\n392: "
    )
    found = (await peek(events, "grep", id="1-7", pattern="slow|cache")).text
    assert found == "[e00001] user\n1: why is it slow?\n[e00004] assistant\n1: Because of the cache.\n"
    assert (await peek(events, "grep", id="e00001", pattern="absent")).text == "[no match]"


async def test_matches_are_bounded_and_a_bad_pattern_is_said() -> None:
    events = number(TALK)
    few = await peek(events, "grep", ToolLimits(max_matches=2), id="e00003", pattern="log")
    assert few.text.endswith(
        "2: line 1 of the log\n[stopped at 2 matches; make the pattern narrower, or ask for one item]"
    )
    bad = await peek(events, "grep", id="e00003", pattern="(")
    assert bad.is_error
    assert bad.text.startswith("pattern: expected a regular expression")


async def test_a_pattern_that_would_take_for_ever_is_stopped() -> None:
    events = number([ToolResult("a", "aaa\n" + "a" * 60 + "b")])
    outcome = await peek(events, "grep", ToolLimits(search_seconds=0.1), id="e00001", pattern="^(a+)+$")
    assert outcome.is_error
    assert outcome.text.endswith("[stopped after 0.1 s: the pattern takes too long; make it simpler]")


async def test_a_compactions_id_stands_for_its_whole_range() -> None:
    events = number([*TALK, Compaction(1, 4, "it was slow")])
    assert (await peek(events, "grep", id="e00008", pattern="slow")).text.startswith("[e00001] user\n")
    head = (await peek(events, "head", id="e00008", tokens=40)).text
    assert head.startswith("[e00001] user\nwhy is it slow?\n[e00002] call of run_command\n")
    assert head.endswith("[the beginning: 3 of 4 items]")
    tail = (await peek(events, "tail", id="e00008", tokens=40)).text
    assert tail.endswith("[e00004] assistant\nBecause of the cache.\n[the end: 2 of 4 items]")
    assert (await peek(events, "head", id="4-5")).text.endswith("and now?\n[2 items]")


@pytest.mark.parametrize("ref", ["e00003", "[id e00003]", "id e00003", " [e00003] ", "3"])
def test_an_id_may_be_given_as_it_stands_in_the_marker(ref: str) -> None:
    assert [entry.text for entry in peeked_events(number(TALK), ref)] == [LONG]


@pytest.mark.parametrize(
    ("ref", "says"),
    [
        ("nobody", "there is no such item; expected the id of a marker, as in [id X], or events as in 3-41"),
        ("9-12", "expected events from 1 to 8"),
        ("0", "expected events from 1 to 8"),
        ("5-2", "expected events from 1 to 8"),
        ("e00006", "nothing that was said or done has that id"),
        ("e00008", "nothing that was said or done has that id"),
    ],
)
def test_an_unknown_id_is_a_clear_error(ref: str, says: str) -> None:
    with pytest.raises(ToolFailure, match=f"id: {ref}: {re.escape(says)}"):
        peeked_events(number([*TALK, SlotContent("system", "x", "be kind")]), ref)


def test_what_the_user_excluded_stays_out_of_reach_with_its_pair() -> None:
    events = number([*TALK, Override("exclude", 2, 2), Override("exclude", 4, 4)])
    assert excluded_events(events) == {2, 3, 4}
    with pytest.raises(ToolFailure, match="the user has excluded it"):
        peeked_events(events, "e00003")
    assert [entry.heading for entry in peeked_events(events, "1-7")] == [
        "[e00001] user",
        "[e00005] user",
        "[e00007] assistant",
    ]
    assert excluded_events(number([*TALK, Override("exclude", 2, 2), Override("include", 3, 3)])) == frozenset()
    assert excluded_events(number([*TALK, Override("exclude", 2, 2), Revert(8)])) == frozenset()


@given(logs(), st.integers(1, 40), st.integers(1, 40))
def test_nothing_excluded_and_nothing_unsaid_is_ever_shown(events: list[Event], first: int, last: int) -> None:
    try:
        found = peeked_events(events, f"{min(first, last)}-{max(first, last)}")
    except ToolFailure:
        return
    hidden = excluded_events(events)
    said = {f"[{event.id}]" for event in events if isinstance(event.body, SPOKEN) and event.seq not in hidden}
    assert {entry.heading.partition(" ")[0] for entry in found} <= said


@requirement(
    "layers",
    "others",
    "tools to look at what was cut are left for later",
    decided="markers carry an id, and `peek_head`, `peek_tail` and `peek_grep` read it",
)
async def test_every_marker_of_a_plan_names_an_id_that_can_be_read() -> None:
    results = [ToolResult(str(at), LONG + str(at)) for at in range(4)]
    bodies: list[Body] = [UserMessage("go")]
    for result in results:
        bodies += [ToolCall(result.call_id, "read", "{}", result.call_id), result]
    policy = preset("layers", "masking.keep_first=0", "masking.keep_last=1", "truncation.max_tokens=200")
    made = planned(bodies, policy)
    marked = [row for row in made.items if row.state in ("truncated", "masked")]
    assert {row.state for row in marked} == {"truncated", "masked"}
    for row in marked:
        [ref] = re.findall(r"\[id (\S+)\]", row.text or "")
        assert [entry.text for entry in peeked_events(number(bodies), ref)] == [row.original]


def test_the_tools_only_read_and_say_so_in_few_words() -> None:
    box = toolbox(number(turns(2)))
    assert [box.kind(name) for name in ("peek_head", "peek_tail", "peek_grep")] == ["read"] * 3
    assert box.call("peek_grep", '{"id": "e00001", "pattern": "x"}').subject == "e00001"
    assert "pattern: missing" in box.call("peek_grep", '{"id": "e00001"}').problem


# The process without the process


def test_out_of_time_is_said_with_what_was_found() -> None:
    out = io.StringIO()
    peek_worker.grep([("[a] user", "x\n" * 600)], make_matcher("x", False, False), 9999, float("-inf"), out)
    assert out.getvalue().startswith("[stopped: out of time")


def test_the_process_reads_what_is_wanted_and_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = {"pattern": "b+", "texts": [["[a] user", "a\nabb"]], "limit": 5, "seconds": 60}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(wanted)))
    peek_worker.main()
    assert capsys.readouterr().out == "[a] user\n2: abb\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(wanted | {"pattern": "["})))
    with pytest.raises(SystemExit) as end:
        peek_worker.main()
    assert end.value.code == BAD_PATTERN
