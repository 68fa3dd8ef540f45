"""Rows of a list in columns, as many as there is room for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual.content import Content

from workbench.config.text import printable
from workbench.tui.widgets.cells import fit

Cell = str | Content
"""Plain text is cleaned; content is ours, and taken as it is."""
GAP = 2
"""Blanks between two columns."""


class Column(NamedTuple):
    """One column of a list."""

    title: str
    width: int = 0
    """In cells; 0: what the others leave. One column of a list has that."""
    right: bool = False
    """Numbers stand at the right."""
    least: int = 0
    """How wide the whole list must be for this column to be shown."""


class Row(NamedTuple):
    """One line of a list."""

    value: str
    """What is taken with it; no two rows have the same."""
    cells: tuple[Cell, ...]


def header(columns: Sequence[Column], width: int) -> Content:
    """The titles."""
    return Content.styled(line(columns, [column.title for column in columns], width).plain, "$quiet")


def line(columns: Sequence[Column], cells: Sequence[Cell], width: int) -> Content:
    """One row in exactly so many cells; what is too long is cut with an ellipsis."""
    shown = [(column, cell) for column, cell in zip(columns, cells, strict=True) if width >= column.least]
    rest = room(columns, width)
    parts = [_cell(cell, column.width or rest, column.right) for column, cell in shown]
    return Content(" " * GAP).join(parts)


def _cell(cell: Cell, width: int, right: bool) -> Content:
    if isinstance(cell, Content):
        cut = cell.truncate(width, ellipsis=True)
        blanks = Content(" " * (width - cut.cell_length))
        return Content.assemble(blanks, cut) if right else Content.assemble(cut, blanks)
    said = fit(printable(cell), width)
    written = said.rstrip(" ")
    return Content(" " * (len(said) - len(written)) + written if right else said)


def room(columns: Sequence[Column], width: int) -> int:
    """Cells for the column that takes what the others leave."""
    shown = [column for column in columns if width >= column.least]
    return max(1, width - sum(column.width for column in shown) - GAP * (len(shown) - 1))
