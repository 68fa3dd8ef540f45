"""A judgement, worked out from its record: what was asked, what was answered, and the scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import NamedTuple

from msgspec import Struct

from workbench.judge.choosing import choose_probes
from workbench.judge.contexts import JudgedSource, PlannedContext, replaced_events
from workbench.judge.grading import RIGHT
from workbench.judge.record_file import FULL, JudgeRecord
from workbench.judge.requests import PROBES, answer_prompt, judge_prompt
from workbench.judge.rule_probes import probes_by_rule
from workbench.judge.scores import ContextScores, context_scores, differ
from workbench.judge.values import RULE, Grade, JudgedContext, Probe, ProbeAnswer

MORE = 1.25
"""How many probes are made for each one wanted, because some are thrown out."""


class GradedAnswer(NamedTuple):
    """An answer with its grade; None: it was not graded."""

    answer: ProbeAnswer
    grade: Grade | None


class AskedProbe(NamedTuple):
    """A probe and what was answered in one context."""

    probe: Probe
    answers: tuple[GradedAnswer, ...]

    @property
    def score(self) -> float | None:
        """The mean of its grades; None if it has none."""
        graded = [each.grade.score for each in self.answers if each.grade is not None]
        return sum(graded) / len(graded) if graded else None


class ContextJudgement(NamedTuple):
    """One context and its scores."""

    context: JudgedContext
    scores: ContextScores
    asked: tuple[AskedProbe, ...]


class ThrownOut(NamedTuple):
    """A probe that the model did not answer from the full context, and what it answered."""

    probe: Probe
    answer: str


@dataclass(frozen=True)
class JudgeTask:
    """What is judged, and how."""

    source: JudgedSource
    contexts: tuple[PlannedContext, ...]
    model: str
    judge: str
    wanted: int
    tries: int

    @cached_property
    def _by_rule(self) -> list[Probe]:
        return probes_by_rule(self.source.items)

    @cached_property
    def _replaced(self) -> frozenset[str]:
        return replaced_events(self.source, self.contexts)

    def pool(self, record: JudgeRecord) -> list[Probe]:
        """The probes to control: by rule, and those that the model has written."""
        prompt = judge_prompt(PROBES).hash
        written = record.probes.values() if f"{self.model} {prompt}" in record.asked_for else ()
        made = [*self._by_rule, *(each for each in written if each.made_by == self.model)]
        return choose_probes(made, ceil(self.wanted * MORE), self._replaced)

    def control_answers(self, record: JudgeRecord, pool: Sequence[Probe]) -> list[tuple[Probe, ProbeAnswer]]:
        """The answers from the full context that are known."""
        prompt = answer_prompt(self.model).hash
        found = ((probe, record.answer_of(probe.id, FULL, self.model, prompt)) for probe in pool)
        return [(probe, answer) for probe, answer in found if answer is not None]

    def kept_probes(self, record: JudgeRecord, pool: Sequence[Probe]) -> list[Probe]:
        """The probes that count: those that the model answers from the full context."""
        passed = [
            probe
            for probe, answer in self.control_answers(record, pool)
            if (grade := record.grade_of(answer.hash, self.judge)) is not None and grade.score == RIGHT
        ]
        return choose_probes(passed, self.wanted, {event for probe in passed for event in probe.events})

    def answers(self, record: JudgeRecord, context: JudgedContext, probe: Probe) -> list[ProbeAnswer]:
        """The known answers to a probe in a context."""
        prompt = answer_prompt(self.model).hash
        tries = range(1, self.tries + 1)
        found = [record.answer_of(probe.id, context.hash, self.model, prompt, attempt) for attempt in tries]
        return [answer for answer in found if answer is not None]


class Judgement(Struct, frozen=True):
    """The result."""

    task: JudgeTask
    probes: tuple[Probe, ...]
    thrown_out: tuple[ThrownOut, ...]
    uncontrolled: int
    """Probes that the model was not asked from the full context, because a request failed or was not made."""
    contexts: tuple[ContextJudgement, ...]
    by_judge: int
    """Grades that the judging model gave."""

    def best(self) -> ContextJudgement | None:
        """The context with the highest mean; None if nothing was graded."""
        graded = [each for each in self.contexts if each.scores.all.mean is not None]
        return max(graded, key=lambda each: each.scores.all.mean or 0.0) if graded else None

    def worse_than_best(self) -> list[ContextJudgement]:
        """The contexts whose interval lies below that of the best one."""
        best = self.best()
        return [each for each in self.contexts if best is not None and differ(each.scores.all, best.scores.all)]


def judgement_of(task: JudgeTask, record: JudgeRecord) -> Judgement:
    """The judgement as far as its record goes."""
    pool = task.pool(record)
    controlled = task.control_answers(record, pool)
    kept = task.kept_probes(record, pool)
    passed = {probe.id for probe in kept}
    out = [
        ThrownOut(probe, answer.text)
        for probe, answer in controlled
        if probe.id not in passed and not _is_right(record.grade_of(answer.hash, task.judge))
    ]
    judged = []
    by_judge: set[str] = set()
    for planned in task.contexts:
        rows = []
        for probe in kept:
            given = task.answers(record, planned.context, probe)
            rows.append(AskedProbe(probe, tuple(_graded(record, answer, task.judge) for answer in given)))
        answers = [each.answer for row in rows for each in row.answers]
        grades = {each.answer.hash: each.grade for row in rows for each in row.answers if each.grade is not None}
        by_judge |= {hashed for hashed, grade in grades.items() if grade.by == task.judge and grade.by != RULE}
        scores = context_scores(kept, answers, grades, task.tries)
        judged.append(ContextJudgement(planned.context, scores, tuple(rows)))
    uncontrolled = len(pool) - len(controlled)
    return Judgement(task, tuple(kept), tuple(out), uncontrolled, tuple(judged), len(by_judge))


def _is_right(grade: Grade | None) -> bool:
    return grade is not None and grade.score == RIGHT


def _graded(record: JudgeRecord, answer: ProbeAnswer, judge: str) -> GradedAnswer:
    return GradedAnswer(answer, record.grade_of(answer.hash, judge))
