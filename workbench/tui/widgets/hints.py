"""The keys of whatever has the focus, in a line."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from workbench.tui.widgets.cells import joined

Hints = Sequence[tuple[str, str]]
"""Keys as they stand on a keyboard, and what they do, the important first."""


def key_hints(hints: Hints, width: int) -> Content:
    """As many as the line holds, each whole."""
    parts = [Content.assemble((key, "bold $primary"), (f" {word}", "$foreground")) for key, word in hints]
    line = joined(parts, width - 2, "  ")
    return Content.assemble(" ", line, " ") if line else line
