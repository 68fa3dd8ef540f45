"""What the lab finds out: of one request, of one policy over a session, and of a session under many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from workbench.compaction.values import FactKind
from workbench.lab.waste.costs import WasteReport

MISSED_IN_100 = "missed in 100"
"""The heading of a figure, wherever it is shown."""
ABOUT_MISSED = "facts missed in 100 requests"
"""What that figure is."""
WHAT_COSTS = "cost: of the conversation itself, without its sub-agents"
"""What the lab's costs are: a policy for the conversation decides nothing about other requests."""


class Miss(NamedTuple):
    """A fact that an answer used, when the policy had taken away every item that held it."""

    kind: FactKind
    fact: str
    used: int
    """The event of the answer."""
    held: int
    """The last event that held it."""
    request: int
    """Which request the answer is to, from 1."""


class LabCompaction(NamedTuple):
    """A compaction that the policy would have made, or that was recorded."""

    request: int
    """Before which request, from 1."""
    tokens_before: int
    tokens_after: int
    lost: int
    """Facts that the audit says the summary lost; of recorded ones nobody knows."""
    cost: float | None
    """Dollars for the request that asks for the summary; None where no price is known."""
    made_by: str = "digest"
    """Who wrote the summary: a model, or the digest; empty where nobody knows."""
    problem: str = ""
    """Why it was not the model that was to be asked."""


class LabPoint(NamedTuple):
    """One request under one policy."""

    request: int
    """Its number in the session, from 1; what is beside the conversation is not counted."""
    event: int
    """The last event it was made from."""
    tokens: int
    fits: bool
    cache_read: int
    cache_written: int
    misses: int


@dataclass(frozen=True, slots=True)
class PolicyRun:
    """A session under one policy."""

    policy: str
    window: int
    points: tuple[LabPoint, ...]
    compactions: tuple[LabCompaction, ...]
    misses: tuple[Miss, ...]
    cut: int
    """Items that were cut, masked or dropped in at least one request."""
    masked: int
    dropped: int
    cost: float | None
    """Dollars for all requests, those of compactions included; None where no price is known."""
    invalid: int
    """Requests with a call without its result, or the other way round: always 0."""
    summariser: str = ""
    """The model that the policy has summarise, whoever wrote the summaries here."""
    is_window_guessed: bool = False
    """Nobody knows the model's, and none was named."""

    @property
    def tokens(self) -> int:
        """Input tokens over the session."""
        return sum(point.tokens for point in self.points)

    @property
    def peak(self) -> int:
        """The largest request."""
        return max((point.tokens for point in self.points), default=0)

    @property
    def overflows(self) -> int:
        """Requests that would not have fitted."""
        return sum(not point.fits for point in self.points)

    @property
    def cache_read(self) -> int:
        """Tokens that were read from the provider's cache."""
        return sum(point.cache_read for point in self.points)

    @property
    def cache_written(self) -> int:
        """Tokens that were not."""
        return sum(point.cache_written for point in self.points)


class SourceRun(NamedTuple):
    """A session under many policies."""

    source: str
    model: str
    requests: int
    runs: Sequence[PolicyRun]
    waste: WasteReport | None = None
    """What its requests carried and was no longer needed; None where nobody asked."""
