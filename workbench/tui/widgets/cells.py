"""Text in terminal cells, measured as Textual does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from workbench.config.text import printable


def fit_cells(text: str, width: int) -> str:
    """Exactly `width` cells: padded with blanks, or cut with an ellipsis."""
    if len(text) <= width and text.isascii() and text.isprintable():
        return text.ljust(width)  # as below, in a tenth of the time
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, width - 1) + "…" if width > 0 else ""


def fit_start(text: str, width: int) -> str:
    """At most `width` cells: the beginning."""
    return text if cell_len(text) <= width else fit_cells(text, width)


def fit_middle(text: str, width: int) -> str:
    """At most `width` cells: both ends, more of the second."""
    if cell_len(text) <= width:
        return text
    first = (width - 1) // 3
    return set_cell_size(text, first) + fit_cells_end(text, max(width - first, 1)) if width > 0 else ""


def fit_cells_end(text: str, width: int) -> str:
    """At most `width` cells: the end, which says more in a path."""
    if cell_len(text) <= width:
        return text
    kept = text[-max(width - 1, 0) :]
    while cell_len(kept) > width - 1 and kept:
        kept = kept[1:]
    return "…" + kept


def short_number(value: int, width: int, column: Iterable[int] = ()) -> str:
    """A number in at most `width` cells: in full, or in thousands or millions. `column`: the other numbers in the
    column, which get the same form if possible."""
    if not column and len(whole := f"{value:,}") <= width:
        return whole
    manner = max((_manner(each, width) for each in column), default=0)
    alike = _forms(value)[max(manner, _manner(value, width))]
    return alike if any(sign in "123456789" for sign in alike) else _forms(value)[_manner(value, width)]


def _forms(value: int) -> tuple[str, ...]:
    thousands, millions = value / 1e3, value / 1e6
    return f"{value:,}", f"{thousands:.1f}k", f"{thousands:.0f}k", f"{millions:.1f}M", f"{millions:.0f}M"


def _manner(value: int, width: int) -> int:
    """The index of the first form that fits."""
    forms = _forms(value)
    return next((at for at, form in enumerate(forms) if len(form) <= width), len(forms) - 1)


def one_line(text: str) -> Content:
    """Any text as one line: no markup, and control characters as visible symbols."""
    return Content(printable(text))


def join_cells(parts: Iterable[Content], width: int, between: str = " · ") -> Content:
    """As many of the parts as fit into one line; the first one is cut if it does not fit."""
    line = Content()
    for part in parts:
        longer = Content.assemble(line, between, part) if line else part
        if longer.cell_length > width:
            return line or part.truncate(width, ellipsis=True)
        line = longer
    return line


def painted_line(cells: Iterable[tuple[str, str]]) -> Content:
    """Single cells with styles as one line; neighbours with the same style become one piece."""
    runs = groupby(cells, key=itemgetter(1))
    return Content.assemble(*(("".join(sign for sign, _ in run), style) for style, run in runs))


def wrapped_line(line: str, width: int) -> Iterator[str]:
    """A line split into pieces of at most `width` cells, at blanks if possible."""
    for start, end in line_cuts(line, width):
        yield line[start:end]


def line_cuts(line: str, width: int, hang: int = 0) -> Iterator[tuple[int, int]]:
    """The starts and ends of the pieces of a wrapped line, at least one. The blank at a cut belongs to neither piece.

    `hang`: how much narrower the pieces after the first are.
    """
    at = 0
    while at < len(line):
        end = _reach(line, at, width - hang if at else width)
        if end < len(line):
            blank = line.rfind(" ", at + 1, end + 1)
            if line.startswith(" %", blank):  # keep a number and its per cent sign together
                blank = line.rfind(" ", at + 1, blank)
            end = blank if blank > at else end
        yield at, end
        at = end + 1 if line[end : end + 1] == " " else end
    if not line:
        yield 0, 0


def _reach(line: str, at: int, width: int) -> int:
    """The end of a piece of `width` cells, at least one character long."""
    piece = line[at : at + width]
    if piece.isascii():
        return at + len(piece)
    while len(piece) > 1 and cell_len(piece) > width:
        # A character has at most two cells, so half of the excess can be removed at once.
        piece = piece[: len(piece) - max(1, (cell_len(piece) - width) // 2)]
    return at + len(piece)
