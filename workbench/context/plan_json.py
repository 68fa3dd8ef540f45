"""The plan as JSON values: for `workbench plan --json` and for the library."""

from __future__ import annotations

from typing import Any

from workbench.context.items import Item
from workbench.context.plan import ContextPlan


def plan_json(made: ContextPlan) -> dict[str, Any]:
    """A plan without its items."""
    budget = made.budget._asdict()
    if not made.unattributed:
        del budget["unattributed"]
    return {
        "model": made.model or None,
        "window": made.limits.window,
        "window_source": made.limits.window_source,
        "policy": made.policy,
        "verdict": {"fits": made.verdict.fits, "why": made.verdict.why},
        "budget": budget,
        "totals": made.totals._asdict(),
        "max_output": made.max_output,
        "warnings": list(made.warnings),
    }


def item_json(item: Item, full: bool = False) -> dict[str, Any]:
    """An item; `full`: with its whole original text."""
    found: dict[str, Any] = {
        "id": item.id,
        "seq": item.seq,
        "turn": item.turn,
        "slot": item.slot,
        "role": item.role,
        "kind": item.kind,
        "tool": item.tool,
        "state": item.state,
        "tokens": item.tokens,
        "original_tokens": item.original_tokens,
        "exact": item.exact,
        "pinned": item.pinned,
        "edits": [edit._asdict() for edit in item.edits],
        "text": item.text,
    }
    return {**found, "original": item.original} if full else found
