"""The size of the context over the turns, drawn in blocks: the threshold as a line, compactions as signs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual.content import Content
from textual.widget import Widget

from workbench.config.text import counted, printable
from workbench.tui.observing import Observing, observed
from workbench.tui.widgets.cells import join_cells, painted_line, short_number
from workbench.views.compaction_values import Curve

EIGHTHS = " ▁▂▃▄▅▆▇█"
OVER = "▓"
"""The sign for the part above the threshold, because colour alone is not enough."""
MADE, UNDONE, UPRIGHT, LINE = "◆", "◇", "┊", "┄"
HERE, TRIED = "▼", "━"
"""The selected request, and the sizes under a policy that is only tried."""
WIDEST_BAR = 3
LABELS = 7
"""Columns of the scale on the left."""
ROOM_FOR_LABELS = 36
ROOM_FOR_FOOT = 4
NEAR = 8
"""A threshold more than this many times the curve's height is not on the scale: the curve would be flat."""
EMPTY = "no requests yet: their tokens are drawn here"
UNREPORTED = "no reported tokens to draw"


class PlotColumn(NamedTuple):
    """One column of cells."""

    size: int
    mark: str = ""
    """The sign of a compaction, which has its own column; empty: a bar."""
    tried: int = 0
    """The size under another policy; 0: none is tried."""
    here: bool = False
    """Whether this request is selected."""


