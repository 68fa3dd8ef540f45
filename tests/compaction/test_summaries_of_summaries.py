"""Summaries are summarised where they take too much room, under a policy that otherwise lets them stand."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.drafts import appended, compactor, setup
from support.logs import number
from support.ranges import event_of, range_of
from support.requirements import requirement
from support.talk import COUNTER, planned, preset, summary_of, turns, words
from workbench.compaction.preview import previous_text
from workbench.compaction.summary_sizes import summary_cap
from workbench.compaction.values import CompactionRefused
from workbench.context.budget import Limits
from workbench.context.planner import plan
from workbench.log.events import Body, Compaction, Event, Revert, UserMessage

SLIDING = preset("sliding")
SMALL, LARGE = Limits(4_000, "option", 0, 0), Limits(100_000, "option", 0, 0)


def summarised(count: int, tokens: int = 500) -> list[Body]:
    """Windows of five turns, each with a summary of so many tokens."""
    log: list[Body] = []
    for at in range(count):
        first = len(log) + 1
        log += turns(5, 20, first=5 * at + 1)
        log.append(summary_of(SLIDING, first, len(log), words(tokens, f"part{at}")))
    return log


@requirement("sliding", "summary", "conversations of any length are possible")
def test_summaries_that_take_too_much_are_summarised_with_what_is_new() -> None:
    log = [*summarised(4), *turns(5, 100, first=50)]
    selected = range_of(log, SLIDING, SMALL)
    assert selected.merges
    assert len(selected.previous) == 4
    assert (selected.first, selected.last) == (1, len(log))
    assert {item.state for item in selected.items} == {"sent"}, "what they stand for is not read again"
    assert all(f"part{at}" in previous_text(selected, SLIDING.compaction) for at in range(4))
    assert "the summaries before, which take too much room" in selected.why
    after = planned([*log, event_of(selected, SLIDING)], SLIDING, SMALL)
    assert len(after.items.summaries) == 1


def test_where_there_is_room_they_stand() -> None:
    selected = range_of([*summarised(4), *turns(5, 100, first=50)], SLIDING, LARGE)
    assert not selected.merges
    assert previous_text(selected, SLIDING.compaction) == ""


@pytest.mark.parametrize("name", ["sliding", "codex", "window", "confirm", "workbench"])
def test_where_nothing_else_can_give_way_the_summaries_alone_are_summarised(name: str) -> None:
    policy = preset(name)
    log = [*summarised(3, 600), UserMessage(words(2_500))]
    selected = range_of(log, policy, SMALL, trigger="overflow")
    assert (selected.items, len(selected.previous), selected.merges) == ((), 3, True)
    cap = summary_cap(policy.compaction, SMALL, 1_800)
    made = planned([*log, event_of(selected, policy, words(min(cap, 500)))], policy, SMALL)
    assert made.verdict.fits
    with pytest.raises(CompactionRefused):
        range_of(log, policy, LARGE, trigger="overflow")


def test_a_summary_leaves_room_beside_large_fixed_slots() -> None:
    policy = preset("sliding").compaction
    assert summary_cap(policy, SMALL, 10_000) == 500
    assert summary_cap(policy, SMALL, 10_000, fixed=3_000) == 250


@given(st.integers(2, 5), st.integers(100, 700), st.integers(1, 5))
def test_undo_gives_the_summaries_back_as_they_were(count: int, tokens: int, fresh: int) -> None:
    log = number([*summarised(count, tokens), *turns(fresh, 100, first=50)])
    made = compactor(made=setup("sliding", window=4_000))
    before = plan(log, SLIDING, SMALL, COUNTER)
    try:
        preview = made.preview(log, "overflow", digest=True)
        draft = asyncio.run(made.draft(log, preview, digest=True))
    except CompactionRefused:
        return
    done = appended(log, made.body(draft))
    undone = [*done, Event(len(done) + 1, "undo", done[-1].at, Revert(done[-1].seq))]
    after = plan(undone, SLIDING, SMALL, COUNTER)
    rows = [row for row in after.items if row.kind != "aside"]
    assert rows == [row for row in before.items if row.kind != "aside"]
    assert after.totals.tokens == before.totals.tokens


@given(st.lists(st.integers(5, 250), min_size=1, max_size=25))
def test_a_chat_under_sliding_never_outgrows_its_window(sizes: list[int]) -> None:
    """Turns of any size, compacted by the digest whenever the request is too long: it always fits again."""
    made = compactor(made=setup("sliding", window=2_400))
    log: list[Event] = []

    def add(body: Body) -> None:
        log.append(Event(len(log) + 1, f"e{len(log) + 1:05d}", len(log), body))

    for at, size in enumerate(sizes, 1):
        for body in turns(1, size, first=at):
            add(body)
        add(UserMessage("next"))
        for _ in range(2):
            now = made.setup.plan(log)
            if not now.overflows:
                break
            preview = made.preview(log, "overflow", digest=True)
            add(made.body(asyncio.run(made.draft(log, preview, digest=True))))
        assert made.setup.plan(log).verdict.fits
    standing = [event for event in log if isinstance(event.body, Compaction)]
    assert made.setup.plan(log).budget.summaries <= 2_400 // 2 + 100 * len(standing[-2:])
