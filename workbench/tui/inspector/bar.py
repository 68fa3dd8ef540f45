"""The budget as one line: who has how much of the window."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from workbench.context.budget import Budget
from workbench.tui.bench import Shown
from workbench.tui.cells import number


class Part(NamedTuple):
    """A part of the budget as it is drawn: a character of its own, so that the bar can be read without colour."""

    name: str
    short: str
    char: str


PARTS = (
    Part("system", "sys", "▓"),
    Part("instructions", "instr", "▒"),
    Part("memory", "mem", "▀"),
    Part("tools", "tools", "▚"),
    Part("summaries", "sums", "▄"),
    Part("history", "hist", "█"),
    Part("turn", "turn", "▌"),
    Part("framing", "frame", "+"),
    Part("free", "free", "·"),
    Part("margin", "margin", "╱"),
    Part("reserve", "res", "░"),
)
"""In the order of the bar: what is sent, what is free, and at the right end what must stay empty."""


def apportion(amounts: Sequence[int], width: int) -> list[int]:
    """Widths in proportion, adding up to `width`; what is not nothing gets a cell, as long as there are enough."""
    given = [0] * len(amounts)
    total = sum(amounts)
    if total <= 0 or width <= 0:
        return given
    largest = sorted((at for at, amount in enumerate(amounts) if amount > 0), key=lambda at: -amounts[at])
    for at in largest[:width]:
        given[at] = 1
    left = width - sum(given)
    over = [max(0, amount * width - total) for amount in amounts]
    whole = sum(over)
    if not left or not whole:
        return given
    for at, amount in enumerate(over):
        given[at] += left * amount // whole
    rests = sorted(range(len(over)), key=lambda at: -(left * over[at] % whole))
    for at in rests[: width - sum(given)]:
        given[at] += 1
    return given


def amounts(budget: Budget) -> list[int]:
    """The parts of a budget in the bar's order; nothing is free when it is overdrawn."""
    return [max(0, getattr(budget, part.name)) for part in PARTS]


def draw(budget: Budget, window: int, width: int) -> Content:
    """The bar. Where the parts do not fit, what sticks out of the window is drawn in the colour of errors."""
    parts = amounts(budget)
    end = width * window // max(sum(parts), 1)
    pieces: list[tuple[str, str]] = []
    at = 0
    for part, cells in zip(PARTS, apportion(parts, width), strict=True):
        inside = max(0, min(cells, end - at))
        pieces += [(part.char * inside, f"$slot-{part.name}"), (part.char * (cells - inside), "$error")]
        at += cells
    return Content.assemble(*pieces)


class Form(NamedTuple):
    """One way to write the legend."""

    short: bool
    digits: int
    """Cells for a figure."""
    gap: str
    between: str


FORMS = (Form(False, 12, " ", "  "), Form(True, 12, " ", "  "), Form(True, 4, " ", "  "), Form(True, 4, "", " "))
"""From the fullest to the shortest."""


def legend(budget: Budget, width: int) -> Content:
    """What the bar's characters mean, as fully as a line allows: at last with figures for the largest parts alone."""
    parts = {part: amount for part, amount in zip(PARTS, amounts(budget), strict=True) if amount}
    over = -budget.free
    for form in FORMS:
        line = _legend(parts, over, form, parts.keys())
        if line.cell_length <= width:
            return line
    largest = sorted(parts, key=lambda part: -parts[part])
    for count in range(len(largest) - 1, -1, -1):
        line = _legend(parts, over, FORMS[-1], largest[:count])
        if line.cell_length <= width:
            return line
    return line.truncate(width, ellipsis=True)


def _legend(parts: Mapping[Part, int], over: int, form: Form, figured: Collection[Part]) -> Content:
    entries = [Content.styled(f"over by {over:,}", "bold $error")] if over > 0 else []
    for part, amount in parts.items():
        name = part.short if form.short else part.name
        figure = f" {number(amount, form.digits)}" if part in figured else ""
        entries.append(Content.assemble((part.char, f"$slot-{part.name}"), f"{form.gap}{name}{figure}"))
    return Content(form.between).join(entries)


class BudgetBar(Widget):
    """The bar and its legend."""

    shown: reactive[Shown | None] = reactive(None)

    def render(self) -> Content:
        """Two lines; empty ones until there is a plan."""
        if self.shown is None:
            return Content("\n")
        plan = self.shown.plan
        width = self.size.width
        bar = draw(plan.budget, plan.limits.window, width)
        return Content("\n").join([bar, legend(plan.budget, width)])
