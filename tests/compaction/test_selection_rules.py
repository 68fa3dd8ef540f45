"""What holds for every selected range: random logs, policies and budgets."""

from __future__ import annotations

from contextlib import suppress
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import logs
from support.random_cases import few_cases
from support.ranges import event_of, range_of
from support.requirements import requirement
from support.talk import COUNTER, iterations, planned, preset
from support.validity import problems
from workbench.compaction.candidates import candidates_in
from workbench.compaction.selection import select_range
from workbench.compaction.values import CompactionRefused, Trigger
from workbench.config.values import replace
from workbench.context.budget import Limits
from workbench.context.items import Item
from workbench.context.plan import ContextPlan
from workbench.context.planner import plan
from workbench.context.policy import CompactionPolicy, Policy
from workbench.context.render import render_messages
from workbench.log.events import AssistantMessage, Body, Compaction, Event, Revert, UserMessage

compactions = st.builds(
    CompactionPolicy,
    selection=st.sampled_from(["user_messages", "sliding", "last_messages", "everything", "turns"]),
    overlap=st.integers(0, 3),
    keep_user_tokens=st.sampled_from([0, 20, 100, 2_000]),
    keep_user_ratio=st.sampled_from([0.0, 0.15]),
    keep_messages=st.integers(0, 5),
    keep_turns=st.integers(0, 3),
    place=st.sampled_from(["start", "end"]),
    update=st.booleans(),
    preface=st.just("[record] "),
    acknowledgement=st.sampled_from(["", "Understood."]),
)
worlds = st.tuples(logs.logs(most=16), st.builds(lambda a, b: replace(a, compaction=b), logs.policies(), compactions))

triggers = st.sampled_from(get_args(Trigger))


class Case:
    """What is selected of a random log, and the plans around it."""

    def __init__(self, world: tuple[list[Event], Policy], limits: Limits, live: bool, trigger: Trigger) -> None:
        self.events, self.policy = world
        self.limits, self.live, self.trigger = limits, live, trigger
        self.before = self._planned(self.events)
        self.candidates = candidates_in(self.before, self.events)
        knobs = self.policy.compaction
        self.selected = select_range(self.before, self.events, knobs, limits, COUNTER, trigger=trigger)
        self.made = self._add(self.events, event_of(self.selected, self.policy))
        self.after = self._planned(self.made)

    def _add(self, events: list[Event], body: Body) -> list[Event]:
        return [*events, Event(len(events) + 1, f"e{len(events) + 1:05d}", 0, body)]

    def _planned(self, events: list[Event]) -> ContextPlan:
        return plan(events, self.policy, self.limits, COUNTER, live=self.live)

    def reverted(self) -> ContextPlan:
        """The plan once the compaction is taken back."""
        return self._planned(self._add(self.made, Revert(len(self.made))))


def case(world: tuple[list[Event], Policy], limits: Limits, live: bool, trigger: Trigger) -> Case | None:
    """None where there is nothing to compact."""
    try:
        return Case(world, limits, live, trigger)
    except CompactionRefused:
        return None


def summarised(made: ContextPlan) -> set[str]:
    """The ids of the rows that a summary stands for."""
    return {row.id for row in made.items if row.state == "summarised"}


def latest_message(found: Case) -> list[Item]:
    """The latest user message, if its turn is open."""
    users = [row for row in found.before.items if row.role == "user" and row.unit >= 0]
    return users[-1:] if found.candidates.latest >= 0 else []


cases = st.builds(case, worlds, logs.limits, st.booleans(), triggers).filter(lambda found: found is not None)


def what_the_engine_marks_summarised_is_what_the_cut_says(found: Case) -> None:
    expected = summarised(found.before) | {item.id for item in found.selected.items}
    again = expected - summarised(found.after)
    if found.selected.previous:  # what is replaced may stand for a message whose turn a late call has opened again
        again -= {row.id for row in latest_message(found)}
    assert again == set()
    assert summarised(found.after) <= expected
    new = {item.id for item in found.selected.items} - summarised(found.before)
    assert new or (found.selected.previous and not found.selected.items), "something new, or the summaries alone"


def what_the_cut_keeps_is_not_summarised(found: Case) -> None:
    kept = {entry.seq for entry in found.selected.kept}
    rows = [row for row in found.after.items if row.seq in kept]
    assert {row.seq for row in rows} == kept
    assert not [row for row in rows if row.state == "summarised"]


