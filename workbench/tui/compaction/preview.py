"""The preview: what a compaction would do; then it is made at once, or a draft of its summary is edited and accepted.

Every key that compacts by hand leads here. Nothing is changed before the user agrees, and nothing that took time or
thought is lost by a mistaken key.
"""

from __future__ import annotations

import asyncio
import time
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
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from workbench.compaction.preview import loss_words, preview_rows
from workbench.compaction.triggers import compaction_question
from workbench.compaction.values import CompactionPreview, SummaryDraft
from workbench.config.errors import WorkbenchError
from workbench.config.text import printable, printable_lines
from workbench.tui.compaction import descriptions
from workbench.tui.compaction.facts import FactList
from workbench.tui.compaction.preview_stages import BUTTONS, OF_A_FILE, TITLES, AgreedCompaction, Stage
from workbench.tui.compaction.source import SourceScreen, page, seqs_of
from workbench.tui.observing import Observing, observed
from workbench.tui.widgets.buttons import ButtonLine
from workbench.tui.widgets.cells import joined
from workbench.tui.widgets.dialogs import ConfirmDialog
from workbench.tui.widgets.host import Host
from workbench.tui.widgets.reader import TextReader
from workbench.tui.widgets.wrapped_lines import FigureTable
from workbench.views.compaction_values import CompactionOutcome
from workbench.views.values import FILE

COUNT_PAUSE = 0.3
"""Seconds without a key before an edited summary is counted and looked through."""
BESIDE = 100
"""Columns from which on summary and facts stand side by side."""
NOTHING = Content()


