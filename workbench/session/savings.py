"""What changes on the way saved, and what they cost in the provider's cache: by the counts and reports of a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from workbench.config.text import counted
from workbench.session.recorded import ListedRequest


class Savings(NamedTuple):
    """Of the requests that were sent in place of others."""

    changed: int
    """How many were."""
    not_sent: int
    """Tokens that were asked for and not sent, by our count of both."""
    batches: int
    """At how many of them more was changed than at the one before."""
    cache_lost: int | None
    """Tokens of the request before that were not read from the cache at those; None: no cache was reported."""

    def __str__(self) -> str:
        cache = "" if self.cache_lost is None else f"; {self.cache_lost:,} tokens were not read from the cache for it"
        batches = counted(self.batches, "batch", "batches")
        requests = counted(self.changed, "request")
        saved = f"{self.not_sent:,} tokens not sent" if self.not_sent >= 0 else f"{-self.not_sent:,} tokens added"
        return f"changed on the way: {requests}, {saved}, {batches}{cache}"


def savings(listed: Sequence[ListedRequest]) -> Savings | None:
    """What was saved in a session; None where every request was sent as it was asked."""
    asked = {each.mark.seq: each for each in listed}
    replaced = {each.mark.instead_of for each in listed if each.mark.instead_of}
    changed = not_sent = batches = lost = 0
    before: ListedRequest | None = None
    freed_before = 0
    for each in listed:
        mark = each.mark
        if not mark.exact or mark.seq in replaced or mark.purpose != "turn":
            continue
        freed = asked[mark.instead_of].tokens - each.tokens if mark.instead_of in asked else 0
        changed += mark.instead_of > 0
        not_sent += freed
        if freed > freed_before:
            batches += 1
            if before is not None and before.mark.reported:
                lost += max(0, before.mark.reported - mark.cached)
        before, freed_before = each, freed
    if not changed:
        return None
    cached = any(each.mark.cached for each in listed)
    return Savings(changed, not_sent, batches, lost if cached else None)
