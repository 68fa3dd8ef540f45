"""The curve of what another agent recorded: what was reported, where one looks, and what another policy would send."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tui.play import settle
from tui.recorded.long_run import LAST, REQUESTS, STEPS, as_file, inspector, run
from workbench.log.events import Body, Usage
from workbench.sources.requests import RequestMark
from workbench.sources.services import Services
from workbench.tui.compaction.plot import HERE, TRIED, UNREPORTED, CompactionPlot, draw_plot
from workbench.tui.main.screen import MainScreen
from workbench.tui.main.timeline import Timeline
from workbench.tui.main.usage import ContextOverview
from workbench.tui.messages import Send
from workbench.views.compaction_values import Curve

pytestmark = pytest.mark.usefixtures("project")


def plotted(screen: MainScreen) -> list[str]:
    return str(screen.query_one(CompactionPlot).render()).splitlines()


async def check_reported_sizes(pilot: Pilot[Any], screen: MainScreen) -> None:
    """All are there, and the request that is shown is marked."""
    assert screen.model.state.compaction is not None
    assert screen.model.state.shown is not None
    curve = screen.model.state.compaction.curve
    turns = [mark for mark in screen.model.state.shown.requests if mark.purpose == "turn"]
    assert curve.sizes[:-1] == tuple(mark.reported for mark in turns)
    assert curve.sizes[-2] == LAST
    assert not curve.tried
    assert f"{STEPS + 1} reported in 2 turns · {HERE} request {STEPS + 3}" in plotted(screen)[-1]
    last = plotted(screen)[0].index(HERE)
    screen.go_to_request("10")
    await settle(pilot)
    lines = plotted(screen)
    assert f"{HERE} request 10" in lines[-1]
    assert 0 < max(line.find(HERE) for line in lines[:-1]) < last
    await pilot.press("right_curly_bracket")
    await settle(pilot)
    assert not any(HERE in line for line in plotted(screen))


async def check_a_second_line(pilot: Pilot[Any], screen: MainScreen) -> None:
    """That of a policy that is tried."""
    screen.send_or_run(Send("/policy layers"))
    await settle(pilot)
    assert screen.model.state.compaction is not None
    curve = screen.model.state.compaction.curve
    assert curve.sizes[-2] == LAST
    assert len(curve.tried) == len(curve.sizes)
    assert f"{TRIED} layers" in plotted(screen)[-1]
    assert any(TRIED in line for line in plotted(screen)[:-1])
    await pilot.press("right_curly_bracket")
    await settle(pilot)
    assert screen.model.state.shown is not None
    assert curve.tried[-1] == screen.model.state.shown.plan.size
    assert curve.sizes[-1] > LAST


async def test_the_curve_has_what_was_reported_and_what_another_policy_would_send(
    services: Services, tmp_path: Path
) -> None:
    async with inspector(services, as_file(tmp_path, run()), (200, 60)) as (pilot, screen):
        await check_reported_sizes(pilot, screen)
        screen.go_to_request(str(REQUESTS))
        await settle(pilot)
        await check_a_second_line(pilot, screen)


async def test_without_a_report_a_file_opens_at_its_end_and_there_is_nothing_to_draw(
    services: Services, tmp_path: Path
) -> None:
    silent: list[Body] = [body for body in run(3, others=False) if not isinstance(body, Usage)]
    async with inspector(services, as_file(tmp_path, silent), (200, 60)) as (_, screen):
        assert screen.model.state.shown is not None
        assert screen.model.state.shown.at is None
        assert len(screen.model.state.shown.requests) == 4
        assert str(screen.query_one(ContextOverview).render()).startswith("the next request, if it went on · ")
        assert "next of 4 " in str(screen.query_one(Timeline).render())
        assert plotted(screen) == [UNREPORTED]


def test_a_request_has_its_place_among_the_sizes() -> None:
    curve = Curve((5, 9, 2, 6), ends=(4, 9, 20))
    assert [curve.place(RequestMark(0, 1, usage=at)) for at in (4, 5, 9, 20, 21)] == [0, 1, 1, 2, 3]
    lines = [line.plain for line in draw_plot(curve, 40, 6, 3, 4)]
    assert "".join(lines).count(HERE) == 4, "three cells of a bar, and the foot"
