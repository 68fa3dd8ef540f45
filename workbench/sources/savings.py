"""What changes on the way saved, and what they cost in the provider's cache, from a log's counts and reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from workbench.config.text import counted, percent
from workbench.sources.recorded import ListedRequest
from workbench.sources.requests import TALK, not_sent


class Savings(NamedTuple):
    """The savings of the requests that were sent in place of others."""

    changed: int
    """How many requests were changed."""
    not_sent: int
    """Tokens that were asked for and not sent, by our own count."""
    batches: int
    """How many of them changed more than the one before."""
    cache_lost: int | None
    """Tokens of the request before that were not read from the cache at those batches and where changes were undone;
    None: no cache was reported."""
    last_batch: int = 0
    """The event of the last of those requests."""
    spread: float | None = None
    """The largest error of our counts in nine of ten reports, as a share; None: too few reports."""

    @property
    def size(self) -> str:
        """How many tokens less or more were sent. Only the provider could count what was not sent."""
        within = "" if self.spread is None else f" (± {percent(self.spread)})"
        return f"about {abs(self.not_sent):,} tokens{within}"

    def __str__(self) -> str:
        cache = "" if self.cache_lost is None else f"; {self.cache_lost:,} tokens were not read from the cache for it"
        batches = counted(self.batches, "batch", "batches")
        requests = counted(self.changed, "request")
        saved = f"{self.size} {'not sent' if self.not_sent >= 0 else 'added'}"
        return f"changed on the way: {requests}, {saved}, {batches}{cache}"


class ProxyPolicyFigures(NamedTuple):
    """The policy on the way of a session, and what it saved."""

    policy: str
    """With its knobs; empty: none any more."""
    saved: Savings | None
    """None: nothing was changed yet."""
    still: bool
    """Whether the last request was changed."""
    undone: int = 0
    """Results that were restored by undo, but are sent changed until the next batch."""

    def __str__(self) -> str:
        policy = self.policy or ("off, still masked until a batch would be due" if self.still else "off")
        if self.undone and self.policy:
            policy += f", {counted(self.undone, 'result')} undone but still masked until the next batch"
        if self.saved is None:
            return f"{policy}: nothing changed yet"
        saved, batches = self.saved, counted(self.saved.batches, "batch", "batches")
        sent = f"{'saved' if saved.not_sent >= 0 else 'added'} {saved.size}"
        cost = "no cache was reported" if saved.cache_lost is None else f"cost {saved.cache_lost:,} tokens of cache"
        return f"{policy}: {sent} in {counted(saved.changed, 'request')}; {batches}, {cost}"


def proxy_policy_figures(
    policy: str | None,
    listed: Sequence[ListedRequest],
    undone: Sequence[tuple[int, int]] = (),
    spread: float | None = None,
) -> ProxyPolicyFigures | None:
    """The figures of a session; None if nothing was changed on the way. `policy`: the last one in the log, if any.

    `undone`: the events that undid a batch, with the number of results.
    """
    saved = session_savings(listed, spread)
    if policy is None and saved is None:
        return None
    sent = _sent(listed)
    still = bool(sent) and sent[-1].mark.instead_of > 0
    waiting = sum(results for seq, results in undone if still and seq > (saved.last_batch if saved else 0))
    return ProxyPolicyFigures("by hand" if policy is None else policy, saved, still, waiting)


def session_savings(listed: Sequence[ListedRequest], spread: float | None = None) -> Savings | None:
    """The savings of a session; None if every request was sent unchanged. `spread`: the error of our counts."""
    asked = {each.mark.seq: each for each in listed}
    changed = saved = batches = lost = last = 0
    before: ListedRequest | None = None
    asked_before = reported = owed = 0
    for each in _sent(listed):
        mark = each.mark
        whole = asked[mark.instead_of].tokens if mark.instead_of in asked else each.tokens
        changed += mark.instead_of > 0
        saved += whole - each.tokens
        was = before.changed if before is not None else frozenset()
        # If the agent itself sends less, less is changed.
        if each.changed - was or (was - each.changed and whole >= asked_before):
            batches, last = batches + bool(each.changed - was), mark.seq
            owed = reported
        if mark.reported is not None:  # a refused request says nothing about the cache: the next one does
            lost += max(0, owed - mark.cached)
            reported, owed = mark.reported, 0
        before, asked_before = each, whole
    if not changed:
        return None
    cached = any(each.mark.cached for each in listed)
    return Savings(changed, saved, batches, lost if cached else None, last, spread)


def left_out(listed: Sequence[ListedRequest]) -> int:
    """Tokens that the last request was sent without; with the same policy the next one lacks them too."""
    sent = _sent(listed)
    whole = next((each.tokens for each in listed if sent and each.mark.seq == sent[-1].mark.instead_of), None)
    return 0 if whole is None else whole - sent[-1].tokens


def _sent(listed: Sequence[ListedRequest]) -> list[ListedRequest]:
    """The requests that reached the model in the agent's own conversation. The last may still be on its way."""
    missing = not_sent([each.mark for each in listed])
    sent = [each for each in listed if each.mark.exact and each.mark.purpose in TALK and each.mark.seq not in missing]
    waits = bool(sent) and sent[-1].mark.reported is None and not sent[-1].mark.instead_of
    return sent[: len(sent) - waits]
