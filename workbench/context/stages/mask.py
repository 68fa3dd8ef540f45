"""Mask: the middle tool results become markers; the first and the last stay.

Which those are is kept up as results arrive (`MaskWindow`), so that one more costs the same at any length.
"""

from __future__ import annotations

from workbench.context.items import Edit, Kind
from workbench.context.policy import MaskingPolicy

_NONE = range(0)


def lies_between(number: int, turn: int, first: int, upto: int, scope: int) -> bool:
    """Whether the result `number` of a turn is masked: behind the first and before the last that are kept.

    `scope` is the only turn that is masked; -1: all of them. A result below 0 has no number and is never masked.
    """
    return first <= number < upto and scope in (-1, turn)


def marker(tokens: int, item_id: str, kind: Kind = "tool_result") -> str:
    """What stands in place of a masked item: its original size, and the id under which the whole can be fetched."""
    what = "result" if kind == "tool_result" else "message"
    return f"[{what} masked — ~{tokens} tokens removed] [id {item_id}]"


def mask(number: int, results: int, first: int, upto: int, scope: str, before: int, original: int, after: int) -> Edit:
    """Put a marker in place of a result: `number` of `results`, of which those from `first` to `upto` are masked.

    `before`, `original` and `after` are the tokens of the result as cut, of the whole, and of the marker.
    """
    why = (
        f"result {number + 1} of {results} in the {scope} is between the first {first} and the last "
        f"{results - upto}; {original:,} tokens replaced by a marker of {after:,}"
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
        self.upto = policy.keep_first
        self._freed: list[int] = []
        """By number: what masking a result would free."""
        self._waiting = 0
        self._counted = policy.keep_first
        """Those before this one lie in the middle, or among the first; what they free was added up."""

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
