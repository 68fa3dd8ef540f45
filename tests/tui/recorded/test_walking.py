"""Walking through the requests that another agent made."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from support.claude_sessions import agent_lines, write_session
from support.talk import words
from tui.play import settle, shown, told, typed
from tui.recorded.long_run import LAST, MODEL, REQUESTS, STEPS, as_file, inspector, run
from workbench.context.plan import ContextPlan
from workbench.log.events import AssistantMessage, Body, ToolCall, ToolResult
from workbench.session.time_travel import TimeTravel
from workbench.sources.services import Services
from workbench.tui.inspector.request import RequestScreen
from workbench.tui.main.screen import MainScreen
from workbench.tui.main.timeline import Timeline
from workbench.tui.main.usage import ContextOverview

pytestmark = pytest.mark.usefixtures("project")


EARLIER, LATER = "left_square_bracket", "right_square_bracket"


async def jump(pilot: Pilot[Any], number: str) -> None:
    await pilot.press("t")
    await settle(pilot)
    await typed(pilot, number)


def place(screen: MainScreen) -> int | None:
    assert screen.model.state.shown is not None
    return screen.model.state.shown.at


def which(screen: MainScreen) -> str:
    """The usage line, and where on the timeline it is."""
    usage = str(screen.query_one(ContextOverview).render()).splitlines()[0]
    return f"{usage} | {screen.query_one(Timeline).render()}"


async def check_where_it_opens(pilot: Pilot[Any], screen: MainScreen) -> None:
    """At the last request that was reported; the next one follows."""
    assert place(screen) == REQUESTS - 1
    assert screen.model.state.shown is not None
    plan = screen.model.state.shown.plan
    assert (plan.size, plan.reported, plan.policy) == (LAST, LAST, "recorded")
    assert which(screen).startswith(f"request {REQUESTS}, recorded · {LAST:,} of 200,000 tokens · 26 % OK")
    assert f"{REQUESTS} of {REQUESTS} " in which(screen)
    assert shown(pilot.app).count(f"{LAST:,} of") == 1
    await pilot.press(LATER)
    await settle(pilot)
    assert place(screen) is None
    assert which(screen).startswith("the next request, if it went on · ")
    assert f"next of {REQUESTS} " in which(screen)
    following = screen.model.state.shown.plan
    assert following.reported is None
    assert following.size > LAST
    await pilot.press(EARLIER)
    await settle(pilot)
    assert place(screen) == REQUESTS - 1


async def check_that_the_chat_stands_where_the_request_does(pilot: Pilot[Any], screen: MainScreen) -> None:
    view = screen.chat.view
    assert view.cursor == screen.model.state.transcript.index_of(screen.model.state.shown.requests[-1].upto)  # type: ignore[union-attr]  # it is open
    screen.go_to_request("20")
    await settle(pilot)
    assert screen.model.state.shown is not None
    upto = screen.model.state.shown.requests[19].upto
    assert view.cursor == screen.model.state.transcript.index_of(upto)
    assert "file_17.py" in shown(pilot.app)
    assert not view.following
    assert screen.focused is screen.inspector.rows
    await pilot.press("right_curly_bracket")
    await settle(pilot)
    assert view.following


async def check_a_key_that_is_held_down(pilot: Pilot[Any], screen: MainScreen) -> None:
    """It loses no request."""
    for count in (1, 7, 50):
        for key, sign, arrived in ((EARLIER, "[", REQUESTS - 1 - count), (LATER, "]", REQUESTS - 1)):
            for _ in range(count):  # as a terminal sends them: none waits for what the one before has done
                pilot.app._driver.send_message(events.Key(key, sign).set_sender(pilot.app))  # type: ignore[union-attr]
            await settle(pilot)
            assert place(screen) == arrived


async def check_a_step_and_at_once_the_request(pilot: Pilot[Any], screen: MainScreen) -> None:
    """It shows the request that was stepped to."""
    may_plan, plan = threading.Event(), TimeTravel._planned

    def planned(*args: Any) -> ContextPlan:
        may_plan.wait()
        return plan(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TimeTravel, "_planned", planned)
        await pilot.press(EARLIER, EARLIER, "w")
        assert isinstance(pilot.app.screen, RequestScreen)
        may_plan.set()
        await settle(pilot)
        assert place(screen) == REQUESTS - 3
        assert isinstance(pilot.app.screen, RequestScreen)
        assert f"request {REQUESTS - 2}, as far as it is in the file" in shown(pilot.app)
        text = "\n".join(line.text for line in pilot.app.screen.reader.view.page.lines)
        assert f"src/file_{STEPS - 2}.py" in text
        assert f"src/file_{STEPS - 1}.py" not in text
        await pilot.press("escape")
        await settle(pilot)
        assert place(screen) == REQUESTS - 3


async def check_that_a_number_goes_to_a_request(pilot: Pilot[Any], screen: MainScreen) -> None:
    await jump(pilot, "12")
    assert which(screen).startswith("request 12, recorded · ")
    assert f"12 of {REQUESTS} " in which(screen)
    assert screen.focused is screen.inspector.rows
    await jump(pilot, "99")
    assert place(screen) == 11
    assert f"99: expected the number of a request, from 1 to {REQUESTS}" in told(pilot.app)
    screen.focus_pane("chat")
    await typed(pilot, "/request 3")
    assert place(screen) == 2
    await typed(pilot, "/request three")
    assert f"three: expected the number of a request, from 1 to {REQUESTS}" in told(pilot.app)


async def check_other_requests(pilot: Pilot[Any], screen: MainScreen) -> None:
    """Side requests and sub-agents are marked, and can be passed over."""
    screen.go_to_request("2")
    await settle(pilot)
    assert "side request" not in which(screen)
    await pilot.press(LATER)
    await settle(pilot)
    assert "request 3, recorded (side request)" in which(screen)
    await pilot.press(*[LATER] * 3)
    await settle(pilot)
    assert "request 6, recorded (sub-agent explorer)" in which(screen)
    await pilot.press("comma", *[EARLIER] * 3)
    await settle(pilot)
    assert place(screen) == 1
    assert "passing over 2 side requests" in told(pilot.app)
    await pilot.press("comma", LATER)
    await settle(pilot)
    assert place(screen) == 2


async def check_arrows_and_mouse(pilot: Pilot[Any], screen: MainScreen) -> None:
    """The timeline is walked with both."""
    timeline = screen.query_one(Timeline)
    await pilot.press("f6")
    await settle(pilot)
    assert screen.focused is timeline
    await pilot.press("left", "left", "h")
    await settle(pilot)
    assert place(screen) == REQUESTS - 4
    await pilot.press("home")
    await settle(pilot)
    assert place(screen) == 0
    await pilot.press("end")
    await settle(pilot)
    assert place(screen) is None
    label = f"next of {REQUESTS} "
    assert str(timeline.render()).startswith(label)
    await pilot.click(timeline, offset=(1 + len(label) + 4, 0))
    await settle(pilot)
    assert place(screen) == 4
    assert screen.model.state.shown is not None
    assert screen.chat.view.cursor == screen.model.state.transcript.index_of(
        screen.model.state.shown.requests[4].upto
    ), "the chat follows"
    await pilot.press("escape")
    await settle(pilot)
    assert screen.chat.composer.has_focus


async def check_the_chat_that_was_not_seen(pilot: Pilot[Any], screen: MainScreen) -> None:
    """It stands where the request does, too."""
    screen.go_to_request("20")
    await settle(pilot)
    await pilot.resize_terminal(120, 40)
    await settle(pilot)
    assert "file_17.py" in shown(pilot.app)
    assert not screen.chat.view.following


async def at_request(pilot: Pilot[Any], screen: MainScreen, number: int) -> None:
    """This request, with the focus on the rows."""
    screen.focus_pane("context")
    screen.go_to_request(str(number))
    await settle(pilot)


@pytest.mark.long
async def test_the_requests_of_a_file_are_walked_through_in_every_way(services: Services, tmp_path: Path) -> None:
    async with inspector(services, as_file(tmp_path, run())) as (pilot, screen):
        await check_where_it_opens(pilot, screen)
        await check_that_the_chat_stands_where_the_request_does(pilot, screen)
        for check in (
            check_a_key_that_is_held_down,
            check_a_step_and_at_once_the_request,
            check_that_a_number_goes_to_a_request,
            check_other_requests,
            check_arrows_and_mouse,
        ):
            await at_request(pilot, screen, REQUESTS)
            await check(pilot, screen)
        await at_request(pilot, screen, REQUESTS)
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        await check_the_chat_that_was_not_seen(pilot, screen)


@pytest.mark.long
async def test_a_request_that_nobody_reported_has_its_size_and_the_columns_keep_their_scale(
    services: Services, tmp_path: Path
) -> None:
    open_end: list[Body] = [ToolCall("late", "read", "{}", "late"), ToolResult("late", words(9_000, "late"), "read")]
    open_end += [AssistantMessage("Then I was stopped.", "later", model=MODEL)]
    bodies = run(6, others=False)
    async with inspector(services, as_file(tmp_path, [*bodies[:-4], *open_end, *bodies[-3:]])) as (pilot, screen):
        assert screen.model.state.shown is not None
        newest = screen.model.state.shown.requests[-1]
        assert place(screen) == len(screen.model.state.shown.requests) - 1 == 8, "it opens on the newest"
        assert newest.reported is None
        assert newest.tokens == screen.model.state.shown.plan.size > screen.model.state.shown.requests[0].tokens
        lines = []
        for _ in range(10):
            lines.append(str(screen.query_one(Timeline).render())[9:])
            await pilot.press(EARLIER)
            await settle(pilot)
        assert set(lines) == {lines[0]}
        assert lines[0].strip().endswith("█▷")
        screen.show_ledger()
        await settle(pilot)
        assert "7 requests and 2 without a report in 1 turn" in shown(pilot.app)


@pytest.mark.long
async def test_a_sub_agent_in_a_file_beside_the_session_is_a_stop_and_the_chat_names_it(
    services: Services, tmp_path: Path
) -> None:
    path = write_session(tmp_path, {"a1": agent_lines("a1", 4)}, {"a1": "Explore"})
    async with inspector(services, str(path)) as (pilot, screen):
        screen.go_to_request("1")
        await settle(pilot)
        await pilot.press(LATER)
        await settle(pilot)
        assert "request 2, recorded (sub-agent Explore a1)" in which(screen)
        transcript = screen.chat.view.transcript
        assert "1 sub-agent: FILE#2 (Explore)" in [transcript[at].text for at in range(len(transcript))]
