"""Sessions that are begun here tell one story too, now and at each of their requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from session.moments import check_moment, figures, travel
from session.one_story import compact_and_undo, sent
from session.own_sessions import ACTIONS, POLICIES, WINDOW, Wire, act, begun, work, write_files
from tui.play import Watcher, opened
from workbench.session.services import Services


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch, project: Path) -> Wire:
    """What reaches the model, in a folder with something to read."""
    write_files(project)
    return Wire(monkeypatch)


async def check_moments(
    on: Watcher, places: list[int], ref: str, wire: Wire, capsys: pytest.CaptureFixture[str]
) -> None:
    """At these requests everything agrees, with what was really sent too; and now is what it was before."""
    before, shown, said = await on.ask(sent), figures(on.shown.plan), on.compaction
    for place in places:
        body = await check_moment(on, place, ref, capsys)
        real = wire.bodies[place]
        assert (body["messages"], body.get("tools")) == (real["messages"], real.get("tools"))
    await travel(on, None)
    assert (await on.ask(sent), figures(on.shown.plan)) == (before, shown)
    assert on.compaction == said


@pytest.mark.parametrize("policy", POLICIES)
async def test_a_session_of_each_preset(
    services: Services, wire: Wire, capsys: pytest.CaptureFixture[str], policy: str
) -> None:
    ref = begun(services, window=WINDOW)
    async with opened(services, ref, window=WINDOW) as on:
        on.model.switch_policy(policy)
        await work(on, 8)
        assert len(wire.bodies) == len(on.shown.requests) == 32
        await check_moments(on, [0, 3, 9, 17, 24, 30, 31], ref, wire, capsys)
        await compact_and_undo(on, ref, capsys)
        await check_moments(on, [31], ref, wire, capsys)


@settings(max_examples=8, suppress_health_check=[*HealthCheck])
@given(actions=st.lists(ACTIONS, min_size=3, max_size=9), share=st.floats(0, 1))
async def test_whatever_is_done_in_it(
    actions: list[tuple[str, Any]],
    share: float,
    services: Services,
    project: Path,
    wire: Wire,
    capsys: pytest.CaptureFixture[str],
) -> None:
    wire.bodies.clear()
    (project / "AGENTS.md").unlink(missing_ok=True)
    ref = begun(services, window=WINDOW)
    async with opened(services, ref, window=WINDOW) as on:
        for action in actions:
            await act(on, action, project)
        count = len(on.shown.requests)
        assert count == len(wire.bodies)
        await check_moments(on, [int(share * (count - 1))] if count else [], ref, wire, capsys)
        await compact_and_undo(on, ref, capsys)
