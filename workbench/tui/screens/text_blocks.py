"""Text helpers that the screens share."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content

from workbench.config.text import percent, printable, printable_lines
from workbench.tui.widgets.cells import one_line
from workbench.tui.widgets.wrapped_lines import hanging_lines

MOST = 4_000
"""The most characters of a text to show; the inspector shows all."""


def name_value_rows(rows: Iterable[tuple[str, str]], width: int) -> Content:
    """Names with their values in a second column; rows without a value are left out."""
    found = [(name, value) for name, value in rows if value]
    wide = max((len(name) for name, _ in found), default=0)
    return Content("\n").join(
        line
        for name, value in found
        for line in hanging_lines(Content.styled(f"{name.ljust(wide)}  ", "$quiet"), printable(value), width)
    )


def paragraph(text: str, style: str = "") -> Content:
    """A text in one paragraph."""
    return Content.styled(printable(text), style) if style else one_line(text)


def text_lines(text: str) -> Content:
    """The lines of a text without control characters, and how many characters are left out."""
    shown = Content("\n".join(printable_lines(text[:MOST])))
    if len(text) <= MOST:
        return shown
    return Content.assemble(shown, "\n", (f"[{len(text) - MOST:,} more characters]", "$quiet"))


def join_blocks(*parts: Content) -> Content:
    """Blocks with an empty line between them; empty blocks are left out."""
    return Content("\n\n").join([part for part in parts if part])


def per_cent(part: float, whole: float) -> str:
    """A share, as in `12.3 %`."""
    return percent(part / whole, 1) if whole else "–"
