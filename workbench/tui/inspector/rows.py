"""The inspector's rows. Lines are made when they are looked at, so that a hundred thousand cost what fifty do."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from workbench.context.items import SIGNS, Item
from workbench.tui.bench import Shown
from workbench.tui.cells import fit
from workbench.tui.inspector.columns import Columns, cells, heads, lay_out

NEAR = 64
"""How far around its old place an item is looked for under a new plan; summaries and notices move it by a few rows."""


class Rows(ScrollView, can_focus=True):
    """A row per item, and a cursor."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *("rows--cursor", "rows--quiet", "rows--why", "rows--share", "rows--pin"),
        *(f"rows--{state}" for state in SIGNS),
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "one row up"),
        Binding("down,j", "move(1)", "one row down"),
        Binding("pageup", "page(-1)", "one page up"),
        Binding("pagedown", "page(1)", "one page down"),
        Binding("home,g", "edge(-1)", "the first row"),
        Binding("end,G", "edge(1)", "the last row"),
    ]

    shown: reactive[Shown | None] = reactive(None)
    cursor: reactive[int] = reactive(0, repaint=False)

    class Moved(Message):
        """The cursor is on another item, or there is none."""

        def __init__(self, item: Item | None) -> None:
            super().__init__()
            self.item = item

    @property
    def item(self) -> Item | None:
        """The item under the cursor."""
        rows = self.shown.plan.rows if self.shown else ()
        return rows[self.cursor] if self.cursor < len(rows) else None

    # A new plan

    def watch_shown(self, old: Shown | None, new: Shown | None) -> None:
        """Keep the cursor on its item, where the new plan still has it nearby."""
        self.virtual_size = Size(0, self._count)
        if old and new and self.cursor < len(old.plan.rows):
            self.cursor = _near(new, self.cursor, old.plan.rows[self.cursor].id)
        self._follow()
        self.post_message(self.Moved(self.item))

    @property
    def _count(self) -> int:
        return len(self.shown.plan.rows) if self.shown else 0

    # The cursor

    def validate_cursor(self, cursor: int) -> int:
        """It stays on the rows."""
        return max(0, min(cursor, self._count - 1))

    def watch_cursor(self, old: int, new: int) -> None:
        """Two lines change, and perhaps the part that is in view."""
        self.refresh_line(old)
        self.refresh_line(new)
        self._follow()
        self.post_message(self.Moved(self.item))

    def _follow(self) -> None:
        self.scroll_to_region(Region(0, self.cursor, 1, 1), animate=False, force=True)

    def action_move(self, rows: int) -> None:
        """Move the cursor by rows."""
        self.cursor += rows

    def action_page(self, pages: int) -> None:
        """Move the cursor by what is in view."""
        self.cursor += pages * max(1, self.scrollable_content_region.height - 1)

    def action_edge(self, side: int) -> None:
        """Move the cursor to the first or the last row."""
        self.cursor = 0 if side < 0 else self._count - 1

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where the mouse is."""
        row = event.y + self.scroll_offset.y
        if row < self._count:
            self.cursor = row

    def on_resize(self) -> None:
        """The cursor stays in view when the list gets shorter."""
        self._follow()

    # Drawing

    def render_line(self, y: int) -> Strip:
        """One line of what is in view."""
        width = self.scrollable_content_region.width
        at = y + self.scroll_offset.y
        if self.shown is None or at >= self._count:
            said = "  nothing was said yet: the log has no items" if self.shown and not self._count and y == 0 else ""
            style = self.get_component_rich_style("rows--quiet")
            return Strip([Segment(fit(said, width), style)], width)
        columns = lay_out(width - 1, self.shown.events)
        segments = self._segments(self.shown.plan.rows[at], columns, at == self.cursor)
        return Strip(segments).adjust_cell_length(width)  # where all columns together are wider than the terminal

    def _segments(self, row: Item, columns: Columns, chosen: bool) -> list[Segment]:
        base = self.get_component_rich_style("rows--cursor") if chosen else self.rich_style
        quiet = base + self._partial("quiet")
        state = base + self._partial(row.state)
        plain = base if row.in_request else quiet
        made = cells(row, columns, self.shown.plan.totals.tokens if self.shown else 0)
        gap = " " * columns.gap
        parts: list[tuple[str, Style]] = [
            ("▌" if chosen else " ", base + self._partial("share")),
            (made.seq + gap, quiet),
            (made.who + gap + made.tokens + gap, plain),
            (made.original + gap if columns.original else "", quiet),
            (made.share + gap, base + self._partial("share")),
            (made.pin + gap, base + self._partial("pin")),
            (made.state + gap, state),
            (made.why, plain + self._partial("why")),
            (made.text, quiet if made.why else plain),
        ]
        return [Segment(said, style) for said, style in parts if said]

    def _partial(self, name: str) -> Style:
        return self.get_component_rich_style(f"rows--{name}", partial=True)


def _near(shown: Shown, place: int, item_id: str) -> int:
    """Where an item is now, if it is near its old place; else that place."""
    rows = shown.plan.rows
    for away in range(NEAR):
        for at in (place - away, place + away):
            if 0 <= at < len(rows) and rows[at].id == item_id:
                return at
    return place


class Heads(Widget):
    """The line above the rows; it stands still while they scroll."""

    shown: reactive[Shown | None] = reactive(None)

    def render_line(self, y: int) -> Strip:
        """The columns' names, where the rows have their columns."""
        width = self.size.width
        columns = lay_out(width - 1, self.shown.events if self.shown else 0)
        return Strip([Segment(fit(f" {heads(columns)}", width), self.rich_style)], width)
