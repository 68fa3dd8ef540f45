"""How well a text stands out from what is behind it."""

from __future__ import annotations

from typing import Any

from rich.color import Color as RichColor
from rich.style import Style
from textual.app import App
from textual.color import Color

LEAST = 3.0
"""What the accessibility guidelines ask for where a text is not running text."""


def faint_texts(app: App[Any]) -> list[tuple[str, float]]:
    """Texts on the screen that hardly stand out, with the contrast they have. What is behind a dialog is dimmed."""
    screen, found = app.screen, []
    around = screen.children[0].region if screen.styles.background.a < 1 and screen.children else screen.region
    for strip in screen._compositor.render_strips()[around.y : around.bottom]:
        for text, style, _ in strip.crop(around.x, around.right):
            if any(char.isalnum() for char in text) and style is not None and (has := contrast(style)) < LEAST:
                found.append((text, has))
    return found


def contrast(style: Style) -> float:
    """Of a text and its background as WCAG has it, from 1 to 21."""
    if style.color is None or style.bgcolor is None:
        return 21.0
    bright, dark = sorted((_luminance(style.color), _luminance(style.bgcolor)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def _luminance(color: RichColor) -> float:
    parts = [part / 255 for part in Color.from_rich_color(color).rgb]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