class PreviewScreen(Observing, ModalScreen[CompactionOutcome | AgreedCompaction]):
    """One preview; its result is what came of it, or what is to be made; None where nothing is."""

    BINDING_GROUP_TITLE = "Preview of a compaction"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "leave, stop, or discard the draft", id="preview.leave"),
        # before the text's own, which copies
        Binding("y", "agree", "compact at once", id="preview.agree", priority=True),
        Binding("enter", "draft", "make the draft", id="preview.draft"),
        Binding("d", "digest", "make the draft without a model", id="preview.digest"),
        Binding("ctrl+s", "accept", "accept the draft", id="preview.accept", priority=True),
        Binding("ctrl+l", "add", "put the chosen lost facts back, or all", id="preview.add", priority=True),
    ]

    compaction = observed(lambda session: session.compaction, repaint=False)
    read_only = observed(lambda session: session.read_only, repaint=False)
    status = observed(lambda session: session.status, repaint=False)
    stage: var[Stage] = var("working")

    reader = query_one(TextReader)
    editor = query_one(TextArea)
    facts = query_one(FactList)
    heading = query_one("#preview-title", Static)
    figures = query_one(FigureTable)
    buttons = query_one(ButtonLine)

    def __init__(self, host: Host, *, digest: bool = False) -> None:
        """`digest`: begin with the one that asks no model."""
        super().__init__(host.model)
        self._host = host
        self._by_digest = digest
        self._preview: CompactionPreview | None = None
        self._draft: SummaryDraft | None = None
        self._first = ""
        """The draft as it came."""
        self._problem = ""
        self._since = 0.0
        self._changing = asyncio.Lock()
        """Held while lost facts are put back: whoever accepts at once accepts them too."""

    def compose(self) -> ComposeResult:
        """What it is, the figures, the texts, and what can be done."""
        yield Static(id="preview-title", markup=False)
        yield FigureTable(id="preview-figures")
        with Container(id="preview-parts"):
            yield TextReader()
            yield TextArea(soft_wrap=True, show_line_numbers=False)
            yield FactList("lost", choosing=True)
        yield ButtonLine()

    def on_mount(self) -> None:
        """The figures come first."""
        self.set_interval(1.0, self._told)
        self._work_out()

    def on_resize(self, event: Resize) -> None:
        """Side by side where there is room."""
        self.set_class(event.size.width >= BESIDE, "-beside")
        self.call_after_refresh(self._write_title)

    # Stages

    def watch_stage(self, stage: Stage) -> None:
        """What is shown, and what can be done."""
        drafted = stage in ("draft", "accepting")
        self.reader.display = stage in ("look", "drafting")
        self.editor.display = self.facts.display = drafted
        self._write_buttons()
        self._write_title()

    def watch_read_only(self) -> None:
        """Of a draft for a file that became a session something else can be done."""
        if self.stage == "draft":
            self._write_buttons()

    def _write_buttons(self) -> None:
        offered = BUTTONS[self.stage]
        if self.stage == "draft" and self.read_only == FILE:
            offered = (OF_A_FILE, *offered[1:])
        elif self.stage == "look":
            offered = tuple(each for each in offered if self._offers(each.name))
        self.buttons.buttons = offered

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """In a draft a letter is typed."""
        return action != "agree" or (self.stage == "look" and not self.read_only)

    def _offers(self, name: str) -> bool:
        """Of a file nothing is made at once, and a digest is no choice where it is the only one."""
        if name == "agree":
            return not self.read_only
        return name != "digest" or self._has_model

    @property
    def _has_model(self) -> bool:
        return not self._by_digest and self._preview is not None and bool(self._preview.model)

    def _write_title(self) -> None:
        parts = [Content.styled(TITLES[self.stage], "bold $primary")]
        if self.stage == "look":
            parts.insert(
                0, Content.styled(compaction_question(self.status.tokens, self.status.window), "bold $primary")
            )
        if self._problem:
            parts.append(Content.styled(printable(self._problem), "bold $error"))
        width = max(self.heading.size.width, 20)
        told = 1 if self.stage != "look" else 2
        self.heading.update(Content("\n").join([joined(parts[:told], width, " · "), *parts[told:]]))

    def _fail(self, problem: str) -> None:
        self._problem = problem
        self._write_title()

    def _tell(self, note: Content = NOTHING, rows: Sequence[tuple[str, str]] = ()) -> None:
        """Under the title: a line, or figures."""
        self.figures.note, self.figures.rows = note, tuple(rows)

    def watch_compaction(self) -> None:
        """Say how far it is."""
        self._told()

    def _told(self) -> None:
        """How far the figures are, or the draft."""
        view = self.compaction
        if self.stage in ("working", "drafting") and view is not None and view.running is not None:
            self._tell(descriptions.running_line(view.running, time.monotonic()))

    # The figures

    @work(exclusive=True, group="work")
    async def _work_out(self) -> None:
        digest = self._by_digest
        try:
            made = await self._host.model.compacting(lambda work: work.drafts.preview(digest))
        except WorkbenchError as error:
            self.stage = "refused"
            self._tell(Content(printable(str(error))))
            return
        self._preview = made
        self._look(made)

    def _look(self, preview: CompactionPreview) -> None:
        self.stage = "look"
        self._tell(rows=[("facts", "working out what a summary would lose…"), *preview_rows(preview)])
        self._foresee(preview)
        selected = preview.selected
        self.reader.show(lambda most: page(selected, most), 120 * (len(selected.items) + len(selected.staying)))
        self.reader.view.focus()

    @work(exclusive=True, group="foresee")
    async def _foresee(self, preview: CompactionPreview) -> None:
        """What would be lost, as far as it can be told before a model is asked."""
        try:
            audit = await self._host.model.compacting(lambda work: work.drafts.loss(preview))
        except WorkbenchError:
            return  # the session has changed: the draft says so
        if self.stage == "look" and preview is self._preview:
            said = loss_words(audit)
            if preview.model:
                said = f"a summary without a model {said}; the draft shows what {preview.model} would lose"
            self._tell(rows=[("facts", said), *preview_rows(preview)])

    # The draft

    def action_agree(self) -> None:
        """Without a draft; how far it is can be seen meanwhile."""
        if self._preview is not None:
            self.dismiss(AgreedCompaction(self._preview, not self._has_model))

    def action_draft(self) -> None:
        """By the model that summarises, where there is one."""
        self._write(not self._has_model)

    def action_digest(self) -> None:
        """From the text alone."""
        self._write(True)

    def _write(self, digest: bool) -> None:
        if self.stage == "look" and self._preview is not None:
            self._problem = ""
            self.stage = "drafting"
            self._tell(Content("getting ready…"))
            self._make(self._preview, digest)

    @work(exclusive=True, group="work")
    async def _make(self, preview: CompactionPreview, digest: bool) -> None:
        try:
            made = await self._host.model.compacting(lambda work: work.drafts.draft(preview, digest))
        except WorkbenchError as error:
            self._look(preview)
            self._fail(f"no draft: {error}")
            return
        # What a model wrote may hold what a terminal would act on.
        self._first = "\n".join(printable_lines(made.summary))
        self._take(made)
        self.editor.load_text(self._first)
        self.stage = "draft"
        self._fail("; ".join(made.problems))
        self.editor.focus()

    def _take(self, draft: SummaryDraft) -> None:
        """Another draft: its figures and its audit."""
        self._draft = draft
        self._tell(rows=descriptions.draft_rows(draft, self.status.window))
        self.facts.show_audit(draft.audit, seqs_of(draft.preview.selected))

    @on(TextArea.Changed)
    def _typed(self) -> None:
        if self.stage == "draft" and self._draft is not None:
            self._count()

    @work(exclusive=True, group="count")
    async def _count(self) -> None:
        await asyncio.sleep(COUNT_PAUSE)
        await self._current()

    async def _current(self) -> SummaryDraft:
        """The draft with the text as it is now."""
        before, text = self._draft, self.editor.text
        assert before is not None
        if text == "\n".join(printable_lines(before.summary)):
            return before
        draft = await self._host.model.compacting(lambda work: work.drafts.edited(before, text))
        if text == self.editor.text:
            self._take(draft)
        return draft

    def action_add(self) -> None:
        """What was chosen, or else all that was lost."""
        if self.stage == "draft":
            self._add()

    @work(exclusive=True, group="add")
    async def _add(self) -> None:
        async with self._changing:
            await self._put_back()

    async def _put_back(self) -> None:
        try:
            draft = await self._current()
            chosen = self.facts.chosen or [*draft.audit.lost, *draft.audit.forgotten]
            if not chosen:
                self.notify("no facts were lost", markup=False)
                return
            made = await self._host.model.compacting(lambda work: work.drafts.with_lost(draft, chosen))
        except WorkbenchError as error:
            self._fail(str(error))
            return
        # Replaced, not loaded: ctrl+z takes it back.
        self._take(made)
        self.editor.replace("\n".join(printable_lines(made.summary)), (0, 0), self.editor.document.end)
        self.notify(f"{len(chosen):,} put back; Ctrl+Z in the summary undoes that", markup=False)

    # The end

    def action_accept(self) -> None:
        """Make it stand."""
        if self.stage == "draft" and self.read_only == FILE:
            self._make_session()
        elif self.stage == "draft":
            self.stage = "accepting"
            self._accept()

    @work(exclusive=True, group="accept")
    async def _make_session(self) -> None:
        """Its plan need not be the file's, so what would be summarised is looked at again there; words of one's own
        go along."""
        async with self._changing:
            text = self.editor.text
        if not await self._host.make_writable():
            return
        if text == self._first:
            self.dismiss()
            self._host.run("compact")
            return
        try:
            await self._draft_again(text)
        except WorkbenchError as error:
            self._fail(str(error))

    async def _draft_again(self, text: str) -> None:
        """The same text as the draft of what is open now; nobody is asked for it."""
        compacting = self._host.model.compacting
        preview = await compacting(lambda work: work.drafts.preview(True))
        made = await compacting(lambda work: work.drafts.draft(preview, True))
        self._preview = preview
        self._take(await compacting(lambda work: work.drafts.edited(made, text)))
        self.notify("this is your draft in the new session: Ctrl+S accepts it", markup=False)

    @work(exclusive=True, group="accept")
    async def _accept(self) -> None:
        try:
            async with self._changing:
                draft = await self._current()
            outcome = await self._host.model.compacting(lambda work: work.drafts.accept(draft))
        except WorkbenchError as error:
            self.stage = "draft"
            self._fail(f"not accepted: {error}")
            return
        self.dismiss(outcome)

    def action_leave(self) -> None:
        """Stop what is being written; a draft that took time or thought is not thrown away without a question."""
        if self.stage == "accepting":
            return
        if self.stage == "drafting":
            self.workers.cancel_group(self, "work")
            assert self._preview is not None
            self._look(self._preview)
            self._fail("stopped; nothing was changed")
        elif self.stage == "draft" and self._is_dear:
            self._throw_away()
        else:
            self.dismiss()

    @property
    def _is_dear(self) -> bool:
        """Whether it was edited, or paid for; what a key brings back in a moment is not asked about."""
        return self.editor.text != self._first or (self._draft is not None and self._draft.cost != 0)

    @work(exclusive=True, group="leave")
    async def _throw_away(self) -> None:
        edited = self.editor.text != self._first
        text = "Discard the draft and your changes?" if edited else "Discard the draft?"
        if await self.app.push_screen_wait(ConfirmDialog("discard", text, "discard", "keep")):
            self.dismiss()

    # Buttons and facts

    @on(ButtonLine.ButtonPressed)
    def _pressed(self, event: ButtonLine.ButtonPressed) -> None:
        event.stop()
        if event.name == "switch":
            (self.facts if self.editor.has_focus else self.editor).focus()
        else:
            {
                "draft": self.action_draft,
                "agree": self.action_agree,
                "digest": self.action_digest,
                "accept": self.action_accept,
                "add": self.action_add,
                "leave": self.action_leave,
            }[event.name]()

    @on(FactList.SourceWanted)
    def _source(self, message: FactList.SourceWanted) -> None:
        """The draft stays: what the fact came from is shown over it."""
        if self._preview is not None:
            self.app.push_screen(SourceScreen(self._preview.selected, message.seq))
