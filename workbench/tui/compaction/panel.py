"""The compaction panel: what happens next and why, how the context grew, what was done last, and what can be done.

An attribute comes down (`compaction`), messages go up (`Run`, `Jump`). The panel works nothing out.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.content import Content
from textual.events import Resize
from textual.getters import query_one
from textual.reactive import reactive, var
from textual.widget import Widget
from textual.widgets import OptionList

from workbench.config.text import printable
from workbench.session.compaction_values import CompactionView
from workbench.session.context_view import ContextView
from workbench.tui.compaction import descriptions
from workbench.tui.compaction.history import HistoryList
from workbench.tui.compaction.plot import Plot
from workbench.tui.messages import Run
from workbench.tui.widgets.buttons import Button, ButtonLine
from workbench.tui.widgets.hints import Hints
from workbench.tui.widgets.wrapped_lines import WrappedLines

TALL = 18
"""Lines from which on there is room for every trigger and for the history."""
LOW = 7
"""Lines under which the curve makes room for descriptions."""
WIDE = 100
"""Columns from which on the curve stands beside the descriptions."""
TICK = 1.0
"""Seconds between two looks at the clock while one is being made."""


HINTS: Hints = (
    *(("c", "compact"), ("Enter", "preview"), ("u", "undo"), ("U", "redo"), ("D", "digest"), ("H", "history")),
    *(("M", "mode"), ("P", "policy"), ("i", "info"), ("?", "all keys")),
)


class NextLine(Widget):
    """Which trigger fires next and when; while one is being made, how far it is."""

    compaction: reactive[CompactionView | None] = reactive(None, layout=True)

    def on_mount(self) -> None:
        """The clock is only looked at while something goes on."""
        self._clock = self.set_interval(TICK, self.refresh, pause=True)

    def watch_compaction(self, view: CompactionView | None) -> None:
        """Start or stop the clock."""
        if self.is_mounted:
            (self._clock.resume if view is not None and view.running is not None else self._clock.pause)()

    def render(self) -> Content:
        """Words with their figures."""
        view = self.compaction
        if view is None:
            return Content()
        if view.running is not None:
            return Content.assemble(
                descriptions.running_line(view.running, time.monotonic()), (" · x stops it", "$quiet")
            )
        return descriptions.next_line(view)


class TriggerList(WrappedLines):
    """Every trigger that the policy sets, with its figures."""

    compaction: reactive[CompactionView | None] = reactive(None, layout=True)

    def lines(self, width: int) -> Sequence[Content]:
        """One for each trigger, or more where it is long."""
        return descriptions.check_lines(self.compaction, width) if self.compaction is not None else []


class LastLine(Widget):
    """The newest compaction, or why there is none."""

    compaction: reactive[CompactionView | None] = reactive(None, layout=True)

    def render(self) -> Content:
        """Its figures, and what became of it."""
        return descriptions.last_line(self.compaction) if self.compaction is not None else Content()


BUTTONS = (
    Button("c", "compact", "compact"),
    Button("p", "preview", "preview"),
    Button("u", "peel", "undo"),
    Button("r", "redo", "redo"),
    Button("d", "digest", "digest"),
    Button("h", "compactions", "history"),
    Button("m", "mode", "mode"),
    Button("P", "policy", "policy"),
    Button("s", "compaction-status", "status"),
)
"""Their names are those of the commands."""
STOP = Button("x", "stop-compacting", "stop")


def offered(view: CompactionView) -> tuple[Button, ...]:
    """What can be done now; while one is being made, it can be stopped."""
    labels = {"mode": f"mode: {view.mode}", "policy": f"policy: {printable(view.policy)}"}
    idle = {
        "peel": bool(view.fixed) or not view.can_undo,
        "redo": bool(view.fixed),
        "compact": bool(view.fixed or view.nothing),
        "digest": bool(view.fixed or view.nothing),
        "preview": bool(view.nothing),
    }
    made = tuple(
        each._replace(label=labels.get(each.name, each.label), idle=idle.get(each.name, False)) for each in BUTTONS
    )
    return (STOP, *made) if view.running is not None else made


class CompactionPanel(Vertical, can_focus=True):
    """Compaction at a glance; with more room, all of it."""

    BINDING_GROUP_TITLE = "Compaction"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "run('compact')", "compact now; asks first, with the figures", id="compaction.compact"),
        Binding("p", "run('preview')", "preview: edit, accept or discard it", id="compaction.preview"),
        Binding("u", "run('peel')", "undo the newest compaction", id="compaction.undo"),
        Binding("r", "run('redo')", "redo what was undone last", id="compaction.redo"),
        Binding("U", "run('undo-compactions')", "undo all compactions", id="compaction.undo-all"),
        Binding("d", "run('digest')", "compact without a model", id="compaction.digest"),
        Binding("m", "run('mode')", "choose when to compact: auto, confirm, manual, off", id="compaction.mode"),
        Binding("P", "run('policy')", "choose another policy", id="compaction.policy"),
        Binding("s", "run('compaction-status')", "triggers, history and metrics in full", id="compaction.status"),
        Binding("h,enter", "run('compactions')", "history, summaries and what they lost", id="compaction.history"),
        Binding("x", "run('stop-compacting')", "stop the running compaction", id="compaction.stop"),
    ]

    compaction: var[CompactionView | None] = var(None)
    shown: var[ContextView | None] = var(None)

    history = query_one(HistoryList)
    buttons = query_one(ButtonLine)

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        with Container(classes="compaction--body"):
            with Vertical(classes="compaction--curve"):
                yield NextLine().data_bind(CompactionPanel.compaction)
                yield Plot().data_bind(CompactionPanel.compaction, CompactionPanel.shown)
            with Vertical(classes="compaction--facts"):
                yield TriggerList().data_bind(CompactionPanel.compaction)
                yield HistoryList()
        yield LastLine().data_bind(CompactionPanel.compaction)
        yield ButtonLine()

    def hints(self) -> Hints:
        """Its keys, the important first."""
        return HINTS

    def take_focus(self) -> None:
        """To the panel itself: its keys work anywhere in it."""
        self.focus()

    def on_resize(self, event: Resize) -> None:
        """The panel's own size decides what there is room for."""
        width, height = event.size
        self.set_class(height >= TALL or (width >= WIDE and height >= LOW), "-roomy")
        self.set_class(width >= WIDE and height >= LOW, "-wide")
        self.set_class(height < LOW, "-low")

    def watch_compaction(self, view: CompactionView | None) -> None:
        """The history is a list of its own, and so are the buttons."""
        if not self.is_mounted:  # the first value comes before there are children
            return
        if view is not None:
            mode = f"{view.mode} ({descriptions.ABOUT_MODES[view.mode]})"
            self.border_title = Content(f"Compaction · mode {mode} · policy {printable(view.policy)}")
        self.history.show(view.history if view is not None else ())
        self.history.display = view is not None and bool(view.history)
        self.buttons.buttons = offered(view) if view is not None else ()

    @on(OptionList.OptionSelected)
    def _open(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(Run("compactions", event.option.id or ""))

    @on(ButtonLine.ButtonPressed)
    def _pressed(self, event: ButtonLine.ButtonPressed) -> None:
        event.stop()
        self.post_message(Run(event.name))

    def action_run(self, command: str) -> None:
        """As its key, the palette or a slash would."""
        self.post_message(Run(command))
