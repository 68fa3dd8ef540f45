"""Reports a search: the front as a table, the chosen policy compared with others, JSON, and the policy file."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from workbench.config.text import counted, percent, printable, table
from workbench.context.load import RECORDED
from workbench.context.policy_files import short_policy_name
from workbench.context.policy_text import policy_text
from workbench.lab.noise import UNLIKELY, chance_of
from workbench.lab.running.tasks import LabPolicy
from workbench.lab.tuning.objective import Objective
from workbench.lab.tuning.search import Figures, Tried, best_tried, pareto_front
from workbench.lab.tuning.tune_corpus import Comparison, TuneResult, TuneSession
from workbench.lab.values import MISSED_IN_100
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
        self._front = pareto_front(found.tried, found.parts.spent)
        self._numbers = {id(each): number for number, each in enumerate(found.tried, 1)}

    # For people

    def tuning_lines(self, width: int) -> list[str]:
        """The front, the presets that are not on it, and the figures of the chosen policy on the held-out sessions."""
        spent = "cost" if self._found.parts.spent == "cost" else "input tokens"
        lines = [
            f"Searched on {_size(self._found.parts.training)} for the smallest {printable(self._objective.text)}.",
            f"The front: of {self._many()} tried, those that none beats in both {spent} and misses.",
            "",
            *self._front_lines(width),
            "",
        ]
        for part, title in self._titles():
            lines += [f"{title}:", "", *self._compared(part, width), ""]
        ending = filter(None, (self.verdict(), self.session_words()))
        return lines + [line for each in ending for line in textwrap.wrap(each, width or _WIDE)]

    def _wins(self) -> tuple[int, int, int]:
        """In how many held-out sessions the policy is better than the base, worse, and neither. Each counts alike."""
        found = self._found
        theirs = [each.by_policy[LabPolicy(self._base)] for each in found.parts.held_out]
        pairs = [(self._rank(mine), self._rank(base)) for mine, base in zip(found.held_out, theirs, strict=False)]
        better, worse = sum(mine < base for mine, base in pairs), sum(mine > base for mine, base in pairs)
        return better, worse, len(pairs) - better - worse

    def session_words(self) -> str:
        """What the verdict rests on: the held-out sessions one by one, so that one long session does not decide."""
        better, worse, same = self._wins()
        many = better + worse + same
        if not many or self._found.chosen.policy == LabPolicy(self._base):
            return ""
        name, chance = short_policy_name(self._base), chance_of(better, worse)
        seen = f"Session by session it is better than {name} in {better:,} of {many:,}, worse in {worse:,}"
        is_chance = f"; chance alone does that in {percent(chance)} of cases" if better + worse else ""
        doubt = ", so it may be no better" if chance >= UNLIKELY else ""
        return f"{seen}{is_chance}{doubt}."

    def _many(self) -> str:
        return counted(len(self._found.tried), "policy", "policies")

    def _front_lines(self, width: int) -> list[str]:
        others = [each for each in self._found.tried if each.is_preset and each not in self._front]
        rows = [*self._front, *others]
        head, *table_rows = _table([(self._label(each), each.figures) for each in rows], self._objective, width)
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

    def _label(self, tried: Tried) -> str:
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
        return _table(rows, self._objective, width)

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
        other = min(others, key=lambda each: self._rank(each.held_out))
        mine, theirs = (self._rank(each.held_out) for each in (found.comparisons[0], other))
        if beaten and mine <= theirs:
            return beaten
        preset = best_tried([each for each in found.tried if each.is_preset]).policy.ref
        who = "the best preset" if other.label == short_policy_name(preset) else "the policy it began from"
        how = "no better and no worse" if mine == theirs else "better" if mine < theirs else "worse"
        seen = f"On what it never saw it is {how} than {other.label}, {who}{_by(mine, theirs)}."
        fits = "" if mine <= theirs else "It fits what it was searched on, and perhaps nothing else."
        return " ".join(filter(None, (beaten, seen, fits)))

    def _rank(self, figures: Figures | None) -> tuple[int, float]:
        assert figures is not None
        return (0 if "overflows" in self._objective.names else figures["overflows"]), self._objective.value(figures)

    # The policy file

    def policy_file(self, day: date) -> str:
        """The chosen policy as a file that can be used with `--policy`."""
        parts = self._found.parts
        about = [
            f"Found by `workbench tune` on {day.isoformat()}: of {self._many()} the one with the smallest "
            f"{printable(self._objective.text)}.",
            f"It began from {short_policy_name(self._base)}, with seed {self._seed}. Knobs that are not set here "
            "have the values of the preset that it extends.",
            *self._how(),
        ]
        lines = [line for each in about for line in textwrap.wrap(each, _WIDE - 4)]
        for part, title in self._titles():
            lines += ["", f"{title}:", *(f"  {line}" for line in self._compared(part, 0))]
        for each in filter(None, (self.verdict(), self.session_words())):
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
            "seed": self._seed,
            "base": self._base,
            "tried": len(found.tried),
            "training": _part_json(found.parts.training),
            "held_out": _part_json(found.parts.held_out),
            "front": {"spent": found.parts.spent, "policies": [self._tried_json(each) for each in self._front]},
            "presets": [self._tried_json(each) for each in found.tried if each.is_preset],
            "best": self._tried_json(found.chosen)
            | {"extends": found.extends, "knobs": {name: _plain(value) for name, value in found.knobs.items()}},
            "compared": [
                {"policy": each.label, "training": _figures(each.training), "held_out": _figures(each.held_out)}
                for each in found.comparisons
            ],
            "sessions": dict(zip(("better", "worse", "same"), self._wins(), strict=True)),
            "verdict": self.verdict(),
        }

    def _tried_json(self, tried: Tried) -> dict[str, Any]:
        return {
            "policy": tried.policy.ref,
            "set": list(tried.policy.knobs),
            "preset": tried.is_preset,
            "best": tried is self._found.chosen,
            "value": tried.value if math.isfinite(tried.value) else None,
            "figures": _figures(tried.figures),
        }


def _table(rows: Sequence[tuple[str, Figures]], objective: Objective, width: int) -> list[str]:
    header = ("policy", "input tokens", "did not fit", "facts", MISSED_IN_100, "cost", "objective")
    shown = [
        (
            label,
            f"{row['tokens']:,}",
            f"{row['overflows']:,}",
            f"{row['misses']:,}",
            f"{row['missed_in_100']:.1f}",
            "–" if row["cost"] is None else f"${row['cost']:,.2f}",
            f"{objective.value(row):,.6g}",
        )
        for label, row in rows
    ]
    return table(header, shown, frozenset(range(1, len(header))), width)


def _size(sessions: Sequence[TuneSession]) -> str:
    requests = counted(sum(each.requests for each in sessions), "request")
    return f"{counted(len(sessions), 'session')} with {requests}"


def _by(mine: tuple[int, float], theirs: tuple[int, float]) -> str:
    """How much better or worse, where it can be given as a share."""
    if mine[0] != theirs[0]:
        return f": {counted(mine[0], 'request')} did not fit, there {theirs[0]:,}"
    if mine == theirs or theirs[1] == 0 or not (math.isfinite(mine[1]) and math.isfinite(theirs[1])):
        return ""
    return f", by {percent(abs(mine[1] - theirs[1]) / abs(theirs[1]))} of the objective"


def _part_json(sessions: Sequence[TuneSession]) -> dict[str, Any]:
    return {"sources": [each.name for each in sessions], "requests": sum(each.requests for each in sessions)}


def _figures(row: Figures | None) -> Mapping[str, Any] | None:
    return None if row is None else {name: value for name, value in row.items() if name != "policy"}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
