"""What another agent recorded, and what is done with it here: its account, other policies, the next message."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.play import settle, shown, typed, until
from tui.recorded.long_run import LAST, REQUESTS, STEPS, as_file, as_session, inspector, run
from tui.screens.looking import look, narrowed, next_request, values
from workbench.log.events import Setting, Usage
from workbench.sources.services import Services
from workbench.tui.inspector.account import AccountScreen
from workbench.tui.main.usage import ContextOverview
from workbench.tui.messages import Send

pytestmark = pytest.mark.usefixtures("project")


@pytest.mark.long
async def test_the_ledger_has_the_reports_and_what_they_taught(services: Services) -> None:
    async with inspector(services, as_session(services, run())) as (pilot, screen):
        assert screen.model.state.shown is not None
        assert screen.model.state.shown.at == REQUESTS - 1, "it opens where a file does"
        await pilot.press("a")
        await until(lambda: isinstance(pilot.app.screen, AccountScreen))
        await settle(pilot)
        said = shown(pilot.app)
        assert f"{STEPS + 3} requests in 1 turn" in said
        assert f"{LAST:,}" in said
        assert f"learnt from {STEPS + 1} requests" in said
        assert "no request has reported" not in said


async def test_the_lab_and_the_policies_have_what_was_recorded_as_a_row(services: Services, tmp_path: Path) -> None:
    async with inspector(services, as_file(tmp_path, run(8)), policy="layers") as (pilot, screen):
        finder = await next_request(pilot, screen)
        row = next(str(option.prompt) for option in finder.found.options if option.id == "recorded")
        recorded = await screen.from_session(lambda opened: opened.recorded)
        assert recorded is not None
        assert f"{recorded.next_size:,}" in row
        await pilot.press("escape", "escape")
        await until(lambda: pilot.app.screen is screen)
        await look(pilot, screen, "policy")
        assert values(await narrowed(pilot, "recorded")) == ["recorded"]
        await pilot.press("enter")
        await until(lambda: pilot.app.screen is screen)
        await until(lambda: screen.model.state.status.policy == "recorded")
        await settle(pilot)
        assert str(screen.query_one(ContextOverview).render()).startswith("request ")


@pytest.mark.long
async def test_a_policy_that_is_tried_leaves_no_trace(services: Services) -> None:
    session = as_session(services, run(5))
    async with inspector(services, session) as (pilot, screen):
        screen.send_or_run(Send("/policy layers"))
        await settle(pilot)
        assert screen.model.state.status.what_if
    with services.store.session(session, write=False) as kept:
        assert len(kept.events()) == len(run(5))
    async with inspector(services, session) as (_, screen):
        assert (screen.model.state.status.policy, screen.model.state.shown and screen.model.state.shown.view) == (
            "recorded",
            "recorded",
        )


async def test_a_message_goes_on_under_the_users_own_policy(services: Services) -> None:
    session = as_session(services, run(5))
    async with inspector(services, session, model="rehearsal/rules") as (pilot, screen):
        assert "recorded" in str(screen.query_one(ContextOverview).render())
        screen.focus_pane("chat")
        await typed(pilot, "hello")
        await until(
            lambda: (
                screen.model.state.transcript[len(screen.model.state.transcript) - 1].kind == "ai"
                and screen.model.state.activity.kind == "idle"
            )
        )
        await settle(pilot)
        assert screen.model.state.shown is not None
        assert (screen.model.state.shown.at, screen.model.state.shown.view, screen.model.state.status.policy) == (
            None,
            "",
            "workbench",
        )
        assert screen.model.state.shown.plan.policy == "workbench"
        assert "recorded" not in str(screen.query_one(ContextOverview).render())
        assert screen.model.state.status.prompt is not None
        assert screen.model.state.status.prompt < 20_000, "the other agent's prompt and tools are gone"
    with services.store.session(session, write=False) as kept:
        bodies = [event.body for event in kept.events()]
    assert Setting("policy", "workbench") in bodies
    assert Setting("model", "rehearsal/rules") in bodies
    assert isinstance(bodies[-1], Usage) or any(isinstance(body, Usage) and body.upto for body in bodies)


async def test_a_message_under_a_file_makes_a_session_of_it_and_goes_on(services: Services, tmp_path: Path) -> None:
    async with inspector(services, as_file(tmp_path, run(5)), model="rehearsal/rules") as (pilot, screen):
        screen.focus_pane("chat")
        await typed(pilot, "hello")
        await until(lambda: screen.model.state.question is not None)
        screen.model.answer(screen.model.state.question.number, "yes")  # type: ignore[union-attr]  # there is one
        await until(
            lambda: (
                len(screen.model.state.transcript) > 0
                and screen.model.state.transcript[len(screen.model.state.transcript) - 1].kind == "ai"
            )
        )
        await settle(pilot)
        assert screen.model.state.shown is not None
        assert (screen.model.state.shown.at, screen.model.state.shown.view, screen.model.state.status.policy) == (
            None,
            "",
            "workbench",
        )
