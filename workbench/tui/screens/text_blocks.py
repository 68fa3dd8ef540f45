"""Small pieces that the screens have in common: pairs of a name and a value, and lines of a text."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content

from workbench.config.text import percent, printable, printable_lines
from workbench.tui.widgets.cells import one_line
from workbench.tui.widgets.wrapped_lines import hanging

MOST = 4_000
"""Characters of a text that are told; the rest is in the inspector."""


def pairs(rows: Iterable[tuple[str, str]], width: int) -> Content:
    """Names, and beside each its value, all of it to the right of the name; rows without a value are left out."""
    found = [(name, value) for name, value in rows if value]
    wide = max((len(name) for name, _ in found), default=0)
    return Content("\n").join(
        line
        for name, value in found
        for line in hanging(Content.styled(f"{name.ljust(wide)}  ", "$quiet"), printable(value), width)
    )


def paragraph(text: str, style: str = "") -> Content:
    """A text in one paragraph."""
    return Content.styled(printable(text), style) if style else one_line(text)


def lines(text: str, most: int = MOST) -> Content:
    """The lines of a text, cleaned; what is too much is said."""
    said = Content("\n".join(printable_lines(text[:most])))
    if len(text) <= most:
        return said
    return Content.assemble(said, "\n", (f"[{len(text) - most:,} more characters]", "$quiet"))


def blocks(*parts: Content) -> Content:
    """Pieces with an empty line between them; empty ones are left out."""
    return Content("\n\n").join([part for part in parts if part])


def tokens(count: int) -> str:
    """So many tokens, in words."""
    return f"{count:,} token" if count == 1 else f"{count:,} tokens"


def per_cent(part: float, whole: float) -> str:
    """A share, as in `12.3 %`."""
    return percent(part / whole, 1) if whole else "–"
