"""Sessions that are begun here tell one story too, now and at each of their requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from session.moments import check_moment, figures, travel
from session.one_story import compact_and_undo, sent
from session.own_sessions import ACTIONS, POLICIES, SAID, WINDOW, Wire, act, begun, say, work, write_files
from support.random_cases import few_cases
from tui.play import Watcher, opened, until
from tui.recorded.long_run import as_session, run
from workbench.sources.services import Services

OTHERS = [each for each in POLICIES if each not in ("workbench", "codex")]


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch, project: Path) -> Wire:
    """What reaches the model, in a folder with something to read."""
    write_files(project)
    return Wire(monkeypatch)


async def check_moments(
    services: Services,
    on: Watcher,
    places: list[int],
    ref: str,
    wire: Wire,
    capsys: pytest.CaptureFixture[str],
    **asked: Any,
) -> None:
    """At these requests everything agrees, with what was really sent too; and now is what it was before.

    `asked`: what the run that made them was told.
    """
    before, shown, said = await on.ask(sent), figures(on.shown.plan), on.compaction
    for place in places:
        body = await check_moment(on, place, ref, capsys)
        real = wire.bodies[place]
        assert (body["messages"], body.get("tools")) == (real["messages"], real.get("tools"))
        await check_offer(services, on, ref, **asked)
    await travel(on, None)
    assert (await on.ask(sent), figures(on.shown.plan)) == (before, shown)
    assert on.compaction == said


async def check_offer(services: Services, on: Watcher, ref: str, **asked: Any) -> None:
    """What the compaction panel says of a past request is what it would say had the session ended there."""
    past, shown = on.compaction.past, on.shown
    assert (past.number, past.tokens) == (shown.at + 1, shown.plan.size)
    with services.store.fork(ref, shown.events) as copy:
        ended_there = copy.id
    async with opened(services, ended_there, **asked) as then:
        await until(lambda: then.compaction is not None)
        would = then.compaction.would.replace(", and keep ", ", and kept ")
        assert (past.nothing, past.would) == (then.compaction.nothing, would)
        assert past.last == then.compaction.last


@pytest.mark.parametrize(
    "policy", ["workbench", "codex", *(pytest.param(each, marks=pytest.mark.wide) for each in OTHERS)]
)
async def test_a_session_of_each_preset(
    services: Services, wire: Wire, capsys: pytest.CaptureFixture[str], policy: str
) -> None:
    ref = begun(services, window=WINDOW)
    async with opened(services, ref, window=WINDOW) as on:
        on.model.switch_policy(policy)
        await work(on, 8)
        assert len(wire.bodies) == len(on.shown.requests) == 32
        places = [0, 3, 9, 17, 24, 30, 31] if policy == "workbench" else [9, 30]
        await check_moments(services, on, places, ref, wire, capsys)
        await compact_and_undo(on, ref, capsys)
        await check_moments(services, on, [31], ref, wire, capsys)


@few_cases(suppress_health_check=[*HealthCheck])
@example(
    actions=[("say", SAID[0]), ("say", SAID[2]), ("say", SAID[3]), ("say", SAID[3]), ("policy", "codex")], share=0.0
)
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
        await check_moments(services, on, [int(share * (count - 1))] if count else [], ref, wire, capsys)
        await compact_and_undo(on, ref, capsys)


@pytest.mark.parametrize(
    "asked",
    [{"policy": "codex"}, {"knobs": ("truncation.max_tokens=200",)}, {"reserve": 5_000}],
    ids=["policy", "knob", "reserve"],
)
async def test_what_one_run_was_told_holds_for_its_requests_and_no_others(
    services: Services, wire: Wire, capsys: pytest.CaptureFixture[str], asked: dict[str, Any]
) -> None:
    ref = begun(services, window=WINDOW)
    async with opened(services, ref, window=WINDOW, **asked) as on:
        await work(on, 2)
        await check_moments(services, on, [2, 7], ref, wire, capsys, **asked)
    async with opened(services, ref, policy="layers") as on:
        await check_moments(services, on, [7], ref, wire, capsys, **asked)
    async with opened(services, ref) as on:
        await work(on, 2)
        assert on.shown.plan.policy == "workbench", "another run decides for itself"
        await check_moments(services, on, [7], ref, wire, capsys, **asked)
        await check_moments(services, on, [14], ref, wire, capsys)


async def test_what_another_agent_recorded_stays_as_it_was_when_the_session_goes_on_here(
    services: Services, wire: Wire, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded = as_session(services, run(8))
    async with opened(services, recorded) as on:
        await travel(on, 4)
        before = figures(on.shown.plan)
        await travel(on, None)
        on.model.switch_model("rehearsal")
        on.model.switch_policy("layers")
        await say(on, "read f0.txt")
        assert on.shown.view == "", "it is ours now"
        await check_moment(on, 4, recorded, capsys)
        assert figures(on.shown.plan)["items"] == before["items"]
        await check_moment(on, len(on.shown.requests) - 1, recorded, capsys)
