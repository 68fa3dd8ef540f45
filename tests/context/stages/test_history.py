"""History: as much as fits, from the newest, in whole units."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.requirements import requirement
from support.talk import iterations, planned, preset, rows_of, spoken, states, turns, words
from workbench.context.budget import Limits
from workbench.context.policy import HistoryPolicy
from workbench.context.stages.history import (
    NO_CAP,
    HistoryCut,
    cut_history,
    history_notice,
    notice_reason,
    resident_limit,
)
from workbench.log.events import AssistantMessage, Override, UserMessage


class Past(NamedTuple):
    """A history as `cut_history` sees it; turn 0 has no user message."""

    cost: list[int]
    messages: list[int]
    turn_of: list[int]
    openers: list[int]

    @property
    def end(self) -> int:
        return len(self.turn_of)

    def opener_of(self, unit: int) -> tuple[int, int]:
        turn = self.turn_of[unit]
        opener = self.openers[turn]
        return (-1 if opener == unit else opener), self.openers[turn + 1]

    def spent(self, cut: HistoryCut) -> tuple[int, int]:
        """Tokens and messages of what a cut keeps."""
        found = []
        for sums in (self.cost, self.messages):
            kept = sums[self.end] - sums[cut.start]
            found.append(kept + (sums[cut.opener + 1] - sums[cut.opener] if cut.opener >= 0 else 0))
        return found[0], found[1]


@st.composite
def pasts(draw: st.DrawFn) -> Past:
    lengths = draw(st.lists(st.integers(1, 5), min_size=1, max_size=8))
    headless = draw(st.booleans())
    turn_of = [turn + (not headless) for turn, length in enumerate(lengths) for _ in range(length)]
    starts = [0, *accumulate(lengths)]
    openers = [-1, *starts[1:]] if headless else [-1, *starts]
    size = st.integers(0, 60)
    costs = draw(st.lists(size, min_size=len(turn_of), max_size=len(turn_of)))
    counts = [draw(st.integers(1, 3)) if cost else 0 for cost in costs]
    return Past([0, *accumulate(costs)], [0, *accumulate(counts)], turn_of, openers)


@given(pasts(), st.integers(-20, 400), st.one_of(st.integers(0, 30), st.just(NO_CAP)))
def test_fill_keeps_as_much_as_fits_and_no_more(past: Past, budget: int, most: int) -> None:
    cut = cut_history(past.cost, past.messages, past.end, budget, most, past.opener_of)
    possible = [HistoryCut(past.end)]
    for start in range(past.end):
        candidate = HistoryCut(start, past.opener_of(start)[0])
        tokens, count = past.spent(candidate)
        if tokens <= budget and count <= most:
            possible.append(candidate)
    tokens, count = past.spent(cut)
    assert cut.start == past.end or (tokens <= budget and count <= most)
    assert past.spent(cut) == max(past.spent(each) for each in possible), "nothing more would have fitted"


@given(pasts(), st.integers(0, 400), st.one_of(st.integers(0, 30), st.just(NO_CAP)))
def test_a_turn_that_is_kept_in_part_keeps_its_user_message(past: Past, budget: int, most: int) -> None:
    cut = cut_history(past.cost, past.messages, past.end, budget, most, past.opener_of)
    if cut.start < past.end:
        opener, _ = past.opener_of(cut.start)
        assert cut.opener == opener


@example(Past([*range(51)], [*range(51)], [0] * 50, [-1, 50]), 20, NO_CAP, 3)
@given(pasts(), st.integers(-20, 400), st.one_of(st.integers(0, 30), st.just(NO_CAP)), st.integers(0, 60))
def test_a_cut_is_the_same_wherever_the_search_begins(past: Past, budget: int, most: int, near: int) -> None:
    found = cut_history(past.cost, past.messages, past.end, budget, most, past.opener_of, near)
    assert found == cut_history(past.cost, past.messages, past.end, budget, most, past.opener_of)


@pytest.mark.parametrize(
    ("limit", "known", "resident"),
    [
        (0, True, 100),
        (10_199, True, 100),
        (10_200, True, 102),
        (199_999, True, 1_998),
        (10**7, True, 2_000),
        (1, False, 1_000),
    ],
)
def test_the_resident_limit_of_the_document(limit: int, known: bool, resident: int) -> None:
    assert resident_limit(HistoryPolicy(resident_auto=True), limit, known) == resident


@requirement(
    "layers",
    "history",
    "the number of messages held is no setting of the user's",
    decided="it is derived unless `history.resident_messages` sets one; nothing is gained by hiding it",
)
def test_a_resident_limit_of_ones_own() -> None:
    assert resident_limit(HistoryPolicy(resident_messages=7), 1, False) == 7
    assert resident_limit(HistoryPolicy(), 1, True) == NO_CAP


# Through the planner


FIT = preset("layers", "history.max_tokens=400")


def test_the_user_message_of_a_turn_kept_in_part_stays_with_it() -> None:
    old = [UserMessage("a long task"), *iterations([words(80)] * 10)]
    made = planned([*old, UserMessage("now")], FIT)
    kept = [row for row in made.items if row.slot == "history" and row.in_request and row.kind != "notice"]
    assert kept[0].text == "a long task"
    assert states(rows_of(made, "tool_result")) == ["dropped"] * 7 + ["sent"] * 3
    assert spoken(made)[0] == ("system", "[conversation truncated — 14 older messages omitted]")
    assert [role for role, _ in spoken(made)[1:3]] == ["user", "assistant"]


@requirement(
    "layers",
    "history",
    "messages that are too many leave one by one",
    decided="a call and its result leave together, or the request would be invalid",
)
def test_calls_and_results_leave_together() -> None:
    made = planned([UserMessage("a"), *iterations([words(80)] * 10), UserMessage("now")], FIT)
    assert states(rows_of(made, "tool_call")) == states(rows_of(made, "tool_result"))


def test_pinned_history_stays_and_what_is_around_it_goes() -> None:
    log = [*turns(10, 96), UserMessage("now")]
    made = planned([*log, Override("pin", 4, 4)], FIT)
    by_seq = {row.seq: row.state for row in made.items}
    assert by_seq[4] == "sent"
    assert by_seq[3] == "sent", "an answer is never sent without its question"
    assert by_seq[2] == by_seq[5] == "dropped"


def test_whole_history_is_never_dropped_here() -> None:
    made = planned([*turns(10, 96), UserMessage("now")], preset("sliding"), Limits(500, "option", 0, 0))
    assert set(states(rows_of(made, "message"))) == {"sent"}
    assert made.verdict.status == "too_large"


def test_the_reason_has_its_numbers() -> None:
    made = planned([*turns(10, 96), UserMessage("now")], FIT)
    (edit,) = next(row for row in made.items if row.state == "dropped").edits
    assert edit.stage == "history"
    assert edit.why.startswith("history needs 2,000 tokens and 400 are left for it")
    many = planned([*turns(60), UserMessage("now")], preset("layers"), Limits(8_000, "option", 0, 0))
    (edit,) = next(row for row in many.items if row.state == "dropped").edits
    assert edit.why.startswith("history has 120 messages and 100 may be resident")


def test_a_notice_can_be_switched_off() -> None:
    made = planned(
        [*turns(10, 96), UserMessage("now")], preset("layers", "history.max_tokens=400", "history.notice=false")
    )
    assert rows_of(made, "notice") == []
    assert spoken(made)[0][0] == "user"


def test_a_history_that_begins_with_the_assistant_gets_an_opening() -> None:
    made = planned([AssistantMessage("hello, what can I do?", "a"), UserMessage("now")], preset("sliding"))
    assert [role for role, _ in spoken(made)] == ["user", "assistant", "user"]
    (notice,) = rows_of(made, "notice")
    assert notice.edits[0].stage == "normalise"


def test_the_notice_of_one_message_is_in_the_singular() -> None:
    assert history_notice(1) == "[conversation truncated — 1 older message omitted]"
    assert history_notice(47) == "[conversation truncated — 47 older messages omitted]"
    assert notice_reason(1) == "1 message of history is left out"
