"""A turn with a provider that is careless or means no good: over real HTTP, in both dialects, through litellm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.agents import agent, bodies, said
from support.hostile import DIALECTS, Anthropic, Call, Dialect, Hostile, OpenAI, endpoint, head, hostile, redirect
from workbench.agent.loop import Agent
from workbench.agent.steps import RequestPlanned, TurnStep
from workbench.log.events import AssistantMessage, Failure, Setting, ToolCall, ToolResult, Usage
from workbench.log.session import Session
from workbench.models.failures import ELSEWHERE
from workbench.models.gateway import Gateway

pytestmark = [pytest.mark.xdist_group("litellm"), pytest.mark.parametrize("dialect", DIALECTS)]


def talking(dialect: Dialect, server: Hostile, session: Session, project: Path, **options: Any) -> Agent:
    return agent(session, project, Gateway(endpoint(dialect, server)), model=dialect.model, **options)


def sent_pairs(dialect: Dialect, body: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The ids of the calls and of the results in a request, in order."""
    if dialect is OpenAI:
        calls = [call["id"] for message in body["messages"] for call in message.get("tool_calls") or ()]
        return calls, [message["tool_call_id"] for message in body["messages"] if message["role"] == "tool"]
    blocks = [block for message in body["messages"] for block in message["content"] if isinstance(block, dict)]
    calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    return calls, [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]


@pytest.mark.parametrize("ids", [("x", "x"), ("", ""), (None, None), (" ", "\t"), (5, 5), ("x", "x", "y", "x")])
async def test_calls_with_one_id_get_their_own_and_each_its_result(
    dialect: Dialect, session: Session, project: Path, ids: tuple[object, ...]
) -> None:
    paths = ["a.py" if at % 2 else "b.py" for at in range(len(ids))]
    calls = [Call(each, arguments=f'{{"path": "{path}"}}') for each, path in zip(ids, paths, strict=True)]
    with hostile(head() + dialect.says(calls=calls), head() + dialect.says("done")) as server:
        steps = await said(talking(dialect, server, session, project), "go")
        pairs = sent_pairs(dialect, server.requests[1].body)
    made, results = bodies(steps, ToolCall), bodies(steps, ToolResult)
    assert len({call.call_id for call in made}) == len(ids)
    assert sorted(pairs[0]) == sorted(pairs[1]) == sorted(call.call_id for call in made)
    found = {result.call_id: result.content for result in results}
    assert ["'a'" if "'a'" in found[call.call_id] else "'b'" for call in made] == [f"'{path[0]}'" for path in paths]
    assert bodies(steps, AssistantMessage)[-1].content == "done"


async def test_an_id_of_an_earlier_answer_is_not_used_again(dialect: Dialect, session: Session, project: Path) -> None:
    again = head() + dialect.says(calls=[Call("call_0")])
    with hostile(again, again, head() + dialect.says("done"), again, head() + dialect.says("done")) as server:
        steps = await said(talking(dialect, server, session, project), "go")
        steps += await said(talking(dialect, server, session, project), "once more, after a restart")
        for request in server.requests:
            calls, results = sent_pairs(dialect, request.body)
            assert calls == results
            assert len(set(calls)) == len(calls)
    made = [call.call_id for call in bodies(steps, ToolCall)]
    assert made[0] == "call_0"
    assert len(set(made)) == 3
    assert [result.call_id for result in bodies(steps, ToolResult)] == made


@pytest.mark.parametrize("cost", ["NaN", "Infinity", "-Infinity", "-1", "1e400", "true", '"dear"', "9" * 500])
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")  # litellm passes it on as it is
async def test_a_cost_that_is_no_number_loses_nothing(
    dialect: Dialect, session: Session, project: Path, cost: str
) -> None:
    counts = {"prompt_tokens": 50, "completion_tokens": 2, "input_tokens": 50, "output_tokens": 2, "cost": "COST"}
    body = dialect.says("kept", usage=counts).replace(b'"COST"', cost.encode())
    with hostile(head() + body) as server:
        steps = await said(talking(dialect, server, session, project), "go")
    assert [answer.content for answer in bodies(steps, AssistantMessage)] == ["kept"]
    assert [(usage.prompt, usage.cost) for usage in bodies(steps, Usage)] == [(50, None)]


async def test_an_answer_of_nothing_is_marked(dialect: Dialect, session: Session, project: Path) -> None:
    with hostile(head() + dialect.says(), head() + dialect.says(" \n")) as server:
        made = talking(dialect, server, session, project)
        steps = [*await said(made, "hello"), *await said(made, "hello?")]
    assert [answer.finish for answer in bodies(steps, AssistantMessage)] == ["empty", "empty"]


