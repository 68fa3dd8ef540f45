"""Tables in cells of the terminal: columns share the width, and what a cell cannot hold goes on in the next line."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from textual.content import Content

BETWEEN = " │ "


def table(rows: Sequence[Sequence[Content]], width: int) -> Iterator[Content]:
    """The lines of a table; its first row is the head."""
    if not rows or not rows[0]:
        return
    widths = _widths(rows, width)
    for number, row in enumerate(rows):
        yield from _row(row, widths, "bold" if number == 0 else "")
        if number == 0:
            yield Content.styled("─┼─".join("─" * column for column in widths)[:width], "$quiet")


def _widths(rows: Sequence[Sequence[Content]], width: int) -> list[int]:
    """What each column needs, the widest cut down to one size where there is not room for all."""
    count = max(map(len, rows))
    needs = [max([2, *(row[column].cell_length for row in rows if column < len(row))]) for column in range(count)]
    room = width - len(BETWEEN) * (count - 1)
    if sum(needs) <= room:
        return needs
    # The largest size at which they fit; a wide character needs two cells.
    sizes = range(2, max(needs) + 1)
    at = bisect_right(sizes, room, key=lambda size: sum(min(need, size) for need in needs))
    most = sizes[max(at - 1, 0)]
    return [min(need, most) for need in needs]


def _row(row: Sequence[Content], widths: Sequence[int], style: str) -> Iterator[Content]:
    cells = [row[column].wrap(size) if column < len(row) else [Content()] for column, size in enumerate(widths)]
    for line in range(max(map(len, cells))):
        parts: list[Content | tuple[str, str]] = []
        for column, size in enumerate(widths):
            piece = cells[column][line] if line < len(cells[column]) else Content()
            parts.append(piece.extend_right(max(size - piece.cell_length, 0)).stylize(style))
            parts.append((BETWEEN, "$quiet"))
        yield Content.assemble(*parts[:-1])
