"""A judgement without any request: the rules of the rehearsal model read the contexts, and the rules grade."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from workbench.judge.choosing import choose_probes
from workbench.judge.context_text import blocks_holding, joined_blocks
from workbench.judge.contexts import JudgedSource, PlannedContext, replaced_events
from workbench.judge.grading import RIGHT, WRONG, grade_by_rule
from workbench.judge.judgement import MORE
from workbench.judge.rule_probes import probes_by_rule
from workbench.judge.scores import score_of
from workbench.judge.values import KINDS, Probe, ProbeKind, Score
from workbench.rehearsal.probe_reading import ProbeReader


class RuleScores(NamedTuple):
    """The scores of one context."""

    all: Score
    kinds: dict[ProbeKind, Score]
    lost: tuple[Probe, ...]
    """The probes that were not fully answered."""


def prepare_probes(source: JudgedSource, contexts: Sequence[PlannedContext], wanted: int) -> list[Probe]:
    """The probes to ask: made by rule, and answered from the full context."""
    made = probes_by_rule(source.items)
    pool = choose_probes(made, ceil(wanted * MORE), replaced_events(source, contexts))
    # More lines never cost the reader an answer. So what it finds in these blocks it finds in all of them, too.
    holding = blocks_holding(source.blocks, {event for probe in pool for event in probe.events})
    passed = [probe for probe, score in _scored(pool, joined_blocks(holding)) if score == RIGHT]
    return choose_probes(passed, wanted, {event for probe in passed for event in probe.events})


def judge_by_rule(source: JudgedSource, contexts: Sequence[PlannedContext], wanted: int) -> list[RuleScores]:
    """The scores of each context, in their order."""
    probes = prepare_probes(source, contexts, wanted)
    return [_scores(_scored(probes, planned.context.text)) for planned in contexts]


def _scored(probes: Sequence[Probe], context: str) -> list[tuple[Probe, float]]:
    answers = ProbeReader(context).answer_all([probe.question for probe in probes]) if probes else []
    grades = [grade_by_rule(probe, answer) for probe, answer in zip(probes, answers, strict=True)]
    return [(probe, grade.score if grade else WRONG) for probe, grade in zip(probes, grades, strict=True)]


def _scores(scored: Sequence[tuple[Probe, float]]) -> RuleScores:
    kinds = {kind: score_of([score for probe, score in scored if probe.kind == kind]) for kind in KINDS}
    lost = tuple(probe for probe, score in scored if score < RIGHT)
    return RuleScores(score_of([score for _, score in scored]), kinds, lost)
