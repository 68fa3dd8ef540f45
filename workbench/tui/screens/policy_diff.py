"""Two policies on the same log: the items that they treat differently."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.content import Content

from workbench.config.text import counted, printable, printable_lines
from workbench.context.items import SIGNS, Item, state_words
from workbench.context.plan import ContextPlan
from workbench.tui.screens.text_blocks import MOST as MOST_TEXT
from workbench.tui.screens.text_blocks import join_blocks, text_lines
from workbench.tui.screens.what_if import ItemPair, differing_items
from workbench.tui.widgets.cells import one_line
from workbench.tui.widgets.columns import Column, Row
from workbench.tui.widgets.finder import MOST, Finder, FinderResult
from workbench.tui.widgets.input_line import has_words
from workbench.tui.widgets.main_screen_api import MainScreenApi
from workbench.tui.widgets.reader import BoxedText
from workbench.tui.widgets.text_view import TextLine, TextPage

WIDE = 100
"""From this width on, tool names are not cut."""
DETAIL_LINES = 3
"""Lines of each text below the list; Enter shows both in full."""


class PlanSide(NamedTuple):
    """One of two policies on the same log."""

    name: str
    plan: Callable[[], ContextPlan]
    """Called once, in the background."""


class PolicyDiffScreen(Finder[str]):
    """A row per item; Enter shows what each policy sends. Its result is the event to show in the context."""

    NAME = "two policies"
    PLACEHOLDER = "filter: a word of the item, who said it, or a state"
    EMPTY = "both send the same"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "both texts", id="policy-diff.open", priority=True),
        Binding("ctrl+o", "show", "show it in the context", id="policy-diff.show", priority=True),
    ]

    def __init__(self, host: MainScreenApi, first: PlanSide, second: PlanSide, where: str = "") -> None:
        """`where`: the planned request, as in `request 7`."""
        super().__init__(host)
        self.add_class("-below")
        self._sides = first, second
        self._where = where and f"{where}: "
        self.names = first.name, second.name
        self._set_columns(is_wide=True)
        self._pairs: dict[str, ItemPair] | None = None
        self._head = ""

    def on_resize(self) -> None:
        """Use narrower columns on a narrow screen."""
        self._set_columns(is_wide=self.size.width >= WIDE)

    def _set_columns(self, *, is_wide: bool) -> None:
        seq, who, side = (7, 14, 18) if is_wide else (6, 9, 17)
        self.COLUMNS = (  # type: ignore[misc]  # the titles are the names of the policies
            *(Column("#", seq, right=True), Column("who", who), Column("what")),
            *(Column(name, side, right=True) for name in self.names),
        )

    async def search_rows(self, text: str) -> FinderResult:
        """Find items that differ and whose rows contain all words."""
        if self._pairs is None:
            self._pairs = await self.host.in_background(self._compare)
            self.box.border_title = one_line(self._head)
        rows = [self._row(key, pair) for key, pair in self._pairs.items()]
        if text.strip():
            rows = [row for row in rows if has_words(" ".join(map(str, row.cells)), text)]
        note = f"{MOST:,} of {len(rows):,}; type to filter" if len(rows) > MOST else ""
        return FinderResult(rows[:MOST], note)

    def _compare(self) -> dict[str, ItemPair]:
        first, second = (side.plan() for side in self._sides)
        found = differing_items(first, second)
        change = second.size - first.size
        self._head = (
            f"{self._where}{self.names[0]} {first.size:,} → {self.names[1]} {second.size:,} tokens ({change:+,}): "
            f"{counted(len(found), 'item')} {'differs' if len(found) == 1 else 'differ'}"
        )
        return {pair.item.id: pair for pair in found}

    def _row(self, key: str, pair: ItemPair) -> Row:
        item = pair.item
        seq = "" if item.seq is None else f"#{item.seq}"
        return Row(key, (seq, item.who, item.original[:200], item_treatment(pair.first), item_treatment(pair.second)))

    async def row_details(self, value: str) -> Content:
        """What each policy sends, and why."""
        pair = (self._pairs or {})[value]
        return join_blocks(*(self._details(name, item) for name, item in zip(self.names, pair, strict=True)))

    def _details(self, name: str, item: Item | None) -> Content:
        why = item.edits[-1].why if item is not None and item.edits else ""
        head = Content.assemble((f"{name}: ", "bold"), item_treatment(item), (why and f" · {printable(why)}", "$quiet"))
        text = "" if item is None or item.text is None else "\n".join(item.text[:MOST_TEXT].splitlines()[:DETAIL_LINES])
        return Content.assemble(head, "\n", text_lines(text)) if text else head

    def choose_row(self, value: str) -> None:
        pair = (self._pairs or {})[value]
        title = "an item" if pair.item.seq is None else f"event {pair.item.seq}"
        weight = sum(len(item.text or "") for item in pair if item is not None)
        self.app.push_screen(BoxedText(title, partial(both_texts, self.names, pair), weight))

    def action_show(self) -> None:
        """Close, and show the item in the context."""
        pair = (self._pairs or {}).get(self.marked or "")
        if pair is not None and pair.item.seq is not None:
            self.dismiss(str(pair.item.seq))


def item_treatment(item: Item | None) -> str:
    """The state of an item, and its tokens."""
    if item is None:
        return "–"
    return f"{SIGNS[item.state]} {state_words(item.state)} {item.tokens:,}".strip()


def both_texts(names: tuple[str, ...], pair: ItemPair, most: int = 0) -> TextPage:
    """Both texts in one page, each under a heading."""
    made: list[TextLine] = []
    for name, item in zip(names, pair, strict=True):
        text = "" if item is None or item.text is None else item.text
        made += [TextLine(f"{name}: {item_treatment(item)}", "head")]
        made += [TextLine(line) for line in printable_lines(text[:most] if most else text)] if text else []
        made += [TextLine("" if text else "it is not sent", "quiet"), TextLine("")]
    return TextPage(made, "\n".join(line.text for line in made))
