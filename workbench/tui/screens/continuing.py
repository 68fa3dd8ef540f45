"""Continue from an earlier session: show and edit its summary before a new session starts with it."""

from __future__ import annotations

import time
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.getters import query_one
from textual.reactive import var
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from workbench.compaction.preview import model_and_cost
from workbench.config.errors import WorkbenchError
from workbench.config.text import printable, printable_lines
from workbench.session.continuing import ContinuationDraft, ContinuationOffer
from workbench.tui.compaction.descriptions import running_line
from workbench.tui.observing import Observing, observed
from workbench.tui.text_areas import CleanTextArea
from workbench.tui.widgets.buttons import Button, ButtonLine
from workbench.tui.widgets.cells import one_line
from workbench.tui.widgets.main_screen_api import MainScreenApi
from workbench.views.compaction_values import CompactionView

WRITE = (Button("enter", "write", "write the summary"), Button("d", "digest", "without a model"))
LEAVE = Button("escape", "leave", "leave")
BEGIN = Button("ctrl+s", "begin", "begin the new session")


class ContinueScreen(Observing, ModalScreen[bool]):
    """Its result is True if a new session was opened."""

    AUTO_FOCUS = ""  # the editor gets the focus with the draft; before that, letters are keys
    BINDING_GROUP_TITLE = "Continue from a session"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "leave; nothing is made", id="continue.leave"),
        Binding("enter", "write", "have the summary written", id="continue.write"),
        Binding("d", "digest", "make the summary without a model", id="continue.digest"),
        Binding("ctrl+s", "begin", "begin the new session", id="continue.begin", priority=True),
    ]

    compaction = observed(lambda session: session.compaction, repaint=False)
    offer: var[ContinuationOffer | None] = var(None)
    draft: var[ContinuationDraft | None] = var(None)

    box = query_one(".continuing--box", Vertical)
    status = query_one("#continuing-said", Static)
    editor = query_one(TextArea)
    buttons = query_one(ButtonLine)

    def __init__(self, host: MainScreenApi, ref: str) -> None:
        """`ref`: the earlier session; empty: the open one, or the last one if the open one is empty."""
        super().__init__(host.model)
        self._host = host
        self._ref = ref
        self._first = ""
        """The summary before any edit."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="continuing--box") as box:
            box.border_title = "continue from a session"
            yield Static("getting ready…", id="continuing-said", markup=False)
            yield CleanTextArea(soft_wrap=True, show_line_numbers=False)
            yield ButtonLine()

    def on_mount(self) -> None:
        """Write the summary, after asking if it costs something."""
        self.editor.display = False
        self.buttons.buttons = (LEAVE,)
        self._load_offer()

    def watch_compaction(self, view: CompactionView | None) -> None:
        """Show the progress of the summary."""
        if self.draft is None and view is not None and view.running is not None:
            self.status.update(running_line(view.running, time.monotonic()))

    @work(exclusive=True, group="work")
    async def _load_offer(self) -> None:
        ref = self._ref
        try:
            offer = await self._host.model.offer_continuation(ref)
        except WorkbenchError as error:
            self._fail(str(error))
            return
        self.box.border_title = one_line(f"continue from: {offer.earlier.title or offer.earlier.id}")
        if not offer.costs:
            self._write(offer)
            return
        self.offer = offer
        self.status.update(printable(f"{model_and_cost(offer.asked)}; nothing was sent yet"))
        self.buttons.buttons = (*WRITE, LEAVE)

    def action_write(self) -> None:
        """Let the model write the summary."""
        if self.offer is not None:
            self._write(self.offer)

    def action_digest(self) -> None:
        if self.offer is not None:
            self._write(self.offer, digest=True)

    @work(exclusive=True, group="work", description="write")
    async def _write(self, offer: ContinuationOffer, digest: bool = False) -> None:
        self.offer = None
        self.buttons.buttons = (LEAVE,)
        try:
            draft = await self._host.model.draft_continuation(offer, digest)
        except WorkbenchError as error:
            self._fail(str(error))
            return
        self._first = "\n".join(printable_lines(draft.made.summary))
        self.draft = draft
        made = draft.made
        facts = f"kept {len(made.audit.kept):,} of {len(made.audit.kept) + len(made.audit.lost):,} facts"
        self.status.update(printable("; ".join([f"the summary by {made.made_by}, which {facts}", *made.problems])))
        self.editor.load_text(self._first)
        self.editor.display = True
        self.editor.focus()
        self.buttons.buttons = (BEGIN, LEAVE)

    def _fail(self, problem: str) -> None:
        self.status.update(Content.styled(printable(problem), "bold $error"))

    def action_begin(self) -> None:
        if self.draft is not None:
            self._begin(self.draft, self.editor.text)

    @work(exclusive=True, group="work", description="begin")
    async def _begin(self, draft: ContinuationDraft, text: str) -> None:
        changed = text if text != self._first else None
        try:
            await self._host.model.begin_continuation(draft, changed)
            await self._host.model.settled()
        except WorkbenchError as error:
            self._fail(str(error))
            return
        self.dismiss(True)

    def action_leave(self) -> None:
        """Stop writing, and close."""
        self.dismiss(False)
