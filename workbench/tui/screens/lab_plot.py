"""The sizes of all requests under several policies, a line for each, drawn with braille dots.

Each line has its own sign every few columns, so that lines can be told apart without colours. If several lines
overlap, their signs alternate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec import Struct
from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from workbench.tui.compaction.plot import HERE, LABELS, LINE, MADE, ROOM_FOR_LABELS, limit_row, scale_label, top_of
from workbench.tui.widgets.cells import join_cells, painted_line

MISSED = "×"
CURSOR = "│"
DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""The bits of a braille cell, from the top down, left and right."""
HIGH, WIDE = 4, 2
"""The number of dots in a cell, vertically and horizontally."""
STYLES = (
    *("$foreground", "$slot-history", "$slot-system", "$slot-turn", "$slot-memory", "$slot-instructions"),
    *("$slot-summaries", "$slot-tools", "$slot-unattributed", "$slot-framing"),
)
SIGNS = "123456789abcdefghijklmnopqrstuvwxyz"
APART = 14
"""The least number of columns between two equal signs."""


class LabLine(NamedTuple):
    """The line of one policy."""

    sign: str
    style: str
    sizes: Sequence[int]
    compacted: frozenset[int] = frozenset()
    """The indexes of requests that follow a compaction, and of requests whose answers missed something."""
    missed: frozenset[int] = frozenset()


class LabPicture(Struct, frozen=True):
    """Everything that is drawn."""

    lines: Sequence[LabLine] = ()
    chosen: int = -1
    """The index of the line on top, whose misses are marked."""
    limit: int = 0
    """The window."""
    at: int = 0
    """The index of the selected request."""

    @property
    def requests(self) -> int:
        return max((len(line.sizes) for line in self.lines), default=0)

    def column(self, at: int, width: int) -> int:
        """The column of a request."""
        many, dots = self.requests, width * WIDE
        if many >= dots:
            return at * dots // many // WIDE
        return at * (dots - 1) // max(many - 1, 1) // WIDE

    def place(self, column: int, width: int) -> int:
        """The request nearest to a column."""
        return min(range(self.requests), key=lambda at: abs(self.column(at, width) - column))


