"""Control: what stands at the end of a log, after overrides, compactions and reverts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.logs import number
from support.requirements import requirement
from support.talk import iteration, planned, preset
from workbench.context.control import NO_DECISION, UserDecision, decision_after, in_effect, slots_of
from workbench.log.events import Body, Compaction, Event, Override, OverrideAction, Revert, SlotContent, UserMessage

ACTIONS: tuple[OverrideAction, ...] = ("pin", "unpin", "mask", "unmask", "exclude", "include")


def controls(*bodies: Body, before: int = 10) -> list[Event]:
    """These events behind a conversation of so many messages."""
    return number([*[UserMessage("said")] * before, *bodies])[before:]


def ranges(events: list[Event]) -> list[str]:
    """The summaries that stand."""
    found = [event.body for event in in_effect(events).compactions]
    return [body.summary for body in found if isinstance(body, Compaction)]


# Overrides


@pytest.mark.parametrize(
    ("actions", "own"),
    [
        (["pin"], UserDecision(pinned=True)),
        (["pin", "unpin"], UserDecision()),
        (["mask"], UserDecision(masked=True)),
        (["mask", "unmask"], UserDecision(masked=False)),
        (["exclude"], UserDecision(excluded=True)),
        (["exclude", "include"], UserDecision()),
        (["pin", "exclude"], UserDecision(excluded=True)),
        (["pin", "mask"], UserDecision(masked=True)),
        (["exclude", "pin"], UserDecision(pinned=True)),
        (["mask", "pin"], UserDecision(pinned=True)),
        (["unmask", "exclude", "include"], UserDecision()),
        (["unpin"], UserDecision()),
    ],
)
def test_the_last_decision_wins(actions: list[OverrideAction], own: UserDecision) -> None:
    found = NO_DECISION
    for seq, action in enumerate(actions, 1):
        found = decision_after(found, action, seq)
    assert found._replace(by=0) == own


@given(st.lists(st.sampled_from(ACTIONS), max_size=8))
def test_pinned_masked_and_excluded_are_never_together(actions: list[OverrideAction]) -> None:
    found = NO_DECISION
    for seq, action in enumerate(actions, 1):
        found = decision_after(found, action, seq)
        assert found.pinned + found.excluded + bool(found.masked) <= 1


@pytest.mark.parametrize("action", ["unpin", "unmask"])
@pytest.mark.parametrize("half", [2, 3], ids=["call", "result"])
def test_an_excluded_pair_stays_out_when_something_else_is_said_of_it(action: OverrideAction, half: int) -> None:
    log: list[Body] = [
        UserMessage("go"),
        *iteration("x", "done"),
        Override("exclude", half, half),
        Override(action, 2, 3),
    ]
    made = planned([*log, UserMessage("next")], preset("sliding"))
    assert [row.state for row in made.items] == ["sent", "excluded", "excluded", "sent"]


@pytest.mark.parametrize(("later", "state"), [("include", "sent"), ("pin", "sent"), ("mask", "masked")])
def test_the_later_decision_on_either_half_of_a_pair_holds_for_both(later: OverrideAction, state: str) -> None:
    log: list[Body] = [UserMessage("go"), *iteration("x", "done"), Override("exclude", 2, 2), Override(later, 3, 3)]
    made = planned([*log, UserMessage("next")], preset("sliding"))
    assert [row.state for row in made.items] == ["sent", "sent", state, "sent"]


def test_an_override_speaks_of_a_range_of_older_events() -> None:
    found = in_effect(controls(Override("pin", 4, 99))).overrides
    assert sorted(found) == [4, 5, 6, 7, 8, 9, 10]
    assert sorted(in_effect(controls(Override("mask", -5, 2))).overrides) == [1, 2]


# Reverts


def test_a_revert_takes_back_and_its_revert_brings_back() -> None:
    pin = Override("pin", 3, 3)
    assert in_effect(controls(pin)).overrides[3].pinned
    assert in_effect(controls(pin, Revert(11))).overrides == {}
    assert in_effect(controls(pin, Revert(11), Revert(12))).overrides[3].pinned
    assert in_effect(controls(pin, Revert(11), Revert(12), Revert(13))).overrides == {}


def test_a_revert_of_what_is_not_there_yet_does_nothing() -> None:
    assert in_effect(controls(Revert(12), Override("pin", 3, 3))).overrides[3].pinned


@given(st.integers(0, 6))
def test_a_chain_of_reverts_alternates(length: int) -> None:
    chain = [Revert(11 + at) for at in range(length)]
    assert bool(in_effect(controls(Override("pin", 3, 3), *chain)).overrides) == (length % 2 == 0)


# Compactions


@pytest.mark.parametrize(
    ("spans", "stand"),
    [
        ([(1, 5)], ["0"]),
        ([(1, 5), (4, 9)], ["0", "1"]),
        ([(4, 9), (1, 5)], ["1", "0"]),
        ([(2, 4), (1, 5)], ["1"]),
        ([(1, 5), (2, 4)], ["0", "1"]),
        ([(1, 5), (1, 5)], ["1"]),
        ([(1, 2), (3, 4), (1, 4)], ["2"]),
        ([(1, 2), (3, 4), (2, 5)], ["0", "2"]),
        ([(2, 3), (1, 4), (1, 9)], ["2"]),
    ],
)
def test_a_range_inside_a_later_one_is_ignored(spans: list[tuple[int, int]], stand: list[str]) -> None:
    events = controls(*(Compaction(*span, str(at)) for at, span in enumerate(spans)))
    assert ranges(events) == stand


def test_a_reverted_compaction_no_longer_hides_the_one_inside_it() -> None:
    inner, outer = Compaction(2, 3, "inner"), Compaction(1, 5, "outer")
    assert ranges(controls(inner, outer)) == ["outer"]
    assert ranges(controls(inner, outer, Revert(12))) == ["inner"]
    assert ranges(controls(inner, outer, Revert(12), Revert(13))) == ["outer"]


@requirement("sliding", "log", "a compaction replaces what existed when it was made")
def test_a_range_never_reaches_beyond_its_own_compaction() -> None:
    events = controls(Compaction(1, 99, "early"), UserMessage("more"), Compaction(5, 12, "late"))
    assert ranges([events[0], events[2]]) == ["early", "late"], "the early one ends at 10, so neither is inside"


# Slots


def test_the_latest_content_of_a_slot_wins_and_an_empty_one_clears_it() -> None:
    found = slots_of(
        controls(
            SlotContent("instructions", "AGENTS.md", "old"),
            SlotContent("system", "prompt", "be kind"),
            SlotContent("memory", "preferences.md", "short"),
            SlotContent("instructions", "AGENTS.md", "new"),
            SlotContent("memory", "preferences.md", " \n"),
        )
    )
    assert [(event.body.slot, event.body.text) for event in found if isinstance(event.body, SlotContent)] == [
        ("instructions", "new"),
        ("system", "be kind"),
    ]


def test_an_empty_log_has_nothing_standing() -> None:
    found = in_effect([])
    assert (found.compactions, dict(found.overrides), found.slots) == ((), {}, ())
