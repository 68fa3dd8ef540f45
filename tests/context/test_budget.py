"""The budget: how the window is divided, by the formulas of the documents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.logs import number
from support.requirements import requirement
from support.talk import COUNTER, planned, preset, turns, words
from workbench.config.values import replace
from workbench.context.budget import DEFAULT_MAX_OUTPUT, Limits, model_limits
from workbench.context.planner import plan
from workbench.context.policy import BudgetPolicy, Policy
from workbench.context.render import render_request
from workbench.log.events import Compaction, SlotContent, UserMessage
from workbench.models.catalogue import Catalogue, ModelInfo

PRESETS = ("codex", "layers", "sliding", "window", "confirm", "workbench")
TOOL = '{"type": "function", "function": {"name": "read_file", "description": "Read a file"}}'


def model(window: int = 100_000, max_output: int | None = 10_000, *, input_only: bool = False) -> ModelInfo:
    info = Catalogue().find_model("unheard-of")
    return replace(info, window=window, max_output=max_output, input_only=input_only, window_source="catalogue")


@requirement(
    "layers",
    "budget",
    "the model's maximum output is kept free for the answer",
    decided="at most a quarter of the window, as some models could answer with all of it",
)
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
    assert model_limits(model(), policy) == replace(
        expected, least=min(1_024, expected.window // 20), max_output=10_000
    )


@pytest.mark.parametrize(
    ("max_output", "window", "reserve"),
    [(None, 100_000, DEFAULT_MAX_OUTPUT), (None, 8_000, 2_000), (8_192, 8_192, 2_048), (100, 8_000, 100)],
)
def test_the_reserve_is_at_most_a_quarter_of_the_window(max_output: int | None, window: int, reserve: int) -> None:
    assert model_limits(model(window, max_output), BudgetPolicy()).reserve == reserve


@pytest.mark.parametrize(
    "policy", [BudgetPolicy(), BudgetPolicy(reserve_ratio=0.1), BudgetPolicy(reserve_tokens=4_000)]
)
def test_nothing_is_reserved_in_a_limit_for_input_alone(policy: BudgetPolicy) -> None:
    found = model_limits(model(input_only=True), policy)
    assert (found.window, found.reserve, found.capacity) == (100_000, 0, 100_000)


def test_the_users_own_figures_win() -> None:
    policy = BudgetPolicy(reserve_tokens=4_000)
    found = model_limits(model(), policy, window=50_000, reserve=99)
    assert (found.window, found.window_source, found.reserve, found.capacity) == (50_000, "option", 99, 49_901)
    whole = model_limits(model(input_only=True), BudgetPolicy(), window=50_000)
    assert (whole.window, whole.reserve) == (50_000, 10_000), "a window of one's own is the whole window"


@requirement("layers", "budget", "10 % of the limit stays empty as a margin")
@requirement(
    "window",
    "budget",
    "room for the answer is kept free: about 4,000 tokens, or 1,000 to 2,000 in its table",
    decided="4,000 holds, the figure of its configuration",
)
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
    found = model_limits(model(window, 8_192), preset(name).budget)
    assert (found.reserve, found.margin, found.target) == (reserve, margin, window - reserve - margin)
    assert found.capacity == window - 1_024 - margin


@requirement("layers", "budget", "definitions of tools are part of the calculation")
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


# The reserve is a wish


@pytest.mark.parametrize(
    ("window", "sets", "least"),
    [
        (200_000, (), 1_024),
        (20_480, (), 1_024),
        (3_000, (), 150),
        (10, (), 1),
        (200_000, ("budget.least_answer_tokens=5000",), 5_000),
        (3_000, ("budget.least_answer_ratio=0",), 750),
    ],
)
def test_the_least_answer_is_1_024_tokens_or_5_percent_of_the_window(
    window: int, sets: tuple[str, ...], least: int
) -> None:
    found = model_limits(model(window, 64_000), preset("confirm", *sets).budget)
    assert found.window - found.capacity == least


@requirement(
    "window",
    "budget",
    "the room for the answer is always kept",
    decided="it is a wish: a shorter answer is better than none, and the shortening is shown",
)
@pytest.mark.parametrize("name", PRESETS)
@given(window=st.integers(300, 40_000), share=st.integers(1, 110))
def test_where_only_the_reserve_does_not_fit_the_request_goes_out_with_a_shorter_answer(
    name: str, window: int, share: int
) -> None:
    found = model_limits(model(window, 8_192), preset(name).budget)
    made = planned([UserMessage(words(max(1, window * share // 100)))], preset(name), found)
    total, left = made.totals.tokens, window - found.margin - made.totals.tokens
    assert made.verdict.fits == (left >= min(found.reserve, 1_024, max(1, window // 20)))
    assert made.budget.window == window
    if left >= found.reserve or not made.verdict.fits:
        assert made.max_output is None
        assert "max_tokens" not in render_request(made)
    else:
        assert render_request(made)["max_tokens"] == made.max_output == made.budget.reserve == left
        assert f"the answer may have {left:,} tokens at most, not {found.reserve:,}" in made.warnings[0]
        assert f"{total:,} tokens" in made.verdict.why
        assert f"{left:,} reserve (of {found.reserve:,}) = {window:,} of {window:,}" in made.verdict.why


def test_history_gives_way_before_the_reserve_does() -> None:
    found = model_limits(model(8_000, 2_000), preset("workbench").budget)
    made = planned([*turns(60, 100), UserMessage("go")], preset("workbench"), found)
    assert any(row.state == "dropped" for row in made.items)
    assert (made.max_output, made.budget.reserve) == (None, 2_000)
    assert made.room == 6_000


def test_a_bound_that_the_model_has_anyway_is_not_sent() -> None:
    found = model_limits(model(100_000, 4_000), preset("codex").budget)
    made = planned([UserMessage(words(94_000))], preset("codex"), found)
    assert made.budget.reserve < found.reserve == 10_000
    assert (made.max_output, made.warnings) == (None, ())


# The document: graceful degradation for small models, and no hard failures


@requirement("window", "budget", "it works within the limits of any model, small ones too")
@pytest.mark.parametrize("window", [512, 1_024, 2_048, 4_096, 8_192, 15_999, 16_000, 200_000])
def test_window_works_in_any_window(window: int) -> None:
    policy = preset("window")
    found = model_limits(model(window, 64_000), policy.budget)
    assert found.reserve == min(4_000, window // 4)
    slots = [SlotContent("system", "prompt", words(300)), SlotContent("memory", "preferences.md", words(300))]
    made = planned([*slots[: 2 if window > 1_000 else 0], UserMessage("hello")], policy, found)
    assert made.verdict.fits
    advised = min(500, window // 16)
    warned = [f"{slot} has 300 tokens; the policy's guidance is {advised:,}" for slot in ("system", "memory")]
    assert list(made.warnings) == (warned if advised < 300 and window > 1_000 else [])


@requirement("codex", "failures", "a request that cannot be sent is reported with the reason, in numbers")
@given(st.integers(1, 3_000), st.integers(0, 500), st.integers(0, 500))
def test_what_does_not_fit_says_by_how_much(tokens: int, reserve: int, margin: int) -> None:
    made = plan(number([UserMessage(words(tokens))]), Policy(), Limits(2_000, "option", reserve, margin), COUNTER)
    over = made.totals.tokens + reserve + margin - 2_000
    assert (made.verdict.status == "too_large") == (over > 0)
    assert f"{made.totals.tokens:,} tokens" in made.verdict.why
    if over > 0:
        assert f"{over:,} over the window of 2,000" in made.verdict.why
        assert "the largest part is turn" in made.verdict.why