def plot_columns(curve: Curve, width: int, here: int | None = None) -> list[PlotColumn]:
    """At most `width` columns: a bar for each size, or the largest of several, and compactions between them."""
    found: list[PlotColumn] = []
    marks = {at: UNDONE if undone else MADE for at, undone in curve.marks}
    if len(marks) > width // 4:
        marks = {}  # they would hide the curve; the foot has their number
    for at, size in enumerate(curve.sizes):
        found.append(PlotColumn(size, "", curve.tried[at] if curve.tried else 0, at == here))
        if at in marks:
            found.append(PlotColumn(0, marks[at]))
    if len(found) > width:
        return _squeezed(found, width)
    bars = len(curve.sizes)
    each = max(1, min(WIDEST_BAR, (width - len(found) + bars) // max(bars, 1)))
    return [column for one in found for column in ([one] if one.mark else [one] * each)]


def _squeezed(found: Sequence[PlotColumn], width: int) -> list[PlotColumn]:
    """Merge columns: a compaction is never lost, and the largest size counts."""
    made = []
    for at in range(width):
        several = found[at * len(found) // width : max((at + 1) * len(found) // width, at * len(found) // width + 1)]
        mark = next((one for one in several if one.mark), None)
        here = any(one.here for one in several)
        bar = PlotColumn(max(one.size for one in several), "", max(one.tried for one in several), here)
        made.append(bar if here or mark is None else mark)
    return made


def top_of(highest: int, limit: int) -> int:
    """The value of the highest row: it includes the limit, unless the curve would be flat."""
    return max(highest, limit if highest * NEAR >= limit else 0, 1)


def limit_row(limit: int, top: int, rows: int) -> int:
    """The row of the limit, from the bottom; -1 if it is not on the scale."""
    return min(rows - 1, limit * rows // top) if 0 < limit <= top and rows > 1 else -1


def draw_plot(
    curve: Curve, width: int, height: int, here: int | None = None, number: int = 0, empty: str = EMPTY
) -> list[Content]:
    """The lines of the plot, with a foot if there is room. `here` and `number`: the index and the number of the
    selected request. `empty`: what is shown if there is nothing to draw."""
    if len(curve.sizes) < 2 or width < 8 or height < 1:
        return [Content.styled(empty[: max(width, 0)], "$quiet")] if width > 0 and height > 0 else []
    labelled = width >= ROOM_FOR_LABELS and height > 1
    foot = height >= ROOM_FOR_FOOT
    rows = height - foot
    room = width - LABELS if labelled else width
    top = top_of(max((*curve.sizes, *curve.tried)), curve.limit)
    made, line = plot_columns(curve, room, here), limit_row(curve.limit, top, rows)
    on_scale = line >= 0
    drawn = []
    for row in range(rows - 1, -1, -1):
        cells = [_cell(column, row, rows, top, line) for column in made]
        rest = _named(curve.limit, room - len(made)) if row == line else " " * (room - len(made))
        label = scale_label(row, rows, top, curve.limit, line) if labelled else ""
        drawn.append(Content.assemble((label, "$quiet"), painted_line(cells), (rest, "$warning")))
    named = bool(_named(curve.limit, room - len(made)).strip(LINE)) if on_scale else False
    return [*drawn, _foot(curve, on_scale, named, width, number if here is not None else 0)] if foot else drawn


def _named(limit: int, width: int) -> str:
    """The line of the threshold after the bars, with its name if there is room."""
    label = f" compacts at {limit:,} "
    return f"{LINE * (width - len(label) - 1)}{label}{LINE}" if width > len(label) + 1 else LINE * width


def _cell(column: PlotColumn, row: int, rows: int, top: int, line: int) -> tuple[str, str]:
    """A sign and its style."""
    if column.mark:
        return UPRIGHT if row else column.mark, "bold $slot-summaries"
    if column.here and row == min(rows - 1, -(-column.size * rows // top)):
        return HERE, "bold $accent"
    if column.tried and row == min(rows - 1, column.tried * rows // top):
        return TRIED, "bold $warning"
    level = column.size * rows * 8 // top - row * 8
    if level <= 0:
        # Even the smallest context gets a visible bar.
        lowest = row == 0 and column.size > 0
        sign = EIGHTHS[1] if lowest else LINE if row == line else " "
        return sign, "$primary" if lowest else "$warning"
    if line >= 0 and row > line:
        return OVER, "$error"
    return EIGHTHS[min(level, 8)], "$primary"


def scale_label(row: int, rows: int, top: int, limit: int, line: int) -> str:
    """The label at the left of a row; `line`: the row of the limit."""
    if row == line:
        return f"{short_number(limit, LABELS - 2):>{LABELS - 2}} {LINE}"
    if row == rows - 1 and row != line + 1:
        return f"{short_number(top, LABELS - 2):>{LABELS - 2}} │"
    return f"{'0' if row == 0 else '':>{LABELS - 2}} │"


def _foot(curve: Curve, on_scale: bool, named: bool, width: int, number: int) -> Content:
    """The range of requests or turns, and the meaning of the signs."""
    made = sum(not mark.undone for mark in curve.marks)
    turns = counted(curve.turns, "turn")
    parts = [Content.styled(f"{curve.requests:,} reported in {turns}" if curve.requests else turns, "$quiet")]
    if number:
        parts.append(Content.assemble((HERE, "bold $accent"), (f" request {number:,}", "$quiet")))
    if curve.tried:
        parts.append(Content.assemble((TRIED, "bold $warning"), (f" {printable(curve.what_if)}", "$quiet")))
    if made:
        parts.append(Content.assemble((MADE, "bold $slot-summaries"), (f" {made:,} compacted", "$quiet")))
    if len(curve.marks) > made:
        undone = f" {len(curve.marks) - made:,} undone"
        parts.append(Content.assemble((UNDONE, "bold $slot-summaries"), (undone, "$quiet")))
    if curve.limit and not named:
        where = f"{LINE}{LINE} compacts" if on_scale else "compacts above this scale,"
        parts.append(Content.styled(f"{where} at {curve.limit:,}", "$quiet"))
    parts.append(
        Content.styled(f"tokens by {'request' if curve.requests else 'turn'}, {curve.sizes[-1]:,} now", "$quiet")
    )
    return join_cells(parts, width)


class CompactionPlot(Observing, Widget):
    """The curve of the session."""

    compaction = observed(lambda session: session.compaction)
    shown = observed(lambda session: session.shown)

    def render(self) -> Content:
        if self.compaction is None:
            return Content()
        curve, shown = self.compaction.curve, self.shown
        here, number = None, 0
        if shown is not None and shown.at is not None:
            here, number = curve.place(shown.requests[shown.at]), shown.at + 1
        empty = UNREPORTED if shown is not None and shown.requests else EMPTY
        return Content("\n").join(draw_plot(curve, self.size.width, self.size.height, here, number, empty))
