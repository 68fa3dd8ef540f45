"""A judgement as text for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.config.text import counted, percent, printable, table
from workbench.judge.judgement import AskedProbe, ContextJudgement, Judgement
from workbench.judge.record_file import JudgeRecord
from workbench.judge.runner import JudgeEnd
from workbench.judge.values import KINDS, Grade, Probe, Score

LOST_SHOWN = 8
"""Probes that are listed for each context: those with the lowest grades."""


def report_judgement(judgement: Judgement, end: JudgeEnd, width: int) -> list[str]:
    """The judgement in lines of at most `width` columns; 0: of any length."""
    lines = [*_about(judgement), "", "right answers in per cent, and the number of probes:", ""]
    lines += table(("context", *KINDS, "all", "interval"), map(_row, judgement.contexts), _RIGHT, width)
    compared = _compared(judgement)
    lines += ["", *compared] if compared else []
    for each in judgement.contexts:
        lines += _missing(each)
        lines += _lost(each)
    lines += [f"failed   {printable(failure)}" for failure in end.failures]
    if end.stopped:
        lines.append(f"stopped  {printable(end.stopped)}; the same call goes on from here")
    return lines


_RIGHT = frozenset(range(1, 7))


def _about(judgement: Judgement) -> list[str]:
    task = judgement.task
    out, asked = len(judgement.thrown_out), len(judgement.probes)
    thrown = f", {out:,} thrown out because {task.model} did not answer them from the full context" if out else ""
    never = f", {judgement.uncontrolled:,} not asked yet" if judgement.uncontrolled else ""
    tries = f", {task.tries} tries each" if task.tries > 1 else ""
    graded = (
        f"by rule, and {counted(judgement.by_judge, 'answer')} by {task.judge}" if judgement.by_judge else "by rule"
    )
    lines = [("probes", f"{asked:,}{thrown}{never}"), ("answered", f"by {task.model}{tries}; graded {graded}")]
    for each in judgement.contexts:
        context = each.context
        by = f", summary by {context.made_by}" if context.made_by else ""
        note = f": {context.note}" if context.note else ""
        lines.append(("context", f"{context.name}, {context.tokens:,} tokens{by}{note}"))
    return [f"{label:<9}{printable(words)}" for label, words in lines]


def _row(each: ContextJudgement) -> tuple[str, ...]:
    scores = each.scores
    kinds = (_cell(scores.kinds[kind]) for kind in KINDS)
    return (each.context.name, *kinds, _cell(scores.all), interval_words(scores.all).removesuffix(" %"))


def _cell(score: Score) -> str:
    mean = "–" if score.mean is None else percent(score.mean, 0).removesuffix(" %")
    return f"{mean} ({score.probes:,})"


def interval_words(score: Score) -> str:
    """The interval of a score; a dash if there are too few probes for one."""
    if score.low is None or score.high is None:
        return "–"
    return f"{percent(score.low, 0).removesuffix(' %')}–{percent(score.high, 0)}"


def _compared(judgement: Judgement) -> list[str]:
    """Which contexts differ from the best one."""
    best, worse = judgement.best(), judgement.worse_than_best()
    if best is None and not judgement.probes and not judgement.uncontrolled:
        if judgement.thrown_out:
            return [printable(f"no score: {judgement.task.model} answers no probe from the full context")]
        return ["no score: there is nothing to ask about in what is replaced"]
    if best is None:
        return ["no score: nothing was graded"]
    if len(judgement.contexts) < 2:
        return []
    same = [each.context.name for each in judgement.contexts if each is not best and each not in worse]
    lines = [f"no difference: {', '.join((best.context.name, *same))} (their intervals overlap)"] if same else []
    if worse:
        lines.append(f"worse than {best.context.name}: {', '.join(each.context.name for each in worse)}")
    return [printable(line) for line in lines]


def _missing(each: ContextJudgement) -> list[str]:
    scores = each.scores
    missing = [f"{counted(scores.unanswered, 'answer')} missing"] if scores.unanswered else []
    missing += [f"{counted(scores.ungraded, 'answer')} without a grade"] if scores.ungraded else []
    return [printable(f"{each.context.name}: {' and '.join(missing)}; not part of its score")] if missing else []


def _lost(each: ContextJudgement) -> list[str]:
    """The probes with the lowest grades, what was expected, and what was answered."""
    lost = sorted(
        (row for row in each.asked if row.score is not None and row.score < 1), key=lambda row: row.score or 0
    )
    lines = [line for row in lost[:LOST_SHOWN] for line in _lost_lines(row)]
    more = len(lost) - LOST_SHOWN
    more_line = [f"  and {more:,} more; --json lists them all"] if more > 0 else []
    return ["", printable(f"{each.context.name} lost"), *lines, *more_line] if lost else []


def _lost_lines(row: AskedProbe) -> list[str]:
    probe = row.probe
    given = next((each.answer.text for each in row.answers if each.grade and each.grade.score < 1), "")
    expected, events = "; ".join(probe.expected), printable(", ".join(probe.events[:3]))
    return [
        f"  {printable(f'{probe.id} {probe.kind}: {_short(probe.question)}')}",
        f"    expected {printable(_short(expected))} ({events}), got {printable(_short(given)) or 'nothing'}",
    ]


def _short(text: str, most: int = 160) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


# JSON


def judgement_json(judgement: Judgement, end: JudgeEnd, record: JudgeRecord, name: str) -> dict[str, Any]:
    """Everything: probes, answers, grades, prompts, models and costs."""
    task = judgement.task
    prompts = {answer.answer.prompt for each in judgement.contexts for row in each.asked for answer in row.answers}
    prompts |= {grade.prompt for each in judgement.contexts for grade in _grades(each.asked) if grade.prompt}
    return {
        "source": name,
        "record": str(record.path),
        "model": task.model,
        "judge": task.judge,
        "tries": task.tries,
        "probes": [_probe_json(probe) for probe in judgement.probes],
        "thrown_out": [{**_probe_json(each.probe), "answer": each.answer} for each in judgement.thrown_out],
        "uncontrolled": judgement.uncontrolled,
        "contexts": [_context_json(each) for each in judgement.contexts],
        "best": best.context.name if (best := judgement.best()) else None,
        "worse": [each.context.name for each in judgement.worse_than_best()],
        "prompts": {hashed: record.prompts.get(hashed, "") for hashed in sorted(prompts)},
        "requests": [dict(each) for each in record.requests],
        "stopped": end.stopped or None,
        "failures": list(end.failures),
    }


def _grades(rows: Sequence[AskedProbe]) -> list[Grade]:
    return [each.grade for row in rows for each in row.answers if each.grade is not None]


def _probe_json(probe: Probe) -> dict[str, Any]:
    return {
        "id": probe.id,
        "kind": probe.kind,
        "question": probe.question,
        "expected": list(probe.expected),
        "match": probe.match,
        "events": list(probe.events),
        "made_by": probe.made_by,
    }


def _context_json(each: ContextJudgement) -> dict[str, Any]:
    context, scores = each.context, each.scores
    return {
        "name": context.name,
        "hash": context.hash,
        "tokens": context.tokens,
        "made_by": context.made_by or None,
        "summary": context.summary or None,
        "note": context.note or None,
        "score": _score_json(scores.all),
        "kinds": {kind: _score_json(score) for kind, score in scores.kinds.items()},
        "unanswered": scores.unanswered,
        "ungraded": scores.ungraded,
        "answers": [
            {
                "probe": row.probe.id,
                "try": given.answer.attempt,
                "text": given.answer.text,
                "grade": _grade_json(given.grade),
            }
            for row in each.asked
            for given in row.answers
        ],
    }


def _score_json(score: Score) -> dict[str, Any]:
    figures = {"mean": score.mean, "low": score.low, "high": score.high}
    return {
        "probes": score.probes,
        **{key: None if value is None else round(value, 4) for key, value in figures.items()},
    }


def _grade_json(grade: Grade | None) -> dict[str, Any] | None:
    if grade is None:
        return None
    return {"score": round(grade.score, 4), "by": grade.by, "why": grade.why, "prompt": grade.prompt or None}
