"""When the compaction panel's value is computed again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from tui.play import until
from workbench.agent.steps import CompactionRunning, EventAppended
from workbench.compaction.progress import CompactionProgress
from workbench.compaction.record import CATEGORY
from workbench.log.events import Event, Failure
from workbench.session import compactions
from workbench.session.compactions import SessionCompactions
from workbench.session.observable import Notice


def nothing(*_: object, **__: object) -> None:
    pass


async def show_past_offer(panel: SessionCompactions, name: str) -> None:
    """Go to a past request, and wait until it is shown in full."""
    panel.show_past_offer(cast(Any, f"{name}, begun"), lambda: cast(Any, name))
    await until(lambda: panel._past == cast(Any, name))


async def test_a_past_request_does_not_wait_for_the_pause_between_two_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compactions, "PAUSE", 3600)
    updates: Any = SimpleNamespace(change_state=nothing, call_updated=nothing, show_notice=nothing)
    panel = SessionCompactions(updates, cast(Any, SimpleNamespace()), nothing, nothing)
    updated = 0

    async def update_view(opened: Any) -> None:
        nonlocal updated
        updated += 1  # `_stale` stays: the log has grown meanwhile

    monkeypatch.setattr(panel, "_update_view", update_view)
    panel.show(cast(Any, object()))
    await until(lambda: updated == 1)
    for name in ("one", "another"):
        await show_past_offer(panel, name)
    assert updated == 1
    await panel.close()


def test_a_hook_that_fails_does_not_end_the_compaction_that_a_turn_makes() -> None:
    told: list[Notice] = []
    updates: Any = SimpleNamespace(change_state=nothing, call_updated=nothing, show_notice=told.append)
    panel = SessionCompactions(updates, cast(Any, SimpleNamespace()), nothing, nothing)
    for step in (
        CompactionRunning(CompactionProgress("selecting")),
        EventAppended(Event(1, "a", 0, Failure("hook", "no such program"))),
        EventAppended(Event(2, "b", 0, Failure(CATEGORY, "too_long: it does not fit"))),
        EventAppended(Event(3, "c", 0, Failure(CATEGORY, "of another one"))),
    ):
        panel.step_taken(step)
    assert told == [Notice("not compacted: too_long: it does not fit", "warning", "compaction")]
