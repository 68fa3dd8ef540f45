"""A list of items with checkboxes."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Generic, TypeVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from workbench.tui.widgets.cells import fit_cells

T = TypeVar("T")


class MaskList(Widget, Generic[T], can_focus=True):
    """A line for each item, with a checkbox; a long list shows the part around the cursor."""

    BINDING_GROUP_TITLE = "What can be masked"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "the item above", id="largest.up"),
        Binding("down,j", "move(1)", "the item below", id="largest.down"),
        Binding("home,g", "edge(0)", "the first", id="largest.first"),
        Binding("end,G", "edge(1)", "the last", id="largest.last"),
        Binding("space", "choose", "choose the item, or not", id="largest.choose"),
        Binding("a", "all", "choose all or none", id="largest.all"),
    ]

    items: reactive[tuple[T, ...]] = reactive((), layout=True)
    chosen: reactive[frozenset[int]] = reactive(frozenset())
    """The indexes of the chosen items."""
    cursor: reactive[int] = reactive(0)

    class Changed(Message):
        """The choice has changed."""

    def __init__(self, line: Callable[[T, int], str]) -> None:
        """`line`: makes the text of an item, in a number of cells."""
        super().__init__()
        self._line = line

    def watch_chosen(self) -> None:
        self.post_message(self.Changed())

    def validate_cursor(self, cursor: int) -> int:
        return max(0, min(cursor, len(self.items) - 1))

    def action_move(self, by: int) -> None:
        self.cursor += by

    def action_edge(self, last: int) -> None:
        self.cursor = len(self.items) * last

    def action_choose(self) -> None:
        if self.items:
            self.chosen ^= {self.cursor}

    def action_all(self) -> None:
        """Choose all items, or none if all are chosen."""
        every = frozenset(range(len(self.items)))
        self.chosen = frozenset() if self.chosen == every else every

    def on_click(self, event: events.Click) -> None:
        if 0 <= event.y < len(self._seen):
            self.cursor = self._seen[event.y]
            self.action_choose()

    def get_content_height(self, *_: object) -> int:
        return max(1, len(self.items))

    @property
    def _seen(self) -> range:
        height = max(1, self.size.height)
        first = max(0, min(self.cursor - height // 2, len(self.items) - height))
        return range(first, min(first + height, len(self.items)))

    def render(self) -> Content:
        lines = []
        for at in self._seen:
            box = "[x]" if at in self.chosen else "[ ]"
            line = fit_cells(f"{box} {self._line(self.items[at], self.size.width - len(box) - 1)}", self.size.width)
            lines.append(Content.styled(line, "bold reverse" if at == self.cursor else "$foreground"))
        return Content("\n").join(lines)
