"""The scrolling view of the transcript, drawn line by line: only the messages in view cost time.

An entry's height is a guess until it is drawn. So the position is kept as an entry and a line in it, and the scroll
offset follows from that: the lines in view stay where they are while guesses become real heights.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from textual import work
from textual.content import Content
from textual.message import Message
from textual.reactive import var
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style
from textual.visual import Visual

from workbench.config.background import in_background
from workbench.session.observable import ObservableSession
from workbench.tui.chat.blocks import GUTTER
from workbench.tui.chat.code_colours import CodeColours, in_a_process
from workbench.tui.chat.lines import TranscriptLines
from workbench.tui.observing import Observing, observed
from workbench.tui.textual_patches import move_thumb, set_line_count
from workbench.tui.widgets.soft_wrap import copied_text
from workbench.tui.widgets.virtual_list import VirtualList

MOST_SELECTED = 5_000
"""The most lines that the mouse can select."""
MARGIN = 2
"""Cells for the cursor mark on the left and the gap to the scrollbar on the right."""


class TranscriptWindow(Observing, VirtualList[tuple[Content, bool]], inherit_bindings=False):
    """Shows part of the lines. Follows the end while it is in view; otherwise stays in place."""

    @dataclass(eq=False)
    class NewBelow(Message):
        """How many entries below the view the user has not seen."""

        count: int
        coming: bool

    transcript = observed(lambda session: session.transcript, repaint=False)
    live = observed(lambda session: session.live, repaint=False)
    cursor: var[int | None] = var(None)
    """The entry that keys act on."""

    def __init__(self, session: ObservableSession, folder: str = "") -> None:
        """`folder`: the project's."""
        super().__init__(session)
        self._colours = CodeColours(self._colour)
        self._colouring = asyncio.Lock()
        """Only one process highlights at a time."""
        self.lines = TranscriptLines(self._colours.colours_so_far, folder)
        self.following = True
        """Whether to keep the end in view."""
        self._jumped = False
        self._place = (0, 0)
        """The entry at the top of the view, and the line in it."""
        self._seen = 0
        self._below = (0, False)
        self._due = False
        self._placing = False

    # Changes of the session

    def watch_transcript(self) -> None:
        self._soon()

    def watch_live(self) -> None:
        self._soon()

    def _soon(self) -> None:
        """Update once, after all values that change together have changed."""
        if not self._due:
            self._due = True
            self.call_later(self._update_lines)

    @property
    def is_current(self) -> bool:
        """Whether all changes are shown."""
        return not self._due

    def _update_lines(self) -> None:
        self._due = False
        if not self.is_mounted:
            return
        if self.lines.update_transcript(self.transcript, self.live):
            self.following, self.cursor, self._jumped, self._place = True, None, False, (0, 0)
        if self.following:
            self._seen = len(self.lines)  # also while hidden: entries opened behind another pane are not new
        self._arrange()

    def on_resize(self) -> None:
        self._arrange()

    # Positions

    def _arrange(self) -> None:
        """Get the real heights in view, and restore the position."""
        width, height = self.scrollable_content_region.size
        if width <= MARGIN or height < 1:
            return
        self.lines.resize(width - MARGIN)
        if self.following:
            self._place = (len(self.lines), len(self.lines.live))
            self.lines.measure(*self._place, 2 * height)
        index, offset = self._place
        self.lines.measure(index, offset, height)  # one more view above, so that a step up finds real heights
        if index < len(self.lines):
            offset = min(offset, max(self.lines.heights[index] - 1, 0))
        self._scroll(self.lines.heights.top(index) + offset)
        self._report_below()
        self.refresh()

    def _scroll(self, line: int) -> None:
        self._placing = True
        set_line_count(self, self.lines.total)
        self.scroll_to(y=self.max_scroll_y if self.following else line, animate=False, force=True)
        self._placing = False
        move_thumb(self)
        self._place = self.lines.heights.at(self.scroll_offset.y)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Compute the new position after the user scrolled."""
        super().watch_scroll_y(old_value, new_value)
        if self._placing or round(old_value) == round(new_value):
            return
        index, offset = self._place
        step, height = round(new_value) - round(old_value), self.view_height
        line = round(new_value)
        if abs(step) <= 2 * height:
            # A small step is relative to the position; after a leap we can only use the guessed heights.
            self.lines.measure(index, offset, height + abs(step))
            line = self.lines.heights.top(index) + offset + step
        self.following = round(new_value) >= self.max_scroll_y
        self._place = self.lines.heights.at(line)
        self._arrange()

    def _report_below(self) -> None:
        count = len(self.lines)
        if self.following or self._seen > count:
            self._seen = count
        below = (count - self._seen, self.live is not None and not self.following)
        if below != self._below:
            self._below = below
            self.post_message(self.NewBelow(*below))

    @property
    def _bottom(self) -> int:
        return self.scroll_offset.y + self.view_height

    def _show(self, index: int, from_below: bool = False) -> None:
        """Bring an entry into view; if it is taller than the view, the end from which the user comes."""
        height = self.view_height
        top, tall = self.lines.span(index)
        if tall > height:
            self._go(top + tall - height if from_below else top)
        elif top < self.scroll_offset.y:
            self._go(top)
        elif top + tall > self._bottom:
            self._go(top + tall - height)
        self.refresh()

    def _go(self, line: int) -> None:
        self.following = line >= self.max_scroll_y
        self._place = self.lines.heights.at(max(0, min(line, self.max_scroll_y)))
        self._arrange()

    def show(self, seq: int) -> None:
        """Scroll to the entry of an event and mark it."""
        if self._due:
            self.call_later(self.show, seq)  # after pending changes, which may contain it
            return
        if not len(self.lines):
            return
        self.cursor, self._jumped = self.lines.index_of(seq), True
        self.following, self._place = False, (self.cursor, 0)
        self._arrange()
        if not self.scrollable_content_region.height:
            self._placing = True  # until it is drawn: scrolling before that does not come from the user
        else:
            self._go(self.lines.heights.top(self.cursor) - self.view_height // 4)
            self._show(self.cursor)

    def mark(self, seq: int) -> None:
        """Mark the entry of an event that is selected in another pane; follow the end if it is the last one."""
        if self.following and not self._due and self.lines.index_of(seq) == len(self.lines) - 1:
            self.cursor, self._jumped = len(self.lines) - 1, True
            self.refresh()
        else:
            self.show(seq)

    def follow(self) -> None:
        """Scroll to the end and follow it."""
        self.following, self._jumped = True, False
        self._arrange()

    # Drawing

    @work(description="colour")
    async def _colour(self, text: str, language: str) -> None:
        async with self._colouring:
            found = await in_background(in_a_process, text, language)
        self._colours.learn(text, language, found)
        self.lines.recolour()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        at = y + self.scroll_offset.y
        index, line = self.lines.line(at)
        marked = index == self.cursor and bool(line) and (self.has_focus or self._jumped)
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(at)) is not None:
            return self._drawn(self._selected(_marked(line, marked), span)).apply_offsets(0, at)
        # The key is the line itself: its number changes when heights above it change.
        return self.strip((id(line), marked), (line, marked)).apply_offsets(0, at)

    def draw_line(self, drawn: tuple[Content, bool]) -> Strip:
        """A line with the cursor mark, or with room for it."""
        return self._drawn(_marked(*drawn))

    def _drawn(self, line: Content) -> Strip:
        width, style = self.scrollable_content_region.width, self.visual_style
        strips = Visual.to_strips(self, line, width, 1, style, apply_selection=False)
        made = strips[0] if strips else Strip.blank(width)
        return made.crop_extend(0, width, style.rich_style)

    def _selected(self, line: Content, span: tuple[int, int]) -> Content:
        start, end = span
        chosen = Style.from_styles(self.screen.get_component_styles("screen--selection"))
        return line.stylize(chosen, start, len(line) if end == -1 else end)

    @property
    def allow_select(self) -> bool:
        return True

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text; if all is selected, the text in view."""
        first = self.scroll_offset.y if selection.start is None else selection.start.y
        last = self._bottom - 1 if selection.end is None else selection.end.y
        last = min(last, first + MOST_SELECTED, self.lines.total - 1)
        chosen = []
        for at in range(first, last + 1):
            start, end = selection.get_span(at) or (0, -1)
            # The line comes after the cursor mark.
            chosen.append((self.lines.line(at)[1], max(start - 1, 0), None if end == -1 else max(end - 1, 0)))
        return copied_text(chosen, GUTTER), "\n"


def _marked(line: Content, marked: bool) -> Content:
    return Content.assemble(("▌", "bold $primary") if marked else " ", line)
