"""Reports a search: the front as a table, the chosen policy compared with others, JSON, and the policy file."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from datetime import date
from math import isfinite
from typing import Any

from workbench.config.text import counted, percent, printable, table
from workbench.context.policy_files import short_policy_name
from workbench.context.policy_names import RECORDED
from workbench.context.policy_text import policy_text
from workbench.lab.tuning.evidence import TuningEvidence
from workbench.lab.tuning.objective import Objective
from workbench.lab.tuning.scoring import Figures, PolicyScore
from workbench.lab.tuning.search import TriedPolicy, best_tried, pareto_front
from workbench.lab.tuning.tune_corpus import Comparison, TuneResult, TuneSession
from workbench.lab.values import ABOUT_MISSED, MISSED_IN_100
from workbench.sources.options import Options

_WIDE = 120
"""The width at which knobs are wrapped where no width is given."""


class TuningReport:
    """The report of one search, for people and for programs."""

    def __init__(self, found: TuneResult, objective: Objective, base: str, seed: int, asked: Options) -> None:
        """`asked`: the model and the window that were named for all sessions."""
        self._asked = asked
        self._found = found
        self._objective = objective
        self._base = base
        self._seed = seed
        self._missed = "missed_requests" if objective.is_limited else "misses"
        self._front = pareto_front(found.tried, found.parts.spent, self._missed)
        self._evidence = TuningEvidence(found, base)
        self._numbers = {id(each): number for number, each in enumerate(found.tried, 1)}

    # For people

    def tuning_lines(self, width: int) -> list[str]:
        """The front, the presets that are not on it, and the figures of the chosen policy on the held-out sessions."""
        spent = "cost" if self._found.parts.spent == "cost" else "input tokens"
        missed = "requests with a miss" if self._objective.is_limited else "misses"
        lines = [
            f"Searched on {_size(self._found.parts.training)} for the smallest {printable(self._objective.text)}.",
            *textwrap.wrap(self.weighing_words(), width or _WIDE),
            f"The front: of {self._many()} tried, those that none beats in both {spent} and {missed}.",
            "",
            *self._front_lines(width),
            "",
        ]
        for part, title in self._titles():
            lines += [f"{title}:", "", *self._compared(part, width), ""]
        ending = filter(None, (self.verdict(), *self._evidence.evidence_words()))
        return lines + [line for each in ending for line in textwrap.wrap(each, width or _WIDE)]

    def weighing_words(self) -> str:
        """How sessions weigh, and how misses are counted."""
        name = short_policy_name(self._base)
        limit = f"Misses are requests with a miss; the base is {name}. " if self._objective.is_limited else ""
        if not self._found.scorings.training.is_alike:
            return f"{limit}Sessions weigh by their length."
        what = f"each is scaled to the requests, tokens and cost of the average session under {name}"
        return f"{limit}Sessions weigh alike in the objective and in {MISSED_IN_100}: {what}."

    def _many(self) -> str:
        return counted(len(self._found.tried), "policy", "policies")

    def _front_lines(self, width: int) -> list[str]:
        others = [each for each in self._found.tried if each.is_preset and each not in self._front]
        rows = [*self._front, *others]
        head, *table_rows = _table([(self._label(each), each.score) for each in rows], width)
        lines = [head]
        for at, (each, line) in enumerate(zip(rows, table_rows, strict=True)):
            if at == len(self._front):
                lines += ["not on it:"]
            lines.append(line)
            if each.policy.knobs:
                knobs = "  ".join(each.policy.knobs)
                lines += textwrap.wrap(
                    printable(knobs),
                    width or _WIDE,
                    initial_indent="    ",
                    subsequent_indent="    ",
                    break_on_hyphens=False,
                )
        return lines

    def _label(self, tried: TriedPolicy) -> str:
        name = short_policy_name(tried.policy.ref) if tried.is_preset else f"#{self._numbers[id(tried)]}"
        return f"{name}, best" if tried is self._found.chosen else name

    def _titles(self) -> list[tuple[str, str]]:
        parts = self._found.parts
        titles = [("training", f"On the {_size(parts.training)} that it was searched on")]
        if parts.held_out:
            titles.append(("held_out", f"On the {_size(parts.held_out)} that it never saw"))
        return titles

    def _compared(self, part: str, width: int) -> list[str]:
        rows = [(self._compared_label(each), getattr(each, part)) for each in self._found.comparisons]
        return _table(rows, width)

    def _compared_label(self, comparison: Comparison) -> str:
        return f"{comparison.label} (base)" if comparison.label == short_policy_name(self._base) else comparison.label

    def verdict(self) -> str:
        """What the result is worth, in a sentence or two."""
        found = self._found
        if not found.parts.held_out:
            return (
                "Nothing was held out, so nobody knows how it does on other sessions: these figures say how well it "
                "fits the ones it was searched on."
            )
        beaten = ""
        if found.chosen.is_preset:
            name = short_policy_name(found.chosen.policy.ref)
            more = f"; --policy {name} begins from it" if found.chosen.policy.ref != self._base else ""
            beaten = f"No policy that was tried beats {name}{more}."
        others = [each for each in found.comparisons[1:] if each.label != RECORDED]
        if not others:
            return beaten
        other = min(others, key=lambda each: _held_out(each).rank)
        here, there = (_held_out(each) for each in (found.comparisons[0], other))
        mine, theirs = here.rank, there.rank
        if beaten and mine <= theirs:
            return beaten
        preset = best_tried([each for each in found.tried if each.is_preset]).policy.ref
        who = "the best preset" if other.label == short_policy_name(preset) else "the policy it began from"
        how = "no better and no worse" if mine == theirs else "better" if mine < theirs else "worse"
        seen = f"On what it never saw it is {how} than {other.label}, {who}{_by(here, there)}."
        fits = "" if mine <= theirs else "It fits what it was searched on, and perhaps nothing else."
        return " ".join(filter(None, (beaten, seen, fits)))

    # The policy file

    def policy_file(self, day: date) -> str:
        """The chosen policy as a file that can be used with `--policy`."""
        parts = self._found.parts
        about = [
            f"Found by `workbench tune` on {day.isoformat()}: of {self._many()} the one with the smallest "
            f"{printable(self._objective.text)}.",
            f"It began from {short_policy_name(self._base)}, with seed {self._seed}. Knobs that are not set here "
            "have the values of the preset that it extends.",
            self.weighing_words(),
            *self._how(),
        ]
        lines = [line for each in about for line in textwrap.wrap(each, _WIDE - 4)]
        for part, title in self._titles():
            lines += ["", f"{title}:", *(f"  {line}" for line in self._compared(part, 0))]
        for each in filter(None, (self.verdict(), *self._evidence.evidence_words())):
            lines += ["", *textwrap.wrap(each, _WIDE - 4)]
        head = "".join(f"# {line}".rstrip() + "\n" for line in lines)
        description = f"Tuned on {_size(parts.training)} for {printable(self._objective.text)}"
        return policy_text(self._found.extends, self._found.knobs, head=head, description=description)

    def _how(self) -> list[str]:
        """The model, window and reserve that were set for all sessions."""
        asked = self._asked
        parts = [f"as {printable(asked.model)}" if asked.model else ""]
        parts += [f"in a window of {asked.window:,} tokens" if asked.window else ""]
        parts += [f"with {asked.reserve:,} tokens for the answer" if asked.reserve is not None else ""]
        return [f"All sessions are counted {', '.join(filter(None, parts))}."] if any(parts) else []

    # For programs

    def tuning_json(self) -> dict[str, Any]:
        """Everything except policies that are neither presets nor on the front."""
        found = self._found
        return {
            "objective": self._objective.text,
            "weigh": "sessions" if found.scorings.training.is_alike else "tokens",
            "seed": self._seed,
            "base": self._base,
            "tried": len(found.tried),
            "training": _part_json(found.parts.training),
            "held_out": _part_json(found.parts.held_out),
            "front": {
                "spent": found.parts.spent,
                "missed": self._missed,
                "policies": [self._tried_json(each) for each in self._front],
            },
            "presets": [self._tried_json(each) for each in found.tried if each.is_preset],
            "best": self._tried_json(found.chosen)
            | {"extends": found.extends, "knobs": {name: _plain(value) for name, value in found.knobs.items()}},
            "compared": [
                {
                    "policy": each.label,
                    "training": _figures(each.training.figures),
                    "held_out": _figures(each.held_out.figures) if each.held_out else None,
                }
                for each in found.comparisons
            ],
            "verdict": self.verdict(),
        } | self._evidence.evidence_json()

    def _tried_json(self, tried: TriedPolicy) -> dict[str, Any]:
        return {
            "policy": tried.policy.ref,
            "set": list(tried.policy.knobs),
            "preset": tried.is_preset,
            "best": tried is self._found.chosen,
            "value": tried.value if isfinite(tried.value) else None,
            "figures": _figures(tried.figures),
        }


def _table(rows: Sequence[tuple[str, PolicyScore]], width: int) -> list[str]:
    header = ("policy", "input tokens", "did not fit", "facts", MISSED_IN_100, "cost", "objective")
    shown = [
        (
            label,
            f"{score.figures['tokens']:,}",
            f"{score.figures['overflows']:,}",
            f"{score.figures['misses']:,}",
            f"{score.weighed['missed_in_100']:.1f}",
            "–" if score.figures["cost"] is None else f"${score.figures['cost']:,.2f}",
            f"{score.value:,.6g}",
        )
        for label, score in rows
    ]
    return table(header, shown, frozenset(range(1, len(header))), width)


def _size(sessions: Sequence[TuneSession]) -> str:
    requests = counted(sum(each.requests for each in sessions), "request")
    return f"{counted(len(sessions), 'session')} with {requests}"


def _held_out(comparison: Comparison) -> PolicyScore:
    assert comparison.held_out is not None
    return comparison.held_out


def _by(mine: PolicyScore, theirs: PolicyScore) -> str:
    """How much better or worse, where it can be given as a share."""
    if mine.misfits != theirs.misfits:
        fails, there = (each.figures["overflows"] for each in (mine, theirs))
        return f": {counted(fails, 'request')} did not fit, there {there:,}"
    if mine.excess != theirs.excess:
        missed, there = (each.weighed["missed_in_100"] for each in (mine, theirs))
        return f": {missed:.1f} {ABOUT_MISSED}, there {there:.1f}"
    if mine.value == theirs.value or theirs.value == 0 or not (isfinite(mine.value) and isfinite(theirs.value)):
        return ""
    return f", by {percent(abs(mine.value - theirs.value) / abs(theirs.value))} of the objective"


def _part_json(sessions: Sequence[TuneSession]) -> dict[str, Any]:
    return {"sources": [each.name for each in sessions], "requests": sum(each.requests for each in sessions)}


def _figures(row: Figures) -> Mapping[str, Any]:
    return {name: value for name, value in row.items() if name != "policy"}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
