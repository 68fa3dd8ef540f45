"""A turn, through the real gateway and litellm, with the rehearsal model in the process or behind HTTP."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from agent.test_hooks import Entry
from support.agents import agent, bodies, said
from support.requirements import requirement
from support.validity import problems
from workbench.agent.calls import CANCELLED
from workbench.agent.hooks import Hooks
from workbench.agent.steps import EventAppended, PartStreamed, RequestPlanned
from workbench.context.render import render_messages
from workbench.context.stages.normalise import NO_RESULT
from workbench.log.events import (
    AssistantMessage,
    Body,
    Failure,
    Setting,
    Snapshot,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.log.session import Session
from workbench.models.endpoints import Endpoint
from workbench.models.gateway import Gateway
from workbench.models.reply_parts import TextPiece
from workbench.rehearsal.in_process import rehearse
from workbench.rehearsal.script import Script
from workbench.rehearsal.server import RehearsalServer

pytestmark = pytest.mark.xdist_group("litellm")


@requirement("confirm", "counting", "every request of a turn has its usage in the log")
async def test_a_turn_reads_in_parallel_and_answers(session: Session, project: Path, gateway: Gateway) -> None:
    steps = await said(agent(session, project, gateway), "read a.py and read b.py")
    calls, results = bodies(steps, ToolCall), bodies(steps, ToolResult)
    assert {call.call_id for call in calls} == {result.call_id for result in results}
    assert len(calls) == 2
    assert {"print('a')", "print('b')"} == {result.content.strip() for result in results}
    answers = bodies(steps, AssistantMessage)
    assert answers[-1].finish == "stop"
    streamed = "".join(
        step.part.text for step in steps if isinstance(step, PartStreamed) and isinstance(step.part, TextPiece)
    )
    assert streamed == "".join(answer.content for answer in answers)
    usage = bodies(steps, Usage)
    assert len(usage) == len([step for step in steps if isinstance(step, RequestPlanned)]) == 2
    assert all(use.prompt == use.estimate for use in usage), "the rehearsal model counts as we do"
    assert steps[-1] == EventAppended(session.events()[-1])


async def test_what_arrives_at_the_server_is_the_plans_request(session: Session, project: Path) -> None:
    async with RehearsalServer(
        Script([{"calls": [{"tool": "list_files", "arguments": {}}]}, {"reply": "done"}])
    ) as server:
        gateway = Gateway(Endpoint(f"{server.url}/v1", "key", "openai"))
        steps = await said(agent(session, project, gateway, model="rehearsal-over-http"), "look 測試 🙂")
        await gateway.close()
    plans = [step.plan for step in steps if isinstance(step, RequestPlanned)]
    assert len(server.requests) == len(plans) == 2
    for recorded, plan in zip(server.requests, plans, strict=True):
        sent = [
            {key: value for key, value in message.items() if value is not None} for message in render_messages(plan)
        ]
        assert recorded.body["messages"] == sent
        assert problems(render_messages(plan)) == []


async def test_what_nobody_allowed_is_refused_in_words_for_the_model(
    session: Session, project: Path, gateway: Gateway
) -> None:
    steps = await said(agent(session, project, gateway), "write c.txt: hello")
    [result] = bodies(steps, ToolResult)
    assert result.is_error
    assert not (project / "c.txt").exists()
    steps = await said(agent(session, project, gateway, allow=["write_file"]), "write c.txt: hello")
    assert (project / "c.txt").read_text().strip() == "hello"


async def test_a_snapshot_is_taken_before_the_first_write(session: Session, project: Path, gateway: Gateway) -> None:
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"],
    ):
        process = await asyncio.create_subprocess_exec("git", *command, cwd=project)
        assert await process.wait() == 0
    refused = await said(agent(session, project, gateway), "write c.txt: hello")
    assert bodies(refused, Snapshot) == [], "nothing is done in a repository before it is allowed"
    steps = await said(agent(session, project, gateway, allow=["write_file"]), "write c.txt: hello")
    kinds = [type(step.event.body) for step in steps if isinstance(step, EventAppended)]
    assert kinds.index(Snapshot) < kinds.index(ToolResult)


@pytest.mark.parametrize(("fault", "category"), [("cut", "broken_stream"), ("no_finish", "broken_stream")])
async def test_a_broken_answer_is_kept_and_marked(
    session: Session, project: Path, gateway: Gateway, fault: str, category: str
) -> None:
    rehearse(Script([{"reply": "I was about to say something long", "chunk": 4, "fault": fault}]))
    steps = await said(agent(session, project, gateway), "hello")
    [answer] = bodies(steps, AssistantMessage)
    assert answer.finish == "broken"
    assert answer.content
    [failure] = bodies(steps, Failure)
    assert failure.category == category
    again = await said(agent(session, project, gateway), "go on")
    assert bodies(again, AssistantMessage)[-1].finish == "stop", "the session goes on"
    assert failure.message not in str(render_messages(agent(session, project, gateway).plan)), (
        "errors are no conversation"
    )


@requirement("window", "failures", "a provider that finds a request too long does not end the conversation")
@requirement(
    "layers",
    "turn",
    "the turn's budget is calculated once, before it begins",
    decided="again before every request: the window may be learnt meanwhile",
)
async def test_a_limit_the_provider_names_is_learnt_and_the_request_tried_once_more(
    session: Session, project: Path, gateway: Gateway
) -> None:
    rehearse(Script([{"reply": "word " * 4_000}] * 3, window=20_000))
    talking = agent(session, project, gateway)
    for _ in range(3):
        await said(talking, "tell me more")
    steps = await said(talking, "one more" + " word" * 8_000)
    assert bodies(steps, Setting) == [Setting("window", {"model": "rehearsal", "tokens": 20_000, "source": "provider"})]
    assert bodies(steps, AssistantMessage)[-1].finish == "stop"
    plans = [step.plan for step in steps if isinstance(step, RequestPlanned)]
    assert [plan.limits.window_source for plan in plans] == ["built-in", "provider"]
    assert plans[1].totals.tokens <= 20_000 < plans[0].totals.tokens


async def test_interrupting_keeps_what_came(session: Session, project: Path, gateway: Gateway) -> None:
    rehearse(Script([{"reply": "a long answer " * 50, "chunk": 10, "fault": "stall"}]))
    async with aclosing(agent(session, project, gateway).turn("hello")) as steps:
        async for step in steps:
            if isinstance(step, PartStreamed):
                break
    last = session.events()[-1].body
    assert isinstance(last, AssistantMessage)
    assert last.finish == "cancelled"
    assert last.content


async def test_calls_that_are_interrupted_have_a_result_that_says_so(
    session: Session, project: Path, gateway: Gateway
) -> None:
    steps: list[Body] = []
    turn = agent(session, project, gateway, allow=["run_command"]).turn("run `sleep 600`")

    async def read() -> None:
        async for step in turn:
            if isinstance(step, EventAppended):
                steps.append(step.event.body)

    task = asyncio.create_task(read())
    while not any(isinstance(body, ToolCall) for body in steps):
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await turn.aclose()
    last = session.events()[-1].body
    assert isinstance(last, ToolResult)
    assert (last.content, last.is_error) == (CANCELLED, True)


@pytest.mark.parametrize("point", ["after_model", "before_tool", "after_tool"])
async def test_a_call_has_its_result_wherever_a_hook_is_interrupted(
    session: Session, project: Path, gateway: Gateway, point: str
) -> None:
    began = asyncio.Event()

    async def hang(payload: object) -> None:
        began.set()
        await asyncio.Event().wait()

    hooks = Hooks({}, [Entry(point, hang)])
    task = asyncio.create_task(said(agent(session, project, gateway, means={"hooks": hooks}), "read a.py"))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    last = session.events()[-1].body
    assert isinstance(last, ToolResult)
    assert (last.content, last.is_error) == (CANCELLED, True)
    again = [step async for step in agent(session, project, gateway).turn(None)]
    assert bodies(again, Failure) == []
    assert bodies(again, AssistantMessage)[-1].finish == "stop", "asking again works"


@pytest.mark.parametrize("message", [None, "go on"])
async def test_a_call_that_a_killed_program_left_gets_a_result_in_the_next_turn(
    session: Session, project: Path, gateway: Gateway, message: str | None
) -> None:
    session.append(UserMessage("read a.py and b.py"), ToolCall("c1", "read_file", '{"path": "a.py"}', "r1"))
    session.append(ToolCall("c2", "read_file", '{"path": "b.py"}', "r1"), ToolResult("c1", "print('a')", "read_file"))
    steps = [step async for step in agent(session, project, gateway).turn(message)]
    assert bodies(steps, ToolResult)[0] == ToolResult("c2", NO_RESULT, "read_file", True)
    assert bodies(steps, Failure) == []
    assert bodies(steps, AssistantMessage)[-1].finish == "stop"


@requirement("layers", "turn", "a turn has a limited number of iterations")
async def test_a_turn_ends_at_its_limit(session: Session, project: Path, gateway: Gateway) -> None:
    step = {"calls": [{"tool": "list_files", "arguments": {}}], "repeat": 9}
    rehearse(Script([step]))
    steps = await said(agent(session, project, gateway, sets=["turn.max_iterations=3"]), "go on for ever")
    assert len([step for step in steps if isinstance(step, RequestPlanned)]) == 3
    assert bodies(steps, Failure)[-1].category == "iterations"


@requirement("codex", "budget", "a hard limit holds: what does not fit is never sent")
async def test_a_request_that_does_not_fit_is_never_sent(session: Session, project: Path, gateway: Gateway) -> None:
    steps = await said(agent(session, project, gateway, window=300), "hello " * 500)
    assert bodies(steps, Failure)[-1].category == "does_not_fit"
    assert not bodies(steps, Usage)


@requirement("layers", "turn", "a turn with many iterations does not run into the provider's limit")
@pytest.mark.long
@pytest.mark.parametrize("policy", [pytest.param("workbench", marks=pytest.mark.wide), "layers"])
async def test_two_hundred_iterations_with_large_results_stay_within_a_small_window(
    session: Session, project: Path, gateway: Gateway, policy: str
) -> None:
    for number in range(200):
        (project / f"{number}.log").write_text(f"line {number} of the log, with some words in it\n" * 1_100)
    calls = [{"calls": [{"tool": "read_file", "arguments": {"path": f"{number}.log"}}]} for number in range(200)]
    rehearse(Script([*calls, {"reply": "done"}], summaries=False))
    long = agent(session, project, gateway, policy=policy, window=32_000, sets=["turn.max_iterations=201"])
    count = 0
    async for step in long.turn("read them all"):
        if isinstance(step, RequestPlanned):
            count += 1
            assert step.plan.verdict.fits, step.plan.verdict.why
            assert problems(render_messages(step.plan)) == []
        assert not (isinstance(step, EventAppended) and isinstance(step.event.body, Failure)), step
    assert count == 201


@requirement("sliding", "others", "it works with every provider's model")
async def test_in_anthropics_dialect_the_same_conversation_arrives(session: Session, project: Path) -> None:
    script = Script([{"calls": [{"tool": "list_files", "arguments": {}}]}, {"reply": "done"}])
    async with RehearsalServer(script) as server:
        gateway = Gateway(Endpoint(server.url, "key", "anthropic"))
        steps = await said(agent(session, project, gateway, model="claude-sonnet-4-5"), "look 測試 🙂")
        await gateway.close()
    plan = [step.plan for step in steps if isinstance(step, RequestPlanned)][-1]
    body = server.requests[-1].body
    assert server.requests[-1].path == "/v1/messages"
    system, *spoken = render_messages(plan)
    arrived = body["system"] if isinstance(body["system"], str) else "".join(part["text"] for part in body["system"])
    assert arrived == system["content"]
    blocks = [
        (message["role"], block["type"])
        for message in body["messages"]
        for block in ([{"type": "text"}] if isinstance(message["content"], str) else message["content"])
    ]
    assert blocks == [("user", "text"), ("assistant", "tool_use"), ("user", "tool_result")]
    assert {tool["name"] for tool in body["tools"]} == {row.tool for row in plan.items if row.kind == "tool_definition"}
    assert spoken[0]["content"] in str(body["messages"][0]["content"])
    assert bodies(steps, AssistantMessage)[-1].content == "done"
    assert all(use.prompt for use in bodies(steps, Usage))
