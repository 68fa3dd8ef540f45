"""Verdict: the request fits, waits for results, or does not fit and why, in numbers. Only one that fits is sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from workbench.config.text import counted
from workbench.context.budget import Limits
from workbench.context.items import Slot

Status = Literal["fits", "too_large", "waiting"]


def request_status(limits: Limits, total: int, waiting: Sequence[str]) -> Status:
    """Whether a request of `total` tokens can be sent; `waiting` are the ids of calls that still run."""
    if total > limits.capacity:
        return "too_large"
    return "waiting" if waiting else "fits"


def verdict_reason(limits: Limits, total: int, slots: Mapping[Slot, int], waiting: Sequence[str]) -> str:
    """Why a request has its status, in numbers."""
    status = request_status(limits, total, waiting)
    if status == "waiting":
        return f"{counted(len(waiting), 'tool call')} without a result so far"
    parts = [f"{total:,} tokens"]
    parts += [f"{limits.unattributed:,} that are not in the file"] if limits.unattributed > 0 else []
    parts += [f"{limits.margin:,} margin"] if limits.margin else []
    answer = limits.answer(total)
    wished = f" (of {limits.reserve:,})" if answer < limits.reserve else ""
    parts += [f"{answer:,} reserve{wished}"] if answer else []
    need = limits.need(total)
    fewer = f" − {-limits.unattributed:,} that the provider does not count" if limits.unattributed < 0 else ""
    spent = " + ".join(parts) + fewer + (f" = {need:,}" if len(parts) > 1 or fewer else "")
    if status == "too_large":
        largest = max(slots, key=lambda slot: slots[slot])
        over = f"{need - limits.window:,} over the window of {limits.window:,}"
        if limits.window_source == "provider":
            over += ", learnt from the provider (/model NAME forgets it, --window N sets another)"
        return f"{spent}, {over}; the largest part is {largest} with {slots[largest]:,}"
    return f"{spent} of {limits.window:,}"


def short_answer(limits: Limits, total: int) -> str:
    """The warning that the answer has less room than it should; empty if it has enough."""
    bound = limits.bound(total)
    if bound is None:
        return ""
    return f"the answer may have {bound:,} tokens at most, not {limits.reserve:,}: the request takes the rest"


def request_warnings(
    limits: Limits, total: int, slots: Mapping[Slot, int], guide: Iterable[tuple[Slot, int]], cuts: tuple[str, ...]
) -> tuple[str, ...]:
    """Warnings about a request of `total` tokens.

    They are about too little room for the answer, slots over the policy's guidance (`guide`), and cut files (`cuts`).
    """
    found = [
        f"{slot} has {slots[slot]:,} tokens; the policy's guidance is {most:,}"
        for slot, most in guide
        if slots[slot] > most
    ]
    short = short_answer(limits, total)
    return (short, *found, *cuts) if short else (*found, *cuts)
