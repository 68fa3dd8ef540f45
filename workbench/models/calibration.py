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

from collections.abc import Sequence
from functools import cached_property
from itertools import islice
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


class _Fit:
    """The numbers that fit some reports best, computed when somebody needs them."""

    def __init__(self, sizes: Sequence[ReportedSize], prior: _Numbers) -> None:
        self._sizes = sizes
        self._prior = prior

    @cached_property
    def numbers(self) -> _Numbers:
        plain = _learnt(self._sizes, self._prior, "none")
        tried = [plain]
        for which in ("turn", "all"):
            if any(size.thinking.kept_tokens(which) for size in self._sizes):
                tried.append(_learnt(self._sizes, self._prior, which))
        best = min(tried, key=self._difference)
        return best if self._difference(best) <= WORTH_IT * self._difference(plain) else plain

    def _difference(self, numbers: _Numbers) -> float:
        return sum(abs(numbers.drift(size)) / max(1, size.reported) for size in self._sizes)


class _Step(NamedTuple):
    """A report, and what can be learnt from those up to it."""

    size: ReportedSize
    small: ReportedSize
    """The last of the smallest requests."""
    fit: _Fit


class Calibrator:
    """Learns from the reports for one model, one by one. Nothing is computed before somebody asks."""

    def __init__(self, model: str, family_factor: float = 1.0, family_extra: float = 0.0) -> None:
        self._model = model
        self._prior = _Numbers(0, family_factor, family_extra)
        self._steps: list[_Step] = []
        self._sizes: list[ReportedSize] = []
        """The reports that are kept to learn from."""
        self._every = 1
        """One of this many reports is kept."""
        self._smallest = 0
        self._learnt_at = 0
        self._errors: dict[int, float] = {}
        """Of estimates, by the number of the report."""
        self._known: dict[int, Calibration] = {}
        """What was asked for, by the number of reports."""

    def add_report(self, size: ReportedSize) -> None:
        before = self._steps[-1] if self._steps else None
        small, samples = size, len(self._steps) + 1
        if before is None:
            self._smallest = size.items
        elif size.items <= SMALL * self._smallest:
            self._smallest = min(size.items, self._smallest)
        else:
            small = before.small
        if (samples - 1) % self._every == 0:
            self._sizes.append(size)
            if len(self._sizes) > 2 * KEPT:
                self._sizes, self._every = self._sizes[::2], 2 * self._every
        shrunk = before is not None and size.items < SHRUNK * before.size.items
        if before is None or samples <= FREQUENT or shrunk or samples >= GROWN * self._learnt_at:
            self._steps.append(_Step(size, small, self._new_fit(samples)))
        else:
            self._steps.append(_Step(size, small, before.fit))

    def _new_fit(self, samples: int) -> _Fit:
        self._learnt_at = samples
        return _Fit(tuple(self._sizes), self._prior)

    def learn(self) -> None:
        """Learn from all reports that are kept, though there are few new ones."""
        self._steps[-1] = self._steps[-1]._replace(fit=self._new_fit(len(self._steps)))
        self._known.pop(len(self._steps), None)

    @property
    def calibration(self) -> Calibration:
        """What is known so far."""
        return self.calibration_after(len(self._steps))

    def calibration_after(self, samples: int) -> Calibration:
        """What was known after the first reports, up to this many."""
        found = self._known.get(samples)
        if found is None:
            found = self._known[samples] = self._without_spread(samples)._replace(spread=self._spread(samples))
        return found

    def _spread(self, samples: int) -> float | None:
        judged = (at for at in range(samples, 1, -1) if self._steps[at - 1].size.reported > 0)
        errors = sorted(abs(self.error_of(at)) for at in islice(judged, ERRORS))
        return errors[ceil(0.9 * len(errors)) - 1] if len(errors) > 1 else None

    def error_of(self, number: int) -> float:
        """The relative error of the estimate for a report that was made before it; of the second or a later one."""
        found = self._errors.get(number)
        if found is None:
            found = self._errors[number] = self.estimate_of(number) / self._steps[number - 1].size.reported - 1
        return found

    def estimate_of(self, number: int) -> int:
        """What was estimated for a report before it."""
        size = self._steps[number - 1].size
        return self._without_spread(number - 1).estimate(size.items, size.framing, size.thinking)

    def _without_spread(self, samples: int) -> Calibration:
        if not samples:
            return Calibration(self._model, self._prior.factor, extra=self._prior.extra)
        last, small, fit = self._steps[samples - 1]
        numbers = fit.numbers
        return Calibration(
            self._model,
            numbers.factor,
            round(numbers.fixed),
            numbers.extra,
            numbers.thinking,
            rest=numbers.rest(last),
            drift=numbers.drift(last),
            small_drift=numbers.drift(small),
            last_items=last.items,
            samples=samples,
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
