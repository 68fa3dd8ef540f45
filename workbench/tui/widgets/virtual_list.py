"""The base of long lists: only lines in view are made, so a hundred thousand cost no more than fifty."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from textual.geometry import Region
from textual.scroll_view import ScrollView
from textual.strip import Strip

from workbench.tui.textual_patches import move_thumb

MOST_STRIPS = 1_000
"""The most drawn lines to cache; more than any screen has."""

Look = TypeVar("Look")
"""Everything that a drawn line depends on; equal values are drawn the same."""


class VirtualList(ScrollView, Generic[Look], can_focus=True):
    """A list that draws the lines in view and caches them."""

    DEFAULT_CSS = """
    VirtualList {
        height: 1fr;
        width: 1fr;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        scrollbar-background: $surface;
        scrollbar-background-hover: $surface;
        scrollbar-background-active: $surface;
        scrollbar-color: $quiet 60%;
        scrollbar-color-hover: $primary;
        scrollbar-color-active: $primary;
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._strips: dict[Hashable, tuple[Look, Strip]] = {}

    @property
    def view_height(self) -> int:
        """The number of lines in view."""
        return self.scrollable_content_region.height

    @property
    def page_lines(self) -> int:
        """The number of lines of a page: one less than in view."""
        return max(1, self.view_height - 1)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        move_thumb(self)
        if round(old_value) != round(new_value):
            self.refresh_lines(self.scroll_offset.y, self.size.height)

    def refresh_lines(self, y_start: int, line_count: int = 1) -> None:
        """Repaint lines, but not the scrollbar next to them: that is done where its thumb moves."""
        width = self.size.width - self.scrollbar_size_vertical
        self.refresh(Region(0, y_start - self.scroll_offset.y, width, line_count))

    def notify_style_update(self) -> None:
        """Clear the cache: the colours may have changed."""
        super().notify_style_update()
        self._strips.clear()

    def strip(self, key: Hashable, line: Look) -> Strip:
        """A line from the cache, or drawn again if it has changed."""
        known = self._strips.get(key)
        if known is not None and known[0] == line:
            return known[1]
        if len(self._strips) > MOST_STRIPS:
            self._strips.clear()
        made = self.draw_line(line)
        self._strips[key] = (line, made)
        return made

    def draw_line(self, line: Look) -> Strip:
        """Draw a line of the view's width."""
        raise NotImplementedError
