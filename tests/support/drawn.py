"""What is wrong with what a screen draws: text that a terminal acts on, links out of text, crooked lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.cells import cell_len
from textual.app import App

from workbench.config.text import MOST_MARKS, without_controls


def drawn_faults(app: App[Any]) -> Iterator[str]:
    """The faults of the screen on top, as it goes to the terminal: the wall against controls is behind this."""
    wide = app.screen._compositor.size.width  # the app's own changes before anything is laid out
    for y, strip in enumerate(app.screen._compositor.render_strips()):
        for text, style, _ in strip:
            if without_controls(text) != text:
                yield f"line {y} has controls: {text!r}"
            if style is not None and (style.link or "@click" in (style.meta or {})):
                yield f"line {y} has a link: {text!r}"
        if cell_len(strip.text) != wide:
            yield f"line {y} takes {cell_len(strip.text)} of {wide} columns: {strip.text!r}"
        if len(strip.text) > wide * (MOST_MARKS + 2):
            yield f"line {y} has {len(strip.text)} characters in {wide} columns"
