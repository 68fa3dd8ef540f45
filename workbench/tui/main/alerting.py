"""The bell and desktop notifications of the screen."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from workbench.config.terminal_alerts import AlertWay, alert_sequence
from workbench.views.alerts import AlertFigures, AlertWatch

TITLE = "Workbench"


class TerminalAlerts:
    """Writes alerts to the terminal, in the ways that the user wants."""

    def __init__(self, ways: Sequence[AlertWay], write: Callable[[str], None]) -> None:
        """`write`: sends a sequence to the terminal."""
        self._ways = ways
        self._write = write
        self._watch = AlertWatch()

    def check_figures(self, figures: Iterable[AlertFigures]) -> None:
        """Compare the figures of sessions with those before, and tell what happened."""
        for alert in self._watch.new_alerts(figures):
            self.send_alert(f"{alert.session}: {alert.text}")

    def send_alert(self, text: str) -> None:
        """Ring or show a notification."""
        if self._ways:
            self._write(alert_sequence(TITLE, text, self._ways, os.environ))
