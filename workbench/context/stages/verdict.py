"""Verdict: the request fits, waits for results, or does not fit and why, in numbers. Only one that fits is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.context.budget import Limits
from workbench.context.items import Slot
from workbench.context.plan import Verdict
from workbench.context.policy import BudgetPolicy


def verdict(limits: Limits, total: int, slots: Mapping[Slot, int], waiting: Sequence[str]) -> Verdict:
    """Whether a request of `total` tokens can be sent; `waiting` are the ids of calls that still run."""
    parts = [f"{total:,} tokens"]
    parts += [f"{limits.margin:,} margin"] if limits.margin else []
    parts += [f"{limits.reserve:,} reserve"] if limits.reserve else []
    need = total + limits.margin + limits.reserve
    spent = " + ".join(parts) + (f" = {need:,}" if len(parts) > 1 else "")
    if need > limits.window:
        largest = max(slots, key=lambda slot: slots[slot])
        over = f"{need - limits.window:,} over the window of {limits.window:,}"
        if limits.window_source == "provider":
            over += ", learnt from the provider (/model NAME forgets it, --window N sets another)"
        return Verdict("too_large", f"{spent}, {over}; the largest part is {largest} with {slots[largest]:,}")
    if waiting:
        return Verdict("waiting", f"waiting for the result of {len(waiting)} calls ({', '.join(waiting)})")
    return Verdict("fits", f"{spent} of {limits.window:,}")


def warnings(guide: BudgetPolicy, slots: Mapping[Slot, int]) -> tuple[str, ...]:
    """What the policy advises against; nothing is cut for it."""
    if not guide.system_tokens and not guide.memory_tokens:
        return ()
    guidance: dict[Slot, int] = {"system": guide.system_tokens, "memory": guide.memory_tokens}
    return tuple(
        f"{slot} has {slots[slot]:,} tokens; the policy's guidance is {limit:,}"
        for slot, limit in guidance.items()
        if 0 < limit < slots[slot]
    )
