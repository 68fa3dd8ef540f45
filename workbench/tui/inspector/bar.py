"""The budget as one line: who has how much of the window, and where the thresholds are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from workbench.context.budget import Budget
from workbench.session.context_view import ContextView
from workbench.tui.widgets.cells import number


class BarSegment(NamedTuple):
    """A part of the budget as it is drawn: a character of its own, so that the bar can be read without colour."""

    name: str
    short: str
    char: str
    words: str = ""
    """What the legend calls it, where that is not its name."""


SEGMENTS = (
    BarSegment("system", "sys", "▓"),
    BarSegment("instructions", "instr", "▒"),
    BarSegment("memory", "mem", "▀"),
    BarSegment("tools", "tools", "▚"),
    BarSegment("unattributed", "unseen", "?", "not in file"),
    BarSegment("summaries", "sums", "▄"),
    BarSegment("history", "hist", "█"),
    BarSegment("turn", "turn", "▌"),
    BarSegment("framing", "frame", "+"),
    BarSegment("free", "free", "·"),
    BarSegment("margin", "margin", "╱"),
    BarSegment("reserve", "res", "░"),
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
    return [max(0, getattr(budget, part.name)) for part in SEGMENTS]


class Tick(NamedTuple):
    """A threshold on the bar."""

    tokens: int
    label: str
    short: str


TICK = "┊"
LINES = 3
"""Bar, names of the thresholds, legend."""
LEVELS = (0.7, 0.9)
"""Where the status line turns yellow, and red."""


def ticks(window: int, compact_at: int) -> list[Tick]:
    """The thresholds of a window, the most important first."""
    found, share = [], ""
    if compact_at:
        share = f"{compact_at / max(window, 1):.0%}"
        found.append(Tick(compact_at, f"{share} compacts", f"{share} cmp"))
    names = {f"{level:.0%}": int(window * level) for level in LEVELS}
    found += [Tick(tokens, name, name) for name, tokens in names.items() if name != share]
    return [tick for at, tick in enumerate(found) if tick.tokens not in [other.tokens for other in found[:at]]]


def _place(tick: Tick, budget: Budget, width: int) -> int:
    """The cell of a threshold."""
    return min(width - 1, width * tick.tokens // max(sum(amounts(budget)), 1))


def labels(budget: Budget, marks: Sequence[Tick], width: int) -> Content:
    """The thresholds' names under their ticks; of two that would touch, the more important one."""
    taken: list[tuple[int, int, str]] = []
    for tick in marks:
        at = _place(tick, budget, width)
        for text in (tick.label, tick.short):
            start = max(0, min(at - len(text) // 2, width - len(text)))
            if start + len(text) <= width and all(start > end or start + len(text) < begin for begin, end, _ in taken):
                taken.append((start, start + len(text), text))
                break
    line = ""
    for start, _, text in sorted(taken):
        line = line.ljust(start) + text
    return Content.styled(line, "$quiet")


def draw(budget: Budget, window: int, width: int, marks: Sequence[Tick] = (), named: bool = False) -> Content:
    """The bar. Where the parts do not fit, what sticks out of the window is drawn in the colour of errors.

    `named`: the thresholds' names stand on it, because no line under it is left for them.
    """
    cells = _parts(budget, window, width)
    places = sorted((_place(tick, budget, width), tick.short) for tick in marks if cells)
    for order, (at, name) in enumerate(places):
        end = places[order + 1][0] if order + 1 < len(places) else width
        said = TICK + name if named and at + 1 + len(name) <= end else TICK
        cells[at : at + len(said)] = [(char, "bold $foreground") for char in said]
    runs = groupby(cells, key=itemgetter(1))
    return Content.assemble(*(("".join(char for char, _ in run), style) for style, run in runs))


def _parts(budget: Budget, window: int, width: int) -> list[tuple[str, str]]:
    """The bar cell by cell: a character and its style."""
    parts = amounts(budget)
    end = width * window // max(sum(parts), 1) if budget.free < 0 else width
    found: list[tuple[str, str]] = []
    for part, cells in zip(SEGMENTS, apportion(parts, width), strict=True):
        found += [(part.char, f"$slot-{part.name}")] * cells
    return [(char, style if at < end else "$error") for at, (char, style) in enumerate(found)]


class LegendForm(NamedTuple):
    """One way to write the legend."""

    short: bool
    digits: int
    """Cells for a figure."""
    gap: str
    between: str


LEGEND_FORMS = (
    LegendForm(False, 12, " ", "  "),
    LegendForm(True, 12, " ", "  "),
    LegendForm(True, 4, " ", "  "),
    LegendForm(True, 4, "", " "),
)
"""From the fullest to the shortest."""


def legend(budget: Budget, width: int) -> Content:
    """What the bar's characters mean, as fully as a line allows: at last with figures for the largest parts alone."""
    parts = {part: amount for part, amount in zip(SEGMENTS, amounts(budget), strict=True) if amount}
    over = f"over by {-budget.free:,}" if budget.free < 0 else ""
    largest = sorted(parts, key=lambda part: -parts[part])
    tries = [(form, largest) for form in LEGEND_FORMS]
    tries += [(LEGEND_FORMS[-1], largest[:count]) for count in range(len(largest) - 1, -1, -1)]
    for form, figured in tries:
        entries = [(part, _entry(part, amount, form, part in figured)) for part, amount in parts.items()]
        texts = [*([over] if over else []), *(text for _, text in entries)]
        if sum(map(len, texts)) + len(form.between) * (len(texts) - 1) <= width:
            break
    made = [(over, "bold $error"), *([(form.between, "")] if entries else [])] if over else []
    for place, (part, text) in enumerate(entries):
        made += [(text[:1], f"$slot-{part.name}"), (text[1:] + form.between * (place < len(entries) - 1), "")]
    line = Content.assemble(*made)
    return line if line.cell_length <= width else line.truncate(width, ellipsis=True)


def _entry(part: BarSegment, amount: int, form: LegendForm, figured: bool) -> str:
    name = part.short if form.short else part.words or part.name
    return f"{part.char}{form.gap}{name}{f' {number(amount, form.digits)}' if figured else ''}"


class BudgetBar(Widget):
    """The bar, the thresholds' names where there is room for a third line, and the legend."""

    shown: reactive[ContextView | None] = reactive(None)

    def render(self) -> Content:
        """Empty lines until there is a plan."""
        height, width = self.size.height, self.size.width
        if self.shown is None or not width:
            return Content("\n" * max(0, height - 1))
        plan = self.shown.plan
        marks = ticks(plan.limits.window, self.shown.compact_at)
        low = height < LINES
        lines = [draw(plan.budget, plan.limits.window, width, marks, low), legend(plan.budget, width)]
        if not low:
            lines.insert(1, labels(plan.budget, marks, width))
        return Content("\n").join(lines[: max(1, height)])
