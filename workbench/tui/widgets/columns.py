"""Rows of a list in columns; columns that do not fit are left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual.content import Content

from workbench.config.text import printable
from workbench.tui.widgets.cells import fit_cells

Cell = str | Content
"""Plain text is cleaned of control characters; `Content` is used unchanged."""
GAP = 2
"""Blanks between two columns."""


class Column(NamedTuple):
    title: str
    width: int = 0
    """In cells; 0: the rest of the line. Exactly one column of a list has 0."""
    right: bool = False
    """Whether to align to the right, for numbers."""
    least: int = 0
    """The list's least width for this column to be shown."""


class Row(NamedTuple):
    value: str
    """The row's id, unique in the list."""
    cells: tuple[Cell, ...]


def header_line(columns: Sequence[Column], width: int) -> Content:
    return Content.styled(row_line(columns, [column.title for column in columns], width).plain, "$quiet")


def row_line(columns: Sequence[Column], cells: Sequence[Cell], width: int) -> Content:
    """One row in exactly `width` cells; long cells are cut with an ellipsis."""
    shown = [(column, cell) for column, cell in zip(columns, cells, strict=True) if width >= column.least]
    rest = rest_width(columns, width)
    parts = [_cell(cell, column.width or rest, column.right) for column, cell in shown]
    return Content(" " * GAP).join(parts)


def _cell(cell: Cell, width: int, right: bool) -> Content:
    if isinstance(cell, Content):
        cut = cell.truncate(width, ellipsis=True)
        blanks = Content(" " * (width - cut.cell_length))
        return Content.assemble(blanks, cut) if right else Content.assemble(cut, blanks)
    padded = fit_cells(printable(cell), width)
    written = padded.rstrip(" ")
    return Content(" " * (len(padded) - len(written)) + written if right else padded)


def rest_width(columns: Sequence[Column], width: int) -> int:
    """The width of the column that takes the rest of the line."""
    shown = [column for column in columns if width >= column.least]
    return max(1, width - sum(column.width for column in shown) - GAP * (len(shown) - 1))
