"""The compactions of a session as a tree, and the summary, figures and lost facts of each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.content import Content
from textual.events import Resize
from textual.getters import query_one
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from workbench.compaction.record import CompactionEntry
from workbench.compaction.undo import NestedCompaction
from workbench.config.errors import WorkbenchError
from workbench.config.text import printable
from workbench.sources.requests import RequestMark, is_main
from workbench.tui.compaction import descriptions
from workbench.tui.compaction.facts import FactList
from workbench.tui.compaction.undoing import undo_or_redo
from workbench.tui.observing import Observing, observed
from workbench.tui.widgets.main_screen_api import MainScreenApi
from workbench.tui.widgets.reader import TextReader
from workbench.tui.widgets.text_view import text_page
from workbench.views.compaction_values import CompactionView, PastAudit

EMPTY = "no compactions yet"
SIDE_BY_SIDE = 100
"""From this width on, summary and facts are side by side."""


class HistoryList(OptionList):
    """The tree, the newest first; below each compaction are those that it replaced."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "cursor_up", "the compaction above", id="history.up", show=False),
        Binding("down", "cursor_down", "the compaction below", id="history.down", show=False),
        Binding("enter", "select", "show its summary and facts", id="history.open", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(markup=False, compact=True)
        self._layers: Sequence[NestedCompaction] | None = None
        self.branches: list[descriptions.TreeLine] = []

    def show(self, nodes: Sequence[NestedCompaction]) -> None:
        """Update the list if it changed; the cursor stays on its compaction."""
        if nodes == self._layers:
            return
        self._layers = nodes
        marked = self.marked
        self.branches = list(descriptions.tree_branches(nodes))
        self.clear_options()
        self.add_options(Option(descriptions.branch_line(each), str(each.entry.event.seq)) for each in self.branches)
        if not self.branches:
            self.add_option(Option(Content.styled(EMPTY, "$quiet"), disabled=True))
        elif marked is not None:
            self.mark(marked.event.seq)

    @property
    def marked(self) -> CompactionEntry | None:
        """The compaction under the cursor."""
        at = self.highlighted
        return self.branches[at].entry if at is not None and at < len(self.branches) else None

    def mark(self, seq: int) -> bool:
        """Go to the compaction of an event; returns whether it exists."""
        found = [at for at, each in enumerate(self.branches) if each.entry.event.seq == seq]
        if found:
            self.highlighted = found[0]
        return bool(found)


class HistoryScreen(Observing, ModalScreen[None]):
    """The tree, and below it the compaction under the cursor."""

    BINDING_GROUP_TITLE = "Compactions"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "close", id="history.close"),
        Binding("u", "undo", "undo the selected one", id="history.undo"),
        Binding("U", "redo", "redo the selected one", id="history.redo"),
        Binding("o", "inspect", "show its range in the context", id="history.inspect"),
    ]

    compaction = observed(lambda session: session.compaction, repaint=False)
    shown = observed(lambda session: session.shown, repaint=False)

    history = query_one(HistoryList)
    facts = query_one(FactList)
    reader = query_one(TextReader)
    figures = query_one("#history-figures", Static)

    def __init__(self, host: MainScreenApi, seq: int = 0, head: str = "") -> None:
        """`seq`: the compaction to start with; `head`: a text above the list, such as that it was just made."""
        super().__init__(host.model)
        self._host = host
        self._seq = seq
        self._head = head
        self._looked: dict[int, PastAudit] = {}

    def compose(self) -> ComposeResult:
        with Vertical(id="history") as box:
            box.border_title = "compactions"
            box.border_subtitle = "u undo · U redo · o context · Tab next part · Esc closes"
            yield Static(printable(self._head), id="history-head", markup=False)
            yield HistoryList()
            yield Static(id="history-figures", markup=False)
            with Container(id="history-parts"):
                yield TextReader()
                yield FactList("lost")

    def on_mount(self) -> None:
        self.query_one("#history-head").display = bool(self._head)
        self.history.focus()

    def on_resize(self, event: Resize) -> None:
        self.set_class(event.size.width >= SIDE_BY_SIDE, "-beside")

    def watch_compaction(self, view: CompactionView | None) -> None:
        if view is None:
            return
        self.history.show(view.history)
        if self._seq and self.history.mark(self._seq):
            self._seq = 0  # one that was just made may appear a moment later
        elif self.history.highlighted is None and self.history.branches:
            self.history.highlighted = 0
        self._load_audit()

    @on(OptionList.OptionHighlighted, "HistoryList")
    def _marked(self) -> None:
        self._load_audit()

    @work(exclusive=True)
    async def _load_audit(self) -> None:
        entry = self.history.marked
        if entry is None:
            self.figures.update(Content.styled(EMPTY, "$quiet"))
            return
        summary = descriptions.summary_of(entry)
        if self.reader.view.page.copy != summary:
            self.reader.show(partial(text_page, summary), len(summary))
        self.figures.update(_figures(entry, self.shown.requests if self.shown is not None else ()))
        seq = entry.event.seq
        if seq not in self._looked:
            self.facts.waiting()
            try:
                self._looked[seq] = await self._host.model.audit_compaction(entry)
            except WorkbenchError as error:
                self.facts.none(str(error))
                return
        if self.history.marked is entry:
            self.facts.show(self._looked[seq])

    @on(OptionList.OptionSelected, "HistoryList")
    def _chosen(self) -> None:
        self.facts.focus()

    @on(FactList.SourceWanted)
    def _jump(self, message: FactList.SourceWanted) -> None:
        self._leave_for(message.seq)

    def action_inspect(self) -> None:
        entry = self.history.marked
        if entry is not None:
            self._leave_for(entry.range[0])

    def _leave_for(self, seq: int) -> None:
        """Close, and show an event in the context."""
        self.dismiss()
        self.app.call_later(self._host.show_event, seq, "inspector")

    def action_undo(self) -> None:
        """Ask, and undo the compaction; its range, or the compactions that it replaced, are sent again."""
        self._change(partial(undo_or_redo, self._host, "undo"))

    def action_redo(self) -> None:
        self._change(partial(undo_or_redo, self._host, "redo"))

    @work(exclusive=True, group="change", description="change")
    async def _change(self, change: Callable[[int], Awaitable[None]]) -> None:
        entry, host = self.history.marked, self._host
        if entry is None:
            return
        try:
            if not await host.make_writable():
                return
            await change(entry.event.seq)
        except WorkbenchError as error:
            self.notify(str(error), severity="error", markup=False)
        else:
            self.query_one("#history-head").display = False  # no longer true


