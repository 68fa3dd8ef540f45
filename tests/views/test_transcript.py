"""The chat's entries: one for each thing said or done, in order, whatever the log looks like."""

from __future__ import annotations

import pytest
from hypothesis import given

from support.logs import logs
from workbench.config.settings import Settings
from workbench.context.setup import PlanOptions, set_up
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Event,
    Failure,
    Hold,
    HoldEnd,
    Override,
    Reasoning,
    Revert,
    Setting,
    SlotContent,
    Snapshot,
    SystemMessage,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.models.catalogue import Catalogue
from workbench.views.row_lookup import row_of
from workbench.views.transcript import NOTHING, EntryIndex, LogTranscript

SETUP = set_up(PlanOptions(model="gpt-4o"), Settings(), Catalogue())


def log(*bodies: Body) -> list[Event]:
    return [Event(seq, f"e{seq}", seq * 1000, body) for seq, body in enumerate(bodies, 1)]


def test_everything_that_was_said_or_done_is_told_and_nothing_else() -> None:
    events = log(
        SlotContent("system", "s", "prompt"),
        Setting("title", "quiet"),
        Setting("model", "gpt-4o"),
        SystemMessage("be brief"),
        UserMessage("hi"),
        Reasoning("hm", "r1"),
        AssistantMessage("I look.", "r1"),
        ToolCall("c1", "read_file", '{"path": "a"}', "r1"),
        Usage("gpt-4o", 10),
        ToolResult("c1", "text", "read_file"),
        AssistantMessage("", "r2", finish="stop"),
        AssistantMessage("", "r3", finish="cancelled"),
        ToolResult("c9", "orphan", "run_command", True),
        Failure("timeout", "nothing came"),
        Failure("compaction", "freed: would free 7 %"),
        Failure("hook", "it failed"),
        Snapshot("abc", "/", "before write_file"),
        Override("pin", 5, 5),
        Override("mask", 5, 7),
        Revert(19),
        Setting("window", {"model": "gpt-4o", "tokens": 128_000, "source": "provider"}),
        Compaction(5, 7, "what was"),
        Setting("left out", {"progress": 12, "queue\x1b": 1}),
    )
    transcript = LogTranscript(EntryIndex(events), None)
    told = [(entry.kind, entry.text) for entry in map(transcript.__getitem__, range(len(transcript)))]
    assert told == [
        ("notice", "model: gpt-4o"),
        ("system", "be brief"),
        ("you", "hi"),
        ("reasoning", "hm"),
        ("ai", "I look."),
        ("tool", 'read_file {"path": "a"}'),
        ("ai", ""),
        ("tool", "run_command"),
        ("failure", "nothing came"),
        ("notice", "not compacted: would free 7 %"),
        ("notice", "hook: it failed"),
        ("notice", "snapshot of the work tree, taken before write_file"),
        ("notice", "pinned #5"),
        ("notice", "masked 3 items (#5 to #7)"),
        ("notice", "undid: masked 3 items (#5 to #7)"),
        ("notice", "window of gpt-4o: 128,000 tokens, as the provider says"),
        ("summary", "what was"),
        ("notice", "skipped: 12 progress, 1 queue␛"),
    ]
    call = transcript[5].call
    assert call is not None
    assert (call.result, call.result_seq, call.seconds, call.call_id) == ("text", 10, 2.0, "c1")
    assert transcript[6].finish == "cancelled"
    assert transcript[-2].kind == "summary"
    assert transcript.index_of(10) == 5  # a result is at its call
    assert transcript.index_of(1) == 0
    assert transcript.entry_state(transcript[0]) is None


def test_a_decision_of_another_agent_says_whose_and_why_it_was() -> None:
    why = "undone in Codex: its user went back to an earlier message"
    undone: list[Body] = [Override("exclude", 1, 1, why), Override("exclude", 3, 3, why, joined=True)]
    events = log(UserMessage("a"), Setting("model", "m"), UserMessage("b"), *undone, UserMessage("c"))
    transcript = LogTranscript(EntryIndex(events), None)
    assert f"excluded 2 items (#1, #3), {why}" in [transcript[at].text for at in range(len(transcript))]


def test_what_was_decided_at_once_is_one_line_and_so_is_its_undo_and_redo() -> None:
    long = " ".join(["word"] * 400)
    talk: list[Body] = [UserMessage("go")]
    for number in range(4):
        talk += [
            ToolCall(f"c{number}", "run_command", "{}", f"r{number}"),
            ToolResult(f"c{number}", long, "run_command"),
        ]
    masks: list[Body] = [Override("mask", 3, 3), Usage("gpt-4o", 9), Override("mask", 7, 7, joined=True)]
    events = log(*talk, AssistantMessage("done"), *masks, Override("pin", 5, 5), *map(Revert, (13, 11)))
    events += log(*[UserMessage("")] * len(events), *map(Revert, (15, 16)), Revert(18), Revert(14))[len(events) :]

    def told(upto: int) -> list[str]:
        transcript = LogTranscript(EntryIndex(events[:upto]), SETUP.plan(events[:upto]))
        return [entry.text for entry in map(transcript.__getitem__, range(len(transcript))) if entry.kind == "notice"]

    plan = SETUP.plan(events[:13])
    freed = sum(row.original_tokens - row.tokens for row in plan.items if row.state == "masked")
    assert freed > 700
    masked = "masked 2 items (#3, #7)"
    assert told(13) == [f"{masked}, frees {freed:,} tokens"]
    assert told(16) == [masked, "pinned #5", f"undid: {masked}"]
    assert told(20)[2:] == [f"undid: {masked}", f"redid: {masked}", "undid: masked #3", "undid: pinned #5"]


