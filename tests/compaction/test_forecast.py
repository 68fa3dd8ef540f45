"""The forecast: which trigger fires next, at how many tokens, and in about how many turns."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from support.deciding import sized
from support.logs import number
from support.talk import planned, preset, turns
from workbench.compaction.forecast import SOON, forecast_compaction, in_turns, next_step
from workbench.compaction.record import read_record
from workbench.compaction.triggers import decide_compaction
from workbench.config.values import replace
from workbench.context.budget import Limits
from workbench.context.plan import ContextPlan
from workbench.context.policy import CompactionPolicy
from workbench.log.events import Body, Compaction


def ahead(made: ContextPlan, log: list[Body], policy: CompactionPolicy, **more: Any) -> tuple[Any, ...]:
    events = number(log)
    return tuple(forecast_compaction(made, events, read_record(events), policy, **more))


def test_the_next_trigger_in_tokens_and_turns() -> None:
    policy = preset("workbench").compaction
    assert ahead(sized(60_000, 120_000), turns(3), policy, growth=7_200.0)[:4] == (
        "threshold",
        96_000,
        5,
        "at 96,000 tokens (80 % of 120,000); now 60,000, in about 5 turns of 7,200 tokens",
    )
    assert ahead(sized(60_000, 120_000), turns(3), preset("codex").compaction, growth=12_000.0)[:4] == (
        "threshold",
        84_001,
        3,
        "above 84,000 tokens (70 % of 120,000); now 60,000, in about 3 turns of 12,000 tokens",
    )


def test_what_a_request_may_have_comes_first_where_it_is_less() -> None:
    made = replace(sized(60_000, 120_000), limits=Limits(120_000, "option", 30_000, 0))
    found = ahead(made, turns(3), preset("workbench").compaction, growth=10_000.0)
    assert found[:3] == ("threshold", 90_001, 4)
    assert found[3].startswith("above 90,000 tokens, the most that a request may have; now 60,000")


def test_without_a_ledger_the_turns_so_far_are_the_measure() -> None:
    policy = preset("window")
    made = planned(turns(4, 100), policy, Limits(4_000, "option", 0, 0))
    total = made.totals.tokens
    found = ahead(made, turns(4, 100), policy.compaction)
    assert found[2] == -((total - 3_201) // 200), "each turn has two messages of 100 tokens"


def test_turns_come_first_where_they_are_fewer() -> None:
    made = planned(turns(3), preset("sliding"))
    assert ahead(made, turns(3), preset("sliding").compaction)[:4] == ("turns", 5, 2, "at 5 turns; now 3, in 2 more")


def test_no_growth_no_forecast() -> None:
    found = ahead(sized(10, 1_000), [], preset("codex").compaction)
    assert found[:3] == ("threshold", 701, None)
    assert found[3].endswith("now 10, and how fast that grows is not known")
    assert ahead(sized(10, 1_000), turns(2), preset("codex").compaction, growth=-5.0)[2] is None


def test_an_absolute_number_of_tokens_is_told_without_a_share() -> None:
    policy = CompactionPolicy(mode="auto", token_threshold=500)
    assert ahead(sized(100, 1_000), turns(1), policy, growth=100.0)[3].startswith("at 500 tokens; now 100")


def test_what_fired_is_due_now_and_off_is_never() -> None:
    due = ahead(sized(900, 1_000), turns(1), preset("codex").compaction)
    assert due[2:4] == (0, "now: 900 of 1,000 = 90.0 % > 70 %")
    assert ahead(sized(900, 1_000), turns(1), preset("layers").compaction)[:4] == (
        None,
        0,
        None,
        "none, because compaction is off",
    )


# In words


def said(made: ContextPlan, log: list[Body], policy: CompactionPolicy, growth: float | None = None) -> str:
    events = number(log)
    found = read_record(events)
    coming = forecast_compaction(made, events, found, policy, growth=growth)
    decided = decide_compaction(made, events, found, policy, headless=False, turn_over=True)
    return next_step(coming, decided, policy, made.limits.window)


def test_what_happens_next_is_one_short_line() -> None:
    workbench, codex, sliding = (preset(name).compaction for name in ("workbench", "codex", "sliding"))
    tight = replace(sized(4_000, 16_000), limits=Limits(16_000, "option", 4_000, 0), gives_way=True)
    assert said(tight, turns(3), workbench, 700.0) == "compacts at 12,001 (75 %), in about 12 turns"
    assert said(sized(10, 128_000), turns(3), workbench, 5.0) == "compacts at 102,400 (80 %), not soon"
    assert said(sized(10, 1_000), [], codex) == "compacts at 701 (70 %)", "how fast it grows is not known"
    assert said(planned(turns(3), preset("sliding")), turns(3), sliding) == "compacts after 2 more turns"
    assert said(sized(900, 1_000), turns(1), codex) == "compacts next turn"
    assert said(sized(900, 1_000), turns(1), workbench) == "compacts next turn: asks first"
    assert said(sized(900, 1_000), turns(1), preset("layers").compaction) == "no automatic compaction"
    manual = preset("workbench", "compaction.mode='manual'").compaction
    assert said(sized(900, 1_000), turns(1), manual) == "no automatic compaction"


def test_what_is_held_back_says_by_what() -> None:
    log: list[Body] = [*turns(2), Compaction(1, 2, "so far")]
    assert said(sized(900, 1_000), log, preset("codex").compaction) == (
        "compaction due, but held back by the cool-down"
    )


def test_tokens_since_the_last_one_are_not_taken_for_the_size_of_a_request() -> None:
    policy = preset("sliding", "compaction.turns=0").compaction
    assert said(sized(10, 1_000), turns(1), policy, 100.0) == "compacts at 701 new tokens (70 %), in about 7 turns"


@given(turns=st.integers(0, 10**9))
def test_a_number_of_turns_that_says_nothing_is_never_told(turns: int) -> None:
    words = in_turns(turns)
    assert (words == "not soon") == (turns > SOON)
    assert words == "not soon" or str(turns) in words


def test_a_context_that_shrinks_is_not_one_of_unknown_growth() -> None:
    policy = preset("workbench").compaction
    unknown = forecast_compaction(sized(10, 1_000), [], read_record([]), policy)
    shrinks = forecast_compaction(sized(10, 1_000), [], read_record([]), policy, growth=-181.0)
    assert "how fast that grows is not known" in unknown.why
    assert "that does not grow" in shrinks.why
