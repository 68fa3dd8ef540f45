"""A list of items to choose from, each with a box."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Generic, TypeVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from workbench.tui.widgets.cells import fit

T = TypeVar("T")


class MaskList(Widget, Generic[T], can_focus=True):
    """A line for each item, with a box to choose it; where there are more than lines, those around the cursor."""

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
    """Of the items, those to be masked, by their places."""
    cursor: reactive[int] = reactive(0)

    class Changed(Message):
        """Others are chosen."""

    def __init__(self, line: Callable[[T, int], str]) -> None:
        """`line`: what is told of an item behind its box, in so many cells; what is longer is cut."""
        super().__init__()
        self._line = line

    def watch_chosen(self) -> None:
        """What it frees is another figure."""
        self.post_message(self.Changed())

    def validate_cursor(self, cursor: int) -> int:
        """It stays on the items."""
        return max(0, min(cursor, len(self.items) - 1))

    def action_move(self, by: int) -> None:
        """To another item."""
        self.cursor += by

    def action_edge(self, last: int) -> None:
        """To the first or the last."""
        self.cursor = len(self.items) * last

    def action_choose(self) -> None:
        """The item under the cursor, or no longer."""
        if self.items:
            self.chosen ^= {self.cursor}

    def action_all(self) -> None:
        """All, or where all are chosen none."""
        every = frozenset(range(len(self.items)))
        self.chosen = frozenset() if self.chosen == every else every

    def on_click(self, event: events.Click) -> None:
        """Choose the item under the mouse, or no longer."""
        if 0 <= event.y < len(self._seen):
            self.cursor = self._seen[event.y]
            self.action_choose()

    def get_content_height(self, *_: object) -> int:
        """A line for each."""
        return max(1, len(self.items))

    @property
    def _seen(self) -> range:
        height = max(1, self.size.height)
        first = max(0, min(self.cursor - height // 2, len(self.items) - height))
        return range(first, min(first + height, len(self.items)))

    def render(self) -> Content:
        """The box, and what is told of each."""
        lines = []
        for at in self._seen:
            box = "[x]" if at in self.chosen else "[ ]"
            line = fit(f"{box} {self._line(self.items[at], self.size.width - len(box) - 1)}", self.size.width)
            lines.append(Content.styled(line, "bold reverse" if at == self.cursor else "$foreground"))
        return Content("\n").join(lines)