def _figures(entry: CompactionEntry, requests: Sequence[RequestMark]) -> Content:
    """When, how and why it was made, and what it did to the request, in a line or two."""
    noted, main = entry.details, is_main(requests)
    parts = [Content.styled(descriptions.compaction_state(entry), "bold")]
    numbered = (number for number, mark in enumerate(requests, 1) if mark.upto >= entry.event.seq and main(mark))
    if number := next(numbered, 0):
        parts.append(Content(f"before request {number:,}"))
    if noted.source_tokens is None or noted.summary_tokens is None:
        parts.append(Content(descriptions.entry_figures(entry)))
    else:
        if noted.tokens_before is not None and noted.tokens_after is not None:
            parts.append(Content(f"request {noted.tokens_before:,} → {noted.tokens_after:,}"))
        parts.append(Content(f"summary {descriptions.entry_figures(entry)}"))
    if descriptions.facts_of(entry):
        parts.append(Content(descriptions.facts_of(entry)))
    if noted.seconds is not None:
        parts.append(Content(f"{noted.seconds:.1f} s"))
    if noted.cost is not None:
        parts.append(Content(f"${noted.cost:.4f}"))
    if noted.trigger or noted.why:
        parts.append(Content.styled(printable(": ".join(filter(None, (noted.trigger, noted.why)))), "$quiet"))
    return Content(" · ").join(parts)
