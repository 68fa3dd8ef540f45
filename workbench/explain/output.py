"""What explains an answer, as lines of text and as JSON."""

from __future__ import annotations

from typing import Any

from workbench.config.text import counted, fit_columns, percent, printable
from workbench.explain.effect_words import effect_sentence, effect_text, same_without
from workbench.explain.explaining import ExplainJob, answer_line
from workbench.explain.saving import MaskingSaving, saving_words
from workbench.explain.values import Explanation, UnitEffect

SHOWN = 5
"""Units without effect that are listed, the largest first."""

# For people


def explanation_lines(
    job: ExplainJob, found: Explanation, saving: MaskingSaving | None = None, width: int = 0
) -> list[str]:
    """The result as text: what was measured, what matters, what does not, and what masking that saves."""
    lines = [
        f"request {job.job.number:,} to {job.job.model}: {counted(len(job.units), 'unit')} can be left out",
        *_answer_lines(found),
        _sent_line(found),
    ]
    if important := found.by_importance:
        lines += ["", *(line for each in important for line in _unit_lines(job, each))]
    if found.dead_weight:
        lines += ["", *_lines_without_effect(job, found, saving)]
    if found.ended:
        lines += ["", f"it ended early: {found.ended}", "the answers are kept: run it again to go on"]
    return [_fit(line, width) for line in lines]


def _fit(line: str, width: int) -> str:
    indent = len(line) - len(line.lstrip(" "))
    shown = " " * indent + printable(line)
    return fit_columns(shown, width) if width else shown


def _answer_lines(found: Explanation) -> list[str]:
    if found.reference is None:
        return ["no answer came"]
    unchanged = found.unchanged
    same = f"{unchanged.tries - unchanged.changed} of {unchanged.tries}"
    answer = f"answer: {answer_line(found.reference)}"
    if found.reference.logprob is not None:
        return [answer, f"its log-probability after the unchanged request: {found.reference.logprob:.2f}"]
    whose = "the recorded answer" if found.is_recorded else "not the recorded answer, but what the model answers now"
    return [answer, f"the unchanged request is answered like this {same} times: {whose}"]


def _sent_line(found: Explanation) -> str:
    cost = "at a price that is not known" if found.cost is None else f"${found.cost:.4f}"
    failed = f", {found.failed:,} of them failed" if found.failed else ""
    kept = f"; {counted(found.kept, 'answer')} kept from before" if found.kept else ""
    return f"{counted(found.sent, 'request')} sent{failed}, {cost}, {found.seconds:.1f} s{kept}"


def _unit_lines(job: ExplainJob, each: UnitEffect) -> list[str]:
    unit = each.unit
    figure = f", effect {effect_text(each)}" if each.effect else ""
    return [
        f"{each.verdict}: {unit.paths[-1]} {unit.kind} {unit.title}, {unit.tokens:,} tokens{figure}",
        f"  {effect_sentence(job.units, each)}",
    ]


def _lines_without_effect(job: ExplainJob, found: Explanation, saving: MaskingSaving | None) -> list[str]:
    dead = found.dead_weight
    whole = sum(unit.tokens for unit in job.units) or 1
    lines = [
        f"no effect: {counted(len(dead), 'unit')}, {found.dead_tokens:,} tokens "
        f"({percent(found.dead_tokens / whole, 0)} of what can be left out)",
        f"  without all of them together {same_without(dead[0])}",
    ]
    lines += [f"  {saving_words(saving)}"] if saving else []
    for each in dead[:SHOWN]:
        lines.append(f"  {each.unit.paths[-1]} {each.unit.kind} {each.unit.title}, {each.unit.tokens:,} tokens")
    if len(dead) > SHOWN:
        lines.append(f"  and {len(dead) - SHOWN:,} smaller")
    return lines


# For programs


def explanation_json(job: ExplainJob, found: Explanation, saving: MaskingSaving | None = None) -> dict[str, Any]:
    """The result as JSON."""
    reference = found.reference
    return {
        "request": job.job.number,
        "dialect": job.job.dialect,
        "model": job.job.model,
        "method": job.wish.method,
        "complete": found.complete,
        "ended": found.ended or None,
        "answer": None
        if reference is None
        else {
            "text": reference.text,
            "calls": [{"tool": tool, "arguments": arguments} for tool, arguments in reference.calls],
            "recorded": found.is_recorded,
        },
        "unchanged": {"tries": found.unchanged.tries, "changed": found.unchanged.changed},
        "requests": {"sent": found.sent, "failed": found.failed, "kept": found.kept},
        "cost": found.cost,
        "seconds": round(found.seconds, 3),
        "waited": round(found.waited, 3),
        "no_effect": {"units": len(found.dead_weight), "tokens": found.dead_tokens},
        "masked": None
        if saving is None
        else {
            **saving._asdict(),
            "share": round(saving.share, 4),
            "cost": None if saving.cost is None else round(saving.cost, 6),
        },
        "units": [_unit_json(each) for each in found.effects],
    }


def _unit_json(each: UnitEffect) -> dict[str, Any]:
    unit, effect = each.unit, each.effect
    return {
        "unit": unit.number,
        "paths": list(unit.paths),
        "kind": unit.kind,
        "tool": unit.tool or None,
        "title": unit.title,
        "tokens": unit.tokens,
        "verdict": each.verdict,
        "partners": list(each.partners),
        "effect": None
        if effect is None
        else {
            "value": round(effect.value, 4),
            "low": round(effect.low, 4),
            "high": round(effect.high, 4),
            "changed": effect.without.changed,
            "tries": effect.without.tries,
        },
        "instead": each.instead or None,
        "instead_times": each.times,
        "asked_again": each.asked_again,
        "logprob_drop": None
        if each.drop is None
        else {
            "value": round(each.drop.value, 4),
            "low": round(each.drop.low, 4),
            "high": round(each.drop.high, 4),
            "tries": each.drop.tries,
        },
    }
