"""The progress of a compaction. The user can stop it, or leave it running."""

from __future__ import annotations

import time
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.getters import query_one
from textual.screen import ModalScreen
from textual.widgets import Static

from workbench.tui.compaction import descriptions
from workbench.tui.observing import Observing, observed
from workbench.tui.widgets.buttons import Button, ButtonLine
from workbench.tui.widgets.main_screen_api import MainScreenApi

TICK = 0.5
"""Seconds between two updates."""


class ProgressDialog(Observing, ModalScreen[None]):
    """Shows the progress. Closed by its caller when the compaction ends, or by "continue in the background"."""

    BINDING_GROUP_TITLE = "Compacting"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,x", "stop", "stop it; nothing changes", id="progress.stop"),
        Binding("b", "leave", "continue in the background", id="progress.leave"),
    ]

    compaction = observed(lambda session: session.compaction, repaint=False)

    label = query_one("#progress-said", Static)

    def __init__(self, host: MainScreenApi) -> None:
        super().__init__(host.model)
        self._host = host
        self._since = time.monotonic()
        self.left = False
        """Whether the user left it running."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = "compacting"
            yield Static(id="progress-said", markup=False)
            yield ButtonLine()

    def on_mount(self) -> None:
        self.query_one(ButtonLine).buttons = (
            Button("b", "leave", "continue in the background"),
            Button("x", "stop", "stop"),
        )
        self.set_interval(TICK, self._draw)

    def watch_compaction(self) -> None:
        self._draw()

    def _draw(self) -> None:
        running = self.compaction.running if self.compaction is not None else None
        if running is None:
            waited = int(time.monotonic() - self._since)
            self.label.update(Content.assemble(("⟳ ", "bold $accent"), f"getting ready · {waited} s"))
        else:
            self.label.update(descriptions.running_line(running, time.monotonic()))

    def action_stop(self) -> None:
        """Stop it; the caller, which waits for the result, closes the dialog."""
        self._host.model.stop_compacting()

    def action_leave(self) -> None:
        """Leave it running; the panel shows the progress."""
        self.left = True
        self.dismiss()