def units_stay_whole(found: Case) -> None:
    inside = {item.unit for item in found.selected.items}
    assert [item.id for item in found.selected.items] == [row.id for row in found.before.items if row.unit in inside]


def nothing_pinned_is_inside(found: Case) -> None:
    assert not [item for item in found.selected.items if item.pinned]
    pinned = {row.id for row in found.before.items if row.pinned and row.in_request}
    assert pinned <= {row.id for row in found.after.items.sent_items()}


def the_latest_user_message_stays_whole_while_its_turn_is_open(found: Case) -> None:
    for latest in latest_message(found):
        assert latest.id not in {item.id for item in found.selected.items}
        if latest.state != "summarised":  # while its turn was over
            assert {row.id: row.text for row in found.after.items.sent_items()}[latest.id] == latest.text


def an_answered_message_goes_with_its_answer(found: Case) -> None:
    """But for policies that keep user messages, and where only the iteration groups of a turn go."""
    units = [unit for unit in found.candidates.units if not unit.excluded]
    if found.candidates.latest >= 0 or not units or found.policy.compaction.selection in ("user_messages", "turns"):
        return
    if found.trigger in ("manual", "threshold", "tokens"):
        return
    gone = summarised(found.after)
    if units[-1].items[0].id in gone - summarised(found.before):
        asked = [unit for unit in units if unit.turn == units[-1].turn and unit.is_user]
        assert all(unit.items[0].id in gone for unit in asked if unit.number not in found.candidates.barred)


def pending_calls_and_the_last_group_of_an_open_turn_stay_outside(found: Case) -> None:
    units, start = found.candidates.units, found.candidates.open_from
    if start < len(units):
        group = max((unit.number for unit in units[start:] if unit.has_calls), default=units[-1].number)
        fresh = {item.unit for item in found.selected.items if item.state != "summarised"}
        assert not [number for number in fresh if number >= group]


def compaction_then_revert_is_the_identity_of_the_plan(found: Case) -> None:
    assert found.reverted() == found.before


def the_request_stays_valid(found: Case) -> None:
    if not found.live:
        assert problems(render_messages(found.after)) == []


def what_is_updated_is_replaced(found: Case) -> None:
    previous = {event.id for event in found.selected.previous}
    assert not previous & {row.id for row in found.after.items}
    if found.policy.compaction.update:
        standing = [event for event in found.candidates.effective.compactions if event.id not in previous]
        assert all(isinstance(event.body, Compaction) and event.body.first > found.selected.last for event in standing)


RULES = (
    what_the_engine_marks_summarised_is_what_the_cut_says,
    what_the_cut_keeps_is_not_summarised,
    units_stay_whole,
    nothing_pinned_is_inside,
    the_latest_user_message_stays_whole_while_its_turn_is_open,
    an_answered_message_goes_with_its_answer,
    pending_calls_and_the_last_group_of_an_open_turn_stay_outside,
    compaction_then_revert_is_the_identity_of_the_plan,
    the_request_stays_valid,
    what_is_updated_is_replaced,
)
"""One log is planned for all of them: making one costs more than looking at it."""


@given(cases)
def test_every_rule_holds_for_every_cut(found: Case) -> None:
    for rule in RULES:
        rule(found)


@requirement("confirm", "summary", "nothing of the old conversation is sent in addition to the summary")
@pytest.mark.parametrize("name", ["codex", "sliding", "window", "confirm", "workbench"])
@few_cases()
@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=14))
def test_no_preset_sends_an_answered_message_without_its_answer(name: str, turns: list[tuple[int, bool]]) -> None:
    """Turns with so many iterations, some of them followed by a compaction by hand."""
    policy = preset(name)
    log: list[Body] = []
    for turn, (groups, compact) in enumerate(turns):
        log += [UserMessage(f"q{turn}"), *iterations(["r"] * groups, f"{turn}.")]
        log.append(AssistantMessage(f"a{turn}", f"reply{turn}"))
        if compact:
            with suppress(CompactionRefused):
                log.append(event_of(range_of(log, policy, trigger="manual"), policy))
        sent = {row.original for row in planned(log, policy).items.sent_items()}
        alone = [at for at in range(turn + 1) if f"q{at}" in sent and f"a{at}" not in sent]
        assert not alone or policy.compaction.keep_user_tokens, f"{alone} were answered"
