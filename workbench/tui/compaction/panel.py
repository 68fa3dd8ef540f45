"""The compaction panel: what happens next and why, the growth of the context, the last compaction, and the keys.

The panel observes the session and posts messages (`RunCommand`, `Jump`). It computes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.content import Content
from textual.events import Resize
from textual.getters import query_one
from textual.widget import Widget
from textual.widgets import OptionList

from workbench.session.observable import ObservableSession
from workbench.tui.compaction import descriptions
from workbench.tui.compaction.history import HistoryList
from workbench.tui.compaction.plot import CompactionPlot
from workbench.tui.messages import RunCommand
from workbench.tui.observing import Observing, observed
from workbench.tui.widgets.cells import one_line
from workbench.tui.widgets.hints import Hints
from workbench.tui.widgets.wrapped_lines import WrappedLines
from workbench.views.compaction_values import CompactionView

TALL = 18
"""From this height on, there is room for the history."""
LOW = 7
"""Below this height, the curve is hidden."""
WIDE = 100
"""From this width on, the curve is next to the descriptions."""
TICK = 1.0
"""Seconds between updates while a compaction runs."""


HINTS: Hints = (
    *(("c", "compact"), ("u", "undo"), ("U", "redo"), ("H", "history"), ("D", "without a model")),
    *(("M", "mode"), ("P", "policy"), ("i", "limits"), ("?", "all keys")),
)


class NextLine(Observing, Widget):
    """Which trigger fires next and when; while a compaction runs, its progress."""

    compaction = observed(lambda session: session.compaction, layout=True)

    def on_mount(self) -> None:
        """Create the timer, which only runs during a compaction."""
        self._clock = self.set_interval(TICK, self.refresh, pause=True)

    def watch_compaction(self, view: CompactionView | None) -> None:
        (self._clock.resume if view is not None and view.running is not None else self._clock.pause)()

    def render(self) -> Content:
        view = self.compaction
        if view is None:
            return Content()
        if view.running is not None:
            return Content.assemble(
                descriptions.running_line(view.running, time.monotonic()), (" · Esc stops it", "$quiet")
            )
        return descriptions.next_line(view) if view.past is None else descriptions.past_line(view.past)


class CompactionLines(Observing, WrappedLines):
    """Lines about compaction, in the words of `describe`."""

    compaction = observed(lambda session: session.compaction, layout=True)

    def __init__(
        self, session: ObservableSession, describe: Callable[[CompactionView, int], Sequence[Content]], classes: str
    ) -> None:
        super().__init__(session, classes=classes)
        self._describe = describe

    def lines(self, width: int) -> Sequence[Content]:
        return self._describe(self.compaction, width) if self.compaction is not None else []


class CompactionPanel(Observing, Vertical, can_focus=True):
    """The panel: what comes next and the last compaction; with more room, also the curve and the history."""

    BINDING_GROUP_TITLE = "Compaction"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "run('compact')", "compact: preview it, then choose", id="compaction.preview"),
        Binding("D", "run('digest')", "compact without a model", id="compaction.digest"),
        Binding("M", "run('mode')", "choose when to compact: auto, confirm, manual, off", id="compaction.mode"),
        Binding("J", "run('judge')", "judge the summary: what can still be answered", id="compaction.judge"),
        Binding("H", "run('compactions')", "history, summaries and what they lost", id="compaction.history"),
        Binding(
            "i", "run('compaction-status')", "all limits and triggers, history and metrics", id="compaction.status"
        ),
    ]

    compaction = observed(lambda session: session.compaction, repaint=False)

    history = query_one(HistoryList)

    def compose(self) -> ComposeResult:
        with Container(classes="compaction--body"):
            with Vertical(classes="compaction--curve"):
                yield NextLine(self.session)
                yield CompactionPlot(self.session)
            with Vertical(classes="compaction--facts"):
                yield CompactionLines(self.session, descriptions.would_lines, "compaction--would")
                yield HistoryList()
        yield CompactionLines(self.session, descriptions.proxy_lines, "compaction--proxy")
        yield CompactionLines(self.session, descriptions.last_lines, "compaction--last")

    def hints(self) -> Hints:
        """The panel's keys, the most important first."""
        return HINTS

    def take_focus(self) -> None:
        """Focus the panel itself: its keys work anywhere in it."""
        self.focus()

    def on_resize(self, event: Resize) -> None:
        """Show or hide parts by the panel's own size."""
        width, height = event.size
        is_wide = width >= WIDE and height >= LOW
        self.update_classes({"-full": height >= TALL or is_wide, "-wide": is_wide, "-low": height < LOW})
        self._set_title()

    def watch_compaction(self, view: CompactionView | None) -> None:
        self._set_title()
        self.history.show(view.history if view is not None else ())
        self.history.display = view is not None and bool(view.history)

    def _set_title(self) -> None:
        view = self.compaction
        title = descriptions.panel_title(view, self.size.width - 4) if view is not None else ""
        self.border_title = one_line(title)

    @on(OptionList.OptionSelected)
    def _open(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(RunCommand("compactions", event.option.id or ""))

    def action_run(self, command: str) -> None:
        """Run a command, as if it was chosen in the command palette."""
        self.post_message(RunCommand(command))
