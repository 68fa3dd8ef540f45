"""Terminals with few colours: sixteen, or none at all.

Widgets draw the same; a line filter translates the styles. Sixteen colours are chosen by hue, and so that text stays
readable on its background. Without colours, a background that stands out becomes reverse video, and others vanish.
"""

from __future__ import annotations

from collections.abc import Callable
from colorsys import rgb_to_hsv
from functools import lru_cache

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

Triplet = tuple[int, int, int]

SIXTEEN: tuple[Triplet, ...] = (
    *((0, 0, 0), (170, 0, 0), (0, 170, 0), (170, 85, 0), (0, 0, 170), (170, 0, 170), (0, 170, 170), (170, 170, 170)),
    *((85, 85, 85), (255, 85, 85), (85, 255, 85), (255, 255, 85), (85, 85, 255), (255, 85, 255), (85, 255, 255)),
    (255, 255, 255),
)
"""The classic terminal colours. Modern terminals use others, but keep the order of light and dark."""
HUES = (1, 3, 2, 6, 4, 5)
"""Red, yellow, green, cyan, blue, magenta, in the order of the colour circle."""
GREYS = (0, 8, 7, 15)
BRIGHT = 8
"""The offset from a colour to its bright variant."""
READABLE = 3.0
"""The least contrast of a text with its background."""
STANDS_OUT = 2.5
"""From this contrast with the screen's background on, a background has a meaning: cursor, selection, scrollbar."""


def contrast_ratio(one: Triplet, other: Triplet) -> float:
    """From 1, no difference, to 21, black on white."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@lru_cache(4096)
def _luminance(colour: Triplet) -> float:
    red, green, blue = ((each / 255 + 0.055) / 1.055 for each in colour)
    return float(0.2126 * red**2.4 + 0.7152 * green**2.4 + 0.0722 * blue**2.4)


def nearest_colour(colour: Triplet) -> int:
    """The number of the terminal colour for a colour: one of its hue, or a grey."""
    hue, saturation, value = rgb_to_hsv(*(each / 255 for each in colour))
    if saturation < 0.33 or value < 0.35:
        return min(GREYS, key=lambda grey: abs(SIXTEEN[grey][0] * 3 - sum(colour)))
    number = HUES[round(hue * 6) % 6]
    return min((number, number + BRIGHT), key=lambda each: abs(sum(SIXTEEN[each]) - sum(colour)))


def readable_colour(text: int, ground: int) -> int:
    """The number of a readable text colour on a background: its own, the other of its hue, or black or white."""

    def seen(number: int) -> float:
        return contrast_ratio(SIXTEEN[number], SIXTEEN[ground])

    other = (text + BRIGHT) % len(SIXTEEN)
    return next((each for each in (text, other) if seen(each) >= READABLE), max((0, 15), key=seen))


def _triplet(colour: RichColor | None) -> Triplet | None:
    return None if colour is None else colour.triplet


def _is_text(text: str) -> bool:
    """Whether there are characters to read. Blocks and blanks need no contrast with their background."""
    return any(not (sign.isspace() or "\u2580" <= sign <= "\u259f") for sign in text)


@lru_cache(4096)
def style_in_sixteen(style: Style, is_text: bool) -> Style:
    colour, ground = _triplet(style.color), _triplet(style.bgcolor)
    on = None if ground is None else nearest_colour(ground)
    number = None if colour is None else nearest_colour(colour)
    if number is not None and on is not None and is_text:
        number = readable_colour(number, on)
    return style + Style.from_color(
        style.color if number is None else RichColor.from_ansi(number),
        style.bgcolor if on is None else RichColor.from_ansi(on),
    )


@lru_cache(4096)
def colourless_style(style: Style, base: Triplet) -> Style:
    """A style without colours, in reverse video if its background stands out from the screen's."""
    ground = _triplet(style.color if style.reverse else style.bgcolor)
    reverse = bool(style.reverse) if ground is None else contrast_ratio(ground, base) >= STANDS_OUT
    # The style's meta data says what is under the mouse; `without_color` would drop it.
    return style.without_color + Style.from_meta(style.meta) + Style(reverse=reverse)


class SixteenColours(LineFilter):
    """For a terminal that has sixteen colours."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            Segment(text, None if style is None else style_in_sixteen(style, _is_text(text)), control)
            for text, style, control in segments
        ]


class NoColours(LineFilter):
    """For users who want no colours."""

    def __init__(self, base: Callable[[], Color]) -> None:
        """`base` returns the screen's background, which changes with the theme."""
        super().__init__()
        self._base = base

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        base = self._base().rgb
        return [
            Segment(text, None if style is None else colourless_style(style, base), control)
            for text, style, control in segments
        ]
