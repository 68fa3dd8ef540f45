"""The search for a policy: ranges of knobs, the front, and a result that is never worse than a preset."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.random_cases import few_cases
from workbench.config.errors import WrongCall
from workbench.context.knobs import KNOBS, parse_text
from workbench.context.load import describe_policy, load_policy
from workbench.lab.running.tasks import LabPolicy
from workbench.lab.tuning.knob_ranges import DEFAULT_RANGES, knob_matters, parse_range, search_ranges
from workbench.lab.tuning.objective import NAMES, parse_objective
from workbench.lab.tuning.scoring import Figures, PolicyScore, SessionScoring
from workbench.lab.tuning.search import KnobSearch, TriedPolicy, best_tried, pareto_front
from workbench.lab.tuning.tune_corpus import PRESET_POLICIES

pytestmark = pytest.mark.xdist_group("optuna")

WORKBENCH: dict[str, Any] = {row.name: row.value for row in describe_policy(load_policy("workbench", env={}))}


# Ranges


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("masking.keep_last=0..4", (0, 1, 2, 3, 4)),
        ("masking.keep_last=3..3", (3,)),
        ("masking.keep_last=0..40", (0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40)),
        ("history.max_tokens=0,5_000..20_000", (0, 5000, 6000, 8000, 10000, 15000, 20000)),
        ("compaction.threshold=0.5..0.7", (0.5, 0.51, 0.52, 0.53, 0.54, 0.55, 0.56, 0.57, 0.58, 0.59, 0.6,
                                          0.61, 0.62, 0.63, 0.64, 0.65, 0.66, 0.67, 0.68, 0.69, 0.7)),
        ("budget.margin_ratio=0.1..0.5", (0.1, 0.12, 0.14, 0.16, 0.18, 0.2, 0.22, 0.24, 0.26, 0.28, 0.3,
                                          0.32, 0.34, 0.36, 0.38, 0.4, 0.42, 0.44, 0.46, 0.48, 0.5)),
        ("truncation.strategy=head,both", ("head", "both")),
        ("turn.drop_groups=true,false", (True, False)),
        ("truncation.tools.read.max_tokens=100,200", (100, 200)),
    ],
)  # fmt: skip
def test_a_range_is_round_values(text: str, values: tuple[Any, ...]) -> None:
    assert parse_range(text).values == values


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("masking.keep_last", "expected NAME=LOW..HIGH"),
        ("masking.keep_lost=1..2", "did you mean masking.keep_last"),
        ("masking.keep_last=5..2", "from low to high"),
        ("masking.keep_last=-1..2", "a whole number from 0 up"),
        ("compaction.threshold=0.5..3", "a number from 0 to 1"),
        ("truncation.strategy=head..both", "commas"),
        ("truncation.strategy=middle", "one of none, head"),
        ("instructions.root_markers=a,b", "has no range"),
    ],
)
def test_a_range_that_is_none_is_told_in_a_line(text: str, told: str) -> None:
    with pytest.raises(WrongCall, match=told):
        parse_range(text)


@given(st.sampled_from([knob for knob in KNOBS.values() if knob.kind in ("int", "float")]), st.data())
def test_every_value_of_a_range_is_allowed_and_its_ends_are_there(knob: Any, data: st.DataObject) -> None:
    most = min(knob.high, 1e6)
    numbers = st.integers(int(knob.low), int(most))
    if knob.kind == "float":
        numbers = st.integers(0, 90).map(lambda hundredth: knob.low + hundredth / 100)
    low, high = sorted(data.draw(st.tuples(numbers, numbers)))
    found = parse_range(f"{knob.name}={low!r}..{high!r}")
    assert (found.values[0], found.values[-1]) == (low, high)
    assert all(knob.check_value(value) == value for value in found.values)
    assert sorted(set(found.values)) == list(found.values)


def test_the_usual_ranges_hold_the_values_of_every_preset_where_they_reach_so_far() -> None:
    for preset in PRESET_POLICIES:
        has = {row.name: row.value for row in describe_policy(load_policy(preset, env={}))}
        for each in search_ranges((), has.get):
            if each.is_ordered and each.values[0] <= has[each.name] <= each.values[-1]:
                assert has[each.name] in each.values


def test_what_is_set_for_all_is_not_searched() -> None:
    assert "masking.keep_last" not in {each.name for each in search_ranges((), WORKBENCH.get, ["masking.keep_last"])}
    assert len(search_ranges((), WORKBENCH.get)) == len(DEFAULT_RANGES)


def test_a_knob_that_does_nothing_is_not_turned() -> None:
    off = WORKBENCH | {"compaction.mode": "off", "truncation.strategy": "lines", "masking.keep_first": 0}
    assert not knob_matters("compaction.threshold", off.get)
    assert not knob_matters("truncation.max_tokens", off.get)
    assert knob_matters("truncation.max_bytes", off.get)
    assert knob_matters("masking.min_tokens", off.get)
    assert not knob_matters("masking.min_tokens", (off | {"masking.keep_last": 0}).get)


# The front


def tried(cost: float, misses: int, misfits: int = 0) -> TriedPolicy:
    figures = {"cost": cost, "misses": misses}
    return TriedPolicy(LabPolicy("p"), PolicyScore(figures, figures, cost + misses, misfits))


points = st.lists(st.builds(tried, st.integers(0, 9), st.integers(0, 9), st.integers(0, 1)), min_size=1, max_size=20)


@given(points)
def test_no_point_of_the_front_is_beaten_and_every_other_one_is(all_tried: list[TriedPolicy]) -> None:
    found = pareto_front(all_tried, "cost")
    least = min(each.score.misfits for each in all_tried)
    fitting = [each for each in all_tried if each.score.misfits == least]

    def beats(one: TriedPolicy, other: TriedPolicy) -> bool:
        mine, theirs = ((each.figures["cost"], each.figures["misses"]) for each in (one, other))
        return mine != theirs and mine[0] <= theirs[0] and mine[1] <= theirs[1]

    assert found
    assert all(each.score.misfits == least for each in found)
    assert not any(beats(other, each) for each in found for other in fitting)
    places = {(each.figures["cost"], each.figures["misses"]) for each in found}
    assert len(places) == len(found)
    for each in fitting:
        here = (each.figures["cost"], each.figures["misses"])
        assert here in places or any(beats(other, each) for other in found)


# The search


def made_up(seed: int, overflowing: bool) -> Any:
    """Figures that nobody could foresee, but always the same."""

    def measure(policies: Sequence[LabPolicy]) -> Sequence[Figures]:
        found = []
        for each in policies:
            chance = zlib.crc32(f"{seed} {each}".encode())
            overflows = chance % 3 if overflowing else 0
            found.append(dict.fromkeys(NAMES, 0) | {"cost": chance % 97, "misses": chance % 7, "overflows": overflows})
        return found

    return measure


def searched(measure: Any, objective: str = "cost + 10*misses", budget: int = 14, seed: int = 0) -> list[TriedPolicy]:
    zero = dict.fromkeys(NAMES, 0) | {"policy": "", "reread_cost": None}
    scoring = SessionScoring(parse_objective(objective), [zero | measure([LabPolicy("workbench")])[0]])
    search = KnobSearch(
        "workbench",
        (),
        search_ranges((), WORKBENCH.get),
        lambda policies: [scoring.score([zero | each]) for each in measure(policies)],
        presets=PRESET_POLICIES,
        budget=budget,
        seed=seed,
    )
    return list(search.try_policies())


@few_cases()
@given(st.integers(0, 1000), st.booleans())
def test_the_result_is_never_worse_than_a_preset_and_the_same_again(seed: int, overflowing: bool) -> None:
    found = searched(made_up(seed, overflowing), seed=seed)
    presets = [each for each in found if each.is_preset]
    assert [each.policy.ref for each in presets] == list(PRESET_POLICIES)
    assert best_tried(found).rank <= min(each.rank for each in presets)
    assert len({each.policy for each in found}) == len(found)
    assert found == searched(made_up(seed, overflowing), seed=seed)
    for each in found:
        load_policy(each.policy.ref, sets=each.policy.knobs, env={})
        for knob in each.policy.knobs:
            name, _, value = knob.partition("=")
            assert WORKBENCH[name] != parse_text(value)


def test_a_policy_that_fits_is_better_than_any_that_does_not_unless_the_objective_says_so() -> None:
    def measure(policies: Sequence[LabPolicy]) -> Sequence[Figures]:
        zero = dict.fromkeys(NAMES, 0)
        return [zero | ({"overflows": 1} if each.ref == "confirm" else {"cost": 5}) for each in policies]

    assert best_tried(searched(measure)).policy.ref != "confirm"
    assert best_tried(searched(measure, "cost + 0*overflows")).policy.ref == "confirm"


def test_a_knob_that_the_best_does_not_need_goes() -> None:
    def measure(policies: Sequence[LabPolicy]) -> Sequence[Figures]:
        """Only whether results are masked counts."""
        costs = [0 if {"masking.keep_first=0", "masking.keep_last=0"} <= set(each.knobs) else 9 for each in policies]
        return [dict.fromkeys(NAMES, 0) | {"cost": cost} for cost in costs]

    assert set(best_tried(searched(measure)).policy.knobs) == {"masking.keep_first=0", "masking.keep_last=0"}


def test_the_search_finds_what_no_preset_has() -> None:
    def measure(policies: Sequence[LabPolicy]) -> Sequence[Figures]:
        found = []
        for each in policies:
            has = {row.name: row.value for row in describe_policy(load_policy(each.ref, sets=each.knobs, env={}))}
            found.append(dict.fromkeys(NAMES, 0) | {"cost": abs(has["masking.keep_last"] - 15)})
        return found

    assert best_tried(searched(measure, budget=40)).value < min(
        each.value for each in searched(measure, budget=1) if each.is_preset
    )
