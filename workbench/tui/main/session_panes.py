"""The main screen's panes over one session.

The screen makes the session model and passes it to the panes. Each pane observes the model (`tui/observing.py`); no
value of the session passes through the screen.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.reactive import var

from workbench.config.errors import WorkbenchError
from workbench.config.terminal_alerts import alert_sequence
from workbench.config.text import printable
from workbench.session.model import SessionModel
from workbench.session.observable import Notice
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.tui.chat.pane import ChatPane
from workbench.tui.compaction.panel import CompactionPanel
from workbench.tui.inspector.pane import InspectorPane
from workbench.tui.main.header import Header
from workbench.tui.main.layout import PaneLayout
from workbench.tui.main.panes import PaneScreen
from workbench.tui.main.timeline import Timeline
from workbench.tui.main.usage import ContextOverview
from workbench.tui.main.watch_line import WatchLine
from workbench.tui.observing import Observing, observed
from workbench.tui.widgets.command import Registry
from workbench.views.alerts import AlertFigures, AlertWatch


class SessionPanes(Observing, PaneScreen):
    """The session model, and the panes that observe it."""

    REGISTRY: ClassVar[Registry]
    """The commands. A subclass sets them, with their keys."""

    fatal = observed(lambda session: session.fatal, repaint=False)
    alert_figures = observed(lambda session: session.alert_figures, repaint=False)
    watched = observed(lambda session: session.watched, repaint=False)
    held: var[int] = var(0)
    """The number of other agents' requests that wait at a breakpoint."""

    def __init__(
        self,
        services: Services,
        options: Options,
        ref: str = "",
        *,
        warm: bool = False,
        demo: str | None = None,
        note: str = "",
    ) -> None:
        """`ref`: what to open first; empty: this folder's last session, or a new one. `note`: a notice to show then.

        `warm`: load litellm once a session is open. `demo`: a note about the demo; None: this is not the demo.
        """
        self.model = SessionModel(services, options, asyncio.get_running_loop(), warm=warm)
        super().__init__(self.model)
        self.services = services
        self.options = options
        self._ref = ref
        layout = services.settings.layout
        self.set_reactive(SessionPanes.arrangement, PaneLayout(split=layout == "split" if layout else None))
        self._alert_ways = services.settings.notify if options.notify is None else options.notify
        self._alerts = AlertWatch()
        self.demo = demo
        self._note = demo or note

    def compose(self) -> ComposeResult:
        yield Header(self.model).data_bind(SessionPanes.held, arrangement=SessionPanes.fitted)
        if self.options.follow_active:
            yield WatchLine(self.model, self.hindrance)
        yield ContextOverview(self.model)
        yield Timeline(self.model)
        with Horizontal(id="panes"):
            yield ChatPane(self.model, self.REGISTRY.complete, Path.cwd(), self.model.count)
            with Vertical(id="side"):
                yield InspectorPane(self.model)
                yield CompactionPanel(self.model)

    def hindrance(self) -> str:
        """Why another session must not be opened now, in words; empty: it may."""
        if self.app.screen is not self:
            return "a window is open"
        return "you are writing a message" if self.query_one(ChatPane).composer.text else ""

    def on_mount(self) -> None:
        """Open the session after the first frame."""
        self.model.listen(self._on_notice)
        self.model.listen_for_unsent(self._on_unsent)
        self.call_after_refresh(self._start)
        if self._note:
            self.show_notice(self._note)

    def _start(self) -> None:
        """Open the session. Its awaitable is not returned: Textual would wait for it and handle no keys meanwhile."""
        self.model.start(self._ref)

    def watch_fatal(self, error: WorkbenchError | None) -> None:
        """End the program if nothing could be opened."""
        if error is not None:
            self.app.exit(error)

    def watch_alert_figures(self, figures: AlertFigures | None) -> None:
        """Draw attention to what happened in the session."""
        if figures is not None:
            watched = self.watched
            self.check_alerts([figures if watched is None else figures._replace(name=watched.name)])

    def check_alerts(self, figures: Iterable[AlertFigures]) -> None:
        for alert in self._alerts.new_alerts(figures):
            self.send_alert(f"{alert.session}: {alert.text}")

    def send_alert(self, text: str) -> None:
        """Ring or show a notification, as the user wants."""
        if self._alert_ways:
            self._write_to_terminal(alert_sequence("Workbench", text, self._alert_ways, os.environ))

    def _write_to_terminal(self, sequence: str) -> None:
        driver = self.app._driver
        if driver is not None:
            driver.write(sequence)

    def _on_notice(self, notice: Notice) -> None:
        if self.is_running:
            self.show_notice(notice.text, notice.severity, notice.title)

    def _on_unsent(self, text: str) -> None:
        if self.is_running:
            self.chat.give_back(text)

    def show_notice(self, text: str, severity: str = "information", title: str = "") -> None:
        self.notify(printable(text), title=title, severity=severity, markup=False)  # type: ignore[arg-type]  # ours are Textual's
