"""How much a figure depends on which cases were seen: a bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

OUTSIDE: Final = 0.05
"""The share of resamples outside an interval."""
_RESAMPLES = 2_000
_FEW_RESAMPLES = 200
_DRAWS = 1_000_000
"""With very many cases there are fewer resamples, so that an interval never takes longer than a moment."""


def bootstrap_interval(many: int, figure: Callable[[Sequence[int]], float]) -> tuple[float, float]:
    """The middle 95 % of a figure over resamples of so many cases. The same cases give the same interval.

    `figure`: gets the positions of the cases that were drawn, some of them more than once.
    """
    chance, positions = Random(0), range(many)
    resamples = max(_FEW_RESAMPLES, min(_RESAMPLES, _DRAWS // many))
    values = sorted(figure(chance.choices(positions, k=many)) for _ in range(resamples))
    outside = int(resamples * OUTSIDE / 2)
    return values[outside], values[-1 - outside]
