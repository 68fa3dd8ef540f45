"""A policy as a bar: what it sends and what it leaves out, on the same scale as another policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual.content import Content

from workbench.context.plan import ContextPlan
from workbench.tui.widgets.bar import apportion
from workbench.tui.widgets.cells import painted_line


class PolicyPart(NamedTuple):
    """A part of a bar, with its own sign, because colour alone is not enough."""

    name: str
    char: str
    style: str


PARTS = (
    PolicyPart("system", "▓", "$slot-system"),
    PolicyPart("tools", "▚", "$slot-tools"),
    PolicyPart("not in file", "?", "$slot-unattributed"),
    PolicyPart("summaries", "▄", "$slot-summaries"),
    PolicyPart("sent whole", "█", "$slot-history"),
    PolicyPart("truncated", "▆", "$state-truncated"),
    PolicyPart("masked", "▂", "$state-masked"),
    PolicyPart("framing", "+", "$slot-framing"),
    PolicyPart("left out", "·", "$quiet"),
)
"""The parts in order; the last one is not sent."""
GHOST, MARK = "░", "┃"
"""What the other policy sends in addition; and where it ends, if this one sends more."""


def plan_part_sizes(plan: ContextPlan) -> tuple[int, ...]:
    """Tokens of each part."""
    budget = plan.budget
    sent = {"sent": 0, "truncated": 0, "masked": 0}
    left_out = 0
    for row in plan.items:
        if row.slot not in ("history", "turn"):
            continue
        if row.state in sent:
            sent[row.state] += row.tokens
            left_out += max(0, row.original_tokens - row.tokens)
        elif row.state != "aside":
            left_out += row.original_tokens
    return (
        budget.system + budget.instructions + budget.memory,
        budget.tools,
        max(0, budget.unattributed),
        budget.summaries,
        *sent.values(),
        budget.framing,
        left_out,
    )


def policy_bar(
    parts: Sequence[int], other: int, scale: int, width: int, kinds: Sequence[PolicyPart] = PARTS
) -> Content:
    """The bar in exactly `width` cells. `other`: the size of the other policy's request, `scale`: the size of the
    largest bar. The last of the parts is not sent."""
    if width <= 0 or scale <= 0:
        return Content(" " * max(width, 0))
    sent = sum(parts[:-1])
    filled = min(width, round(width * sent / scale))
    whole = min(width, max(filled, round(width * (sent + parts[-1]) / scale)))
    cells: list[tuple[str, str]] = []
    for part, count in zip(kinds[:-1], apportion(parts[:-1], filled), strict=True):
        cells += [(part.char, part.style)] * count
    cells += [(kinds[-1].char, kinds[-1].style)] * (whole - len(cells))
    cells += [(" ", "")] * (width - len(cells))
    end = min(width, round(width * other / scale))
    for at in range(filled, end):
        cells[at] = (GHOST, "$quiet")
    if 0 < end < filled:
        cells[end] = (MARK, "bold $foreground")
    return painted_line(cells)


def bar_legend(seen: Sequence[Sequence[int]], other: str, kinds: Sequence[PolicyPart] = PARTS) -> str:
    """The meaning of the visible signs."""
    used = [part for at, part in enumerate(kinds) if any(parts[at] for parts in seen)]
    named = "  ".join(f"{part.char} {part.name}" for part in used)
    return f"{named}  {GHOST} sent under {other} only  {MARK} end of {other}"
