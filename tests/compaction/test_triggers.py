"""Triggers: each says in numbers why it fired or did not."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.deciding import failure, look, sized
from support.logs import number
from support.requirements import requirement
from support.talk import COUNTER, ROOMY, planned, preset, turns, words
from workbench.compaction.record import read_record
from workbench.compaction.triggers import check_triggers, compacts_at, exact_percent, measure_size, size_limit
from workbench.config.values import replace
from workbench.context.budget import Limits
from workbench.context.planner import plan
from workbench.context.policy import CompactionPolicy
from workbench.log.events import (
    Body,
    Compaction,
    Revert,
    SlotContent,
    Usage,
)

DOCUMENTS = ("codex", "sliding", "window", "confirm")
INCLUSIVE = {"codex": False, "sliding": False, "window": False, "confirm": True, "workbench": True}
SHARES = {"codex": 70, "sliding": 70, "window": 80, "confirm": 90, "workbench": 80}


# A share of the window


@requirement("window", "trigger", "summarising begins once the conversation exceeds its threshold, not at it")
@requirement("confirm", "trigger", "the question comes at the threshold or above it")
@requirement("codex", "trigger", "it compacts above the threshold, not at it")
@requirement("sliding", "trigger", "the share must be exceeded, not reached")
@pytest.mark.parametrize("off", [-1, 0, 1])
@pytest.mark.parametrize("percent", [70, 80, 90])
@pytest.mark.parametrize("name", [*DOCUMENTS, "workbench"])
def test_exactly_at_below_and_above_the_threshold(name: str, percent: int, off: int) -> None:
    policy = preset(name, f"compaction.threshold={percent / 100}").compaction
    tokens = 1_280 * percent + off
    made = sized(tokens, 128_000, name)
    check = look(made, [*turns(1), Usage("m", 1, tokens)], policy)["threshold"]
    assert check.fired == (off > 0 or (off == 0 and INCLUSIVE[name]))
    assert (check.measured, check.limit) == (tokens, 1_280 * percent)


@pytest.mark.parametrize("name", SHARES)
def test_each_preset_has_the_share_of_its_document(name: str) -> None:
    assert preset(name).compaction.threshold * 100 == SHARES[name]
    assert preset(name).compaction.inclusive == INCLUSIVE[name]


@requirement("confirm", "trigger", "utilisation is the last prompt's tokens divided by the window")
@pytest.mark.parametrize(
    ("tokens", "name", "why"),
    [
        (84_210, "codex", "84,210 of 120,000 = 70.2 % > 70 %"),
        (84_001, "codex", "84,001 of 120,000 = 70.001 % > 70 %"),
        (84_000, "codex", "84,000 of 120,000 = 70.0 % <= 70 %"),
        (60_000, "codex", "60,000 of 120,000 = 50.0 % <= 70 %"),
        (96_000, "workbench", "96,000 of 120,000 = 80.0 % >= 80 %"),
        (95_999, "workbench", "95,999 of 120,000 = 79.999 % < 80 %"),
        (130_000, "window", "130,000 of 120,000 = 108.3 % > 80 %"),
        (84_001, "sliding", "84,001 of 120,000 = 70.001 % > 70 % (events since the beginning)"),
        (108_000, "confirm", "108,000 of 120,000 = 90.0 % >= 90 % (reported by the provider)"),
    ],
)
def test_the_comparison_is_shown_in_numbers(tokens: int, name: str, why: str) -> None:
    log = [*turns(1), Usage("m", 1, tokens)]
    assert look(sized(tokens, 120_000, name), log, preset(name).compaction)["threshold"].why == why


def test_a_guessed_window_is_told() -> None:
    check = look(sized(90, 100, source="guess"), turns(1), preset("codex").compaction)["threshold"]
    assert check.why == "90 of 100 = 90.0 % > 70 % (the window is a guess)"


@pytest.mark.parametrize(
    ("threshold", "shown"), [(0.5, "50 %"), (0.725, "72.5 %"), (0.7255, "72.55 %"), (1.0, "100 %")]
)
def test_a_threshold_is_shown_as_it_was_set(threshold: float, shown: str) -> None:
    policy = CompactionPolicy(mode="auto", threshold=threshold)
    assert look(sized(1, 1_000), turns(1), policy)["threshold"].why == f"1 of 1,000 = 0.1 % < {shown}"


@given(st.integers(0, 3_000_000), st.integers(1, 2_000_000), st.integers(1, 1_000), st.booleans())
def test_no_accident_of_floating_point_decides(tokens: int, window: int, thousandths: int, inclusive: bool) -> None:
    bound = Decimal(thousandths) / 1000
    policy = CompactionPolicy(mode="auto", threshold=float(bound), inclusive=inclusive)
    check = look(sized(tokens, window), turns(1), policy)["threshold"]
    assert check.fired == (tokens >= bound * window if inclusive else tokens > bound * window)
    assert check.fired == (tokens >= check.limit if inclusive else tokens > check.limit)
    # The figures say the same as the verdict: what is shown is never on the wrong side, or seemingly equal.
    _, shown = check.why.split(" = ")
    share, _, sign, against, _ = shown.split()
    left, right = Decimal(share), Decimal(against)
    assert {">": left > right, ">=": left >= right, "<": left < right, "<=": left <= right}[sign]
    assert (left == right) == (tokens == bound * window)


@given(st.integers(1, 2_000_000), st.integers(1, 1_000), st.booleans(), st.integers(-1, 1))
def test_the_limit_is_the_whole_number_that_decides_as_the_share_does(
    window: int, thousandths: int, inclusive: bool, off: int
) -> None:
    bound = Decimal(thousandths) / 1000
    tokens = max(0, int(bound * window) + off)
    policy = CompactionPolicy(mode="auto", threshold=float(bound), inclusive=inclusive)
    check = look(sized(tokens, window), turns(1), policy)["threshold"]
    assert check.fired == (tokens >= check.limit if inclusive else tokens > check.limit)


@pytest.mark.parametrize(("inclusive", "limit"), [(True, 91_751), (False, 91_750)])
def test_seventy_percent_of_a_window_that_is_no_round_number(inclusive: bool, limit: int) -> None:
    policy = CompactionPolicy(mode="auto", threshold=0.7, inclusive=inclusive)
    assert look(sized(1, 131_072), turns(1), policy)["threshold"].limit == limit


@given(
    window=st.integers(1, 2_000_000),
    thousandths=st.integers(0, 1_000),
    tokens=st.integers(0, 2_000_000),
    inclusive=st.booleans(),
    off=st.integers(-2, 2),
)
@example(window=131_072, thousandths=700, tokens=0, inclusive=True, off=0)
@example(window=131_072, thousandths=700, tokens=0, inclusive=False, off=0)
def test_the_threshold_that_is_shown_is_where_a_trigger_fires(
    window: int, thousandths: int, tokens: int, inclusive: bool, off: int
) -> None:
    policy = CompactionPolicy("auto", threshold=thousandths / 1000, token_threshold=tokens, inclusive=inclusive)
    shown = size_limit(policy, window)
    assert bool(shown) == bool(thousandths or tokens)
    near = {max(0, at + off) for at in (shown, tokens, window * thousandths // 1000)}
    for used in near:
        found = check_triggers(sized(used, window), [], read_record([]), policy)
        assert any(check.fired for check in found.by_policy) == (0 < shown <= used)
        assert shown == min((check.fires_at for check in found.by_policy), default=0)


def test_the_threshold_is_the_lower_of_the_two() -> None:
    def at(*sets: str, policy: str = "workbench") -> int:
        return compacts_at(preset(policy, *sets).compaction, sized(1, 10_000))

    assert at() == 8_000
    assert at(policy="codex") == 7_001, "70 % are not over 70 %"
    assert at("compaction.token_threshold=5000") == 5_000
    assert at("compaction.mode='off'") == at("compaction.mode='manual'") == 0, "nothing happens unasked"
    assert at(policy="layers") == 0
    assert at(policy="sliding") == 10_001, "it looks at what came since the last one; a full request it compacts too"
    assert at("compaction.threshold=0") == 10_001


def test_the_threshold_that_is_shown_is_what_a_request_may_have_where_that_is_less() -> None:
    tight = replace(sized(1, 16_000), limits=Limits(16_000, "option", 4_000, 0), gives_way=True)
    assert compacts_at(preset("workbench").compaction, tight) == 12_001, "not the 12,800 that it never gets to"


# What is measured


@requirement("codex", "counting", "utilisation is used tokens divided by the whole window")
def test_the_plans_tokens_include_what_is_in_every_request() -> None:
    made = planned(turns(2, 50), preset("workbench"))
    found = measure_size(made, [], read_record([]), preset("workbench").compaction)
    assert found == (made.totals.tokens, "")
    assert made.totals.tokens > 200, "the framing counts"


FIXED = SlotContent("system", "prompt", words(70)), SlotContent("tools", "t", '{"name": "t", "parameters": {}}')
"""In every request, and no events of the conversation."""


@requirement("sliding", "trigger", "only the events since the last compaction are measured")
def test_since_the_last_compaction_events_alone_are_measured() -> None:
    policy = preset("sliding")
    log: list[Body] = [*FIXED, *turns(3, 100), Compaction(3, 6, words(50))]
    events = number([*log, *turns(2, 10, first=4)])
    made = plan(events, policy, ROOMY, COUNTER)
    found = measure_size(made, events, read_record(events), policy.compaction)
    assert found == (200 + 40, "events since the last compaction"), "turn 3 lies behind the range"


def test_before_any_compaction_they_are_all_events() -> None:
    made = planned([*FIXED, *turns(3, 100)], preset("sliding"))
    found = measure_size(made, [], read_record([]), preset("sliding").compaction)
    assert found == (600, "events since the beginning")


@requirement("confirm", "counting", "the prompt tokens of the most recent call are known")
def test_the_last_report_counts_and_not_an_earlier_one() -> None:
    log = number([*turns(1), Usage("m", 1, 500), *turns(1, first=2), Usage("m", 1, 700)])
    found = measure_size(sized(9, 1_000), log, read_record(log), preset("confirm").compaction)
    assert found == (700, "reported by the provider")


@requirement(
    "confirm",
    "counting",
    "a compaction resets the counters",
    decided="utilisation starts again; the totals of the session continue, or its cost would be forgotten",
)
@pytest.mark.parametrize(
    ("last", "found"),
    [
        ([Usage("m", 600)], (600, "by our own count, as the provider reported none")),
        ([Compaction(1, 2, "s")], (9, "by our own count, as nothing was reported yet")),
        ([Compaction(1, 2, "s"), Usage("m", 1, 40)], (40, "reported by the provider")),
        ([Compaction(1, 2, "s"), Usage("m", 1, 40), Revert(4)], (9, "by our own count, as nothing was reported yet")),
        ([failure()], (500, "reported by the provider")),
    ],
    ids=["no report", "compacted since", "reported since", "undone since", "failed since"],
)
def test_after_a_compaction_utilisation_starts_again(last: list[Body], found: tuple[int, str]) -> None:
    log = number([*turns(1), Usage("m", 1, 500), *last])
    assert measure_size(sized(9, 1_000), log, read_record(log), preset("confirm").compaction) == found


@pytest.mark.parametrize(("tokens", "fired"), [(699_999, False), (700_000, False), (700_001, True)])
def test_sliding_also_has_an_absolute_number_of_tokens(tokens: int, fired: bool) -> None:
    check = look(sized(tokens, 2_000_000), turns(1), preset("sliding").compaction)["tokens"]
    assert check.fired == fired
    assert check.why == f"{tokens:,} tokens {'>' if fired else '<='} 700,000 (events since the beginning)"


def test_a_share_without_an_end_has_six_digits() -> None:
    assert [exact_percent(Fraction(1, part)) for part in (8, 11, 32)] == ["12.5 %", "9.090909 %", "3.125 %"]
