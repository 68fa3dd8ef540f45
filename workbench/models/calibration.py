"""What a session's own reports teach about our counts: a factor, and what requests have that no row shows.

Providers count with tokenizers that are not public, and they count what is in no transcript. A request is estimated as

    factor x contents + (1 + extra) x framing + fixed + thinking + drift

`extra` is there because some providers write far more around calls and results than the documented marks; `fixed` is
in every request (a system prompt, tools), and thinking is sent again by some agents. The numbers are those with which
the reports so far differ least from their estimates: least absolute deviations, because single requests are odd for
reasons of their own. `drift` is what the last report had beyond all that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal, NamedTuple

from workbench.config.text import percent
from workbench.models.least_deviations import Equation, least_deviations

KEPT = 60
"""So many reports, and up to twice as many, are kept to learn from: evenly over the session, whatever its length."""
ERRORS = 60
"""Estimates by which the spread is told."""
ODDEST = (0.5, 2.5)
"""A factor beyond these has another reason than the tokenizer."""
MOST_EXTRA = 15.0
"""Times our framing. Anthropic's models show about 6: 70 tokens around a call and its result."""
PRIOR_WEIGHT = 1_000
"""The factor of the model's family counts like contents of so many tokens."""
EXTRA_WEIGHT = 50
"""The extra framing of the model's family counts like so many tokens of framing."""
WORTH_IT = 0.9
"""Thinking is taken to be sent again if that leaves at most this share of the differences."""
SHRUNK = 0.7
"""Contents that fall below this share of what they were have been compacted: what had grown beside them is gone too."""
SMALL = 1.25
"""Requests up to this much larger than the smallest one tell what is in every request."""
FREQUENT, GROWN = 8, 1.1
"""So many reports are each learnt from at once; then it is done again whenever there are a tenth more."""

KeptThinking = Literal["none", "turn", "all"]
"""Which thinking is sent again: none, that of the turn, or all since the last compaction."""


class PastThinking(NamedTuple):
    """Thinking that came before a request and is in none of its rows, in tokens."""

    turn: int = 0
    """Since the last user message."""
    all: int = 0
    """Since the last compaction."""

    def kept(self, which: KeptThinking) -> int:
        """How much of it is sent again."""
        return 0 if which == "none" else self.turn if which == "turn" else self.all


NO_THINKING = PastThinking()


class ReportedSize(NamedTuple):
    """One request: our count of it, and the provider's."""

    items: int
    """Contents, counted by a tokenizer without a factor."""
    framing: int
    reported: int
    thinking: PastThinking = NO_THINKING


class Beside(NamedTuple):
    """What a request has beside its rows, as far as it is known what that is."""

    fixed: int = 0
    """In every request: a system prompt, tools."""
    thinking: int = 0
    """Of answers before it, sent again."""

    @property
    def tokens(self) -> int:
        """All of it."""
        return self.fixed + self.thinking


NOTHING = Beside()


@dataclass(frozen=True, slots=True)
class Calibration:
    """How our counts for a model become the provider's."""

    model: str
    factor: float = 1.0
    """Times our count of the contents."""
    fixed: int = 0
    """In every request, and not in the log."""
    extra: float = 0.0
    """More framing than we count, for each token of it."""
    thinking: KeptThinking = "none"
    """Which thinking is sent again."""
    rest: int = 0
    """All that the last report had beside its rows."""
    drift: int = 0
    """What of that is neither fixed nor thinking."""
    small_drift: int = 0
    """The same of the smallest request: what grew in the others is gone after a compaction."""
    last_items: int = 0
    """The contents of the last request that was reported."""
    spread: float | None = None
    """How far nine of ten estimates were off at most, each made from the reports before it; None: too few."""
    samples: int = 0
    """Reports it was learnt from; 0: the factor is that of the model's family."""

    def estimate(self, items: int, framing: int, thinking: PastThinking = NO_THINKING) -> int:
        """What the provider will report for a request."""
        drift = self.small_drift if items < SHRUNK * self.last_items else self.drift
        rows = round((1 + self.extra) * framing) + round(self.factor * items)
        return rows + self.beside(thinking).tokens + drift

    def beside(self, thinking: PastThinking = NO_THINKING) -> Beside:
        """What a request has beside its rows."""
        return Beside(self.fixed, thinking.kept(self.thinking))

    @property
    def why(self) -> str:
        """In a sentence."""
        if not self.samples:
            known = f"; the factor of its family is {self.factor:.2f}" if self.factor != 1 else ""
            return f"no request to {self.model or 'the model'} has reported its tokens yet{known}"
        requests = "1 request" if self.samples == 1 else f"{self.samples:,} requests"
        more = f" + {1 + self.extra:.1f} x the framing" if self.extra >= 0.05 else ""
        more += {"none": "", "turn": " + the thinking of the turn", "all": " + all thinking"}[self.thinking]
        spread = "" if self.spread is None else percent(max(self.spread, 0.001), 1)
        off = f"; nine of ten estimates were within {spread}" if spread else ""
        return f"learnt from {requests}: {self.fixed:,} tokens + {self.factor:.3f} x our count{more}{off}"


