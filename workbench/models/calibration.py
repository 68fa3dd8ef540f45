"""Learns from a session's own reports how to correct our counts: a factor, and tokens of requests that no row shows.

Providers count with tokenizers that are not public, and they count things that are in no transcript. A request is
estimated as

    factor x contents + (1 + extra) x framing + fixed + thinking + drift

`extra` exists because some providers write far more around calls and results than the documented marks; `fixed` is in
every request (a system prompt, tools), and thinking is sent again by some agents. The numbers are chosen to make the
estimates differ least from the reports so far. The measure is least absolute deviations, because single requests can be
odd for other reasons. `drift` is what remains unexplained in the last report.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Sequence
from math import ceil
from typing import Literal, NamedTuple

from workbench.config.text import percent
from workbench.models.least_deviations import Equation, least_deviations

KEPT = 60
"""This many reports, and up to twice as many, are kept to learn from: evenly over the session, whatever its length."""
ERRORS = 60
"""How many past estimates the spread is computed from."""
ODDEST = (0.5, 2.5)
"""A factor outside this range has another cause than the tokenizer."""
MOST_EXTRA = 15.0
"""As a multiple of our framing. Anthropic's models show about 6: 70 tokens around a call and its result."""
PRIOR_WEIGHT = 1_000
"""The factor of the model's family weighs as much as contents of this many tokens."""
EXTRA_WEIGHT = 50
"""The extra framing of the model's family weighs as much as this many tokens of framing."""
WORTH_IT = 0.9
"""Thinking counts as sent again if that assumption reduces the differences to at most this share."""
SHRUNK = 0.7
"""Contents below this share of their previous size have been compacted; the drift that grew with them is gone too."""
SMALL = 1.25
"""Requests up to this much larger than the smallest one show what is in every request."""
FREQUENT, GROWN = 8, 1.1
"""The first reports, up to this many, are each learnt from at once; after that, whenever there are a tenth more."""

KeptThinking = Literal["none", "turn", "all"]
"""Which thinking is sent again: none, that of the turn, or all since the last compaction."""


class PastThinking(NamedTuple):
    """Thinking that came before a request and is in none of its rows, in tokens."""

    turn: int = 0
    """Since the last user message."""
    all: int = 0
    """Since the last compaction."""

    def kept_tokens(self, which: KeptThinking) -> int:
        """How much of it is sent again."""
        return 0 if which == "none" else self.turn if which == "turn" else self.all


NO_THINKING = PastThinking()


class ReportedSize(NamedTuple):
    """One request: our count and the provider's."""

    items: int
    """Contents, counted by a tokenizer without a factor."""
    framing: int
    reported: int
    thinking: PastThinking = NO_THINKING


class TokensOutsideRows(NamedTuple):
    """The known tokens of a request that are not in its rows."""

    fixed: int = 0
    """In every request: a system prompt, tools."""
    thinking: int = 0
    """The thinking of earlier answers, sent again."""

    @property
    def tokens(self) -> int:
        return self.fixed + self.thinking


NOTHING = TokensOutsideRows()


class Calibration(NamedTuple):
    """Converts our counts for a model into the provider's."""

    model: str
    factor: float = 1.0
    """Multiplies our count of the contents."""
    fixed: int = 0
    """In every request, and not in the log."""
    extra: float = 0.0
    """Framing in addition to our count, per token of it."""
    thinking: KeptThinking = "none"
    """Which thinking is sent again."""
    rest: int = 0
    """All tokens of the last report that are not in its rows."""
    drift: int = 0
    """The part of `rest` that is neither fixed nor thinking."""
    small_drift: int = 0
    """The same for the smallest request: after a compaction, what grew in the others is gone."""
    last_items: int = 0
    """The contents of the last request that was reported."""
    spread: float | None = None
    """The largest error of nine in ten estimates, each made from the reports before it; None: too few reports."""
    samples: int = 0
    """The number of reports it was learnt from; 0: the factor is that of the model's family."""

    def estimate(self, items: int, framing: int, thinking: PastThinking = NO_THINKING) -> int:
        """Estimate what the provider will report for a request."""
        drift = self.small_drift if items < SHRUNK * self.last_items else self.drift
        rows = round((1 + self.extra) * framing) + round(self.factor * items)
        return rows + self.tokens_outside_rows(thinking).tokens + drift

    def tokens_outside_rows(self, thinking: PastThinking = NO_THINKING) -> TokensOutsideRows:
        """The known tokens of a request that are not in its rows."""
        return TokensOutsideRows(self.fixed, thinking.kept_tokens(self.thinking))

    @property
    def why(self) -> str:
        """An explanation in one sentence."""
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
    fixed: float
    factor: float
    extra: float
    thinking: KeptThinking = "none"

    def rest(self, size: ReportedSize) -> int:
        """The tokens of a report that are not in its rows; rounded as an estimate is."""
        return size.reported - round((1 + self.extra) * size.framing) - round(self.factor * size.items)

    def drift(self, size: ReportedSize) -> int:
        """The tokens of a report that these numbers do not explain."""
        return self.rest(size) - round(self.fixed) - size.thinking.kept_tokens(self.thinking)


