"""Mask: the middle tool results become markers; the first and the last stay.

`MaskWindow` tracks which those are as results arrive, so that one more costs the same at any length.
"""

from __future__ import annotations

from copy import copy

from msgspec import Struct

from workbench.config.values import replace
from workbench.context.items import Edit, Kind
from workbench.context.policy import MaskingPolicy

LEAST_TOKENS = 50
"""Masking a smaller item would free little, because of the marker."""
_NONE = range(0)


class MaskedSpan(Struct, frozen=True):
    """Which results are masked: those from `first` up to `upto`."""

    first: int
    upto: int
    turn: int
    """The only turn that is masked; -1: all of them."""
    last: int = 0
    """How many of the newest the policy keeps; more, if a batch is not full yet."""
    batch: str = ""
    """How much a batch frees, and its knob."""


def lies_between(number: int, turn: int, span: MaskedSpan) -> bool:
    """Whether the result `number` of a turn is masked. A negative number is never masked."""
    return span.first <= number < span.upto and span.turn in (-1, turn)


def mask_marker(tokens: int, item_id: str, kind: Kind = "tool_result") -> str:
    """The text that replaces a masked item: its original size, and the id to fetch the whole."""
    what = "result" if kind == "tool_result" else "message"
    return f"[{what} masked — ~{tokens} tokens removed] [id {item_id}]"


def mask_edit(number: int, results: int, kept: MaskedSpan, before: int, original: int, after: int) -> Edit:
    """The edit that replaces a result by a marker: `number` of `results`.

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

    Results are numbered from 0 in their scope. Those from `keep_first` up to `upto` are masked. Without batches `upto`
    stays `keep_last` before the newest. With batches it moves only if that frees enough at once, because every move
    changes the request near its beginning and so loses the provider's prompt cache.
    """

    def __init__(self, policy: MaskingPolicy, window: int) -> None:
        self._first = policy.keep_first
        self._last = policy.keep_last
        self._by_turn = policy.scope == "turn"
        self.active = bool(policy.keep_first or policy.keep_last)
        share = int(window * policy.batch_ratio) if policy.batch_ratio else policy.batch_tokens
        self._batch = min(policy.batch_tokens, share)
        knob = "batch_ratio" if share < policy.batch_tokens else "batch_tokens"
        words = f"{self._batch:,} tokens (masking.{knob})"
        self.upto = policy.keep_first
        self._span = MaskedSpan(policy.keep_first, self.upto, -1, policy.keep_last, words)
        """What was masked when somebody last asked."""
        self._freed: list[int] = []
        """By number: what masking a result would free."""
        self._waiting = 0
        self._counted = policy.keep_first
        """Results before this one are in the middle or among the first; what they free is added up."""

    def copy(self) -> MaskWindow:
        made = copy(self)
        made._freed = self._freed[:]
        return made

    def add_result(self, freed: int) -> range:
        """Add a result, which would free `freed` tokens; returns the numbers of the results that are masked now."""
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
        """What is masked now that the conversation is at this turn: in all turns, or in this one alone."""
        found = self._span
        if found.upto != self.upto or (self._by_turn and found.turn != turn):
            found = self._span = replace(found, upto=self.upto, turn=turn if self._by_turn else -1)
        return found
