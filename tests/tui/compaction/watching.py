"""The session model on a long talk, without a screen."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tui.compaction.long_talk import WINDOW, stored
from tui.play import Script, Watcher, opened
from workbench.compaction.values import SummaryDraft
from workbench.sources.services import Services
from workbench.views.compaction_values import CompactionView

Scripted = Callable[..., Script]
"""From then on every model says these things, one after the other."""


def on_talk(services: Services, *sets: str, turns: int = 8) -> Any:
    return opened(services, stored(services, turns), window=WINDOW, reserve=2_000, knobs=tuple(sets))


def view(on: Watcher) -> CompactionView:
    found: CompactionView = on.compaction
    return found


async def bodies(on: Watcher, kind: type) -> list[Any]:
    """What the log has of one kind."""
    return await on.model.call_session(lambda work: partial(_bodies, work, kind))


async def _bodies(work: Any, kind: type) -> list[Any]:
    return [event.body for event in work.compactions.current().events if isinstance(event.body, kind)]


async def drafted(on: Watcher, *, digest: bool = False) -> SummaryDraft:
    preview = await on.model.preview_compaction(digest)
    return await on.model.draft_summary(preview, digest)
