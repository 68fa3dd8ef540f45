"""What a session's own reports teach about our counts: a fixed part that we do not see, and a factor.

Providers count what is in no transcript (a system prompt, tools, hidden thinking), with tokenizers that are not public.
So a request is estimated as `fixed + factor x contents + framing`, and both numbers are learnt from the reports that
came before it: the factor from how reports grow when contents do, which no fixed part disturbs; the rest from what
is left. Medians, because single requests are odd for reasons of their own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from workbench.config.text import percent

RECENT = 60
"""Increments that the factor is learnt from."""
LEAST_GROWTH = 100
"""Tokens by which the contents must grow for the growth to tell something about the factor."""
ODDEST = (0.5, 2.5)
"""Growth beyond these has another reason than the tokenizer."""
PRIOR_WEIGHT = 2_000
"""The factor of the model's family counts like growth of so many tokens."""
SHRUNK = 0.7
"""Contents that fall below this share of what they were have been compacted: what had grown beside them is gone too."""
SMALL = 1.25
"""Requests up to this much larger than the smallest one tell what is in every request."""


class ReportedSize(NamedTuple):
    """One request: our count of it, and the provider's."""

    items: int
    """Contents, counted by a tokenizer without a factor."""
    framing: int
    reported: int

    def rest(self, factor: float) -> int:
        """What the provider counted and we did not."""
        return self.reported - self.framing - round(factor * self.items)


@dataclass(frozen=True, slots=True)
class Calibration:
    """How our counts for a model become the provider's."""

    model: str
    factor: float = 1.0
    """Times our count of the contents."""
    fixed: int = 0
    """In every request, and not in the log."""
    rest: int = 0
    """The same at the last report: thinking that is billed and not in the file makes it grow."""
    last_items: int = 0
    """The contents of the last request that was reported."""
    spread: float | None = None
    """How far nine of ten estimates were off at most, each made from the reports before it; None: too few."""
    samples: int = 0
    """Reports it was learnt from; 0: the factor is that of the model's family."""

    def estimate(self, items: int, framing: int) -> int:
        """What the provider will report for a request."""
        return framing + round(self.factor * items) + self.unseen(items)

    def unseen(self, items: int) -> int:
        """What a request with such contents has beside them, as far as is known."""
        return self.fixed if items < SHRUNK * self.last_items else self.rest

    @property
    def why(self) -> str:
        """In a sentence."""
        if not self.samples:
            known = f"; the factor of its family is {self.factor:.2f}" if self.factor != 1 else ""
            return f"no request to {self.model or 'the model'} has reported its tokens yet{known}"
        requests = "1 request" if self.samples == 1 else f"{self.samples:,} requests"
        spread = "" if self.spread is None else percent(max(self.spread, 0.001), 1)
        off = f"; nine of ten estimates were within {spread}" if spread else ""
        return f"learnt from {requests}: {self.fixed:,} tokens + {self.factor:.3f} x our count{off}"


class Calibrator:
    """Learns from the reports for one model, one by one."""

    def __init__(self, model: str, family_factor: float = 1.0) -> None:
        self._model = model
        self._prior = family_factor
        self._factor = family_factor
        self._growth: deque[tuple[float, int]] = deque(maxlen=RECENT)
        self._errors: deque[float] = deque(maxlen=RECENT)
        self._ratios: deque[tuple[float, int]] = deque(maxlen=RECENT)
        """What was reported by what we counted, for logs that have all of a request: there is no fixed part then."""
        self._smallest: ReportedSize | None = None
        self._last: ReportedSize | None = None
        self._samples = 0

    def add(self, size: ReportedSize) -> float | None:
        """One more report; gives by what share the estimate made before it was off."""
        error = None
        last = self._last
        if last is not None and size.reported > 0:
            error = self.calibration.estimate(size.items, size.framing) / size.reported - 1
            self._errors.append(abs(error))
            grown = size.items - last.items
            ratio = (size.reported - size.framing - last.reported + last.framing) / grown if grown else 0.0
            if grown > LEAST_GROWTH and ODDEST[0] < ratio < ODDEST[1]:
                self._growth.append((ratio, grown))
                self._factor = weighted_median([*self._growth, (self._prior, PRIOR_WEIGHT)])
        self._last = size
        if size.items:
            self._ratios.append(((size.reported - size.framing) / size.items, size.items))
        if self._smallest is None or size.items <= SMALL * self._smallest.items:
            self._smallest = size
        self._samples += 1
        return error

    @property
    def calibration(self) -> Calibration:
        """What is known so far."""
        if self._last is None or self._smallest is None:
            return Calibration(self._model, self._prior)
        factor, smallest = self._factor, self._smallest
        if smallest.rest(factor) < 0 and self._ratios:
            factor = max(ODDEST[0], min(factor, weighted_median(self._ratios)))
        fixed, rest = smallest.rest(factor), self._last.rest(factor)
        errors = sorted(self._errors)
        spread = errors[ceil(0.9 * len(errors)) - 1] if len(errors) > 1 else None  # `statistics` takes long to import
        return Calibration(self._model, factor, max(0, fixed), rest, self._last.items, spread, self._samples)


def weighted_median(values: Iterable[tuple[float, int]]) -> float:
    """The value at which half of the weight is reached."""
    found = sorted(values)
    half = sum(weight for _, weight in found) / 2
    reached = 0
    for value, weight in found:
        reached += weight
        if reached >= half:
            return value
    raise ValueError("expected at least one value")
