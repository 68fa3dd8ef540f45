"""The figures of a session that another agent recorded: the provider's, and what is in none of the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tui.inspector.host import lines_of
from tui.play import settle, shown, until
from tui.recorded.long_run import FIXED, LAST, REQUESTS, as_file, inspector, run
from workbench.log.events import Usage
from workbench.sources.services import Services
from workbench.tui.inspector.info_lines import TotalsLine
from workbench.tui.main.screen import MainScreen
from workbench.tui.main.usage import ContextOverview
from workbench.tui.messages import Send
from workbench.tui.screens.policies import PoliciesScreen

pytestmark = pytest.mark.usefixtures("project")


def row(screen: MainScreen) -> str:
    """The row of what is in no other; there is one."""
    lines = screen.inspector.row_list.lines
    assert lines is not None
    found = [at for at, item in enumerate(lines.rows) if item.slot == "unattributed"]
    assert len(found) == 1
    before = lines.rows[found[0] + 1]
    assert before.slot in ("history", "turn"), "it is the last of those in every request"
    screen.inspector.rows.action_edge(-1)
    return lines_of(screen.inspector.rows)[found[0]]


async def check_what_is_not_in_the_file(pilot: Pilot[Any], screen: MainScreen) -> None:
    """It is a row and a segment."""
    assert screen.model.state.shown is not None
    plan = screen.model.state.shown.plan
    assert plan.totals.tokens + plan.unattributed == LAST
    assert abs(plan.unattributed - FIXED) < 1_500
    said = row(screen)
    assert "not in file" in said
    assert f"{plan.unattributed:,}" in said
    assert f"{plan.known_rest.fixed:,} system prompt and tools" in said
    bar = str(screen.query_one(ContextOverview).render())
    assert "????" in bar.splitlines()[1]
    assert f"? not in file {plan.unattributed:,}" in bar
    await pilot.press("f5")
    await settle(pilot)
    totals = str(screen.inspector.query_one(TotalsLine).render())
    assert f"+ {plan.unattributed:,} not in file ({plan.known_rest.fixed:,} system prompt and tools" in totals
    await pilot.press("right_square_bracket")
    await settle(pilot)
    assert "calibrated, ±" in row(screen)
    assert f"~{screen.model.state.shown.plan.unattributed:,}" in row(screen)


async def check_another_policy(pilot: Pilot[Any], screen: MainScreen) -> None:
    """It is a what-if beside the recorded figure."""
    screen.send_or_run(Send("/policy layers"))
    await settle(pilot)
    assert screen.model.state.shown is not None
    tried = screen.model.state.shown.plan.size
    assert tried != LAST
    usage = shown(pilot.app).splitlines()[1]
    assert usage.startswith(f" what-if layers for request {REQUESTS} · ~{tried:,} of 200,000 tokens · ")
    assert f"recorded {LAST:,}" in usage
    screen.go_to_request("5")
    await settle(pilot)
    reported = screen.model.state.shown.requests[4].reported
    assert reported is not None
    assert f"recorded {reported:,}" in str(screen.query_one(ContextOverview).render())
    screen.send_or_run(Send("/policy recorded"))
    await settle(pilot)
    assert str(screen.query_one(ContextOverview).render()).startswith(f"request 5, recorded · {reported:,} of")


@pytest.mark.long
async def test_figures_are_those_of_the_provider_also_beside_a_what_if(services: Services, tmp_path: Path) -> None:
    async with inspector(services, as_file(tmp_path, run()), (200, 60)) as (pilot, screen):
        await check_what_is_not_in_the_file(pilot, screen)
        screen.go_to_request(str(REQUESTS))
        await settle(pilot)
        await check_another_policy(pilot, screen)


@pytest.mark.long
async def test_where_the_provider_counted_less_the_row_says_so(services: Services, tmp_path: Path) -> None:
    bodies = [Usage(each.model, 0, 40) if isinstance(each, Usage) else each for each in run(3, others=False)]
    async with inspector(services, as_file(tmp_path, bodies), (200, 60)) as (_, screen):
        assert screen.model.state.shown is not None
        assert screen.model.state.shown.plan.size == 40
        said = row(screen)
        assert f"{screen.model.state.shown.plan.unattributed:,}" in said
        assert "counted here, but not by the provider" in said
        overview = str(screen.query_one(ContextOverview).render())
        assert f"− counted too high {-screen.model.state.shown.plan.unattributed:,}" in overview
        assert "?" not in overview


async def check_its_detail(pilot: Pilot[Any], screen: MainScreen) -> None:
    """It says where the figure comes from."""
    assert screen.model.state.shown is not None
    plan = screen.model.state.shown.plan
    await pilot.press("s", "home", "enter")
    await settle(pilot)
    assert (item := screen.inspector.detail.item) is not None
    told = f"reported {plan.reported:,} tokens for this request; its rows have {plan.totals.tokens:,}"
    assert told in item.original
    assert "not in file · in the request, but in no row" in shown(pilot.app)
    assert "The provider reported" in shown(pilot.app)


async def check_that_it_is_no_part_of_the_request(pilot: Pilot[Any], screen: MainScreen) -> None:
    await pilot.press("w")
    await settle(pilot)
    text = shown(pilot.app)
    assert "hidden thinking" not in text
    assert ", as far as it is in the file" in text
    assert "of a window of 200,000; not here: about " in text
    await pilot.press("escape")
    screen.send_or_run(Send("/policy layers"))
    await settle(pilot)
    await pilot.press("w")
    await settle(pilot)
    assert ", as layers would have sent it" in shown(pilot.app)


@pytest.mark.long
async def test_what_is_not_in_the_file_is_in_every_order_and_no_part_of_the_request(
    services: Services, tmp_path: Path
) -> None:
    async with inspector(services, as_file(tmp_path, run(5))) as (pilot, screen):
        await check_its_detail(pilot, screen)
        await pilot.press("escape", "home")
        await settle(pilot)
        assert "not in file" in lines_of(screen.inspector.rows)[0], "by size"
        await pilot.press("b", "home")
        await settle(pilot)
        assert "unattributed" in lines_of(screen.inspector.rows)[0], "in groups"
        await check_that_it_is_no_part_of_the_request(pilot, screen)


async def test_from_a_what_if_the_way_back_is_the_second_in_the_list(services: Services, tmp_path: Path) -> None:
    async with inspector(services, as_file(tmp_path, run(5)), policy="layers") as (pilot, screen):
        assert str(screen.query_one(ContextOverview).render()).startswith("what-if layers for request ")
        await pilot.press("P")
        await until(lambda: isinstance(pilot.app.screen, PoliciesScreen))
        await until(lambda: "recorded  back" in shown(pilot.app))
        await until(lambda: "the next request: " in shown(pilot.app))
        await pilot.press("down", "enter")
        await until(lambda: screen.model.state.shown is not None and screen.model.state.shown.view == "recorded")
