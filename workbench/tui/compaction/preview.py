"""The preview: what a compaction would do. Then it is made at once, or its draft is edited and accepted.

Every key for a manual compaction opens it. Nothing changes before the user agrees, and a mistaken key does not lose a
draft that took time or money.
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
from workbench.config.text import printable
from workbench.tui.compaction import descriptions
from workbench.tui.compaction.edited_draft import EditedDraft
from workbench.tui.compaction.facts import FactList
from workbench.tui.compaction.preview_stages import BUTTONS, OF_A_FILE, TITLES, AgreedCompaction, Stage
from workbench.tui.compaction.source import seqs_of, source_page, source_screen
from workbench.tui.observing import Observing, observed
from workbench.tui.text_areas import CleanTextArea
from workbench.tui.widgets.buttons import ButtonLine
from workbench.tui.widgets.cells import join_cells
from workbench.tui.widgets.dialogs import ConfirmDialog
from workbench.tui.widgets.main_screen_api import MainScreenApi
from workbench.tui.widgets.reader import TextReader
from workbench.tui.widgets.report import ReportScreen
from workbench.tui.widgets.wrapped_lines import FigureTable
from workbench.views.compaction_values import CompactionOutcome
from workbench.views.values import FILE

COUNT_PAUSE = 0.3
"""Seconds after the last key until an edited summary is counted and audited."""
SIDE_BY_SIDE = 100
"""From this width on, summary and facts are side by side."""
NOTHING = Content()


class PreviewScreen(Observing, ModalScreen[CompactionOutcome | AgreedCompaction]):
    """One preview. Its result is the outcome, or the compaction to make; None if the user left."""

    BINDING_GROUP_TITLE = "Preview of a compaction"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "leave, stop, or discard the draft", id="preview.leave"),
        # takes precedence over the text area's own, which copies
        Binding("y", "agree", "compact at once", id="preview.agree", priority=True),
        Binding("enter", "draft", "make the draft", id="preview.draft"),
        Binding("d", "digest", "make the draft without a model", id="preview.digest"),
        Binding("J", "judge", "judge the summary: what can still be answered", id="preview.judge"),
        Binding("ctrl+r", "judge", "the same, while you edit it", id="preview.judge-edited", priority=True),
        Binding("ctrl+s", "accept", "accept the draft", id="preview.accept", priority=True),
        Binding("ctrl+l", "add", "put the chosen lost facts back, or all", id="preview.add", priority=True),
    ]

    compaction = observed(lambda session: session.compaction, repaint=False)
    read_only = observed(lambda session: session.read_only, repaint=False)
    status = observed(lambda session: session.status, repaint=False)
    stage: var[Stage] = var("working", init=False)  # it may be read before the widgets are composed

    reader = query_one(TextReader)
    editor = query_one(TextArea)
    facts = query_one(FactList)
    heading = query_one("#preview-title", Static)
    figures = query_one(FigureTable)
    buttons = query_one(ButtonLine)

    def __init__(self, host: MainScreenApi, *, digest: bool = False) -> None:
        """`digest`: start with the summary that needs no model."""
        super().__init__(host.model)
        self._host = host
        self._by_digest = digest
        self._preview: CompactionPreview | None = None
        self._edited: EditedDraft | None = None
        self._problem = ""
        self._since = 0.0
        self._changing = asyncio.Lock()
        """Held while lost facts are put back, so that accepting at once includes them."""

    def compose(self) -> ComposeResult:
        yield Static(id="preview-title", markup=False)
        yield FigureTable(id="preview-figures")
        with Container(id="preview-parts"):
            yield TextReader()
            yield CleanTextArea(soft_wrap=True, show_line_numbers=False)
            yield FactList("lost", choosing=True)
        yield ButtonLine()

    def on_mount(self) -> None:
        self.watch_stage(self.stage)
        self.set_interval(1.0, self._show_progress)
        self._work_out()

    def on_resize(self, event: Resize) -> None:
        self.set_class(event.size.width >= SIDE_BY_SIDE, "-beside")
        self.call_after_refresh(self._write_title)

    # Stages

    def watch_stage(self, stage: Stage) -> None:
        """Show the widgets and buttons of the stage."""
        drafted = stage in ("draft", "accepting")
        self.reader.display = stage in ("look", "drafting")
        self.editor.display = self.facts.display = drafted
        self._write_buttons()
        self._write_title()

    def watch_read_only(self) -> None:
        """Update the buttons: a file may have become a session."""
        if self.stage == "draft":
            self._write_buttons()

    def _write_buttons(self) -> None:
        offered = BUTTONS[self.stage]
        if self.stage == "draft" and self.read_only == FILE:
            offered = (OF_A_FILE, *offered[1:])
        elif self.stage == "look":
            offered = tuple(each for each in offered if self._offers(each.action))
        self.buttons.buttons = offered

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable letter keys while the user types in the draft."""
        return action != "agree" or (self.stage == "look" and not self.read_only)

    def _offers(self, action: str) -> bool:
        """Whether a button is available. A file cannot be compacted at once; without a model, a digest is no choice."""
        return not self.read_only if action == "agree" else action != "digest" or self._has_model

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
        shown = 1 if self.stage != "look" else 2
        self.heading.update(Content("\n").join([join_cells(parts[:shown], width, " · "), *parts[shown:]]))

    def _fail(self, problem: str) -> None:
        self._problem = problem
        self._write_title()

    def _show_note(self, note: Content = NOTHING, rows: Sequence[tuple[str, str]] = ()) -> None:
        """Show a line, or figures, under the title."""
        self.figures.note, self.figures.rows = note, tuple(rows)

    def watch_compaction(self) -> None:
        self._show_progress()

    def _show_progress(self) -> None:
        """Show the progress of the figures or of the draft."""
        view = self.compaction
        if self.stage in ("working", "drafting") and view is not None and view.running is not None:
            self._show_note(descriptions.running_line(view.running, time.monotonic()))

    # The figures

    @work(exclusive=True, group="work")
    async def _work_out(self) -> None:
        digest = self._by_digest
        try:
            made = await self._host.model.preview_compaction(digest)
        except WorkbenchError as error:
            self.stage = "refused"
            self._show_note(Content(printable(str(error))))
            return
        self._preview = made
        self._show_preview(made)

    def _show_preview(self, preview: CompactionPreview) -> None:
        self.stage = "look"
        self._show_note(rows=[("facts", "working out what a summary would lose…"), *preview_rows(preview)])
        self._foresee(preview)
        selected = preview.selected
        self.reader.show(lambda most: source_page(selected, most), 120 * (len(selected.items) + len(selected.staying)))
        self.reader.view.focus()

    @work(exclusive=True, group="foresee", description="foresee")
    async def _foresee(self, preview: CompactionPreview) -> None:
        """Show what would be lost, as far as that is known without asking a model."""
        try:
            audit = await self._host.model.preview_loss(preview)
        except WorkbenchError:
            return  # the session has changed: the draft will say so
        if self.stage == "look" and preview is self._preview:
            text = loss_words(audit)
            if preview.model:
                text = f"a summary without a model {text}; the draft shows what {preview.model} would lose"
            self._show_note(rows=[("facts", text), *preview_rows(preview)])

    # The draft

    def action_agree(self) -> None:
        """Compact at once, without a draft."""
        if self._preview is not None:
            self.dismiss(AgreedCompaction(self._preview, not self._has_model))

    def action_draft(self) -> None:
        """Draft the summary, with the model if there is one."""
        self._write(not self._has_model)

    def action_digest(self) -> None:
        self._write(True)

    def _write(self, digest: bool) -> None:
        if self.stage == "look" and self._preview is not None:
            self._problem = ""
            self.stage = "drafting"
            self._show_note(Content("getting ready…"))
            self._make(self._preview, digest)

    @work(exclusive=True, group="work", description="make")
    async def _make(self, preview: CompactionPreview, digest: bool) -> None:
        try:
            made = await self._host.model.draft_summary(preview, digest)
        except WorkbenchError as error:
            self._show_preview(preview)
            self._fail(f"no draft: {error}")
            return
        self._edited = EditedDraft(self._host.model, self.editor, made, self._show_draft)
        self.stage = "draft"
        self._fail("; ".join(made.problems))
        self.editor.focus()

    def _show_draft(self, draft: SummaryDraft) -> None:
        """Show the figures and the audit of a draft."""
        self._show_note(rows=descriptions.draft_rows(draft, self.status.window))
        self.facts.show_audit(draft.audit, seqs_of(draft.preview.selected))

    @on(TextArea.Changed)
    def _typed(self) -> None:
        if self.stage == "draft":
            self._count()

    @work(exclusive=True, group="count")
    async def _count(self) -> None:
        await asyncio.sleep(COUNT_PAUSE)
        await self._current()

    async def _current(self) -> SummaryDraft:
        assert self._edited is not None
        return await self._edited.current()

    def action_add(self) -> None:
        """Put back the chosen facts, or all lost ones."""
        if self.stage == "draft":
            self._add()

    @work(exclusive=True, group="add")
    async def _add(self) -> None:
        assert self._edited is not None
        try:
            async with self._changing:
                draft = await self._edited.current()
                facts = self.facts.chosen or [*draft.audit.lost, *draft.audit.forgotten]
                if facts:
                    await self._edited.put_back(draft, facts)
        except WorkbenchError as error:
            self._fail(str(error))
            return
        done = f"{len(facts):,} put back; Ctrl+Z in the summary undoes that" if facts else "no facts were lost"
        self.notify(done, markup=False)

    def action_judge(self) -> None:
        """Judge the draft, or before there is one the summary that needs no model."""
        if self.stage in ("look", "draft"):
            self._judge()

    @work(exclusive=True, group="judge")
    async def _judge(self) -> None:
        from workbench.judge.quick import judgement_rows  # late: not needed for the first frame

        try:
            judged = await self._host.model.judge_draft(await self._current() if self.stage == "draft" else None)
        except WorkbenchError as error:
            self._fail(str(error))
            return
        self.app.push_screen(ReportScreen("judge", judgement_rows(judged)))

    # The end

    def action_accept(self) -> None:
        """Accept the draft. A file becomes a session first."""
        if self.stage == "draft":
            is_file = self.read_only == FILE
            self.stage = "accepting"
            if is_file:
                self._accept_in_session()
            else:
                self._accept()

    @work(exclusive=True, group="accept")
    async def _accept_in_session(self) -> None:
        """Make a session of the file, and accept the draft there. If the session would compact something else than the
        file, the draft is shown again with the new figures."""
        before = self._preview
        assert before is not None
        assert self._edited is not None
        try:
            async with self._changing:
                is_made = await self._host.make_writable()
            if is_made:
                self._preview = preview = await self._host.model.preview_compaction(True)
                self._edited.replace_draft(await self._host.model.draft_summary(preview, True))
                await self._current()
                if _same_effect(before, preview):
                    self._accept()
                    return
                self.notify("the new session would compact something else: Ctrl+S accepts it", markup=False)
        except WorkbenchError as error:
            self._fail(str(error))
        self.stage = "draft"

    @work(exclusive=True, group="accept")
    async def _accept(self) -> None:
        try:
            async with self._changing:
                draft = await self._current()
            outcome = await self._host.model.accept_summary(draft)
        except WorkbenchError as error:
            self.stage = "draft"
            self._fail(f"not accepted: {error}")
            return
        self.dismiss(outcome)

    def action_leave(self) -> None:
        """Stop the draft, or close; asks before a valuable draft is discarded."""
        if self.stage == "accepting":
            return
        if self.stage == "drafting":
            self.workers.cancel_group(self, "work")
            assert self._preview is not None
            self._show_preview(self._preview)
            self._fail("stopped; nothing was changed")
        elif self.stage == "draft" and self._edited is not None and self._edited.is_valuable:
            self._throw_away(self._edited.is_edited)
        else:
            self.dismiss()

    @work(exclusive=True, group="leave", description="discard")
    async def _throw_away(self, edited: bool) -> None:
        text = "Discard the draft and your changes?" if edited else "Discard the draft?"
        if await self.app.push_screen_wait(ConfirmDialog("discard", text, "discard", "keep")):
            self.dismiss()

    # Facts

    def action_switch(self) -> None:
        """Move the focus between the summary and the facts."""
        (self.facts if self.editor.has_focus else self.editor).focus()

    @on(FactList.SourceWanted)
    def _source(self, message: FactList.SourceWanted) -> None:
        """Show the source of a fact over the draft."""
        if self._preview is not None:
            self.app.push_screen(source_screen(self._preview.selected, message.seq))


def _same_effect(one: CompactionPreview, other: CompactionPreview) -> bool:
    """Whether two compactions take the same events and tokens out of the same request."""
    [first, second] = [(each.selected[:2], each.tokens_before, each.source_tokens) for each in (one, other)]
    return first == second
