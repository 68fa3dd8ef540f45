"""When the compaction panel's value is computed again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from tui.play import until
from workbench.session import compactions
from workbench.session.compactions import SessionCompactions


def nothing(*_: object, **__: object) -> None:
    pass


async def look_back(panel: SessionCompactions, name: str) -> None:
    """Go to a past request, and wait until it is shown in full."""
    panel.look_back(cast(Any, f"{name}, begun"), lambda: cast(Any, name))
    await until(lambda: panel._past == cast(Any, name))


async def test_a_past_request_does_not_wait_for_the_pause_between_two_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compactions, "PAUSE", 3600)
    updates: Any = SimpleNamespace(change_state=nothing, call_updated=nothing, show_notice=nothing)
    panel = SessionCompactions(updates, cast(Any, SimpleNamespace()), nothing, nothing)
    updated = 0

    async def look_at_now(opened: Any) -> None:
        nonlocal updated
        updated += 1  # `_stale` stays: the log has grown meanwhile

    monkeypatch.setattr(panel, "_look_at_now", look_at_now)
    panel.show(cast(Any, object()))
    await until(lambda: updated == 1)
    for name in ("one", "another"):
        await look_back(panel, name)
    assert updated == 1
    await panel.close()
