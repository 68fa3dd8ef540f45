"""A long text: wrapped, searchable, and drawn line by line."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import work
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from workbench.config.background import in_background
from workbench.config.text import printable_lines
from workbench.tui.widgets.cells import line_cuts

AT_ONCE = 40_000
"""The most characters to lay out before the next frame. A longer text shows its beginning first."""
MOST_SELECTED = 5_000
"""The most lines that the mouse can select."""
LEAST_ROOM = 24
"""A line is indented only if this many cells are left."""
TOKENS = ("token-0", "token-1", "token-2", "token-3")


class TextLine(NamedTuple):
    """A line of the text, without control characters."""

    text: str
    style: str = "text"
    spans: tuple[tuple[int, str], ...] = ()
    """The ends and styles of its pieces; empty: all of it is in `style`."""
    hang: int = 0
    """The indent of its continuation lines, if there is room."""

    def indent(self, width: int) -> int:
        """The indent of its continuation lines at a width."""
        return self.hang if width - self.hang >= LEAST_ROOM else 0


class TextPage(NamedTuple):
    """What a text view shows."""

    lines: Sequence[TextLine]
    copy: str = ""
    """The text to copy, not as it looks here."""
    note: str = ""
    """A note, such as that the text is not complete."""


def text_page(text: str, most: int = 0) -> TextPage:
    """A plain text."""
    if not text:
        return TextPage([TextLine("(empty)", "quiet")])
    shown = text[:most] if most else text
    return TextPage([TextLine(line) for line in printable_lines(shown)], text)


class TextLayout(NamedTuple):
    """The lines of a page, wrapped: for each line on the screen its line of the page and where it is cut."""

    line: array[int]
    start: array[int]
    end: array[int]


def wrap_page(lines: Sequence[TextLine], width: int) -> TextLayout:
    made = TextLayout(array("L"), array("L"), array("L"))
    if width > 0:
        for number, line in enumerate(lines):
            for start, end in line_cuts(line.text, width, line.indent(width)):
                made.line.append(number)
                made.start.append(start)
                made.end.append(end)
    return made


Make = Callable[[int], TextPage]
"""Makes a page of at most this many characters; 0: of all."""


class TextView(ScrollView, can_focus=True):
    """Shows a page. A long one is made and wrapped in a thread; its beginning is shown at once."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"text-view--{name}" for name in ("text", "quiet", "head", "why", "removed", "added", "found", "here")),
        *(f"text-view--{name}" for name in TOKENS),
    }
    BINDING_GROUP_TITLE = "A text"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "line(-1)", "one line up", id="text.up"),
        Binding("down,j", "line(1)", "one line down", id="text.down"),
        Binding("pageup", "page(-1)", "one page up", id="text.page-up"),
        Binding("pagedown", "page(1)", "one page down", id="text.page-down"),
        Binding("home,g", "edge(-1)", "the beginning", id="text.first"),
        Binding("end,G", "edge(1)", "the end", id="text.last"),
    ]

    class Laid(Message):
        """The layout, the matches or the current match changed."""

    def __init__(self) -> None:
        super().__init__()
        self.page = TextPage(())
        self.matches: list[tuple[int, int]] = []
        """The matches: lines of the page, and positions in them."""
        self.at = -1
        """The index of the current match."""
        self.wanted = ""
        self._wrap = wrap_page((), 0)
        self._make: Make | None = None

    # What is shown

    def show(self, make: Make, weight: int) -> None:
        """Show a page of about `weight` characters, from its beginning."""
        self._make = make
        self.matches, self.at = [], -1
        whole = weight <= AT_ONCE
        self._show_page(make(0 if whole else AT_ONCE))
        self.scroll_home(animate=False)
        if whole:
            self._done()
        else:
            self._rest(make)

    @work(exclusive=True, description="rest")
    async def _rest(self, make: Make) -> None:
        width = self._width
        page, layout = await in_background(_made, make, width)
        if make is self._make:
            self._show_page(page, layout if width == self._width else None)
            self._done()

    def _show_page(self, page: TextPage, layout: TextLayout | None = None) -> None:
        self.page = page
        self._wrap = layout or wrap_page(page.lines, self._width)
        self.virtual_size = Size(0, len(self._wrap.line))
        self.refresh()

    def _done(self) -> None:
        if self.wanted:
            self.search_text(self.wanted)
        self.post_message(self.Laid())

    @property
    def _width(self) -> int:
        return self.scrollable_content_region.width

    def on_resize(self) -> None:
        """Wrap again; the scroll position stays about the same."""
        top = self.scroll_offset.y
        line = self._wrap.line[top] if top < len(self._wrap.line) else 0
        self._show_page(self.page)
        self.scroll_to(y=bisect_left(self._wrap.line, line), animate=False)

    # Scrolling, without animation

    def action_line(self, by: int) -> None:
        self.scroll_to(y=self.scroll_offset.y + by, animate=False)

    def action_page(self, by: int) -> None:
        self.action_line(by * max(1, self.scrollable_content_region.height - 1))

    def action_edge(self, side: int) -> None:
        self.scroll_to(y=0 if side < 0 else self.max_scroll_y, animate=False)

    # Searching

    def search_text(self, wanted: str) -> None:
        """Search for a text, ignoring case; an empty text clears the search."""
        self.wanted = wanted
        self._find(wanted)

    @work(exclusive=True, group="find", description="find")
    async def _find(self, wanted: str) -> None:
        page = self.page
        self.matches = await in_background(text_matches, page.lines, wanted) if wanted else []
        self.at = -1
        if self.matches:
            top = self.scroll_offset.y
            first = self._wrap.line[top] if top < len(self._wrap.line) else 0
            self._go(bisect_left(self.matches, (first, 0)) % len(self.matches))
        self.refresh()
        self.post_message(self.Laid())

    def step(self, by: int) -> None:
        """Go to the next or previous match; wraps around."""
        if self.matches:
            self._go((self.at + by) % len(self.matches))
            self.post_message(self.Laid())

    def _go(self, at: int) -> None:
        self.at = at
        line, start = self.matches[at]
        first = bisect_left(self._wrap.line, line)
        last = bisect_right(self._wrap.line, line)
        y = max(first, bisect_right(self._wrap.start, start, first, last) - 1)
        height = self.scrollable_content_region.height
        if not self.scroll_offset.y <= y < self.scroll_offset.y + height:
            self.scroll_to(y=max(0, y - height // 3), animate=False)
        self.refresh()

    # Drawing

    def render_line(self, y: int) -> Strip:
        width = self._width
        at = y + self.scroll_offset.y
        if at >= len(self._wrap.line):
            return Strip.blank(width, self.rich_style)
        number = self._wrap.line[at]
        line = self.page.lines[number]
        start, end = self._wrap.start[at], self._wrap.end[at]
        indent = line.indent(width) if start else 0
        segments = [Segment(" " * indent, self.rich_style)] if indent else []
        segments += [
            Segment(line.text[first:last], style) for first, last, style in self._pieces(number, line, start, end)
        ]
        # Offsets are positions in the text, not on the screen, so that a selection copies whole lines.
        return Strip(segments).adjust_cell_length(width, self.rich_style).apply_offsets(max(0, start - indent), number)

    @property
    def allow_select(self) -> bool:
        return True

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        first = 0 if selection.start is None else selection.start.y
        last = len(self.page.lines) - 1 if selection.end is None else min(selection.end.y, len(self.page.lines) - 1)
        pieces = []
        for number in range(first, min(last, first + MOST_SELECTED) + 1):
            start, end = selection.get_span(number) or (0, -1)
            pieces.append(self.page.lines[number].text[start : None if end == -1 else end].rstrip())
        return "\n".join(pieces), "\n"

    def _pieces(self, number: int, line: TextLine, start: int, end: int) -> list[tuple[int, int, Style]]:
        """The styles of a part of a line: its own, and those of matches on top."""
        found: list[tuple[int, int, Style]] = []
        at = start
        for stop, name in line.spans or ((len(line.text), line.style),):
            if stop > at:
                found.append((at, min(stop, end), self._style(name)))
                at = min(stop, end)
            if at >= end:
                break
        low = bisect_left(self.matches, (number, max(0, start - len(self.wanted))))
        while low < len(self.matches) and self.matches[low][0] == number and self.matches[low][1] < end:
            here = self.matches[low][1]
            name = "here" if low == self.at else "found"
            found = _over(found, here, here + len(self.wanted), self._style(name))
            low += 1
        span = self.text_selection.get_span(number) if self.text_selection is not None else None
        if span is not None:
            chosen = self.screen.get_component_rich_style("screen--selection")
            found = _over(found, span[0], end if span[1] == -1 else span[1], chosen)
        return found

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"text-view--{name}")


def _made(make: Make, width: int) -> tuple[TextPage, TextLayout]:
    page = make(0)
    return page, wrap_page(page.lines, width)


def _over(pieces: list[tuple[int, int, Style]], first: int, last: int, style: Style) -> list[tuple[int, int, Style]]:
    """The pieces with another style on a range."""
    found = []
    for start, end, own in pieces:
        for low, high, kept in ((start, min(end, first), own), (max(start, first), min(end, last), style)):
            if low < high:
                found.append((low, high, kept))
        if max(start, last) < end:
            found.append((max(start, last), end, own))
    return found


def text_matches(lines: Sequence[TextLine], wanted: str) -> list[tuple[int, int]]:
    """The positions of a text in the lines of a page, ignoring case."""
    sought = _lower_case(wanted)
    found = []
    for number, line in enumerate(lines):
        text = _lower_case(line.text)
        at = text.find(sought)
        while at >= 0:
            found.append((number, at))
            at = text.find(sought, at + len(sought))
    return found


def _lower_case(text: str) -> str:
    """The text in lower case, each character in its place: İ is the only one that would become two."""
    return text.replace("İ", "i").lower()
