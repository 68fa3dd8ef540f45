"""Renders Markdown as lines of a given width.

Textual's own Markdown widget makes a widget of every paragraph, list item and table cell: a short answer is eighteen of
them and takes 50 ms to mount. Here it is a few lines of text, made in about a millisecond, so that a transcript can be
scrolled without a wait and an answer can stream in without one. Nothing in it can be clicked.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from textual.content import Content, Span

from workbench.tui.chat.code_colours import AT_ONCE
from workbench.tui.widgets.soft_wrap import BARE, soft_folds, soft_lines

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

QUIET = "$quiet"
CODE = "bold $accent"
HEADINGS = ("bold underline $primary", "bold $primary", "bold")
BULLETS = "•◦▪"
PROSE = 100
"""The most cells of a line of prose, for readability; code and tables may be wider."""
NARROWEST = 8
"""The least width of a nested block."""
BETWEEN = " │ "
"""Separates two columns of a table."""
Colour = Callable[[str, str], Content]
"""Highlights a text in a language."""


def render_markdown(text: str, width: int, colour: Colour = AT_ONCE) -> list[Content]:
    """The lines of a text without control characters; none is wider than `width`, which must be at least 2."""
    from markdown_it.tree import SyntaxTreeNode  # late: not needed for the first frame

    lines: list[Content] = []
    for line in _blocks(SyntaxTreeNode(_parser().parse(text)).children, max(width, NARROWEST), colour):
        # Deeply nested blocks and tables with many columns may still be too wide; wrap them.
        lines += soft_folds(line, width) if line.cell_length > width else [line]
    return lines


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def _blocks(
    nodes: Iterable[SyntaxTreeNode], width: int, colour: Colour, depth: int = 0, loose: bool = True
) -> Iterator[Content]:
    """Blocks one below the other, with a blank line between them except in a tight list item."""
    first = True
    for node in nodes:
        if not first and loose:
            yield Content()
        first = False
        yield from _block(node, width, colour, depth)


def _block(node: SyntaxTreeNode, width: int, colour: Colour, depth: int) -> Iterator[Content]:
    match node.type:
        case "heading":
            style = HEADINGS[min(int(node.tag[1:]), len(HEADINGS)) - 1]
            yield from (line.stylize(style) for line in soft_lines(_inline(node), prose_width(width)))
        case "bullet_list" | "ordered_list":
            yield from _list(node, width, colour, depth)
        case "fence" | "code_block":
            text, language = node.content.rstrip("\n"), node.info.split()[0] if node.info.split() else ""
            yield from _code(colour(text, language), width)
        case "blockquote":
            for line in _blocks(node.children, _inside(width, 2), colour, depth):
                yield Content.assemble(("▎ ", QUIET), line)
        case "hr":
            yield Content.styled("─" * prose_width(width), QUIET)
        case "table":
            rows = [[_inline(cell) for cell in row.children] for part in node.children for row in part.children]
            yield from _table(rows, width)
        case _:
            yield from soft_lines(_inline(node), prose_width(width))


def prose_width(width: int) -> int:
    """The width of prose in `width` cells."""
    return min(width, PROSE)


def _inside(width: int, indent: int) -> int:
    return max(width - indent, NARROWEST)


def _list(node: SyntaxTreeNode, width: int, colour: Colour, depth: int) -> Iterator[Content]:
    """Items with their marks and a hanging indent."""
    start = int(node.attrs.get("start", 1)) if node.type == "ordered_list" else None
    marks = [
        BULLETS[depth % len(BULLETS)] if start is None else f"{number}."
        for number, _ in enumerate(node.children, start or 0)
    ]
    indent = max(map(len, marks)) + 1
    tight = all(part.hidden for item in node.children for part in item.children if part.type == "paragraph")
    for number, (item, mark) in enumerate(zip(node.children, marks, strict=True)):
        if number and not tight:
            yield Content()
        lines = list(_blocks(item.children, _inside(width, indent), colour, depth + 1, not tight)) or [Content()]
        yield Content.assemble((mark.rjust(indent - 1) + " ", QUIET), lines[0])
        yield from (Content.assemble(" " * indent, line) for line in lines[1:])


def _table(rows: Sequence[Sequence[Content]], width: int) -> Iterator[Content]:
    """The lines of a table; its first row is the head.

    Columns share the width, and cells are wrapped.
    """
    if not rows or not rows[0]:
        return
    widths = _column_widths(rows, width)
    for number, row in enumerate(rows):
        yield from _table_row(row, widths, "bold" if number == 0 else "")
        if number == 0:
            yield Content.styled("─┼─".join("─" * column for column in widths)[:width], QUIET)


def _column_widths(rows: Sequence[Sequence[Content]], width: int) -> list[int]:
    """The width of each column; if there is no room for all, the widest are limited to one size."""
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


def _table_row(row: Sequence[Content], widths: Sequence[int], style: str) -> Iterator[Content]:
    cells = [row[column].wrap(size) if column < len(row) else [Content()] for column, size in enumerate(widths)]
    for line in range(max(map(len, cells))):
        parts: list[Content | tuple[str, str]] = []
        for column, size in enumerate(widths):
            piece = cells[column][line] if line < len(cells[column]) else Content()
            parts.append(piece.extend_right(max(size - piece.cell_length, 0)).stylize(style))
            parts.append((BETWEEN, QUIET))
        yield Content.assemble(*parts[:-1])


def _code(text: Content, width: int) -> Iterator[Content]:
    """Code on a background of its own, wrapped, so that nothing is hidden."""
    coloured = text.split("\n", allow_blank=True) or [Content()]
    ground = min(width, max(PROSE, *(line.cell_length + 2 for line in coloured)))
    for line in coloured:
        for piece in soft_folds(line, max(width - 2, 2)):
            room = max(ground - 1 - piece.cell_length, 0)
            ground_left, ground_right = Content.styled(" ", BARE), Content.styled(" " * room, BARE)
            yield Content.assemble(ground_left, piece, ground_right).stylize("on $surface")


_STYLES = {"em": "italic", "strong": "bold", "s": "strike"}


def _inline(node: SyntaxTreeNode) -> Content:
    """The text of a block with its emphasis. A link is followed by its address, because it cannot be clicked."""
    line = _Inline()
    line.walk(node.children, "")
    return Content("".join(line.pieces), line.spans)


class _Inline:
    """Builds the text of a block."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.spans: list[Span] = []
        self._length = 0

    def walk(self, children: Iterable[SyntaxTreeNode], style: str) -> None:
        """Add the text of nodes, in the style of the nodes around them."""
        for child in children:
            match child.type:
                case "inline":
                    self.walk(child.children, style)
                case "em" | "strong" | "s":
                    self.walk(child.children, f"{style} {_STYLES[child.type]}".strip())
                case "code_inline":
                    self._add(child.content, f"{style} {CODE}".strip())
                case "softbreak" | "hardbreak":
                    self._add(" " if child.type == "softbreak" else "\n", "")
                case "link":
                    before = len(self.pieces)
                    self.walk(child.children, f"{style} underline".strip())
                    self._address(str(child.attrs.get("href", "")), "".join(self.pieces[before:]))
                case "image":
                    self._add(f"[image: {child.content or 'no title'}]", style)
                    self._address(str(child.attrs.get("src", "")), "")
                case _:
                    self._add(child.content, style)

    def _add(self, text: str, style: str) -> None:
        start, self._length = self._length, self._length + len(text)
        self.pieces.append(text)
        if style and text:
            self.spans.append(Span(start, self._length, style))

    def _address(self, address: str, shown: str) -> None:
        if address and address.removeprefix("mailto:") != shown:
            self._add(f" ({address})", QUIET)
