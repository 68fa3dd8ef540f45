"""The budget: how the window is divided, by the formulas of the documents."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.logs import number
from support.talk import COUNTER, planned, preset, turns, words
from workbench.context.budget import DEFAULT_MAX_OUTPUT, Limits, limits
from workbench.context.planner import plan
from workbench.context.policy import BudgetPolicy, Policy
from workbench.log.events import Compaction, SlotContent, UserMessage
from workbench.models.catalogue import Catalogue, ModelInfo

TOOL = '{"type": "function", "function": {"name": "read_file", "description": "Read a file"}}'


def model(window: int = 100_000, max_output: int | None = 10_000, *, input_only: bool = False) -> ModelInfo:
    info = Catalogue().find("unheard-of")
    return replace(info, window=window, max_output=max_output, input_only=input_only, window_source="catalogue")


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (BudgetPolicy(), Limits(100_000, "catalogue", 10_000, 0)),
        (BudgetPolicy(reserve_max_ratio=0.05), Limits(100_000, "catalogue", 5_000, 0)),
        (BudgetPolicy(reserve_ratio=0.1), Limits(100_000, "catalogue", 10_000, 0)),
        (BudgetPolicy(reserve_ratio=0.5), Limits(100_000, "catalogue", 50_000, 0)),
        (BudgetPolicy(reserve_tokens=4_000), Limits(100_000, "catalogue", 4_000, 0)),
        (BudgetPolicy(reserve_tokens=4_000, reserve_ratio=0.5), Limits(100_000, "catalogue", 4_000, 0)),
        (BudgetPolicy(margin_ratio=0.1), Limits(100_000, "catalogue", 10_000, 10_000)),
        (BudgetPolicy(max_input_tokens=40_000), Limits(40_000, "policy", 10_000, 0)),
        (BudgetPolicy(max_input_tokens=40_000, margin_ratio=0.1), Limits(40_000, "policy", 10_000, 4_000)),
        (BudgetPolicy(max_input_tokens=20_000), Limits(20_000, "policy", 5_000, 0)),
    ],
)
def test_the_limits_of_a_model_under_a_policy(policy: BudgetPolicy, expected: Limits) -> None:
    assert limits(model(), policy) == expected


@pytest.mark.parametrize(
    ("max_output", "window", "reserve"),
    [(None, 100_000, DEFAULT_MAX_OUTPUT), (None, 8_000, 2_000), (8_192, 8_192, 2_048), (100, 8_000, 100)],
)
def test_the_reserve_is_at_most_a_quarter_of_the_window(max_output: int | None, window: int, reserve: int) -> None:
    assert limits(model(window, max_output), BudgetPolicy()).reserve == reserve


@pytest.mark.parametrize(
    "policy", [BudgetPolicy(), BudgetPolicy(reserve_ratio=0.1), BudgetPolicy(reserve_tokens=4_000)]
)
def test_nothing_is_reserved_in_a_limit_for_input_alone(policy: BudgetPolicy) -> None:
    assert limits(model(input_only=True), policy) == Limits(100_000, "catalogue", 0, 0)


def test_the_users_own_figures_win() -> None:
    policy = BudgetPolicy(reserve_tokens=4_000)
    assert limits(model(), policy, window=50_000, reserve=99) == Limits(50_000, "option", 99, 0)
    whole = limits(model(input_only=True), BudgetPolicy(), window=50_000)
    assert whole == Limits(50_000, "option", 10_000, 0), "a window of one's own is the whole window"


@pytest.mark.parametrize(
    ("name", "window", "reserve", "margin"),
    [
        ("codex", 128_000, 12_800, 0),
        ("layers", 200_000, 8_192, 20_000),
        ("sliding", 1_000_000, 8_192, 0),
        ("window", 200_000, 4_000, 0),
        ("confirm", 128_000, 8_192, 0),
        ("workbench", 128_000, 8_192, 0),
    ],
)
def test_the_formulas_of_the_documents(name: str, window: int, reserve: int, margin: int) -> None:
    found = limits(model(window, 8_192), preset(name).budget)
    assert (found.reserve, found.margin, found.capacity) == (reserve, margin, window - reserve - margin)


def test_every_part_of_the_window_is_accounted_for() -> None:
    log = [
        SlotContent("system", "prompt", words(50)),
        SlotContent("instructions", "AGENTS.md", words(60)),
        SlotContent("memory", "preferences.md", words(70)),
        SlotContent("tools", "read_file", TOOL),
        *turns(3, 40),
        Compaction(5, 6, words(30)),
        UserMessage(words(90)),
    ]
    made = planned(log, preset("layers"), Limits(10_000, "option", 500, 1_000))
    budget = made.budget
    assert (budget.system, budget.instructions, budget.memory) == (50, 60, 70)
    assert (budget.summaries, budget.history, budget.turn) == (30, 160, 90)
    assert (budget.margin, budget.reserve) == (1_000, 500)
    assert budget.tools > 0
    assert budget.framing > 0
    assert budget.window == 10_000
    assert budget.free == 10_000 - 1_500 - made.totals.tokens


def test_a_reserve_larger_than_the_window_leaves_no_room_and_says_so() -> None:
    made = planned([UserMessage("go")], preset("window"), limits(model(2_000), preset("window").budget))
    assert made.verdict.status == "too_large"
    assert "4,000 reserve" in made.verdict.why
    assert made.budget.window == 2_000


@given(st.integers(1, 3_000), st.integers(0, 500), st.integers(0, 500))
def test_what_does_not_fit_says_by_how_much(tokens: int, reserve: int, margin: int) -> None:
    made = plan(number([UserMessage(words(tokens))]), Policy(), Limits(2_000, "option", reserve, margin), COUNTER)
    over = made.totals.tokens + reserve + margin - 2_000
    assert (made.verdict.status == "too_large") == (over > 0)
    assert f"{made.totals.tokens:,} tokens" in made.verdict.why
    if over > 0:
        assert f"{over:,} over the window of 2,000" in made.verdict.why
        assert "the largest part is turn" in made.verdict.why
