"""One item in full: its original text, what is sent, what was cut and why, and its tokens."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.getters import query_one
from textual.reactive import reactive, var
from textual.widget import Widget

from workbench.config.background import in_background
from workbench.context.items import Item
from workbench.tui.inspector import pages
from workbench.tui.inspector.pages import TABS, ItemFacts
from workbench.tui.widgets.cells import fit_cells, join_cells
from workbench.tui.widgets.reader import TextReader
from workbench.views.context_view import SessionQueries

if TYPE_CHECKING:
    from workbench.views.item_effects import ItemEffect, ItemEffects


class DetailTabs(Widget):
    """The item's title and the tabs."""

    item: reactive[Item | None] = reactive(None)
    tab: reactive[str] = reactive("")
    missing: reactive[bool] = reactive(False)
    effect: reactive[ItemEffect | None] = reactive(None, toggle_class="-explained")

    def render(self) -> Content:
        """Two lines, and one more if its effect is known; the current tab is in brackets, not only in a colour."""
        item = self.item
        if item is None:
            return Content("\n")
        width = self.size.width
        first = join_cells(
            [
                Content.styled(
                    fit_cells(pages.item_title(item), min(len(pages.item_title(item)), width)), "bold $primary"
                ),
                Content.styled(pages.MISSING, "$warning")
                if self.missing
                else Content.styled(pages.state_and_size(item), f"$state-{item.state}"),
            ],
            width,
        )
        lines = [first, self._tabs(width)]
        if self.effect is not None:
            lines.insert(1, Content.styled(fit_cells(pages.effect_line(self.effect), width), "$quiet"))
        return Content("\n").join(lines)

    def _tabs(self, width: int) -> Content:
        for names, blank in ([tab.name for tab in TABS], " "), ([tab.short or tab.name for tab in TABS], ""):
            parts = []
            for number, (tab, name) in enumerate(zip(TABS, names, strict=True), 1):
                here = Content.styled(f"[{number} {name}]", "bold $accent")
                parts.append(here if tab.key == self.tab else Content(f"{blank}{number} {name}{blank}"))
            line = Content("" if blank else " ").join(parts)
            if line.cell_length <= width:
                return line
        shown = next((tab for tab in TABS if tab.key == self.tab), TABS[0])
        return join_cells(
            [Content.styled(f"[{shown.name}]", "bold $accent"), Content.styled("1-6 other views", "$quiet")], width
        )


class ItemDetail(Vertical):
    BINDING_GROUP_TITLE = "Detail of a row"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,l", "turn(1)", "the next view", id="detail.next"),
        Binding("left,h", "turn(-1)", "the view before", id="detail.previous"),
    ]

    item: var[Item | None] = var(None)
    queries: var[SessionQueries | None] = var(None)
    request: var[int] = var(0)
    """Tokens of the item's request."""
    tab: var[str] = var("")
    """The current tab; the user's choice is kept from row to row until the pane is closed."""
    missing: var[bool] = var(False)
    """Whether the selected request lacks the item; then `item` is from another request."""

    effects: var[ItemEffects | None] = var(None)
    effect: var[ItemEffect | None] = var(None)
    """What `explain` found about the item."""

    reader = query_one(TextReader)

    def __init__(self) -> None:
        super().__init__()
        self._picked = False
        self._since = ""

    def compose(self) -> ComposeResult:
        yield DetailTabs().data_bind(ItemDetail.item, ItemDetail.tab, ItemDetail.missing, ItemDetail.effect)
        yield TextReader()

    def watch_effects(self) -> None:
        """Show the effect of the item."""
        if self.item is not None:
            self._fill()

    def open(self, item: Item) -> None:
        """Show an item, with the most useful tab first."""
        self._picked = False
        self.tab = ""
        self.show(item)

    def show(self, item: Item | None) -> None:
        """Show another item; the scroll position is kept for the same item in a new plan."""
        if item == self.item and self.tab and not self.missing:
            return
        self.item, self.missing = item, False
        self._since = ""
        if item is not None:
            tab = self.tab if self._picked else pages.first_tab(item)
            self.tab = tab
            self._fill()
            self._find_since(item)

    @work(exclusive=True, description="find since")
    async def _find_since(self, item: Item) -> None:
        """Add since which request it has its state, unless the user has scrolled down by then."""
        queries, seq = self.queries, item.seq
        if queries is None or seq is None or item.state in ("sent", "aside"):
            return
        self._since = await in_background(queries.since, seq, item.state)
        if self._since and item is self.item and not self.missing and self.reader.view.scroll_offset.y == 0:
            self._fill()

    def miss(self) -> None:
        """Show that the selected request lacks the item."""
        self.missing = True
        self._fill()

    def action_tab(self, tab: str) -> None:
        self._picked = True
        self.tab = tab
        self._fill()

    def action_turn(self, by: int) -> None:
        keys = [tab.key for tab in TABS]
        at = keys.index(self.tab) if self.tab in keys else 0
        self.action_tab(keys[(at + by) % len(keys)])

    def _fill(self) -> None:
        item, tab = self.item, self.tab
        self.effect = self.effects.of_item(item) if self.effects and item and not self.missing else None
        if self.missing:
            self.reader.show(lambda _: pages.missing_page(), 0)
        elif item is not None:
            self.reader.show(
                partial(
                    pages.item_page, item, tab, self.queries, about=ItemFacts(self.request, self._since, self.effect)
                ),
                pages.page_weight(item, tab),
            )
