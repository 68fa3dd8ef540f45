"""Mask: the middle tool results become markers; the first and the last stay.

Which those are is kept up as results arrive (`MaskWindow`), so that one more costs the same at any length.
"""

from __future__ import annotations

from copy import copy
from typing import NamedTuple

from workbench.context.items import Edit, Kind
from workbench.context.policy import MaskingPolicy

_NONE = range(0)


class MaskedSpan(NamedTuple):
    """Which results are masked: those from `first` up to `upto`."""

    first: int
    upto: int
    turn: int
    """The only turn that is masked; -1: all of them."""
    last: int = 0
    """How many of the newest the policy keeps; more, where a batch is not full yet."""
    batch: str = ""
    """How much a batch frees, and the knob that says so."""


def lies_between(number: int, turn: int, span: MaskedSpan) -> bool:
    """Whether the result `number` of a turn is masked. One below 0 has no number and never is."""
    return span.first <= number < span.upto and span.turn in (-1, turn)


def marker(tokens: int, item_id: str, kind: Kind = "tool_result") -> str:
    """What stands in place of a masked item: its original size, and the id under which the whole can be fetched."""
    what = "result" if kind == "tool_result" else "message"
    return f"[{what} masked — ~{tokens} tokens removed] [id {item_id}]"


def mask(number: int, results: int, kept: MaskedSpan, before: int, original: int, after: int) -> Edit:
    """Put a marker in place of a result: `number` of `results`.

    `before`, `original` and `after` are the tokens of the result as cut, of the whole, and of the marker.
    """
    others = "not counting summarised ones" if kept.turn < 0 else "of the turn"
    last = f"the last {kept.last}"
    whole = results - kept.upto
    if whole > kept.last:
        last = f"at least {last}, {whole} at this point because it masks in batches that free {kept.batch}"
    why = (
        f"tool result {number + 1} of {results} ({others}): masking.keep_first and keep_last keep the first "
        f"{kept.first} and {last}; {original:,} tokens replaced by a marker of {after:,}"
    )
    return Edit("mask", "masked", before, after, why)


class MaskWindow:
    """Which results are masked, as results arrive one by one.

    Results are numbered from 0 in their scope. Those from `keep_first` up to `upto` are masked. Without batches
    `upto` stays `keep_last` behind the newest. With batches it moves on only when that frees enough at once, because
    every move changes the request near its beginning and so costs the provider's prompt cache.
    """

    def __init__(self, policy: MaskingPolicy, window: int) -> None:
        self._first = policy.keep_first
        self._last = policy.keep_last
        self.active = bool(policy.keep_first or policy.keep_last)
        share = int(window * policy.batch_ratio) if policy.batch_ratio else policy.batch_tokens
        self._batch = min(policy.batch_tokens, share)
        knob = "batch_ratio" if share < policy.batch_tokens else "batch_tokens"
        self._said = f"{self._batch:,} tokens (masking.{knob})"
        self.upto = policy.keep_first
        self._freed: list[int] = []
        """By number: what masking a result would free."""
        self._waiting = 0
        self._counted = policy.keep_first
        """Those before this one lie in the middle, or among the first; what they free was added up."""

    def again(self) -> MaskWindow:
        """A copy that goes on for itself."""
        made = copy(self)
        made._freed = self._freed[:]
        return made

    def add(self, freed: int) -> range:
        """One more result, which would free `freed` tokens; returns the numbers of those that become masked now."""
        self._freed.append(freed)
        if not self.active or len(self._freed) - self._last <= self._counted:
            return _NONE
        self._waiting += self._freed[self._counted]
        self._counted += 1
        if self._batch and self._waiting < self._batch:
            return _NONE
        fresh = range(self.upto, self._counted)
        self.upto, self._waiting = self._counted, 0
        return fresh

    def span(self, turn: int) -> MaskedSpan:
        """What is masked now, in this turn alone or, with -1, in all of them."""
        return MaskedSpan(self._first, self.upto, turn, self._last, self._said)
