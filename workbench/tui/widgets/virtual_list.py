"""The base of long lists: lines are made when they are looked at, so that a hundred thousand cost what fifty do."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from textual.scroll_view import ScrollView
from textual.strip import Strip

from workbench.tui.textual_patches import move_thumb

MOST_STRIPS = 1_000
"""Lines that are kept ready to be shown; more than any screen has."""

Look = TypeVar("Look")
"""Everything that a line's picture is made of: as long as it is the same, the picture is."""


class VirtualList(ScrollView, Generic[Look], can_focus=True):
    """As many lines as there are, of which those in view are drawn, and what was drawn is kept."""

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
        """Lines in view."""
        return self.scrollable_content_region.height

    @property
    def page_lines(self) -> int:
        """Lines of a page: what is in view, but for one."""
        return max(1, self.view_height - 1)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Another part is in view."""
        move_thumb(self)
        if round(old_value) != round(new_value):
            self.refresh(self.size.region)

    def notify_style_update(self) -> None:
        """Colours may be others now."""
        super().notify_style_update()
        self._strips.clear()

    def strip(self, key: Hashable, look: Look) -> Strip:
        """A line as it was drawn before, or anew where it looks otherwise."""
        known = self._strips.get(key)
        if known is not None and known[0] == look:
            return known[1]
        if len(self._strips) > MOST_STRIPS:
            self._strips.clear()
        made = self.draw_line(look)
        self._strips[key] = (look, made)
        return made

    def draw_line(self, look: Look) -> Strip:
        """A line of the view's width."""
        raise NotImplementedError
