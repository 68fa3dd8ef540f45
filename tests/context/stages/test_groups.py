"""Groups: the oldest iteration groups of the turn give way, the last one never does."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.talk import iterations, planned, preset, results, rows_of, states, turns, words
from workbench.context.budget import Limits
from workbench.context.stages.groups import cut_groups
from workbench.log.events import AssistantMessage, Compaction, KeptEvent, Override, ToolCall, ToolResult, UserMessage

POLICY = preset("layers", "masking.keep_first=0", "masking.keep_last=0")


@given(st.lists(st.integers(0, 60), min_size=1, max_size=20), st.data())
def test_the_turn_keeps_as_much_as_fits_and_no_more(costs: list[int], data: st.DataObject) -> None:
    sums = [0, *accumulate(costs)]
    first = data.draw(st.integers(0, len(costs)))
    last = data.draw(st.integers(first, len(costs)))
    room = data.draw(st.integers(-10, sum(costs) + 10))
    cut = cut_groups(sums, first, last, room)
    kept = cut.first
    assert first <= kept <= last
    assert sums[last] - sums[kept] <= max(room, 0)
    assert kept == first or cut.why
    assert kept == first or sums[last] - sums[kept - 1] > max(room, 0), "one more would not have fitted"


@pytest.mark.parametrize(("room", "dropped"), [(10_000, 0), (4_300, 2), (2_200, 4), (1_100, 5), (100, 5)])
def test_the_oldest_go_first_and_the_last_stays(room: int, dropped: int) -> None:
    log = [UserMessage("go"), *iterations([words(1_000)] * 6)]
    made = planned(log, POLICY, Limits(10_000, "option", 10_000 - room, 0))
    assert states(results(made)) == ["dropped"] * dropped + ["sent"] * (6 - dropped)
    assert states(rows_of(made, "tool_call")) == states(results(made))
    assert rows_of(made, "message")[0].state == "sent"
    assert made.verdict.fits == (room > 1_000)


def test_parallel_calls_are_one_group() -> None:
    def parallel(reply: str) -> list[ToolCall | ToolResult]:
        ids = [f"{reply}{at}" for at in range(3)]
        return [*(ToolCall(each, "run", "{}", reply) for each in ids), *(ToolResult(each, words(300)) for each in ids)]

    log = [UserMessage("go"), *parallel("a"), *parallel("b"), *parallel("c")]
    made = planned(log, POLICY, Limits(2_500, "option", 0, 0))
    assert states(results(made)) == ["dropped"] * 3 + ["sent"] * 6


def test_what_follows_the_last_group_stays() -> None:
    log = [UserMessage("go"), *iterations([words(1_000)] * 3), AssistantMessage("done", "end")]
    made = planned(log, POLICY, Limits(1_200, "option", 0, 0))
    assert states(results(made)) == ["dropped", "dropped", "sent"]
    assert rows_of(made, "message")[-1].state == "sent"


def test_a_pinned_group_stays() -> None:
    log = [UserMessage("go"), *iterations([words(1_000)] * 4), Override("pin", 3, 3)]
    made = planned(log, POLICY, Limits(2_200, "option", 0, 0))
    assert states(results(made)) == ["sent", "dropped", "dropped", "sent"]
    assert made.verdict.fits


def test_a_group_that_a_compaction_kept_whole_is_not_counted_as_dropped() -> None:
    """The compaction replaces nothing: without exceptions among the events, groups were counted by their numbers."""
    kept = (KeptEvent(2), KeptEvent(3))
    log = [UserMessage("go"), *iterations([words(1_000)] * 4), Compaction(2, 3, "what happened", kept)]
    made = planned(log, POLICY, Limits(2_300, "option", 0, 0))
    assert states(results(made)) == ["sent", "dropped", "dropped", "sent"]
    assert made.items.dropped_groups == 2


def test_nothing_is_dropped_where_the_policy_does_not_say_so() -> None:
    log = [UserMessage("go"), *iterations([words(1_000)] * 4)]
    made = planned(log, preset("sliding"), Limits(2_200, "option", 0, 0))
    assert set(states(results(made))) == {"truncated"}, "they are cut to fit"
    assert {edit.stage for row in results(made) for edit in row.edits} == {"fit"}


def test_the_reason_has_its_numbers() -> None:
    log = [*turns(1), UserMessage("go"), *iterations([words(1_000)] * 3)]
    made = planned(log, POLICY, Limits(1_200, "option", 0, 0))
    (edit,) = results(made)[0].edits
    assert edit.stage == "groups"
    assert "the oldest give way" in edit.why
    assert edit.before == 1_000
    assert edit.after == 0