class Calibrator:
    """Learns from the reports for one model, one by one."""

    def __init__(self, model: str, family_factor: float = 1.0, family_extra: float = 0.0) -> None:
        self._model = model
        self._prior = self._numbers = _Numbers(0, family_factor, family_extra)
        self._sizes: list[ReportedSize] = []
        self._every = 1
        """One of this many reports is kept."""
        self._errors: deque[float] = deque()
        """Of the last estimates, in the order of their reports."""
        self._sorted_errors: list[float] = []
        self._small: ReportedSize | None = None
        self._smallest = 0
        self._last: ReportedSize | None = None
        self._samples = 0
        self._learnt_at = 0
        self._known: Calibration | None = None
        """What is known so far, once somebody asked."""

    def add_report(self, size: ReportedSize) -> float | None:
        """Add a report. Return the relative error of the estimate that was made before it."""
        error = None
        if self._last is not None and size.reported > 0:
            error = self.calibration.estimate(size.items, size.framing, size.thinking) / size.reported - 1
            self._keep_error(abs(error))
        shrunk = self._last is not None and size.items < SHRUNK * self._last.items
        self._last, self._known = size, None
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

    def _keep_error(self, error: float) -> None:
        if len(self._errors) == ERRORS:
            del self._sorted_errors[bisect_left(self._sorted_errors, self._errors.popleft())]
        self._errors.append(error)
        insort(self._sorted_errors, error)

    def learn(self) -> None:
        """Compute the numbers again, from all reports that are kept."""
        self._learnt_at, self._known = self._samples, None
        tried = [_learnt(self._sizes, self._prior, "none")]
        for which in ("turn", "all"):
            if any(size.thinking.kept_tokens(which) for size in self._sizes):
                tried.append(_learnt(self._sizes, self._prior, which))
        best = min(tried, key=self._difference)
        plain = tried[0]
        self._numbers = best if self._difference(best) <= WORTH_IT * self._difference(plain) else plain

    def _difference(self, numbers: _Numbers) -> float:
        return sum(abs(numbers.drift(size)) / max(1, size.reported) for size in self._sizes)

    @property
    def calibration(self) -> Calibration:
        """What is known so far."""
        if self._known is None:
            self._known = self._summed_up()
        return self._known

    def _summed_up(self) -> Calibration:
        if self._last is None or self._small is None:
            return Calibration(self._model, self._prior.factor, extra=self._prior.extra)
        numbers, last = self._numbers, self._last
        errors = self._sorted_errors
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
            spread=errors[ceil(0.9 * len(errors)) - 1] if len(errors) > 1 else None,
            samples=self._samples,
        )


def _learnt(sizes: Sequence[ReportedSize], prior: _Numbers, which: KeptThinking) -> _Numbers:
    """The numbers, within bounds, with the smallest differences, each as a share of its report."""
    equations = []
    for size in sizes:
        weight = 1 / max(1, size.reported)
        contents = size.reported - size.framing - size.thinking.kept_tokens(which)
        equations.append(Equation((weight, weight * size.items, weight * size.framing), weight * contents))
    usual = sorted(size.reported for size in sizes)[len(sizes) // 2]
    factor, extra = PRIOR_WEIGHT / max(1, usual), EXTRA_WEIGHT / max(1, usual)
    equations += [Equation((0, factor, 0), factor * prior.factor), Equation((0, 0, extra), extra * prior.extra)]
    bounds = ((0, float(max(size.reported for size in sizes))), ODDEST, (0, MOST_EXTRA))
    fixed, factor, extra = least_deviations(equations, bounds)
    return _Numbers(fixed, factor, extra, which)
