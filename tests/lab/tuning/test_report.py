"""What is said of a search: how the result does on what it never saw, beside all that one could use in its place."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.config.errors import WrongCall
from workbench.lab.running.tasks import LabPolicy
from workbench.lab.tuning.objective import NAMES, parse_objective
from workbench.lab.tuning.report import TuningReport
from workbench.lab.tuning.search import Tried
from workbench.lab.tuning.tune_corpus import TuneParts, TuneSession, tune_result
from workbench.sources.options import Options

OBJECTIVE = parse_objective("tokens")


def figures(tokens: int) -> dict[str, Any]:
    return {"policy": "", **dict.fromkeys(NAMES, 0), "reread_cost": None, "tokens": tokens}


def verdict(own: tuple[int, int] | None, base: tuple[int, int], preset: tuple[int, int]) -> str:
    """Each did so on what was searched on, and so on what was held out; None: no policy beside the presets."""
    by_policy = {"workbench": base, "codex": preset, "recorded": (1, 1)}
    parts = [
        TuneSession(f"s{part}", "", "", 1, {LabPolicy(ref): figures(did[part]) for ref, did in by_policy.items()})
        for part in (0, 1)
    ]
    tried = [
        Tried(LabPolicy(ref), figures(did[0]), did[0], 0, is_preset=True)
        for ref, did in by_policy.items()
        if ref != "recorded"
    ]
    if own is not None:
        tried.append(Tried(LabPolicy("workbench", ("masking.keep_last=1",)), figures(own[0]), own[0], 0))
    best_there = own[1] if own is not None else min((base, preset))[1]
    found = tune_result(tried, "workbench", (), TuneParts((parts[0],), (parts[1],)), [figures(best_there)])
    return TuningReport(found, OBJECTIVE, "workbench", 0, Options()).verdict()


@pytest.mark.parametrize(
    ("own", "base", "preset", "said"),
    [
        ((10, 50), (30, 60), (20, 100), "better than workbench, the policy it began from, by 17 %"),
        ((10, 50), (30, 40), (20, 100), "worse than workbench, the policy it began from, by 25 %"),
        ((10, 50), (30, 100), (20, 40), "worse than codex, the best preset, by 25 %"),
        ((10, 50), (20, 50), (30, 60), "no better and no worse than workbench, the best preset."),
        (None, (30, 40), (20, 50), "No policy that was tried beats codex; --policy codex begins from it. On what"),
        (None, (30, 40), (20, 50), "it is worse than workbench, the policy it began from, by 25 %"),
    ],
)
def test_it_is_compared_with_the_better_of_the_base_and_the_best_preset(
    own: tuple[int, int] | None, base: tuple[int, int], preset: tuple[int, int], said: str
) -> None:
    told = verdict(own, base, preset)
    assert said in told
    assert told.endswith("perhaps nothing else.") == ("it is worse than" in told)


def test_a_preset_that_nothing_beats_anywhere_is_all_there_is_to_say() -> None:
    assert verdict(None, (10, 10), (20, 20)) == "No policy that was tried beats workbench."


def test_an_objective_without_a_finite_value_finds_nothing() -> None:
    tried = [Tried(LabPolicy("workbench"), figures(1), float("inf"), 0, is_preset=True)]
    with pytest.raises(WrongCall, match="no finite number"):
        tune_result(tried, "workbench", (), TuneParts((), ()), ())


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ([1] * 8, "better than workbench in 8 of 8, worse in 0; chance alone does that in 0.8 % of cases."),
        ([1, 1, 1, 9_000], "in 3 of 4, worse in 1; chance alone does that in 62 % of cases, so it may be no better."),
        ([10, 10], "in 0 of 2, worse in 0, so it may be no better."),
    ],
)
def test_held_out_sessions_count_alike_however_long_they_are(own: list[int], said: str) -> None:
    held = tuple(
        TuneSession("s", "", "", 1, {LabPolicy(ref): figures(10) for ref in ("workbench", "recorded")}) for _ in own
    )
    tried = [
        Tried(LabPolicy("workbench"), figures(30), 30, 0, is_preset=True),
        Tried(LabPolicy("workbench", ("masking.keep_last=1",)), figures(10), 10, 0),
    ]
    found = tune_result(tried, "workbench", (), TuneParts(held[:1], held), [figures(each) for each in own])
    report = TuningReport(found, OBJECTIVE, "workbench", 0, Options())
    assert report.session_words().endswith(said)
    assert sum(report.tuning_json()["sessions"].values()) == len(own)
