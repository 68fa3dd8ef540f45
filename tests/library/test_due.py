"""Whether a compaction is due: known at once, however long the conversation is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest
from hypothesis import given

import workbench
from library.conversations import POLICIES, Chat, conversations
from support.random_cases import few_cases
from workbench.compaction.record import read_record
from workbench.compaction.triggers import decide_compaction
from workbench.library.compacting import CompactionWatch, run_to_end
from workbench.library.plans import numbered
from workbench.library.setups import setup_for_call
from workbench.log.events import AssistantMessage, Body, Event, ToolCall, ToolResult, UserMessage


class CountedEvents(list[Event]):
    """A log that counts how often an event is looked at."""

    looked_at = 0

    def __iter__(self) -> Iterator[Event]:
        for event in super().__iter__():
            self.looked_at += 1
            yield event

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        self.looked_at += len(found) if isinstance(at, slice) else 1
        return found

    def __reversed__(self) -> Iterator[Event]:
        for at in range(len(self) - 1, -1, -1):
            yield self[at]


@pytest.mark.parametrize("policy", [name for name in POLICIES if name != "layers"])
@pytest.mark.parametrize("one_turn", [True, False], ids=["one turn", "many turns"])
def test_an_event_is_read_once(policy: str, one_turn: bool) -> None:
    setup = setup_for_call(policy, "gpt-4o", 1_000_000, None)
    round_: list[Body] = [ToolCall("c", "run", "{}"), ToolResult("c", "done")]
    turn: list[Body] = [*round_] if one_turn else [UserMessage("go on"), *round_, AssistantMessage("done")]
    events = CountedEvents(numbered([UserMessage("begin"), *turn * 300]))
    planner, watch = setup.planner(list(events)), CompactionWatch(setup)
    watch.decision(planner.plan(), events)
    events.looked_at = 0
    for _ in range(5):
        fresh = numbered([ToolCall("c", "run", "{}"), ToolResult("c", "done")], len(events) + 1)
        events += fresh
        planner.extend(fresh)
        watch.decision(planner.plan(), events)
    assert events.looked_at < 100


@few_cases()
@given(conversations())
def test_what_is_due_is_what_a_look_at_the_whole_log_says(chat: Chat) -> None:
    context = workbench.Context("codex", window=2_000)
    for message in chat:
        context.add(message)
        due, events = context.due, context._planner.events
        over = isinstance(events[-1].body, AssistantMessage)
        policy = context._setup.loaded.policy.compaction
        plan = context.plan.context_plan
        whole = decide_compaction(plan, events, read_record(events), policy, headless=False, turn_over=over)
        assert due == (None if whole.action == "none" else whole.why)
        if due:
            context.compact_now()


def test_who_is_interrupted_cancels_the_work_and_waits_for_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = list[str]()

    async def work() -> None:
        try:
            await asyncio.sleep(20)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    def interrupted(self: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Future, "result", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_to_end(work())
    assert ended == ["cancelled"]
