"""What a user wants to know of a session that is out of sight: it is nearly full, was compacted, or failed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from workbench.config.text import counted, percent

NEARLY_FULL = 0.8
"""The share of the window from which on a session is nearly full."""

AlertKind = Literal["full", "compaction", "error"]


class AlertFigures(NamedTuple):
    """The figures of one session that alerts are made from."""

    session: str
    """Identifies it."""
    name: str
    share: float | None
    """The used share of its window; None: not known."""
    compactions: int = 0
    failures: int = 0


class Alert(NamedTuple):
    """One thing that happened."""

    kind: AlertKind
    session: str
    """The name of the session."""
    text: str


class AlertWatch:
    """Compares figures with the previous ones. The first figures of a session raise no alert."""

    def __init__(self) -> None:
        self._before: dict[str, AlertFigures] = {}

    def new_alerts(self, figures: Iterable[AlertFigures]) -> list[Alert]:
        """What happened since the last figures of each session."""
        return [alert for each in figures for alert in self._compared(each)]

    def _compared(self, now: AlertFigures) -> list[Alert]:
        before = self._before.get(now.session)
        if now.share is None and before is not None:  # unknown for a moment: still the same crossing
            now = now._replace(share=before.share)
        self._before[now.session] = now
        if before is None:
            return []
        found = []
        if _is_full(now) and not _is_full(before):
            found.append(Alert("full", now.name, f"{percent(now.share or 0)} of the window is used"))
        if now.compactions > before.compactions:
            found.append(Alert("compaction", now.name, counted(now.compactions - before.compactions, "compaction")))
        if now.failures > before.failures:
            found.append(Alert("error", now.name, counted(now.failures - before.failures, "error")))
        return found


def _is_full(figures: AlertFigures) -> bool:
    return figures.share is not None and figures.share >= NEARLY_FULL
