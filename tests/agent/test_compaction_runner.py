"""Compaction around a turn: after it, before a request, by hand, asked for and declined, interrupted."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from support.agents import agent, bodies, said
from support.requirements import requirement
from support.talk import words
from support.validity import problems
from support.waiting import GIVE_UP
from workbench.agent.hooks import Hooks
from workbench.agent.loop import Agent
from workbench.agent.steps import CompactionRunning, RequestPlanned, TurnStep
from workbench.compaction.record import read_record
from workbench.compaction.undo import undo_change
from workbench.compaction.values import CompactionDecision
from workbench.config.errors import Refused
from workbench.context.render import render_messages
from workbench.log.events import AssistantMessage, Body, Compaction, Failure, ToolCall, ToolResult, UserMessage
from workbench.log.session import Session
from workbench.models.endpoints import Endpoint
from workbench.models.gateway import Gateway
from workbench.rehearsal.in_process import rehearse
from workbench.rehearsal.script import Script
from workbench.rehearsal.server import RehearsalServer

pytestmark = pytest.mark.xdist_group("litellm")


class User:
    """Somebody who can be asked."""

    def __init__(self, *answers: bool) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, decision: CompactionDecision) -> bool:
        self.asked.append(decision.question)
        return self.answers.pop(0)


def talk(turns: int, tokens: int = 400) -> list[Body]:
    """Turns whose answers are long and whose questions are not."""
    return [
        body
        for turn in range(1, turns + 1)
        for body in (
            UserMessage(f"Question {turn}: what is in src/part{turn}.py?"),
            AssistantMessage(f"In src/part{turn}.py there is " + words(tokens), f"r{turn}"),
        )
    ]


async def settled(agent: Agent) -> list[TurnStep]:
    return [step async for step in agent.settle()]


FULL: dict[str, Any] = {"window": 8_000, "reserve": 500, "sets": ["compaction.keep_turns=1"]}
"""A window that seventeen turns of `talk` fill to more than 80 %."""


async def test_after_a_turn_it_compacts_by_itself_where_nobody_can_be_asked(
    session: Session, project: Path, gateway: Gateway
) -> None:
    session.append(*talk(17))
    made = agent(session, project, gateway, **FULL)
    before = made.plan.totals.tokens
    steps = await settled(made)
    (compaction,) = bodies(steps, Compaction)
    assert next(step.progress.stage for step in steps if isinstance(step, CompactionRunning)) == "selecting"
    assert compaction.meta["trigger"] == "threshold"
    assert compaction.meta["tokens_before"] == before
    assert compaction.meta["tokens_after"] == made.plan.totals.tokens < before * 0.9
    assert problems(render_messages(made.plan)) == []
    assert await settled(made) == [], "there is a cool-down"


async def test_undoing_it_gives_the_plan_from_before(session: Session, project: Path, gateway: Gateway) -> None:
    session.append(*talk(17))
    made = agent(session, project, gateway, **FULL)
    before = render_messages(made.plan), made.plan.totals
    assert bodies(await settled(made), Compaction)
    made.append(undo_change(session.events())[0].revert)
    assert (render_messages(made.plan), made.plan.totals) == before


async def test_in_the_cool_down_after_a_compaction_nobody_is_asked(
    session: Session, project: Path, gateway: Gateway
) -> None:
    session.append(*talk(17))
    user = User(True)
    made = agent(session, project, gateway, **FULL, means={"ask_first": user})
    assert bodies(await settled(made), Compaction)
    made.append(AssistantMessage(words(6_500), "long"))
    assert made.plan.totals.tokens > 0.8 * FULL["window"]
    assert await settled(made) == []
    assert len(user.asked) == 1


async def test_a_user_who_declines_is_asked_again_after_the_next_answer(
    session: Session, project: Path, gateway: Gateway
) -> None:
    session.append(*talk(17))
    user = User(False, False, True)
    made = agent(session, project, gateway, **FULL, means={"ask_first": user})
    total, window = made.plan.totals.tokens, FULL["window"]
    assert await settled(made) == []
    assert user.asked == [f"Context usage at {total / window:.0%} ({total:,}/{window:,} tokens). Compact conversation?"]
    steps = await said(made, "list the files here")
    assert len(bodies(steps, AssistantMessage)) >= 1
    assert len([step for step in steps if isinstance(step, RequestPlanned)]) == 2
    assert len(user.asked) == 1, "two requests of one turn, and no question between them"
    assert bodies(await settled(made), Compaction) == []
    assert bodies(await settled(made), Compaction) != []
    assert len(user.asked) == 3


async def test_after_a_no_the_longest_results_are_cut_and_the_turn_goes_on(
    session: Session, project: Path, gateway: Gateway
) -> None:
    session.append(*talk(3), UserMessage("read it"), ToolCall("c", "read_file", "{}", "r"))
    session.append(ToolResult("c", "\n".join(["a line of a long file"] * 3_000)), AssistantMessage("read", "s"))
    user = User(False, False)
    made = agent(session, project, gateway, policy="confirm", window=8_000, means={"ask_first": user})
    steps = await said(made, "list the files here")
    assert bodies(steps, Failure) == bodies(steps, Compaction) == []
    plans = [step.plan for step in steps if isinstance(step, RequestPlanned)]
    assert all(plan.verdict.fits and plan.cut_to_fit for plan in plans)
    assert len(plans) == 2
    assert len(user.asked) == 1, "once in a turn, because the request can be sent"


@requirement("confirm", "trigger", "after a no the conversation goes on as before")
async def test_no_means_go_on_with_a_shorter_answer(session: Session, project: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (project / name).write_text(words(930))
    user = User(*[False] * 4)
    async with RehearsalServer() as server:
        gateway = Gateway(Endpoint(f"{server.url}/v1", "key", "openai"))
        narrow: dict[str, Any] = {"model": "unheard-of", "policy": "confirm", "window": 3_000}
        made = agent(session, project, gateway, **narrow, means={"ask_first": user})
        plans = []
        for message in ("read a.txt", "read b.txt", "say hello", "say it again"):
            steps = await said(made, message)
            assert bodies(steps, Failure) == []
            plans += [step.plan for step in steps if isinstance(step, RequestPlanned)]
            assert await settled(made) == []
        await gateway.close()
    bounds = [received.body.get("max_tokens") for received in server.requests]
    assert bounds == [plan.max_output for plan in plans]
    assert bounds[0] is None
    assert all(bound is not None and 150 <= bound < 750 for bound in bounds[-3:])
    assert plans[-1].limits.reserve == 750
    assert all(asked.startswith("Context usage at 9") for asked in user.asked), "not before it is time"


@requirement("confirm", "failures", "a full window is reported with the way out, and the question comes back")
async def test_what_cannot_be_sent_names_the_way_out_and_the_question_comes_back(
    session: Session, project: Path, gateway: Gateway
) -> None:
    session.append(*talk(6))
    user = User(False, False, True)
    made = agent(session, project, gateway, policy="confirm", window=3_000, means={"ask_first": user})
    for asked in (1, 2):
        steps = await said(made, "say hello")
        (failure,) = bodies(steps, Failure)
        assert failure.category == "does_not_fit"
        assert failure.message.endswith("; /compact may make room")
        assert len(user.asked) == asked
    steps = await said(made, "say hello")
    assert bodies(steps, Compaction)
    assert bodies(steps, AssistantMessage)


@requirement("codex", "budget", "the budget is enforced: a request over the limit is compacted first")
async def test_a_request_that_does_not_fit_is_made_to_fit(session: Session, project: Path, gateway: Gateway) -> None:
    session.append(*talk(20))
    made = agent(session, project, gateway, policy="codex", window=8_000)
    assert made.plan.verdict.status == "too_large"
    steps = await said(made, "read a.py")
    (compaction, *_) = bodies(steps, Compaction)
    assert compaction.meta["trigger"] == "overflow"
    assert bodies(steps, Failure) == []
    assert all(step.plan.verdict.fits for step in steps if isinstance(step, RequestPlanned))
    assert bodies(steps, AssistantMessage)[-1].finish == "stop"


@requirement("codex", "trigger", "the need to compact is looked for whenever something was added, also within a turn")
async def test_a_long_turn_is_compacted_while_it_goes_on(session: Session, project: Path, gateway: Gateway) -> None:
    (project / "long.txt").write_text("some words of a long file\n" * 200)
    call = {"calls": [{"tool": "read_file", "arguments": {"path": "long.txt"}}], "repeat": 12}
    rehearse(Script([call, {"reply": "done"}], summaries=False))
    made = agent(session, project, gateway, policy="codex", window=9_000)
    steps = await said(made, "read it again and again")
    assert bodies(steps, Compaction)
    assert bodies(steps, Failure) == []
    assert bodies(steps, AssistantMessage)[-1].content == "done"
    for step in steps:
        if isinstance(step, RequestPlanned):
            assert step.plan.verdict.fits
            assert problems(render_messages(step.plan)) == []
            assert render_messages(step.plan)[-1]["role"] in ("user", "tool")


async def test_the_provider_s_own_limit_leads_to_a_compaction_and_one_more_try(session: Session, project: Path) -> None:
    session.append(*talk(17))
    async with RehearsalServer(Script(window=5_000, summaries=False)) as server:
        gateway = Gateway(Endpoint(f"{server.url}/v1", "key", "openai"))
        made = agent(session, project, gateway, model="unheard-of", policy="codex", window=32_000)
        steps = await said(made, "say hello")
        await gateway.close()
    failures = bodies(steps, Failure)
    assert [failure.category for failure in failures] == ["context_too_long"]
    (compaction,) = bodies(steps, Compaction)
    assert compaction.meta["trigger"] == "overflow"
    assert bodies(steps, AssistantMessage)[-1].finish == "stop"


async def test_a_hook_may_veto_and_the_session_goes_on(session: Session, project: Path, gateway: Gateway) -> None:
    session.append(*talk(17))
    hooks = Hooks({"before_compact": ["echo not now >&2; exit 2"]})
    made = agent(session, project, gateway, **FULL, means={"hooks": hooks})
    (failure,) = bodies(await settled(made), Failure)
    assert failure == Failure("compaction", "vetoed: a hook refused the compaction: not now")
    assert bodies(await said(made, "say hello"), AssistantMessage)


async def test_the_hook_behind_it_runs_when_it_is_in_the_log(session: Session, project: Path, gateway: Gateway) -> None:
    session.append(*talk(17))
    seen = project / "seen.json"
    hooks = Hooks({"after_compact": [f"cat > {seen}"]})
    made = agent(session, project, gateway, **FULL, means={"hooks": hooks})
    (compaction,) = bodies(await settled(made), Compaction)
    assert str(compaction.meta["tokens_before"] - compaction.meta["tokens_after"]) in seen.read_text()


async def test_by_hand_it_may_be_the_digest(session: Session, project: Path, gateway: Gateway) -> None:
    session.append(*talk(17))
    made = agent(session, project, gateway, **FULL)
    steps = [step async for step in made.compact(digest=True)]
    (compaction,) = bodies(steps, Compaction)
    assert (compaction.meta["made_by"], compaction.meta["trigger"]) == ("digest", "manual")


async def test_what_was_agreed_to_is_made_or_nothing_is(session: Session, project: Path, gateway: Gateway) -> None:
    session.append(*talk(17))
    made = agent(session, project, gateway, **FULL)
    planned = await made.compactions.plan(session.events(), digest=True)
    made.append(UserMessage("meanwhile"), AssistantMessage("yes", "later"))
    (compaction,) = bodies([step async for step in made.compact(planned, digest=True)], Compaction)
    selected = planned.preview.selected
    assert (compaction.first, compaction.last) == (selected.first, selected.last)
    assert compaction.meta["tokens_before"] == planned.preview.tokens_before
    with pytest.raises(Refused, match="has changed"):
        await anext(made.compact(planned, digest=True))
    assert not made.compactions.busy.locked()


@requirement("codex", "failures", "a compaction that came to nothing is recorded with its error")
async def test_a_compaction_that_frees_too_little_is_refused_and_logged(
    session: Session, project: Path, gateway: Gateway
) -> None:
    session.append(*talk(2, tokens=5))
    made = agent(session, project, gateway)
    steps = [step async for step in made.compact()]
    (failure,) = bodies(steps, Failure)
    assert failure.category == "compaction"
    assert bodies(steps, Compaction) == []
    assert read_record(session.events()).failures


async def test_a_cancel_leaves_nothing_behind(session: Session, project: Path) -> None:
    session.append(*talk(17))
    async with RehearsalServer(Script([{"fault": "silence"}])) as server:
        gateway = Gateway(Endpoint(f"{server.url}/v1", "key", "openai"))
        made = agent(session, project, gateway, model="unheard-of", **FULL)
        before = made.plan.totals, len(session)
        task = asyncio.create_task(settled(made))
        request = await asyncio.wait_for(server.arrival(), GIVE_UP)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await request.outcome == "gone"
        await gateway.close()
    assert (made.plan.totals, len(session)) == before
    assert not made.compactions.busy.locked()


async def test_a_turn_does_not_wait_for_one_that_is_made_in_the_background(session: Session, project: Path) -> None:
    session.append(*talk(17))
    async with RehearsalServer(Script([{"fault": "silence"}])) as server:
        gateway = Gateway(Endpoint(f"{server.url}/v1", "key", "openai"))
        made = agent(session, project, gateway, model="unheard-of", **FULL)
        background = asyncio.create_task(settled(made))
        await asyncio.wait_for(server.arrival(), GIVE_UP)
        async with aclosing(made.turn("say hello")) as turn:
            steps = [step async for step in turn]
        assert bodies(steps, AssistantMessage)
        assert bodies(steps, Compaction) == []
        background.cancel()
        await asyncio.wait([background])
        await gateway.close()
