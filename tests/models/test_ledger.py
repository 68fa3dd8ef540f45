"""The token account adds up, goes on over compactions, and learns from reports within bounds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.requirements import requirement
from workbench.log.events import AssistantMessage, Body, Compaction, Event, Revert, Setting, Usage, UserMessage
from workbench.models.calibration import ODDEST, Calibration
from workbench.models.catalogue import Catalogue
from workbench.models.ledger import Ledger, UsageTotals

CATALOGUE = Catalogue(
    {
        "paid": {"input_price": 10, "output_price": 40, "cached_price": 1, "cache_write_price": 12},
        "plain": {"input_price": 10, "output_price": 40},
    }
)


def events(*bodies: Body) -> list[Event]:
    return [Event(seq, f"e{seq}", 0, body) for seq, body in enumerate(bodies, 1)]


def ledger(*bodies: Body) -> Ledger:
    return Ledger.from_events(events(*bodies), CATALOGUE)


def turn(prompt: int | None, estimate: int = 100, model: str = "mystery", **more: Any) -> tuple[Body, Body]:
    return UserMessage("hi"), Usage(model, estimate, prompt, **more)


counts = st.integers(0, 10**7)


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    prompt = draw(st.none() | counts)
    cached = draw(st.integers(0, prompt or 0))
    return Usage(
        model=draw(st.sampled_from(["paid", "plain", "mystery"])),
        estimate=draw(counts),
        prompt=prompt,
        cached=cached,
        cache_write=draw(st.integers(0, (prompt or 0) - cached)),
        completion=draw(counts),
        reasoning=draw(counts),
        cost=draw(st.none() | st.floats(0, 100)),
        seconds=draw(st.none() | st.floats(0, 1000)),
    )


bodies = st.lists(
    st.one_of(
        usages(),
        st.just(UserMessage("hi")),
        st.just(AssistantMessage("yes")),
        st.just(Compaction(1, 1, "so far")),
        st.just(Revert(1)),
        st.just(Setting("model", "x")),
    ),
    max_size=30,
)


@given(items=st.lists(counts, max_size=20), framing=counts, reported=st.none() | counts)
def test_items_framing_and_unattributed_make_the_reported_prompt(
    items: list[int], framing: int, reported: int | None
) -> None:
    row = ledger(Usage("m", sum(items) + framing, reported)).rows[0]
    assert sum(items) + framing + row.unattributed == row.prompt
    assert row.reported == (reported is not None)
    assert row.prompt == (reported if reported is not None else sum(items) + framing)


@requirement("confirm", "counting", "prompt and completion tokens are summed up over the session")
@given(log=bodies)
def test_totals_are_the_sums_of_the_rows_and_of_the_turns(log: list[Body]) -> None:
    account = ledger(*log)
    for name in ("estimate", "prompt", "unattributed", "cached", "cache_write", "completion", "reasoning"):
        of_rows = sum(getattr(row, name) for row in account.rows)
        of_turns = sum(getattr(total, name) for total in account.turns.values())
        assert of_rows == of_turns == getattr(account.total, name)
    assert account.total.requests == len(account.rows) == sum(isinstance(body, Usage) for body in log)
    assert account.total.cost == pytest.approx(sum(row.cost or 0 for row in account.rows))
    assert account.total.uncosted == sum(row.cost is None for row in account.rows)


@given(log=bodies, data=st.data())
def test_adding_event_by_event_gives_the_same_as_reading_all(log: list[Body], data: st.DataObject) -> None:
    all_events = events(*log)
    split = data.draw(st.integers(0, len(log)))
    account = Ledger.from_events(all_events[:split], CATALOGUE)
    for event in all_events[split:]:
        row = account.add_event(event)
        assert (row is not None) == isinstance(event.body, Usage)
    whole = Ledger.from_events(all_events, CATALOGUE)
    assert (account.rows, account.total, account.turns) == (whole.rows, whole.total, whole.turns)
    assert account.growth == whole.growth


@given(log=bodies)
def test_a_calibration_is_always_bounded_and_explained(log: list[Body]) -> None:
    account = ledger(*log)
    for model in ("paid", "plain", "mystery", "never asked"):
        calibration = account.calibration(model)
        assert ODDEST[0] <= calibration.factor <= ODDEST[1]
        assert calibration.samples or model in calibration.why


@requirement("codex", "counting", "the account has a row for each turn: number, input, output, total")
def test_a_turn_is_a_user_message_and_all_that_follows() -> None:
    account = ledger(Usage("m", 1), *turn(10), Usage("m", 1, 20), *turn(30))
    assert [row.turn for row in account.rows] == [0, 1, 1, 2]
    assert [row.seq for row in account.rows] == [1, 3, 4, 6]
    assert account.turns[1].prompt == 30
    assert account.turns[1].requests == 2


def test_cost_is_taken_from_the_report_first() -> None:
    row = ledger(Usage("paid", 1, 1000, cost=0.5)).rows[0]
    assert (row.cost, row.cost_source) == (0.5, "reported")


def test_cost_by_prices_counts_cached_tokens_once() -> None:
    usage = Usage("paid", 1, 1_000_000, cached=600_000, cache_write=100_000, completion=100_000, reasoning=50_000)
    row = ledger(usage).rows[0]
    assert row.cost == pytest.approx(300_000 * 10e-6 + 600_000 * 1e-6 + 100_000 * 12e-6 + 100_000 * 40e-6)
    assert row.cost_source == "prices"
    assert ledger(usage).total.tokens == 1_100_000


def test_what_is_written_for_an_hour_costs_more() -> None:
    usage = Usage("claude-opus-4-5", 1, 100_000, cache_write=100_000, cache_hour=60_000)
    assert ledger(usage).rows[0].cost == pytest.approx(40_000 * 6.25e-6 + 60_000 * 10e-6)
    own = Usage("paid", 1, 100_000, cache_write=100_000, cache_hour=60_000)
    assert ledger(own).rows[0].cost == pytest.approx(100_000 * 12e-6), "no price of its own"


def test_a_long_request_costs_what_long_ones_cost() -> None:
    costs = [row.cost for row in ledger(Usage("gpt-5.4", 1, 200_000), Usage("gpt-5.4", 1, 300_000)).rows]
    assert costs == [pytest.approx(200_000 * 2.5e-6), pytest.approx(300_000 * 5e-6)]


def test_cached_tokens_without_a_price_of_their_own_cost_what_others_do() -> None:
    assert ledger(Usage("plain", 1, 1_000_000, cached=600_000)).rows[0].cost == pytest.approx(10)


def test_an_unreported_prompt_is_costed_by_our_own_count() -> None:
    assert ledger(Usage("plain", 1_000_000)).rows[0].cost == pytest.approx(10)


def test_cost_nobody_knows_is_none_and_counted_as_missing() -> None:
    account = ledger(Usage("mystery", 10, 10, completion=5))
    assert (account.rows[0].cost, account.rows[0].cost_source) == (None, "unknown")
    assert (account.total.cost, account.total.uncosted) == (0.0, 1)


def test_counts_that_the_log_lacks_are_added_when_they_are_asked_for() -> None:
    log = events(UserMessage("hi"), Usage("m", 0, 1_000), Usage("m", 400, 1_000))
    account = Ledger(CATALOGUE, lambda: {2: 300}, lambda model: Calibration(model, 1.5))
    for event in log:
        account.add_event(event)
    assert account.lacks_counts
    whole = account.with_counts()
    assert [(row.estimate, row.unattributed) for row in whole.rows] == [(300, 700), (400, 600)]
    assert (whole.total.estimate, whole.turns[1].unattributed, whole.lacks_counts) == (700, 1_300, False)
    assert whole.calibration("m") == Calibration("m", 1.5)
    assert [row.estimate for row in account.rows] == [0, 400], "the account itself is left as it is"


def test_a_request_whose_report_has_no_size_is_as_large_as_we_count_it() -> None:
    account = Ledger(CATALOGUE, lambda: {1: 300})
    row = account.add_event(events(Usage("m", 0, None, completion=5))[0])
    assert row is not None
    assert (row.estimate, row.prompt, row.reported) == (300, 300, False)


def test_nothing_is_learnt_without_a_report() -> None:
    account = ledger(Usage("m", 1000), Usage("m", 0, 100), Usage("m", 100, 0), Usage("other", 10, 20))
    assert account.calibration("m") == (calibration := account.calibration("m"))
    assert (calibration.factor, calibration.samples) == (1.0, 0)
    assert calibration.why == "no request to m has reported its tokens yet"


def test_growth_is_measured_at_the_last_request_of_each_turn() -> None:
    account = ledger(*turn(1_000), Usage("mystery", 1, 3_000), *turn(4_000), Usage("mystery", 1, 5_000), *turn(9_000))
    assert account.growth == pytest.approx((9_000 - 3_000) / 2)


def test_a_turn_without_a_request_counts_as_a_turn() -> None:
    assert ledger(*turn(1_000), UserMessage("no answer"), *turn(3_000)).growth == pytest.approx(1_000)


@pytest.mark.parametrize("interruption", [Compaction(1, 2, "so far"), Revert(3)])
def test_growth_is_not_taken_over_a_compaction_and_totals_go_on(interruption: Body) -> None:
    account = ledger(*turn(1_000), *turn(2_000), interruption, *turn(300), *turn(800))
    assert account.growth == pytest.approx((1_000 + 500) / 2)
    assert account.total.prompt == 4_100
    assert account.last is not None
    assert account.last.prompt == 800
    assert ledger(*turn(1_000), interruption).last is None, "that prompt says nothing about the next"


def test_growth_is_not_taken_between_models_or_between_report_and_estimate() -> None:
    assert ledger(*turn(1_000), *turn(5_000, model="other")).growth is None
    assert ledger(*turn(1_000), *turn(None, 5_000)).growth is None
    assert ledger(*turn(None, 1_000), *turn(None, 5_000)).growth == pytest.approx(4_000)


@requirement("codex", "counting", "the average turn is the total divided by the turns, and unknown without one")
def test_the_average_turn_is_what_went_in_and_came_out() -> None:
    assert ledger().average_turn is None
    assert ledger(*turn(1_000, completion=50), *turn(2_000, completion=150)).average_turn == pytest.approx(1_600)
    assert ledger().total == UsageTotals()


def test_a_cost_of_nothing_is_believed_of_free_models_alone() -> None:
    assert ledger(Usage("mystery", 1, 1000, cost=0)).total.known_cost is None
    assert ledger(Usage("mystery:free", 1, 1000, cost=0)).total.known_cost == 0
    assert ledger(Usage("rehearsal", 1, 1000, cost=0)).total.known_cost == 0
    assert ledger(Usage("paid", 1, 1000, cost=0)).rows[0].cost_source == "prices"


@given(st.lists(st.sampled_from(["paid", "mystery"]), max_size=5))
def test_a_sum_of_which_no_part_is_known_is_not_nothing(models: list[str]) -> None:
    total = ledger(*(Usage(model, 1, 1000) for model in models)).total
    assert (total.known_cost is None) == (set(models) == {"mystery"})
    assert total.known_cost is None or (total.known_cost > 0) == ("paid" in models)


def test_that_nothing_was_reported_is_said_only_where_it_is_so() -> None:
    assert ledger().calibration_words("m") == "no request to m has reported its tokens yet"
    other = ledger(Usage("other", 5, 9), Usage("other", 5, 10)).calibration_words("m")
    assert other == "no request to m has reported its tokens yet; 2 to other did"
    alone = ledger(Usage("m", 0, 9)).calibration_words("m")
    assert alone == "1 request has reported its tokens, but nothing of ours to compare that with"
    assert ledger(Usage("m", 5, 9)).calibration_words("m").startswith("learnt from 1 request")


def test_the_last_answer_is_the_latest_in_whatever_order_they_come() -> None:
    asked = [Event(seq, f"e{seq}", at, Usage("plain", 5, 5)) for seq, at in ((1, 2_000), (2, 9_000), (3, 0))]
    assert Ledger.from_events(asked, CATALOGUE).total.last_at == 9_000
