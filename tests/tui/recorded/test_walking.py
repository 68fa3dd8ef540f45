"""Walking through the requests that another agent made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from tui.play import settle, shown, told, typed
from tui.recorded.long_run import LAST, REQUESTS, as_file, as_session, inspector, run
from workbench.session.services import Services
from workbench.tui.inspector.info_lines import Past
from workbench.tui.main.screen import MainScreen

pytestmark = pytest.mark.usefixtures("project")


EARLIER, LATER = "left_square_bracket", "right_square_bracket"


async def jump(pilot: Pilot[Any], number: str) -> None:
    await pilot.press("t")
    await settle(pilot)
    await typed(pilot, number)


def place(screen: MainScreen) -> int | None:
    assert screen.shown is not None
    return screen.shown.at


def which(screen: MainScreen) -> str:
    return str(screen.query_one(Past).render())


async def test_a_file_opens_at_its_last_reported_request_and_the_next_one_follows(
    services: Services, tmp_path: Path
) -> None:
    async with inspector(services, as_file(tmp_path, run())) as (pilot, screen):
        assert place(screen) == REQUESTS - 1
        assert screen.shown is not None
        plan = screen.shown.plan
        assert (plan.size, plan.reported, plan.policy) == (LAST, LAST, "recorded")
        assert which(screen).startswith(f"◀ RECORDED: request {REQUESTS} of {REQUESTS}")
        assert f"{LAST:,} of 200,000" in shown(pilot.app)
        assert f"[tokens: {LAST:,} / 200,000 (26.2%)" in shown(pilot.app)
        await pilot.press(LATER)
        await settle(pilot)
        assert place(screen) is None
        assert which(screen).startswith(f"▶ THE NEXT REQUEST, after {REQUESTS} requests")
        following = screen.shown.plan
        assert following.reported is None
        assert following.size > LAST
        await pilot.press(EARLIER)
        await settle(pilot)
        assert place(screen) == REQUESTS - 1


async def test_an_imported_session_opens_there_too(services: Services) -> None:
    async with inspector(services, as_session(services, run())) as (_, screen):
        assert place(screen) == REQUESTS - 1


async def test_without_a_report_a_file_opens_at_its_end(services: Services, tmp_path: Path) -> None:
    bodies = [body for body in run(3, others=False) if type(body).__name__ != "Usage"]
    async with inspector(services, as_file(tmp_path, bodies)) as (_, screen):
        assert place(screen) is None
        assert which(screen).startswith("▶ THE NEXT REQUEST, after 4 requests")


@pytest.mark.parametrize("count", [1, 7, 50])
async def test_a_key_that_is_held_down_loses_no_request(services: Services, tmp_path: Path, count: int) -> None:
    async with inspector(services, as_file(tmp_path, run())) as (pilot, screen):
        for _ in range(count):  # as a terminal sends them: none waits for what the one before has done
            pilot.app._driver.send_message(events.Key(EARLIER, "[").set_sender(pilot.app))  # type: ignore[union-attr]
        await settle(pilot)
        assert place(screen) == REQUESTS - 1 - count
        for _ in range(count):
            pilot.app._driver.send_message(events.Key(LATER, "]").set_sender(pilot.app))  # type: ignore[union-attr]
        await settle(pilot)
        assert place(screen) == REQUESTS - 1


async def test_a_number_goes_to_a_request(services: Services, tmp_path: Path) -> None:
    async with inspector(services, as_file(tmp_path, run())) as (pilot, screen):
        await jump(pilot, "12")
        assert which(screen).startswith(f"◀ RECORDED: request 12 of {REQUESTS}")
        assert screen.focused is screen.inspector.rows
        await jump(pilot, "99")
        assert place(screen) == 11
        assert screen.inspector.row_list.foot.said.plain == (
            f"! 99: expected the number of a request, from 1 to {REQUESTS}"
        )
        screen.focus_pane("chat")
        await typed(pilot, "/request 3")
        assert place(screen) == 2
        await typed(pilot, "/request three")
        assert f"three: expected the number of a request, from 1 to {REQUESTS}" in told(pilot.app)


async def test_side_requests_and_sub_agents_are_marked_and_can_be_passed_over(
    services: Services, tmp_path: Path
) -> None:
    async with inspector(services, as_file(tmp_path, run())) as (pilot, screen):
        screen.go_to_request("2")
        await settle(pilot)
        assert "◇" not in which(screen)
        await pilot.press(LATER)
        await settle(pilot)
        assert f"request 3 of {REQUESTS} · ◇ side request" in which(screen)
        await pilot.press(*[LATER] * 3)
        await settle(pilot)
        assert f"request 6 of {REQUESTS} · ◇ sub-agent explorer" in which(screen)
        await pilot.press("h", *[EARLIER] * 3)
        await settle(pilot)
        assert place(screen) == 1
        assert "2 others hidden" in which(screen)
        await pilot.press("h", LATER)
        await settle(pilot)
        assert place(screen) == 2


async def test_the_chat_stands_where_the_request_does(services: Services, tmp_path: Path) -> None:
    async with inspector(services, as_file(tmp_path, run())) as (pilot, screen):
        view = screen.chat.view
        assert view.cursor == screen.transcript.index_of(screen.shown.requests[-1].upto)  # type: ignore[union-attr]  # it is open
        screen.go_to_request("20")
        await settle(pilot)
        assert screen.shown is not None
        upto = screen.shown.requests[19].upto
        assert view.cursor == screen.transcript.index_of(upto)
        assert "file_17.py" in shown(pilot.app)
        assert not view.following
        assert screen.focused is screen.inspector.rows
        await pilot.press("right_curly_bracket")
        await settle(pilot)
        assert view.following


async def test_the_chat_stands_there_too_when_it_was_not_seen(services: Services, tmp_path: Path) -> None:
    async with inspector(services, as_file(tmp_path, run()), (80, 24)) as (pilot, screen):
        screen.go_to_request("20")
        await settle(pilot)
        await pilot.resize_terminal(120, 40)
        await settle(pilot)
        assert "file_17.py" in shown(pilot.app)
        assert not screen.chat.view.following