async def test_a_redirect_of_the_summariser_or_of_a_turn_goes_nowhere(
    dialect: Dialect, session: Session, project: Path
) -> None:
    with hostile(head() + dialect.says("stolen")) as thief, hostile(head() + dialect.says("a fact " * 300)) as server:
        made = talking(dialect, server, session, project, window=30_000)
        for _ in range(4):
            await said(made, "tell me " * 300)
        server.answers[:] = [redirect(f"{thief.url}/v1/messages")]
        before = len(server.requests)
        steps = await said(made, "and now?") + [step async for step in made.compact()]
        assert len(server.requests) >= before + 2, "the turn and the summariser both asked"
        assert thief.requests == []
    assert [failure.category for failure in bodies(steps, Failure)][:1] == ["redirected"]
    assert "redirected" in ELSEWHERE


# Words


async def test_that_something_is_kept_is_said_where_something_came(
    dialect: Dialect, session: Session, project: Path
) -> None:
    whole = dialect.says("half of", " the answer")
    half = whole[: whole.index(b" the answer")].rpartition(b"\n\n")[0] + b"\n\n"
    with hostile(head() + half, head()) as server:
        made = talking(dialect, server, session, project)
        [kept] = bodies(await said(made, "hello"), Failure)
        steps = await said(made, "hello?")
    assert kept.message.endswith("What came is kept and marked.")
    [nothing] = bodies(steps, Failure)
    assert "broke" in nothing.message
    assert "kept" not in nothing.message
    assert bodies(steps, AssistantMessage) == []


# Limits that are learnt

LONG = {OpenAI: "maximum context length is {} tokens", Anthropic: "prompt is too long: {0}9 tokens > {0} maximum"}


def windows(steps: list[TurnStep]) -> list[int]:
    return [step.plan.limits.window for step in steps if isinstance(step, RequestPlanned)]


@pytest.mark.parametrize("complaint", ["413", "no figure", "0", "1", "1023", "9" * 30])
async def test_a_complaint_without_a_believable_figure_does_not_outlive_its_turn(
    dialect: Dialect, session: Session, project: Path, complaint: str
) -> None:
    words = {"413": "Payload too large", "no figure": "Please reduce the length of the messages."}
    text = words.get(complaint, LONG[dialect].format(complaint))
    refused = dialect.refuses(413 if complaint == "413" else 400, text)
    with hostile(refused) as server:
        made = talking(dialect, server, session, project)
        first = await said(made, "hello")
        server.answers[:] = [head() + dialect.says("fine")]
        second = await said(made, "are you there?")
        third = await said(talking(dialect, server, session, project), "and after a restart?")
    assert bodies(first, Failure)[0].category == bodies(first, Failure)[-1].category == "context_too_long"
    assert [answer.content for answer in bodies([*second, *third], AssistantMessage)] == ["fine", "fine"]
    known = windows(first)[0]
    assert {*windows(second), *windows(third)} == {known}
    assert bodies([*first, *second, *third], Setting) == []


async def test_a_figure_below_what_every_request_has_is_not_believed(
    dialect: Dialect, session: Session, project: Path
) -> None:
    (project / "AGENTS.md").write_text("Be careful. " * 500)
    refused = dialect.refuses(400, LONG[dialect].format(1_100))
    with hostile(refused) as server:
        made = talking(dialect, server, session, project)
        assert bodies(await said(made, "hello"), Setting) == []
        server.answers[:] = [head() + dialect.says("fine")]
        assert bodies(await said(made, "hello?"), AssistantMessage)[-1].content == "fine"


async def test_a_figure_below_what_was_answered_before_is_not_believed(
    dialect: Dialect, session: Session, project: Path
) -> None:
    counts = {"prompt_tokens": 9_000, "completion_tokens": 2, "input_tokens": 9_000, "output_tokens": 2}
    refused = dialect.refuses(400, LONG[dialect].format(8_192))
    with hostile(head() + dialect.says("fine", usage=counts), refused, refused) as server:
        made = talking(dialect, server, session, project)
        await said(made, "hello")
        assert bodies(await said(made, "hello?"), Setting) == []


async def test_a_learnt_limit_holds_until_a_larger_request_is_answered(
    dialect: Dialect, session: Session, project: Path
) -> None:
    counts = {"prompt_tokens": 8_300, "completion_tokens": 2, "input_tokens": 8_300, "output_tokens": 2}
    fine = head() + dialect.says("fine")
    with hostile(dialect.refuses(400, LONG[dialect].format(8_192)), fine) as server:
        made = talking(dialect, server, session, project)
        known, learnt = windows(await said(made, "hello"))
        assert learnt == 8_192 < known
        assert windows(await said(made, "hello?")) == [8_192]
        server.answers[:] = [head() + dialect.says("fine", usage=counts), fine]
        larger = await said(made, "more")
        assert [setting.value["tokens"] for setting in bodies(larger, Setting)] == [0]
        assert windows(await said(made, "and more")) == [known]
        assert windows(await said(talking(dialect, server, session, project), "after a restart")) == [known]
