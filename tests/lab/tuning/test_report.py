"""What is said of a search: how the result does on what it never saw, beside all that one could use in its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from workbench.config.errors import WrongCall
from workbench.lab.running.tasks import LabPolicy
from workbench.lab.tuning.evidence import TuningEvidence
from workbench.lab.tuning.objective import NAMES, parse_objective
from workbench.lab.tuning.report import TuningReport
from workbench.lab.tuning.scoring import PolicyScore
from workbench.lab.tuning.search import TriedPolicy
from workbench.lab.tuning.tune_corpus import SearchEnd, TuneParts, TuneSession, part_scorings, tune_result
from workbench.sources.options import Options

OBJECTIVE = parse_objective("tokens")
NONE = TuneParts((), ())


def figures(tokens: int) -> dict[str, Any]:
    return {"policy": "", **dict.fromkeys(NAMES, 0), "reread_cost": None, "tokens": tokens}


def score(tokens: float) -> PolicyScore:
    return PolicyScore(figures(0), figures(0), tokens)


def verdict(own: tuple[int, int] | None, base: tuple[int, int], preset: tuple[int, int]) -> str:
    """Each did so on what was searched on, and so on what was held out; None: no policy beside the presets."""
    by_policy = {"workbench": base, "codex": preset, "recorded": (1, 1)}
    parts = [
        TuneSession(f"s{part}", "", "", 1, {LabPolicy(ref): figures(did[part]) for ref, did in by_policy.items()})
        for part in (0, 1)
    ]
    tried = [
        TriedPolicy(LabPolicy(ref), score(did[0]), is_preset=True)
        for ref, did in by_policy.items()
        if ref != "recorded"
    ]
    if own is not None:
        tried.append(TriedPolicy(LabPolicy("workbench", ("masking.keep_last=1",)), score(own[0])))
    best_there = own[1] if own is not None else min((base, preset))[1]
    split = TuneParts((parts[0],), (parts[1],))
    scorings = part_scorings(split, OBJECTIVE, "workbench", is_alike=True)
    found = tune_result(tried, "workbench", (), split, scorings, [figures(best_there)])
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
    tried = [TriedPolicy(LabPolicy("workbench"), score(float("inf")), is_preset=True)]
    with pytest.raises(WrongCall, match="expected a finite number"):
        tune_result(tried, "workbench", (), NONE, part_scorings(NONE, OBJECTIVE, "workbench", is_alike=True), ())


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ([1] * 8, "better than workbench in 8 of 8, worse in 0; chance alone does that in 0.8 % of cases."),
        ([1, 1, 1, 9_000], "in 3 of 4, worse in 1; chance alone does that in 62 % of cases, so it may be no better."),
        ([10, 10], "in 0 of 2, worse in 0, so it may be no better."),
    ],
)
def test_held_out_sessions_count_alike_however_long_they_are(own: list[int], said: str) -> None:
    evidence = found_on(own)
    assert any(line.endswith(said) for line in evidence.evidence_words())
    assert sum(evidence.evidence_json()["sessions"].values()) == len(own)


CHOSEN = LabPolicy("workbench", ("masking.keep_last=1",))


def found_on(own: list[int], ends: Sequence[LabPolicy] = (), *, base: int = 10) -> TuningEvidence:
    """The chosen policy has so many tokens in each held-out session, the base `base` of them."""
    held = tuple(
        TuneSession("s", f"{at}", "", 1, {LabPolicy(ref): figures(base) for ref in ("workbench", "recorded")})
        for at in range(len(own))
    )
    tried = [TriedPolicy(LabPolicy("workbench"), score(30), is_preset=True), TriedPolicy(CHOSEN, score(10))]
    parts = TuneParts(held[:1], held)
    scorings = part_scorings(parts, OBJECTIVE, "workbench", is_alike=True)
    stops = [SearchEnd(at, TriedPolicy(each, score(10))) for at, each in enumerate(ends)]
    found = tune_result(tried, "workbench", (), parts, scorings, [figures(each) for each in own], stops)
    return TuningEvidence(found, "workbench")


def test_an_interval_over_sessions_that_includes_0_is_no_difference() -> None:
    wide = found_on([1, 1, 1, 1, 1, 1, 1, 90])
    assert wide.objective_difference is not None
    assert wide.objective_difference.may_be_none
    assert "no difference, as the interval includes 0" in " ".join(wide.evidence_words())
    narrow = found_on([1, 2, 3, 1, 2, 3, 1, 2])
    assert narrow.objective_difference is not None
    assert -0.9 <= narrow.objective_difference.low <= narrow.objective_difference.value <= -0.7
    assert "The objective is 81 % smaller than with workbench" in " ".join(narrow.evidence_words())
    assert "no difference, as" not in " ".join(narrow.evidence_words())


@pytest.mark.parametrize(
    ("own", "said"), [([1], "One session was held out: there is no interval"), ([1, 2, 3], "3 sessions are few")]
)
def test_few_held_out_sessions_are_named(own: list[int], said: str) -> None:
    assert said in " ".join(found_on(own).evidence_words())
    assert (found_on(own).evidence_json()["interval"]["objective"] is None) == (len(own) == 1)


def test_a_base_whose_objective_is_0_has_no_share() -> None:
    assert found_on([1, 2, 3], base=0).objective_difference is None


def test_seeds_agree_on_a_policy_on_its_knobs_or_on_neither() -> None:
    other, third = (LabPolicy("workbench", (knob,)) for knob in ("masking.keep_last=2", "history.max_tokens=5000"))
    evidence = found_on([1], [CHOSEN, other, third])
    assert evidence.seeds_agreeing() == (1, 2)
    assert evidence.evidence_words()[-1].startswith("1 of 3 seeds end at this policy, 2 of 3 at one that sets the same")
    told = evidence.evidence_json()["seeds"]["searches"][1]
    assert told == {"seed": 1, "policy": "workbench", "set": ["masking.keep_last=2"]}
    assert found_on([1], [CHOSEN] * 3).evidence_words()[-1].endswith("3 of 3 at one that sets the same knobs.")
    assert "--seeds 3" in found_on([1], [CHOSEN]).evidence_words()[-1]
