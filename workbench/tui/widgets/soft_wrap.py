"""Wrapped lines that remember where they were wrapped, so that a copy is the original text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from textual.content import Content
from textual.style import Style

from workbench.tui.widgets.cells import line_cuts

SOFT = "soft"
"""The key in the style's meta of a continuation line; its value is the text that the wrap left out before it."""
BARE = Style.from_meta({"bare": True})
"""The style of characters on the screen that are not part of the text."""


def soft_lines(line: Content, width: int) -> Iterator[Content]:
    """A text wrapped at blanks if possible; its own line ends stay."""
    for part in line.split("\n", allow_blank=True) or [line]:
        text, end = part.plain, 0
        for number, piece in enumerate(part.wrap(width)):
            piece = piece.rstrip()
            start = max(text.find(piece.plain, end), end)
            if piece or not number:
                yield _after(text[end:start], piece) if number else piece
            end = start + len(piece)


def soft_pieces(line: str, width: int, style: str = "", between: str | None = None) -> Iterator[Content]:
    """A line of plain text, wrapped like `cells.wrapped_line`; `between`: the characters before a continuation."""
    end = 0
    for start, stop in line_cuts(line, width):
        piece = Content.styled(line[start:stop], style)
        before = line[end:start] if start else between
        yield piece if before is None else _after(before, piece)
        end = stop


def soft_folds(line: Content, width: int) -> Iterator[Content]:
    """A line split wherever it is too wide."""
    for number, piece in enumerate(line.fold(width)):
        yield _after("", piece) if number else piece


def _after(between: str, piece: Content) -> Content:
    return piece.stylize(_style(between))


@lru_cache(maxsize=16)
def _style(between: str) -> Style:
    return Style.from_meta({SOFT: between})


def copied_text(lines: Iterable[tuple[Content, int, int | None]], gutter: int) -> str:
    """The text of lines, each from one character to another; the first `gutter` characters are not part of the text."""
    text = ""
    for number, (line, start, end) in enumerate(lines):
        begin, between, bare = _what(line, gutter)
        first, last = max(start, begin), len(line) if end is None else end
        text_part = "".join(char for at, char in enumerate(line.plain[:last]) if at >= first and at not in bare)
        if number:
            text = f"{text.rstrip(' ')}\n" if between is None else text + between
        text += text_part
    return text.rstrip(" ")


def _what(line: Content, gutter: int) -> tuple[int, str | None, frozenset[int]]:
    """Where a line's text starts, the characters before it in a continuation, and which characters are not text."""
    begin, between = min(gutter, len(line)), None
    bare: set[int] = set()
    for span in line.spans:
        if isinstance(span.style, Style) and SOFT in span.style.meta:
            begin, between = span.start, str(span.style.meta[SOFT])
        elif isinstance(span.style, Style) and "bare" in span.style.meta:
            bare.update(range(span.start, span.end))
    return begin, between, frozenset(bare)
