"""One item in full: what it was, what is sent of it, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from textual.geometry import Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from workbench.config.text import printable, printable_lines
from workbench.context.items import SIGNS, Item
from workbench.tui.cells import fit, wrapped


class Line(NamedTuple):
    """A line of the pane and the name of its style."""

    text: str
    style: str = "text"


def describe(item: Item, width: int) -> list[Line]:
    """The pane's lines for an item."""
    if width < 1:
        return []
    return [Line(piece, line.style) for line in _lines(item) for piece in wrapped(line.text, width)]


def _lines(item: Item) -> Iterator[Line]:
    yield Line(_title(item), "title")
    yield Line(_ids(item), "quiet")
    yield Line(_size(item), item.state)
    for edit in item.edits:
        yield Line(f"{edit.stage}, {edit.before:,} → {edit.after:,} tokens: {printable(edit.why)}", "why")
    yield Line("")
    if item.text == item.original:
        yield from _section("sent as it is", item.original)
    elif item.text is None:
        yield from _section("not sent; the original", item.original)
    else:
        yield from _section("as sent", item.text)
        yield Line("")
        yield from _section("the original", item.original)


def _section(title: str, text: str) -> Iterator[Line]:
    yield Line(title, "head")
    if not text:
        yield Line("(empty)", "quiet")
        return
    for line in printable_lines(text):
        yield Line(line)


def _title(item: Item) -> str:
    kind = item.kind.replace("_", " ")
    name = f" “{printable(item.name)}”" if item.name else ""
    who = item.tool or item.role or ""
    return f"{kind} · {printable(who)}{name}" if who else kind


def _ids(item: Item) -> str:
    parts = [
        "made by the plan" if item.seq is None else f"event {item.seq}",
        f"id {printable(item.id)}",
        f"turn {item.turn}",
        f"slot {item.slot}",
    ]
    if item.call_id:
        parts.append(f"call {printable(item.call_id)}")
    return " · ".join(parts)


def _size(item: Item) -> str:
    exact = "" if item.exact else " (approximate)"
    state = f"{SIGNS[item.state]} {item.state}".strip()
    pinned = ", pinned" if item.pinned else ""
    if item.tokens == item.original_tokens:
        return f"{state}{pinned}: {item.tokens:,} tokens{exact}"
    return f"{state}{pinned}: {item.tokens:,} of {item.original_tokens:,} tokens{exact}"


class Detail(ScrollView, can_focus=True):
    """The pane that shows an item."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *("detail--title", "detail--quiet", "detail--why", "detail--head", "detail--text"),
        *(f"detail--{state}" for state in SIGNS),
    }

    item: reactive[Item | None] = reactive(None)

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[Line] = []

    def watch_item(self) -> None:
        """Another item is read from its beginning."""
        self._arrange()
        self.scroll_home(animate=False)

    def on_resize(self) -> None:
        """Lines are cut to the width."""
        self._arrange()

    def _arrange(self) -> None:
        width = self.scrollable_content_region.width
        self._lines = describe(self.item, width) if self.item else []
        self.virtual_size = Size(0, len(self._lines))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line of what is in view."""
        width = self.scrollable_content_region.width
        at = y + self.scroll_offset.y
        line = self._lines[at] if at < len(self._lines) else Line("")
        style = self.get_component_rich_style(f"detail--{line.style}")
        return Strip([Segment(fit(line.text, width), style)], width)
