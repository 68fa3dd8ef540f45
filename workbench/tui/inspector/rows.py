"""The inspector's rows. Only lines in view are made, so a hundred thousand cost no more than fifty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.message import Message
from textual.reactive import reactive, var
from textual.strip import Strip

from workbench.context.compare import Mark
from workbench.context.items import SIGNS, Item
from workbench.session.observable import ObservableSession
from workbench.tui.inspector.columns import (
    LEAST_SEQ,
    NO_MARKS,
    Columns,
    LineState,
    ListState,
    columns_for_width,
    styled_pieces,
)
from workbench.tui.inspector.order import RowGroup, RowLines, line_near
from workbench.tui.observing import Observing, observed
from workbench.tui.textual_patches import move_thumb, set_line_count
from workbench.tui.widgets.cells import fit_cells
from workbench.tui.widgets.virtual_list import MOST_STRIPS, VirtualList
from workbench.views.values import LiveAnswer

if TYPE_CHECKING:
    from workbench.views.item_effects import ItemEffects

STYLES = (
    *("plain", "cursor", "selected", "quiet", "why", "share", "pin", "group", "live", "effect"),
    *("added", "changed", "gone"),
)


class RowsView(Observing, VirtualList[LineState]):
    """A line per row, a cursor, and an optional range of chosen lines."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"rows--{name}" for name in (*STYLES, *SIGNS)}
    BINDING_GROUP_TITLE = "Rows of the context"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "one row up", id="inspector.up"),
        Binding("down,j", "move(1)", "one row down", id="inspector.down"),
        Binding("pageup", "page(-1)", "one page up", id="inspector.page-up"),
        Binding("pagedown", "page(1)", "one page down", id="inspector.page-down"),
        Binding("home,g", "edge(-1)", "the first row", id="inspector.first"),
        Binding("end,G", "edge(1)", "the last row", id="inspector.last"),
        Binding("v", "range", "begin or end a range of rows", id="inspector.range"),
        Binding("shift+up", "extend(-1)", "extend the range upwards", id="inspector.range-up"),
        Binding("shift+down", "extend(1)", "extend the range downwards", id="inspector.range-down"),
        Binding("shift+home", "extend_to(-1)", "extend the range to the first row", id="inspector.range-first"),
        Binding("shift+end", "extend_to(1)", "extend the range to the last row", id="inspector.range-last"),
    ]

    lines: var[RowLines | None] = var(None)
    live = observed(lambda session: session.unlogged, repaint=False)
    seq_width: var[int] = var(LEAST_SEQ)
    """The width of the first column."""
    marks: reactive[Mapping[str, Mark]] = reactive(NO_MARKS)
    """The changes since the request before, by item id."""
    effects: reactive[ItemEffects | None] = reactive(None)
    """What `explain` found about the request; None: nothing yet."""
    empty: reactive[str] = reactive("")
    """The text if there are no rows."""
    cursor: var[int] = var(0)
    start: var[int | None] = var(None)
    """The other end of the chosen range; None: only the row under the cursor."""

    @dataclass(eq=False)
    class Moved(Message):
        """The cursor or the range has changed; `walked`: the user moved the cursor. With the lines they change without
        a message, because a session adds lines all the time: see `RowList.is_followed`."""

        walked: bool = False

    def __init__(self, session: ObservableSession) -> None:
        super().__init__(session)
        self._looks: dict[int, LineState] = {}
        """The looks of the rows in the last scene."""
        self._scene: ListState | None = None
        self._width = 0
        self._laid: tuple[object, Columns] = (None, columns_for_width(0, LEAST_SEQ))
        self._styles: dict[str, Style] = {}

    # Contents

    @property
    def item(self) -> Item | None:
        """The item under the cursor; None on the head of a group."""
        return self.lines.item(self.cursor) if self.lines else None

    @property
    def group(self) -> RowGroup | None:
        """The group whose head is under the cursor, if any."""
        if self.lines is None or not 0 <= self.cursor < len(self.lines):
            return None
        found = self.lines[self.cursor]
        return found if isinstance(found, RowGroup) else None

    @property
    def chosen(self) -> range:
        """The chosen lines: the range, or the line under the cursor."""
        if self.start is None:
            return range(self.cursor, min(self.cursor + 1, self._count))
        return range(min(self.start, self.cursor), min(max(self.start, self.cursor) + 1, self._count))

    @property
    def _count(self) -> int:
        return len(self.lines) if self.lines is not None else 0

    # Changes

    def watch_lines(self, old: RowLines | None, new: RowLines | None) -> None:
        """Keep the cursor on its item, or on the last line."""
        at_end = old is None or not len(old)
        if old is not None and new is not None and old.wish == new.wish:
            at_end = at_end or self.cursor == len(old) - 1
        place = self._count - 1 if at_end else line_near(old, new, self.cursor)
        if old is not None and new is not None and new.wish.sort and old.wish.sort != new.wish.sort:
            place = 0
        if self.start is not None and (old is None or new is None or old.wish != new.wish or len(new) < len(old)):
            self.start = None  # it would contain other rows
        self.set_reactive(RowsView.cursor, self.validate_cursor(place))
        self._resize()

    def watch_live(self, old: LiveAnswer | None, new: LiveAnswer | None) -> None:
        if (old is None) != (new is None):
            self._resize()
        else:
            self.refresh_lines(self._count)

    def _resize(self) -> None:
        """Update the size after the number of lines changed."""
        top = self.scroll_offset.y
        set_line_count(self, self._count + (self.live is not None))
        self._follow()
        move_thumb(self)  # not earlier: the thumb would jump away and back
        if self.scroll_offset.y == top:  # otherwise everything is repainted anyway
            self._refresh_changed(top)

    def _refresh_changed(self, top: int) -> None:
        """Repaint the lines in view that look different."""
        lines = range(top, top + self.size.height)
        for at, line in zip(lines, self._line_looks(lines), strict=True):
            known = self._strips.get(at)
            if known is None or known[0] != line:
                self.refresh_lines(at)

    # The cursor and the range

    def validate_cursor(self, cursor: int) -> int:
        """Keep the cursor on the lines."""
        return max(0, min(cursor, self._count - 1))

    def watch_cursor(self, old: int, new: int) -> None:
        """Repaint the changed lines and scroll."""
        self._changed_range(old, new)
        self._follow()
        self.post_message(self.Moved(walked=True))

    def watch_start(self, old: int | None, new: int | None) -> None:
        self._changed_range(self.cursor if old is None else old, self.cursor)
        self.post_message(self.Moved())

    def _changed_range(self, one: int, other: int) -> None:
        self.refresh_lines(min(one, other), abs(one - other) + 1)

    def _follow(self) -> None:
        line = self.cursor
        if line == self._count - 1 and self.live is not None:
            line += 1  # with the cursor on the last row, show the streaming answer below it
        top, height = self.scroll_offset.y, self.size.height
        if line < top:
            self.scroll_to(y=line, animate=False, force=True)
        elif line >= top + height > top:
            self.scroll_to(y=line - height + 1, animate=False, force=True)

    def action_move(self, lines: int) -> None:
        self.cursor += lines

    def action_page(self, pages: int) -> None:
        self.cursor += pages * self.page_lines

    def action_edge(self, side: int) -> None:
        self.cursor = 0 if side < 0 else self._count - 1

    def action_range(self) -> None:
        """Start a range at the cursor, or cancel it."""
        self.start = self.cursor if self.start is None and self._count else None

    def action_extend(self, lines: int) -> None:
        """Move the end of the range; without one, start it here."""
        if self.start is None and self._count:
            self.start = self.cursor
        self.cursor += lines

    def action_extend_to(self, side: int) -> None:
        """Move the end of the range to the first or the last line."""
        self.action_extend(-self.cursor if side < 0 else self._count)

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the mouse; with Shift, extend the range."""
        line = event.y + self.scroll_offset.y
        if line < self._count:
            if event.shift:
                self.action_extend(line - self.cursor)
            else:
                self.start = None
                self.cursor = line

    def on_resize(self) -> None:
        """Keep the cursor in view."""
        self._follow()

    # Drawing

    def notify_style_update(self) -> None:
        """Clear the cache after a change of theme."""
        super().notify_style_update()
        self._styles.clear()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw many lines, and read the state they share only once.

        Textual's own cache is not used: it adds borders and padding, which do not exist here, and scrolling clears it.
        """
        top = self.scroll_offset.y
        lines = range(top + crop.y, top + crop.bottom)
        strips = [self.strip(at, line) for at, line in zip(lines, self._line_looks(lines), strict=True)]
        background = self.background_colors[1]
        for line_filter in self.get_line_filters():
            strips = [strip.apply_filter(line_filter, background) for strip in strips]
        if crop.x or crop.right < self._width:
            strips = [strip.crop(*crop.column_span) for strip in strips]
        return strips

    def render_line(self, y: int) -> Strip:
        at = self.scroll_offset.y + y
        return self.strip(at, self._line_looks(range(at, at + 1))[0])

    def _line_looks(self, lines: range) -> list[LineState]:
        """The looks of some lines; those of rows are made once for each scene: plans make their items lazily."""
        scene, looks, count = self._seen(), self._looks, self._count
        if new := [at for at in range(lines.start, min(lines.stop, count)) if at not in looks]:
            rows = range(new[0], new[-1] + 1)
            looks.update(zip(rows, scene.row_looks(rows.start, rows.stop), strict=True))
        return [looks[at] if at < count else scene.look_below(at - count) for at in lines]

    def _seen(self) -> ListState:
        """The current state that all lines depend on."""
        chosen = self.chosen if self.start is not None else range(0)
        scene = ListState(
            self.lines, self.marks, self.effects, self.empty, self.cursor, chosen, self._columns, self.live
        )
        if self._scene is None or scene[:-1] != self._scene[:-1] or len(self._looks) > MOST_STRIPS:
            self._looks.clear()
        self._scene = scene
        return scene

    @property
    def _columns(self) -> Columns:
        """The columns, computed once for each width."""
        key = (self.outer_size, self.seq_width, bool(self.marks), bool(self.effects))
        if key != self._laid[0]:
            # Not from the region, which is empty while the pane is hidden: rows may be added meanwhile.
            width = self.outer_size.width - self.gutter.width
            if width != self._width:
                self._strips.clear()
            self._width = width
            self._laid = (key, columns_for_width(width - 1, *key[1:]))
        return self._laid[1]

    def draw_line(self, line: LineState) -> Strip:
        what, width = line.what, self._width
        if isinstance(what, str):
            return Strip([Segment(fit_cells(f"  {what}" if what else "", width), self._style("quiet"))], width)
        base = self._style("cursor" if line.chosen else "selected" if line.selected else "plain")
        segments = [Segment(text, base + self._partial(name)) for text, name in styled_pieces(line) if text]
        return Strip(segments).adjust_cell_length(width)  # the columns may be wider than the terminal

    def _style(self, name: str) -> Style:
        found = self._styles.get(name)
        if found is None:
            found = self._styles[name] = self.get_component_rich_style(f"rows--{name}")
        return found

    def _partial(self, names: str) -> Style:
        """Several styles combined, without the background."""
        found = self._styles.get(f"partial {names}")
        if found is None:
            each = (self.get_component_rich_style(f"rows--{name}", partial=True) for name in names.split())
            found = self._styles[f"partial {names}"] = sum(each, Style())
        return found