def test_what_another_agent_decided_is_told_with_whose_decision_it_was() -> None:
    talk: list[Body] = [UserMessage("go"), ToolCall("c", "Read", "{}", "r"), ToolResult("c", "text", "Read")]
    why = "cleared by Claude Code's micro-compaction: 65,398 tokens before it, 45,149 saved"
    transcript = LogTranscript(EntryIndex(log(*talk, Override("mask", 3, 3, why), Override("mask", 3, 3))), None)
    assert [transcript[at].text for at in (-2, -1)] == [
        f"masked #3, {why}",
        "masked #3",
    ]


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("as_it_was", "then sent unchanged"),
        ("changed", "then something else was sent in its place"),
        ("answered", "then answered by hand: what follows is not the model's"),
        ("expired", "then sent unchanged, because the time limit passed"),
        ("gone", "until the agent gave up"),
    ],
)
def test_what_waited_at_a_breakpoint_is_told(end: HoldEnd, told: str) -> None:
    events = log(UserMessage("hi"), Hold(1, "tool:Bash", "[b]Bash was called", 57_900, end), AssistantMessage("ho"))
    held = EntryIndex(events).entry(1, 3)
    assert (held.kind, held.text) == ("notice", f"held for 58 s at breakpoint tool:Bash ([b]Bash was called), {told}")


def test_where_every_request_waits_nobody_asks_why() -> None:
    events = log(UserMessage("hi"), Hold(1, "every", "every request is held", 2_000), AssistantMessage("ho"))
    assert EntryIndex(events).entry(1, 3).text == "held for 2 s at breakpoint every, then sent unchanged"


def test_a_transcript_stays_as_it_was_when_the_log_grows() -> None:
    events = log(UserMessage("go"), ToolCall("c1", "run_command", "{}"))
    entries = EntryIndex(events)
    before = LogTranscript(entries, None)
    events.append(Event(3, "e3", 9, ToolResult("c1", "done", "run_command")))
    events.append(Event(4, "e4", 9, AssistantMessage("ready")))
    entries.catch_up()
    after = LogTranscript(entries, None)
    assert (len(before), len(after)) == (2, 3)
    one, other = before[1].call, after[1].call
    assert one is not None
    assert other is not None
    assert (one.result, other.result) == (None, "done")


@given(logs())
def test_an_entry_is_found_by_its_event_and_stands_as_its_row_says(events: list[Event]) -> None:
    plan = SETUP.plan(events)
    transcript = LogTranscript(EntryIndex(events), plan)
    for at in range(len(transcript)):
        entry = transcript[at]
        assert transcript.index_of(entry.seq) == at or entry.call is not None
    rows = {row.seq: row for row in plan.items if row.seq is not None}
    for row in rows.values():
        found = row_of(plan.items, row.seq or 0)
        assert found is not None
        assert plan.items[found] == row or plan.items[found].seq != row.seq


def test_rows_in_the_order_of_the_log_are_always_found() -> None:
    events = log(*(body for at in range(500) for body in (UserMessage(f"q{at}"), AssistantMessage(f"a{at}"))))
    rows = SETUP.plan(events).items
    assert all(rows[row_of(rows, event.seq) or 0].seq == event.seq for event in events)
    assert row_of(rows, 5_000) == len(rows) - 1
    assert row_of(rows[3:], 1) == 0
    assert row_of((), 1) is None


def test_nothing_is_an_empty_conversation() -> None:
    assert len(NOTHING) == 0
    assert NOTHING.index_of(3) == 0


def test_settings_and_overrides_alone_are_no_talk() -> None:
    events = log(Setting("model", "gpt-4o"), Override("pin", 1, 1))
    entries = EntryIndex(events)
    assert not entries.has_talk
    events += log(UserMessage("hi"))
    entries.catch_up()
    assert entries.has_talk


def test_reasoning_of_which_nothing_can_be_read_is_not_told() -> None:
    events = log(UserMessage("hi"), Reasoning("", "r1"), Reasoning(" \n", "r1"), Reasoning("hm", "r1"))
    told = LogTranscript(EntryIndex(events), None)
    assert [told[at].text for at in range(len(told))] == ["hi", "hm"]