def dot_heights(sizes: Sequence[int], dots: int) -> list[float]:
    """A size for each column of dots: interpolated between two requests, or the largest of several."""
    many = len(sizes)
    if many >= dots:
        return [max(sizes[at * many // dots : (at + 1) * many // dots]) for at in range(dots)]
    found = []
    for at in range(dots):
        left, part = divmod(at * (many - 1), max(dots - 1, 1))
        following = sizes[min(left + 1, many - 1)]
        found.append(sizes[left] + (following - sizes[left]) * part / max(dots - 1, 1))
    return found


Cells = dict[tuple[int, int], tuple[str, str]]
"""By row from the bottom and column: a sign and its style."""


class _Canvas:
    """Lines on one scale; later lines are on top."""

    def __init__(self, width: int, rows: int, top: int) -> None:
        self._width, self._rows, self._top = width, rows, top
        self._dots: dict[tuple[int, int], tuple[int, str]] = {}
        self._over: Cells = {}

    def row(self, size: float) -> int:
        """The row of a size."""
        return self._height(size) // HIGH

    def _height(self, size: float) -> int:
        return min(self._rows * HIGH - 1, int(size * self._rows * HIGH / self._top))

    def add_line(self, line: LabLine, style: str) -> None:
        """Add a line, without gaps at jumps."""
        before: int | None = None
        for x, size in enumerate(dot_heights(line.sizes, self._width * WIDE)):
            y = self._height(size)
            low, high = (y, y) if before is None else (min(before, y), max(before, y))
            # At a jump, the new column has all dots except the one where the line was.
            for each in range(low + (before == low < high), high + 1 - (before == high > low)):
                self._dot(x, each, style)
            before = y

    def _dot(self, x: int, y: int, style: str) -> None:
        key = (y // HIGH, x // WIDE)
        bits, _ = self._dots.get(key, (0, ""))
        self._dots[key] = (bits | DOTS[x % WIDE][HIGH - 1 - y % HIGH], style)

    def put_sign(self, row: int, column: int, sign: str, style: str) -> None:
        """Put a sign on top of a cell."""
        self._over[row, column] = (sign, style)

    def cell(self, row: int, column: int) -> tuple[str, str] | None:
        """The content of a cell; None: empty."""
        if (row, column) in self._over:
            return self._over[row, column]
        bits, style = self._dots.get((row, column), (0, ""))
        return (chr(0x2800 + bits), style) if bits else None


def draw_lab_plot(picture: LabPicture, width: int, height: int) -> list[Content]:
    """The lines of the plot, with a legend below if there is room."""
    if not picture.requests or width < 8 or height < 2:
        return []
    foot = height > 5
    rows = height - foot
    labelled = width >= ROOM_FOR_LABELS
    room = width - LABELS if labelled else width
    top = top_of(max(max(line.sizes) for line in picture.lines), picture.limit)
    limit = limit_row(picture.limit, top, rows)
    canvas = _painted(picture, room, rows, top)
    here = picture.column(picture.at, room)
    drawn = []
    for row in range(rows - 1, -1, -1):
        label = scale_label(row, rows, top, picture.limit, limit) if labelled else ""
        cells = [canvas.cell(row, column) or _ground(column == here, row == limit) for column in range(room)]
        drawn.append(Content.assemble((label, "$quiet"), painted_line(cells)))
    return [*drawn, join_cells(_legend(picture, limit >= 0), width)] if foot else drawn


def _ground(is_here: bool, is_limit: bool) -> tuple[str, str]:
    return (CURSOR, "bold $accent") if is_here else (LINE, "$warning") if is_limit else (" ", "")


def _painted(picture: LabPicture, width: int, rows: int, top: int) -> _Canvas:
    canvas = _Canvas(width, rows, top)
    chosen = picture.lines[picture.chosen] if picture.chosen >= 0 else None
    order = [line for line in picture.lines if line is not chosen] + ([chosen] if chosen is not None else [])
    for line in order:
        canvas.add_line(line, f"bold {line.style}" if line is chosen else line.style)
    apart = max(APART, 2 * len(picture.lines))
    for at, line in enumerate(picture.lines):
        sizes = dot_heights(line.sizes, width)
        for column in range((at * apart) // len(picture.lines) + 1, width, apart):
            canvas.put_sign(canvas.row(sizes[column]), column, line.sign, f"bold {line.style}")
    for line in order:
        for at in line.compacted:
            canvas.put_sign(canvas.row(line.sizes[at]), picture.column(at, width), MADE, f"bold {line.style}")
        for at in line.missed if line is chosen else ():
            canvas.put_sign(canvas.row(line.sizes[at]), picture.column(at, width), MISSED, "bold $error")
    canvas.put_sign(rows - 1, picture.column(picture.at, width), HERE, "bold $accent")
    return canvas


def _legend(picture: LabPicture, on_scale: bool) -> Iterator[Content]:
    yield Content.styled("tokens by request", "$quiet")
    if picture.limit:
        where = f"{LINE}{LINE} window of" if on_scale else "above this scale: the window of"
        yield Content.styled(f"{where} {picture.limit:,}", "$warning" if on_scale else "$quiet")
    chosen = picture.lines[picture.chosen] if picture.chosen >= 0 else None
    if chosen is not None and chosen.missed:
        yield Content.assemble((MISSED, "bold $error"), (f" missed under {chosen.sign}", "$quiet"))
    if any(line.compacted for line in picture.lines):
        yield Content.assemble((MADE, "bold"), (" compacted", "$quiet"))


class LabPlot(Widget):
    """The lines, and a cursor on one of the requests; a click moves it."""

    picture: reactive[LabPicture] = reactive(LabPicture())

    @dataclass(eq=False)
    class Pointed(Message):
        """A request was clicked."""

        at: int

    def render(self) -> Content:
        return Content("\n").join(draw_lab_plot(self.picture, self.size.width, self.size.height))

    def on_click(self, event: events.Click) -> None:
        """Post the request nearest to the mouse."""
        room = self.size.width - (LABELS if self.size.width >= ROOM_FOR_LABELS else 0)
        if self.picture.requests and room > 0:
            self.post_message(self.Pointed(self.picture.place(event.x - self.size.width + room, room)))


def policy_signs(refs: Sequence[str]) -> Mapping[str, tuple[str, str]]:
    """A sign and a style for each policy, in their order."""
    return {ref: (SIGNS[at] if at < len(SIGNS) else "*", STYLES[at % len(STYLES)]) for at, ref in enumerate(refs)}
