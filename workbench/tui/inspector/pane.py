"""The inspector: what the model sees, row by row, and why.

The pane observes the session and posts messages (`Decide`, `Jump`, `Travel`, `RunCommand`). It does not plan: it asks
`ContextView.queries`, in a thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.events import Resize
from textual.getters import query_one
from textual.reactive import var

from workbench.config.background import in_background
from workbench.context.compare import request_changes
from workbench.context.items import Item
from workbench.session.observable import ObservableSession
from workbench.sources.requests import RequestMark
from workbench.tui.inspector.account import AccountScreen
from workbench.tui.inspector.deciding import DecidingPane
from workbench.tui.inspector.detail import ItemDetail
from workbench.tui.inspector.info_lines import TotalsLine, VerdictLine
from workbench.tui.inspector.order import RowOrder
from workbench.tui.inspector.overrides import OverridePreview
from workbench.tui.inspector.pages import TABS
from workbench.tui.inspector.request import RequestScreen
from workbench.tui.inspector.row_list import RowList, problem_line
from workbench.tui.inspector.rows import RowsView
from workbench.tui.inspector.treemap import Treemap
from workbench.tui.messages import HintsChanged, Jump, MarkEvent, RunCommand
from workbench.tui.widgets.hints import Hints
from workbench.tui.widgets.reader import copy_to_clipboard
from workbench.views.context_view import ContextView
from workbench.views.row_lookup import row_of

ROW_HINTS: Hints = (
    *(("Enter", "open"), ("f", "filter"), ("s", "sort"), ("T", "treemap"), ("L", "free space"), ("m", "mask")),
    *(("u", "undo"), ("p", "pin"), ("x", "exclude"), ("b", "group"), ("[ ]", "requests"), ("?", "all keys")),
)
MAP_HINTS: Hints = (
    *(("Enter", "open"), ("Backspace", "back"), ("←↑↓→", "move"), ("T", "close"), ("b", "group"), ("m", "mask")),
    ("?", "all keys"),
)
DETAIL_HINTS: Hints = (("Esc", "close"), ("← →", "views"), ("/", "search"), ("y", "copy"), ("?", "all keys"))
MAP_NEXT_TO_ROWS = 110
"""From this width on, the treemap is next to the rows; in narrower panes it replaces them."""
WIDE = 140
"""From this width on, the detail is next to the rows; in narrower panes it is below them."""
LOW = 26
"""Below this height, less important lines are hidden."""


class InspectorPane(DecidingPane):
    """The rows of one plan, the budget above them and the verdict below."""

    BINDING_GROUP_TITLE = "Inspector"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space", "open", "open the row, fold the group, or accept", id="inspector.open"),
        Binding("escape", "back", "leave: question, range, detail, filter", id="inspector.back"),
        Binding("p", "decide('pin')", "pin, or unpin", id="inspector.pin"),
        Binding("m", "decide('mask')", "mask, or unmask", id="inspector.mask"),
        Binding("x", "decide('exclude')", "exclude, or include", id="inspector.exclude"),
        Binding("r", "decide('restore')", "restore: send it whole again", id="inspector.restore"),
        Binding("y", "copy", "copy the rows' texts", id="inspector.copy"),
        Binding("T", "treemap", "show or hide the treemap: what fills the context", id="inspector.treemap"),
        Binding("L", "free('largest')", "free space: the largest items", id="inspector.largest"),
        Binding("M", "free('unneeded')", "free space: what is no longer needed", id="inspector.waste"),
        Binding("E", "explain", "what the answer depended on", id="inspector.explain"),
        Binding("o", "jump", "go to the row's message in the chat", id="inspector.jump"),
        *(
            Binding(str(number), f"tab('{tab.key}')", f"the row: {tab.name}", id=f"inspector.{tab.key}")
            for number, tab in enumerate(TABS, 1)
        ),
    ]

    detailed: var[bool] = var(False, toggle_class="-detailed")
    mapped: var[bool] = var(False, toggle_class="-mapped")
    """Whether the treemap is shown."""

    detail = query_one(ItemDetail)

    def __init__(self, session: ObservableSession) -> None:
        super().__init__(session)
        self._detail_of: ContextView | None = None
        """The view that the detail's item is from."""
        self._explained: tuple[Sequence[RequestMark], int, int | None] = ((), 0, None)
        """The requests when the effects were looked up last, their number, and which one was in view."""

    def compose(self) -> ComposeResult:
        with Container(classes="inspector--body"):
            yield RowList(self.session)
            yield Treemap(self.session)
            yield ItemDetail()
        yield VerdictLine(self.session)
        yield TotalsLine(self.session)

    # Called by the main screen

    def hints(self) -> Hints:
        """The most important keys here."""
        if self.treemap.has_focus:
            return MAP_HINTS
        return DETAIL_HINTS if self.detailed else ROW_HINTS

    def take_focus(self) -> None:
        """Focus the rows, or the treemap if it replaces them."""
        (self.treemap if self.mapped and not self.row_list.display else self.rows).focus()

    def search(self) -> None:
        """Open the search line under the rows."""
        if self.mapped and not self.row_list.display:
            self.action_treemap()
        self.row_list.action_search()

    def show_event(self, seq: int) -> None:
        """Show the row of an event."""
        self.row_list.reveal(seq)

    def mark_event(self, seq: int) -> None:
        """Put the cursor on the row of an event that is selected in another pane, unless a filter hides it."""
        self.row_list.reveal(seq, whatever=False)

    def watch_detailed(self, detailed: bool) -> None:
        self.row_list.is_followed = detailed
        self.post_message(HintsChanged())

    # Changes of the session

    def on_resize(self, event: Resize) -> None:
        """Arrange by the pane's own width, not the screen's."""
        width, height = event.size
        self.update_classes({"-wide": width >= WIDE, "-map-beside": width >= MAP_NEXT_TO_ROWS, "-low": height < LOW})

    def watch_shown(self, old: ContextView | None, new: ContextView | None) -> None:
        """Show another plan: compute an open question again, and show the changes."""
        self.detail.queries, self.detail.request = (new.queries, new.plan.size) if new else (None, 0)
        if new is None or old is None or old.plan is not new.plan or old.before is not new.before:
            self.row_list.found = None
            if new is not None and new.before is not None:
                self._compare(new)
        if self.asked is not None and new is not None:
            self._preview(new, self.asked.choice)
        elif old is not None and new is not None and old.at != new.at:
            self.row_list.notice = None  # it was for another request
        if new is not None and not self._is_explained(new):
            self.find_effects()

    def _is_explained(self, shown: ContextView) -> bool:
        """Whether the effects in view are of this request; a session grows in many steps between two requests."""
        of, count, at = self._explained
        return of is shown.requests and (count, at) == (len(shown.requests), shown.at)

    def find_effects(self) -> None:
        """Show what `explain` found about the request in view."""
        if self.shown is not None:
            self._explained = (self.shown.requests, len(self.shown.requests), self.shown.at)
            self._find_effects(self.shown)

    @work(exclusive=True, group="effects", description="find effects")
    async def _find_effects(self, shown: ContextView) -> None:
        queries = shown.queries
        found = await in_background(queries.effects, shown.at) if queries else None
        if self._is_explained(shown):
            self.row_list.effects = self.detail.effects = found

    @work(exclusive=True, group="compare", description="compare")
    async def _compare(self, shown: ContextView) -> None:
        assert shown.before is not None
        found = await in_background(request_changes, shown.before, shown.plan)
        if self.shown is not None and self.shown.plan is shown.plan:
            self.row_list.found = found

    @on(RowsView.Moved)
    def _moved(self, message: RowsView.Moved) -> None:
        item = self.rows.item
        if self.detailed and self.shown is not None:
            self._show_detail(self.shown, item)
        has_keys = self.rows.has_focus or self.treemap.has_focus
        if message.walked and has_keys and item is not None and item.seq is not None:
            self.post_message(MarkEvent(item.seq, "chat"))

    def _show_detail(self, shown: ContextView, under_cursor: Item | None) -> None:
        """Show the row under the cursor; in another request, the same item, even if a filter hides it."""
        lines, was, old = self.rows.lines, self.detail.item, self._detail_of
        if lines is None or lines.plan is not shown.plan:
            return  # the rows are updated later
        self._detail_of = shown
        grew = old is not None and old.at is None and shown.at is None and not lines.wish.filter
        if old is None or old.plan is shown.plan or grew or was is None or was.seq is None:
            if under_cursor is not None:
                self.detail.show(under_cursor)
            return
        at = row_of(shown.plan.items, was.seq)
        again = shown.plan.items[at] if at is not None else None
        if again is not None and again.seq == was.seq:
            self.detail.show(again)
        else:
            self.detail.miss()

    def _open_detail(self, item: Item) -> None:
        self.detailed = True
        self._detail_of = self.shown
        self.detail.open(item)

    # Opening and leaving

    def action_open(self) -> None:
        """Agree to the question; otherwise fold the group, or open or close the row's detail."""
        if self.asked is not None:
            self._agree(self.asked.choice)
        elif self.rows.group is not None:
            self.row_list.fold(self.rows.group.key)
        elif self.detailed:
            self._close()
        elif self.rows.item is not None:
            self._open_detail(self.rows.item)

    def action_tab(self, tab: str) -> None:
        """Show a tab of the row's detail."""
        if self.rows.item is not None:
            if not self.detailed:
                self.action_open()
            self.detail.action_tab(tab)

    def _close(self) -> None:
        self.detailed = False
        if not self.treemap.has_focus:
            self.take_focus()

    # The treemap

    def action_treemap(self) -> None:
        """Show and focus the treemap, or hide it."""
        self.mapped = not self.mapped
        if self.mapped:
            self.call_after_refresh(self.treemap.focus)
        else:
            self.rows.focus()

    def watch_asked(self, asked: OverridePreview | None) -> None:
        """Let Enter answer the question, whatever has the focus."""
        self.treemap.asking = asked is not None

    def on_mount(self) -> None:
        """Show notices over the treemap, too, because it may replace the rows."""
        self.watch(self.row_list, "notice", self._show_in_map)
        self.watch(self.row_list, "wish", self._count_once)

    def _count_once(self, wish: RowOrder) -> None:
        """Do not count items in the sums while a filter counts its matches."""
        self.query_one(TotalsLine).order = wish

    def _show_in_map(self, notice: Content | None) -> None:
        self.treemap.notice = None if notice is None or self.row_list.region else notice.plain

    @on(Treemap.Chosen)
    def _chosen_in_map(self, message: Treemap.Chosen) -> None:
        """Select the treemap's item in the rows."""
        message.stop()
        self.row_list.reveal_row(message.row)
        if message.opened and self.rows.item is not None:
            self._open_detail(self.rows.item)

    @on(RowList.Regrouped)
    def _regrouped(self, message: RowList.Regrouped) -> None:
        """Group the treemap like the rows."""
        message.stop()
        self.treemap.by = message.group

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave Escape to the screen if there is nothing to leave here."""
        return self._leaving() is not None if action == "back" else True

    def _leaving(self) -> str | None:
        if self.asked is not None or self.row_list.notice is not None:
            return "notice"
        if self.treemap.has_focus and not self.detailed:
            return "map"
        if self.rows.start is not None:
            return "range"
        if self.detailed:
            return "detail"
        return None if self.row_list.wish.is_plain else "order"

    def action_back(self) -> None:
        """Leave what was opened last."""
        match self._leaving():
            case "notice":
                self._forget()
            case "range":
                self.rows.start = None
            case "detail":
                self._close()
            case "map" if self.treemap.is_inside:
                self.treemap.action_leave()
            case "map":
                self.action_treemap()
            case "order":
                self.row_list.as_they_are()

    # Copying and jumping

    def action_copy(self) -> None:
        """Copy the original texts of the rows to the clipboard."""
        copy_to_clipboard(self, "\n\n".join(item.original for item in self._chosen()))

    def action_jump(self) -> None:
        """Show the row's message in the chat."""
        item = self.rows.item
        if item is not None and item.seq is not None:
            self.post_message(Jump(item.seq, "chat"))
        else:
            self.row_list.notice = problem_line("this row has no message in the chat")

    # Other screens

    def action_explain(self) -> None:
        """Run the command that explains the answer to the request in view."""
        self.post_message(RunCommand("explain"))

    def action_request(self) -> None:
        if self.shown is not None:
            self.app.push_screen(RequestScreen(self.session, self.shown))

    def action_account(self) -> None:
        if self.shown is not None:
            self.app.push_screen(AccountScreen(self.shown))
