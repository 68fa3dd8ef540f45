"""The columns of the inspector: how wide each is, and what stands in them for an item."""

from __future__ import annotations

from typing import NamedTuple

from rich.cells import cell_len

from workbench.config.text import printable
from workbench.context.items import SIGNS, Item
from workbench.tui.cells import fit, number

ROOMY = 110
"""From this width on there is room for the column of original sizes and for wider ones."""
BLOCKS = " ▏▎▍▌▋▊▉█"
WIDE = 90
"""From this width on the last column shows a reason and the text beside it."""
LEAST = 8
"""Fewer cells than this are no room for a text."""
LOOKED_AT = 600
"""Characters of a text that a row may show; the rest of a megabyte is not looked at."""


class Columns(NamedTuple):
    """Widths in cells; a column of none is left out."""

    seq: int
    who: int
    tokens: int
    original: int
    share: int
    state: int
    what: int
    gap: int


class Cells(NamedTuple):
    """One row's cells, each as wide as its column."""

    seq: str
    who: str
    tokens: str
    original: str
    share: str
    pin: str
    state: str
    why: str
    """What became of it; empty where nothing did."""
    text: str
    """What it says, in the rest of the line."""


def lay_out(width: int, events: int) -> Columns:
    """The columns of a line of so many cells, for a log of so many events."""
    roomy = width >= ROOMY
    gap = 2 if roomy else 1
    seq = max(3, len(str(events)))
    who, tokens, share = (18, 9, 8) if roomy else (13, 8, 5)
    original = 8 if roomy else 0
    state = 12
    used = seq + who + tokens + original + share + 1 + state + gap * (7 if roomy else 6)
    return Columns(seq, who, tokens, original, share, state, max(0, width - used), gap)


def heads(columns: Columns) -> str:
    """The line above the rows."""
    words = [
        "#".rjust(columns.seq),
        fit("who", columns.who),
        "tokens".rjust(columns.tokens),
        *(["of".rjust(columns.original)] if columns.original else []),
        fit("share", columns.share),
        " ",
        fit("  state", columns.state),
        fit("what", columns.what),
    ]
    return (" " * columns.gap).join(words)


def cells(row: Item, columns: Columns, total: int) -> Cells:
    """What a row shows; `total` is the whole request, of which the bar shows the row's share."""
    mark = "" if row.exact else "~"
    changed = row.original_tokens != row.tokens
    why, text = _what(row, columns.what)
    return Cells(
        ("–" if row.seq is None else str(row.seq)).rjust(columns.seq),
        fit(printable(row.who), columns.who),
        (mark + number(row.tokens, columns.tokens - len(mark))).rjust(columns.tokens),
        (number(row.original_tokens, columns.original) if changed else "").rjust(columns.original),
        share_bar(row.tokens, total, columns.share),
        "⚑" if row.pinned else " ",
        fit(f"{SIGNS[row.state]} {row.state}", columns.state),
        why,
        text,
    )


def _what(row: Item, width: int) -> tuple[str, str]:
    """The reason and the text. A wide column keeps a third for the text; a narrow one is the reason's alone."""
    text = printable((row.original if row.text is None else row.text)[:LOOKED_AT])
    if not row.edits:
        return "", fit(text, width)
    why = printable(row.edits[-1].why[:LOOKED_AT])
    most = width * 2 // 3 if width >= WIDE else width
    shown = fit(why, min(cell_len(why), most))
    room = width - cell_len(shown) - 2
    return (f"{shown}  ", fit(text, room)) if room >= LEAST else (fit(why, width), "")


def share_bar(part: int, whole: int, width: int) -> str:
    """A bar in eighths of a cell."""
    eighths = min(round(part * width * 8 / whole), width * 8) if whole > 0 else 0
    full, rest = divmod(eighths, 8)
    return (BLOCKS[8] * full + (BLOCKS[rest] if rest else "")).ljust(width)
