"""How often something happened, with the interval in which its true share lies in 95 of 100 cases."""

from __future__ import annotations

from math import sqrt

from msgspec import Struct

Z = 1.96
"""For 95 %."""


class ChangedCount(Struct, frozen=True):
    """How many answers were counted, and how many of them were changed."""

    changed: int = 0
    tries: int = 0

    @property
    def share(self) -> float:
        """The share of changed answers; 0 without any."""
        return self.changed / self.tries if self.tries else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval, which is right for a few answers, too; 0 to 1 without any."""
        if not self.tries:
            return 0.0, 1.0
        weight = Z * Z / self.tries
        middle = (self.share + weight / 2) / (1 + weight)
        reach = Z * sqrt(self.share * (1 - self.share) / self.tries + weight / self.tries / 4) / (1 + weight)
        # A rounding error must not put the share itself outside.
        return min(self.share, max(0.0, middle - reach)), max(self.share, min(1.0, middle + reach))


class MeasuredEffect(Struct, frozen=True):
    """How much more often the answer changes without an item than with it, in shares of the answers."""

    value: float
    low: float
    high: float
    without: ChangedCount
    """The answers that were counted without it. A figure is never shown without them."""


def effect_of(without: ChangedCount, unchanged: ChangedCount) -> MeasuredEffect:
    """The effect, compared with the answers to the unchanged request; the interval is Newcombe's."""
    value = without.share - unchanged.share
    low, high = without.interval
    calm_low, calm_high = unchanged.interval
    below = sqrt((without.share - low) ** 2 + (calm_high - unchanged.share) ** 2)
    above = sqrt((high - without.share) ** 2 + (unchanged.share - calm_low) ** 2)
    return MeasuredEffect(value, max(-1.0, value - below), min(1.0, value + above), without)