class _Numbers(NamedTuple):
    """What is learnt."""

    fixed: float
    factor: float
    extra: float
    thinking: KeptThinking = "none"

    def rest(self, size: ReportedSize) -> int:
        """What a report has beside its rows; rounded as an estimate is."""
        return size.reported - round((1 + self.extra) * size.framing) - round(self.factor * size.items)

    def drift(self, size: ReportedSize) -> int:
        """What a report has that these numbers do not explain."""
        return self.rest(size) - round(self.fixed) - size.thinking.kept(self.thinking)


class Calibrator:
    """Learns from the reports for one model, one by one."""

    def __init__(self, model: str, family_factor: float = 1.0, family_extra: float = 0.0) -> None:
        self._model = model
        self._prior = self._numbers = _Numbers(0, family_factor, family_extra)
        self._sizes: list[ReportedSize] = []
        self._every = 1
        """Of so many reports one is kept."""
        self._errors: deque[float] = deque(maxlen=ERRORS)
        self._small: ReportedSize | None = None
        self._smallest = 0
        self._last: ReportedSize | None = None
        self._samples = 0
        self._learnt_at = 0

    def add(self, size: ReportedSize) -> float | None:
        """One more report; gives by what share the estimate made before it was off."""
        error = None
        if self._last is not None and size.reported > 0:
            error = self.calibration.estimate(size.items, size.framing, size.thinking) / size.reported - 1
            self._errors.append(abs(error))
        shrunk = self._last is not None and size.items < SHRUNK * self._last.items
        self._last = size
        if self._small is None or size.items <= SMALL * self._smallest:
            self._small, self._smallest = size, min(size.items, self._smallest if self._small else size.items)
        if self._samples % self._every == 0:
            self._sizes.append(size)
        self._samples += 1
        if len(self._sizes) > 2 * KEPT:
            self._sizes, self._every = self._sizes[::2], 2 * self._every
        if self._samples <= FREQUENT or shrunk or self._samples >= GROWN * self._learnt_at:
            self.learn()
        return error

    def learn(self) -> None:
        """Find the numbers anew, from all that was reported."""
        self._learnt_at = self._samples
        tried = [_learnt(self._sizes, self._prior, "none")]
        for which in ("turn", "all"):
            if any(size.thinking.kept(which) for size in self._sizes):
                tried.append(_learnt(self._sizes, self._prior, which))
        best = min(tried, key=self._difference)
        plain = tried[0]
        self._numbers = best if self._difference(best) <= WORTH_IT * self._difference(plain) else plain

    def _difference(self, numbers: _Numbers) -> float:
        return sum(abs(numbers.drift(size)) / max(1, size.reported) for size in self._sizes)

    @property
    def calibration(self) -> Calibration:
        """What is known so far."""
        if self._last is None or self._small is None:
            return Calibration(self._model, self._prior.factor, extra=self._prior.extra)
        numbers, last = self._numbers, self._last
        errors = sorted(self._errors)
        return Calibration(
            self._model,
            numbers.factor,
            round(numbers.fixed),
            numbers.extra,
            numbers.thinking,
            rest=numbers.rest(last),
            drift=numbers.drift(last),
            small_drift=numbers.drift(self._small),
            last_items=last.items,
            spread=errors[ceil(0.9 * len(errors)) - 1]
            if len(errors) > 1
            else None,  # `statistics` takes long to import
            samples=self._samples,
        )


def _learnt(sizes: Sequence[ReportedSize], prior: _Numbers, which: KeptThinking) -> _Numbers:
    """The numbers that leave the least differences, each as a share of its report; within bounds."""
    equations = []
    for size in sizes:
        weight = 1 / max(1, size.reported)
        told = size.reported - size.framing - size.thinking.kept(which)
        equations.append(Equation((weight, weight * size.items, weight * size.framing), weight * told))
    usual = sorted(size.reported for size in sizes)[len(sizes) // 2]
    factor, extra = PRIOR_WEIGHT / max(1, usual), EXTRA_WEIGHT / max(1, usual)
    equations += [Equation((0, factor, 0), factor * prior.factor), Equation((0, 0, extra), extra * prior.extra)]
    bounds = ((0, float(max(size.reported for size in sizes))), ODDEST, (0, MOST_EXTRA))
    fixed, factor, extra = least_deviations(equations, bounds)
    return _Numbers(fixed, factor, extra, which)
