"""The largest items that may be masked, and what masking those that are chosen would free."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import nlargest

from workbench.config.text import printable
from workbench.context.items import SIGNS, Item
from workbench.context.plan import ContextPlan
from workbench.context.tool_lines import item_line
from workbench.session.context_view import SessionQueries
from workbench.tui.inspector.masking import MaskScreen
from workbench.tui.inspector.overrides import ProposedOverrides, choose, why_not
from workbench.tui.widgets.cells import fit

MOST = 10
LEAST_TOKENS = 50
"""Of a smaller item the marker would leave little to free."""
WORTH = 0.01
"""The share of the window from which on an item is proposed, and not only listed."""
WHO = 16
"""Cells for who said it."""


def largest(plan: ContextPlan, count: int = MOST) -> list[Item]:
    """The largest items that may be masked, the largest first: one pass over what is sent."""
    return nlargest(count, _maskable(plan), key=lambda row: row.tokens)


def worth(items: Sequence[Item], window: int) -> frozenset[int]:
    """The places of those that are worth it."""
    return frozenset(at for at, row in enumerate(items) if row.tokens >= window * WORTH)


def _maskable(plan: ContextPlan) -> Iterator[Item]:
    """All but what is pinned or masked already, what cannot be masked, and what the next answer is about.

    That is what was said in the current turn, and the results that the model has not answered yet.
    """
    fresh: list[Item] = []
    for row in plan.rows.in_request():
        if row.role == "assistant":
            yield from fresh
            fresh = []
        if row.tokens < LEAST_TOKENS or row.pinned or row.state == "masked" or why_not("mask", row):
            continue
        if row.kind == "tool_result":
            fresh.append(row)
        elif row.slot != "turn":
            yield row


class LargestScreen(MaskScreen[Item]):
    """The largest: mask these."""

    BINDING_GROUP_TITLE = "The largest"
    TITLE_LINE = "The largest items that can be masked"
    NOTHING = f"nothing to mask: no item of {LEAST_TOKENS} tokens or more may be masked"

    def look(self) -> tuple[Sequence[Item], frozenset[int]]:
        """Those that are worth it are proposed."""
        items = largest(self.shown.plan)
        return items, worth(items, self.shown.plan.limits.window)

    def line(self, item: Item, width: int) -> str:
        """Tokens, state, number, who, and what it says."""
        return (
            f"{item.tokens:>8,}  {SIGNS[item.state]} #{item.seq:<5} {fit(printable(item.who), WHO)}  {item_line(item)}"
        )

    def choice(self, items: Sequence[Item], queries: SessionQueries) -> ProposedOverrides:
        """All of them masked."""
        return choose("mask", items, queries)
