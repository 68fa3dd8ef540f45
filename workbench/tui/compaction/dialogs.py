"""Dialogs around a compaction by hand: the question with its figures, and the progress."""

from __future__ import annotations

import time
from typing import ClassVar, Literal

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.getters import query_one
from textual.screen import ModalScreen
from textual.widgets import Static

from workbench.compaction.preview import preview_rows
from workbench.compaction.triggers import question
from workbench.compaction.values import CompactionPreview
from workbench.config.errors import WorkbenchError
from workbench.config.text import printable
from workbench.session.compaction_values import CompactionView, progress_text
from workbench.tui.compaction import descriptions
from workbench.tui.observing import Observing, observed
from workbench.tui.widgets.buttons import Button, ButtonLine
from workbench.tui.widgets.host import Host
from workbench.tui.widgets.wrapped_lines import FigureTable

Answer = Literal["no", "yes", "digest", "preview"]
WORKING = "working out the effect"
TICK = 0.5
"""Seconds between two looks at the clock."""


class CompactDialog(Observing, ModalScreen[Answer]):
    """Whether to compact, with the figures. No, unless the user says otherwise."""

    BINDING_GROUP_TITLE = "Compact?"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer('yes')", "yes, compact now", id="compact-dialog.yes"),
        Binding("d", "answer('digest')", "yes, without a model", id="compact-dialog.digest"),
        Binding("p", "answer('preview')", "preview first", id="compact-dialog.preview"),
        Binding("n,escape,enter,q", "answer('no')", "no", id="compact-dialog.no"),
    ]

    compaction = observed(lambda session: session.compaction, repaint=False)
    status = observed(lambda session: session.status, repaint=False)

    figures = query_one(FigureTable)
    buttons = query_one(ButtonLine)

    def __init__(self, host: Host, *, digest: bool = False) -> None:
        """`digest`: the question is about a compaction without a model."""
        super().__init__(host.model)
        self._host = host
        self._digest = digest
        self.preview: CompactionPreview | None = None
        """What the user says yes to."""
        self._problem = ""
        """Why there is no such thing."""

    def compose(self) -> ComposeResult:
        """The question first, the answers last."""
        with Vertical(classes="dialog") as box:
            box.border_title = "compact without a model" if self._digest else "compact"
            box.border_subtitle = "Enter, Esc: no"
            yield Static(
                f"? {question(self.status.tokens, self.status.window)}", classes="dialog--question", markup=False
            )
            with VerticalScroll(can_focus=False):
                yield FigureTable()
            yield ButtonLine()

    def on_mount(self) -> None:
        """The figures come when they are worked out; until then only no is an answer."""
        self.buttons.buttons = (Button("n", "no", "no"),)
        self._work_out()

    def watch_compaction(self, view: CompactionView | None) -> None:
        """Say how far the figures are."""
        if self.preview is None and not self._problem:
            running = view.running if view is not None else None
            how_far = f": {progress_text(running.progress)}" if running is not None else "…"
            self.figures.note = Content(f"{WORKING}{how_far}")

    @work
    async def _work_out(self) -> None:
        try:
            self.preview = await self._host.model.compacting(lambda work: work.drafts.preview(self._digest))
        except WorkbenchError as error:
            self._problem = str(error)
            self._refuse(self._problem)
            return
        self.figures.note = Content()
        self.figures.rows = preview_rows(self.preview)
        digest = () if self._digest else (Button("d", "digest", "without a model"),)
        label = "yes, without a model" if self._digest else "yes"
        self.buttons.buttons = (
            Button("n", "no", "no"),
            Button("y", "yes", label),
            *digest,
            Button("p", "preview", "preview first"),
        )

    def _refuse(self, why: str) -> None:
        """There is no question any more."""
        self.query_one(".dialog--question", Static).display = False
        self.query_one(".dialog").border_subtitle = "Enter, Esc: close"
        self.figures.note = Content.styled(printable(why), "$warning")
        self.buttons.buttons = (Button("esc", "no", "close"),)

    @on(ButtonLine.ButtonPressed)
    def _pressed(self, event: ButtonLine.ButtonPressed) -> None:
        event.stop()
        answers: dict[str, Answer] = {"no": "no", "yes": "yes", "digest": "digest", "preview": "preview"}
        self.action_answer(answers[event.name])

    def action_answer(self, answer: Answer) -> None:
        """Without the figures nobody can say yes."""
        if answer == "no" or self.preview is not None:
            self.dismiss("digest" if answer == "yes" and self._digest else answer)


class ProgressDialog(Observing, ModalScreen[None]):
    """How far it is; it can be stopped, or left to go on behind the panes."""

    BINDING_GROUP_TITLE = "Compacting"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,x", "stop", "stop it; nothing changes", id="progress.stop"),
        Binding("b", "leave", "continue in the background", id="progress.leave"),
    ]

    compaction = observed(lambda session: session.compaction, repaint=False)

    said = query_one("#progress-said", Static)

    def __init__(self, host: Host) -> None:
        super().__init__(host.model)
        self._host = host
        self._since = time.monotonic()
        self.left = False
        """Whether the user has turned to something else."""

    def compose(self) -> ComposeResult:
        """One line, and what can be done."""
        with Vertical(classes="dialog") as box:
            box.border_title = "compacting"
            yield Static(id="progress-said", markup=False)
            yield ButtonLine()

    def on_mount(self) -> None:
        """The line follows the clock, too."""
        self.query_one(ButtonLine).buttons = (
            Button("b", "leave", "continue in the background"),
            Button("x", "stop", "stop"),
        )
        self.set_interval(TICK, self._draw)

    def watch_compaction(self) -> None:
        """Say how far it is."""
        self._draw()

    def _draw(self) -> None:
        running = self.compaction.running if self.compaction is not None else None
        if running is None:
            waited = int(time.monotonic() - self._since)
            self.said.update(Content.assemble(("⟳ ", "bold $accent"), f"getting ready · {waited} s"))
        else:
            self.said.update(descriptions.running_line(running, time.monotonic()))

    @on(ButtonLine.ButtonPressed)
    def _pressed(self, event: ButtonLine.ButtonPressed) -> None:
        event.stop()
        (self.action_stop if event.name == "stop" else self.action_leave)()

    def action_stop(self) -> None:
        """Whoever waits for it closes this."""
        self._host.model.stop_compacting()

    def action_leave(self) -> None:
        """It goes on; the panel shows how far it is."""
        self.left = True
        self.dismiss()
