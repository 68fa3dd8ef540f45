"""The way back: what was compacted or overridden is undone, redone and peeled, and the plan is exactly as it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.logs import controls, limits, logs, number, policies
from support.requirements import requirement
from support.talk import COUNTER, named_turns, preset, spoken, summary_of
from workbench.compaction.record import read_record
from workbench.compaction.undo import (
    NestedCompaction,
    UndoChange,
    changes_in_words,
    compaction_tree,
    describe_overrides,
    last_undoable,
    peel_compaction,
    redo_change,
    undo_all_compactions,
    undo_change,
    undo_override,
)
from workbench.config.errors import Refused, WrongCall
from workbench.context.budget import Limits
from workbench.context.plan import ContextPlan
from workbench.context.planner import plan
from workbench.context.policy import Policy
from workbench.log.events import Body, Compaction, Event, Override, Revert


def grown(log: list[Event], body: Body) -> list[Event]:
    """The log with one event more."""
    return [*log, Event(len(log) + 1, f"x{len(log)}", 0, body)]


def changed(log: list[Event], changes: UndoChange | Sequence[UndoChange]) -> list[Event]:
    for change in [changes] if isinstance(changes, UndoChange) else changes:
        log = grown(log, change.revert)
    return log


def compaction(first: int, last: int) -> Compaction:
    return Compaction(first, last, f"{first} to {last}")


TALK = named_turns([1, 2, 3, 4])


# Always, for any log


@st.composite
def decided(draw: st.DrawFn) -> tuple[list[Event], list[Event]]:
    """A log, and the same with one more compaction or override."""
    log = draw(logs(most=16))
    body = draw(controls([event.body for event in log]).filter(lambda body: isinstance(body, (Compaction, Override))))
    return log, grown(log, body)


@requirement(
    "confirm",
    "log",
    "a compaction throws the messages away",
    decided="they stay in the log, and the compaction can be undone",
)
@requirement("sliding", "log", "the originals are an audit trail, for debugging")
@given(decided(), policies(), limits)
def test_undo_gives_exactly_the_plan_from_before(
    worlds: tuple[list[Event], list[Event]], policy: Policy, budget: Limits
) -> None:
    def planned(log: list[Event]) -> ContextPlan:
        return plan(log, policy, budget, COUNTER)

    before, log = worlds
    changes = undo_change(log)
    assert changes[0].target == log[-1]
    undone = changed(log, changes)
    assert planned(undone) == planned(before)
    redone = changed(undone, redo_change(undone))
    assert planned(redone) == planned(log)
    again = changed(redone, undo_change(redone))
    assert planned(again) == planned(before), "undo, redo, undo is undo"
    assert planned(changed(again, redo_change(again))) == planned(log)


@given(logs(most=16), policies(), limits)
def test_undo_ends_and_what_was_undone_comes_back_in_order(log: list[Event], policy: Policy, budget: Limits) -> None:
    plans = []
    while last_undoable(log):
        plans.append(plan(log, policy, budget, COUNTER))
        log = changed(log, undo_change(log))
    with pytest.raises(Refused, match="nothing to undo"):
        undo_change(log)
    while plans:
        log = changed(log, redo_change(log))
        assert plan(log, policy, budget, COUNTER) == plans.pop()


@given(logs(most=16))
def test_undoing_all_compactions_leaves_none(log: list[Event]) -> None:
    if not any(entry.status != "reverted" for entry in read_record(log).entries):
        with pytest.raises(Refused, match="nothing to undo: there is no active compaction"):
            undo_all_compactions(log)
        return
    overrides = [event for event in log if isinstance(event.body, Override)]
    for change in undo_all_compactions(log):
        log = changed(log, change)
    found = read_record(log)
    assert found.active == ()
    assert all(entry.status == "reverted" for entry in found.entries)
    assert [event for event in log if isinstance(event.body, Override)] == overrides


@given(logs(most=16))
def test_the_tree_holds_every_compaction_once(log: list[Event]) -> None:
    found = read_record(log)
    seen = []
    waiting = list(compaction_tree(found))
    while waiting:
        node = waiting.pop()
        seen.append(node.entry.event.seq)
        waiting.extend(node.inside)
    assert sorted(seen) == [entry.event.seq for entry in found.entries]


# What it says


def test_the_last_compaction_or_override_is_undone_and_named() -> None:
    log = number([*TALK, Compaction(1, 4, "s", meta={"tokens_before": 9_000, "tokens_after": 1_000})])
    log = grown(log, Override("pin", 5, 7))
    (first,) = undo_change(log)
    assert (first.revert, first.what) == (Revert(10), "undid: pinned 3 items (#5 to #7)")
    log = changed(log, first)
    (second,) = undo_change(log)
    assert second.revert == Revert(9)
    assert second.what == "undid compaction #9 (events 1 to 4, 8,000 tokens)"


def test_an_override_of_one_event_is_named_by_it() -> None:
    assert undo_change(number([*TALK, Override("mask", 3, 3)]))[0].what == "undid: masked #3"


def test_what_was_decided_together_is_undone_and_redone_together_and_named_as_one() -> None:
    decided = [Override("mask", 1, 1), Override("mask", 4, 5, joined=True), Override("mask", 7, 7, joined=True)]
    log = number([*TALK, Override("pin", 2, 2), *decided])
    undone = undo_change(log)
    assert [change.revert.target for change in undone] == [12, 11, 10]
    assert changes_in_words(undone) == "undid: masked 4 items (#1, #4 to #5, #7)"
    log = changed(log, undone)
    assert changes_in_words(undo_change(log)) == "undid: pinned #2"
    redone = redo_change(log)
    assert changes_in_words(redone) == "redid: masked 4 items (#1, #4 to #5, #7)"
    assert [change.revert.target for change in undo_change(changed(log, redone))] == [12, 11, 10]


def test_overrides_can_be_undone_before_the_compaction_that_came_later() -> None:
    log = number([*TALK, Override("exclude", 3, 3), compaction(1, 2)])
    assert changes_in_words(undo_change(log)) == "undid compaction #10 (events 1 to 2)"
    undone = undo_override(log)
    assert changes_in_words(undone) == "undid: excluded #3"
    with pytest.raises(Refused, match="there is no active override"):
        undo_override(changed(log, undone))


def test_a_certain_one_is_undone() -> None:
    log = number([*TALK, compaction(1, 2), compaction(5, 6), Override("pin", 3, 3)])
    (change,) = undo_change(log, 9)
    assert change.revert == Revert(9)
    assert read_record(changed(log, change)).active == (log[9],)


def test_undoing_a_replaced_one_says_that_nothing_changes() -> None:
    (change,) = undo_change(number([*TALK, compaction(1, 2), compaction(1, 4)]), 9)
    assert change.what.endswith("the request does not change, because a later compaction replaces it")


@pytest.mark.parametrize(
    ("target", "error", "complaint"),
    [
        (0, WrongCall, "event 0: expected a sequence number from 1 to 10"),
        (11, WrongCall, "event 11: expected a sequence number from 1 to 10"),
        (1, WrongCall, "event 1: expected a compaction or an override, got a UserMessage"),
        (9, Refused, "event 9: the compaction was undone already"),
    ],
)
def test_what_cannot_be_undone_is_refused(target: int, error: type[Exception], complaint: str) -> None:
    with pytest.raises(error, match=complaint):
        undo_change(number([*TALK, compaction(1, 2), Revert(9)]), target)


# Layers


def test_peeling_brings_the_layer_below_back() -> None:
    policy = preset("workbench")
    bodies = [
        *TALK,
        summary_of(policy, 1, 2, "one"),
        summary_of(policy, 1, 4, "two"),
        summary_of(policy, 1, 6, "three"),
    ]
    log = grown(number(bodies), Override("pin", 8, 8))
    seen = []
    for _ in range(3):
        log = changed(log, peel_compaction(log))
        said = spoken(plan(log, policy, Limits(10_000, "option", 0, 0), COUNTER))
        seen.append([text.removeprefix(policy.compaction.preface) for _, text in said])
    assert seen == [
        ["two", "q3", "a3", "q4", "a4"],
        ["one", "q2", "a2", "q3", "a3", "q4", "a4"],
        ["q1", "a1", "q2", "a2", "q3", "a3", "q4", "a4"],
    ]
    with pytest.raises(Refused, match="there is no active compaction"):
        peel_compaction(log)


def test_peeling_says_what_stands_again() -> None:
    change = peel_compaction(number([*TALK, compaction(1, 2), compaction(1, 4)]))
    assert change.what.endswith(": compaction #9 is active again")


def test_the_tree_shows_replaced_ones_inside_what_replaced_them() -> None:
    log = number([*TALK, compaction(1, 2), compaction(3, 4), compaction(1, 4), compaction(1, 6), compaction(7, 8)])

    def shape(nodes: Sequence[NestedCompaction]) -> list[tuple[int, Any]]:
        return [(node.entry.event.seq, shape(node.inside)) for node in nodes]

    assert shape(compaction_tree(read_record(log))) == [(12, [(11, [(9, []), (10, [])])]), (13, [])]
    peeled = changed(log, undo_change(log, 12))
    assert shape(compaction_tree(read_record(peeled))) == [(11, [(9, []), (10, [])]), (12, []), (13, [])]


# Redo


def test_redo_brings_back_what_was_undone_last() -> None:
    log = number([*TALK, compaction(1, 2), compaction(5, 6)])
    log = changed(log, undo_change(log))
    log = changed(log, undo_change(log))
    (first,) = redo_change(log)
    assert (first.revert, first.target.seq) == (Revert(12), 9)
    assert first.what == "redid compaction #9 (events 1 to 2)"
    log = changed(log, first)
    assert redo_change(log)[0].target.seq == 10


def test_a_new_compaction_or_override_ends_what_can_be_redone_unnamed() -> None:
    log = number([*TALK, compaction(1, 2)])
    log = grown(changed(log, undo_change(log)), Override("pin", 1, 1))
    with pytest.raises(Refused, match="nothing to redo: the override of event 11 came later"):
        redo_change(log)
    assert redo_change(log, 9)[0].revert == Revert(10)


def test_nothing_undone_is_nothing_to_redo() -> None:
    log = number([*TALK, compaction(1, 2)])
    with pytest.raises(Refused, match="nothing to redo"):
        redo_change(log)
    with pytest.raises(Refused, match="event 9: the compaction was not undone"):
        redo_change(log, 9)


def test_of_many_ranges_eight_places_are_named_and_the_last_is_a_dot() -> None:
    def named(count: int) -> str:
        return describe_overrides([Override("mask", 2 * at, 2 * at) for at in range(1, count + 1)])

    assert named(8) == "masked 8 items (#2, #4, #6, #8, #10, #12, #14, #16)"
    assert named(9) == "masked 9 items (#2, #4, #6, #8, #10, #12, #14, …)"
