"""The results of the lab: for one request, for a session under one policy, and for a session under many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from workbench.compaction.values import FactKind
from workbench.config.text import percent
from workbench.lab.waste.costs import WasteReport

MISSED_IN_100 = "missed in 100"
"""The heading of the column in every table."""
ABOUT_MISSED = "requests in 100 with a miss"
"""What the column means."""
REREADING = "re-reading"
"""The heading of what it costs to read again what was missed."""
ABOUT_REREADING = "one more request after each with a miss, and what held the facts"
"""What that includes."""
JUDGED = "judged"
"""The heading of what a policy's last request still answers."""
ABOUT_JUDGED = "of the questions about a session, those that its last request still answers, by rule"
"""What that means."""
WHAT_COSTS = "cost: of the conversation itself, without its sub-agents"
"""What the costs include. A policy for the conversation does not change the requests of sub-agents."""


class Miss(NamedTuple):
    """A fact that an answer used although the policy had removed every item that held it."""

    kind: FactKind
    fact: str
    used: int
    """The event of the answer."""
    held: int
    """The last event that held it."""
    request: int
    """The number of the request that was answered, from 1."""


class LabCompaction(NamedTuple):
    """A compaction that the policy would have made, or that was recorded."""

    request: int
    """Before which request, from 1."""
    tokens_before: int
    tokens_after: int
    lost: int
    """Facts that the summary lost, by its audit; 0 for a recorded compaction, where it is not known."""
    cost: float | None
    """Dollars for the request that asks for the summary; None where no price is known."""
    made_by: str = "digest"
    """Who wrote the summary: a model, or the digest; empty where it is not known."""
    problem: str = ""
    """Why the model that should write it did not."""


class JudgedShare(NamedTuple):
    """How many questions about the session its last request still answers, by rule."""

    probes: int
    mean: float
    low: float | None
    high: float | None
    """The bootstrap interval; None with too few probes."""


def judged_text(mean: float | None, probes: int) -> str:
    """The share of questions that are answered, and how many there are."""
    return "–" if mean is None else f"{percent(mean, 0)} of {probes:,}"


class LabPoint(NamedTuple):
    """One request under one policy."""

    request: int
    """Its number in the session, from 1. The requests of sub-agents are not counted."""
    event: int
    """The last event in it."""
    tokens: int
    fits: bool
    cache_read: int
    cache_written: int
    misses: int


class PolicyRun(Struct, frozen=True):
    """A session under one policy."""

    policy: str
    window: int
    points: tuple[LabPoint, ...]
    compactions: tuple[LabCompaction, ...]
    misses: tuple[Miss, ...]
    cut: int
    masked: int
    dropped: int
    """How many items were cut, masked and dropped, each in at least one request."""
    cost: float | None
    """Dollars for all requests, those of compactions included; None where no price is known."""
    invalid: int
    """Requests with a call that lacks its result, or a result that lacks its call. Always 0: a check on the replay."""
    summariser: str = ""
    """The model that the policy asks for summaries, even if the digest wrote them here."""
    reread_tokens: int = 0
    """The tokens of the items that the model would have read again, once for each request that missed them."""
    reread_cost: float | None = None
    """Dollars for reading them again: these tokens, and one more request each time. Not part of `cost`."""
    is_window_guessed: bool = False
    """Whether the window is a guess: the model's is unknown, and no option set one."""
    judged: JudgedShare | None = None
    """None if it was not asked for, or if nothing could be asked."""

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
    def missed_requests(self) -> int:
        """Requests with at least one miss."""
        return sum(point.misses > 0 for point in self.points)

    @property
    def missed_in_100(self) -> float:
        """How many requests in a hundred have a miss."""
        return 100 * self.missed_requests / len(self.points) if self.points else 0.0

    @property
    def cache_read(self) -> int:
        """Tokens that were read from the provider's cache."""
        return sum(point.cache_read for point in self.points)

    @property
    def cache_written(self) -> int:
        """Tokens that were written to the provider's cache."""
        return sum(point.cache_written for point in self.points)


class SourceRun(NamedTuple):
    """A session under many policies."""

    source: str
    model: str
    requests: int
    runs: Sequence[PolicyRun]
    waste: WasteReport | None = None
    """What its requests carried without need; None where it was not asked for."""
