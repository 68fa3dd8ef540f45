"""What the frameworks' own messages hold beyond texts and calls, and the hooks that the long run does not use."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from adapters.runs import adk_model
from adapters.scripted import read_log
from adapters.test_examples import needs
from workbench.rehearsal.script import Script
from workbench.rehearsal.server import RehearsalServer

pytestmark = pytest.mark.xdist_group("litellm")  # where the other tests import the frameworks


async def test_pydantic_ai_keeps_pictures_prompts_and_retries() -> None:
    needs("pydantic_ai")
    from pydantic_ai import Agent, BinaryContent, ImageUrl, ModelRetry
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from workbench.adapters.pydantic_ai import PlannedRequests

    step = {"calls": [{"tool": "look", "arguments": {"at": 1}}]}
    async with RehearsalServer(Script([step, {"reply": "Seen.", "reasoning": "Hm."}])) as server:
        planned = PlannedRequests(window=16_000)
        provider = OpenAIProvider(base_url=f"{server.url}/v1", api_key="any")
        agent = Agent(
            OpenAIChatModel("gpt-4o", provider=provider), system_prompt="Be brief.", instructions="Look well."
        )

        @agent.tool_plain
        def look(at: int) -> str:
            raise ModelRetry(f"there is nothing at {at}")

        picture = BinaryContent(b"\x89PNG", media_type="image/png")
        asked: list[Any] = ["what is this?", ImageUrl("http://127.0.0.1/a.png"), picture]
        plain = await agent.run(asked)
        server.model.played = 0
        done = await agent.run(asked, capabilities=[planned])
    bodies = [request.body for request in server.requests]
    assert [each["messages"] for each in bodies[2:]] == [each["messages"] for each in bodies[:2]]
    assert len(done.all_messages()) == len(plain.all_messages())
    assert "there is nothing at 1" in str(bodies[-1]["messages"][-1])


async def test_pydantic_ai_keeps_the_tool_of_a_retry_that_was_cut() -> None:
    needs("pydantic_ai")
    from pydantic_ai import Agent, ModelRetry
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    from workbench.adapters.pydantic_ai import PlannedRequests

    asked: list[Any] = []

    def answer(messages: list[Any], _: Any) -> ModelResponse:
        asked.append(messages[-1])
        return ModelResponse([TextPart("Seen.") if len(asked) > 1 else ToolCallPart("look", {"at": 1}, "c1")])

    agent = Agent(FunctionModel(answer), capabilities=[PlannedRequests(model="gpt-4o", window=16_000)])

    @agent.tool_plain
    def look(at: int) -> str:
        raise ModelRetry("12 " * 30_000)

    await agent.run("what is this?")
    (part,) = asked[-1].parts
    assert [part.part_kind, part.tool_name, part.tool_call_id] == ["tool-return", "look", "c1"]
    assert len(str(part.content)) < 60_000


async def test_openai_agents_streams_and_knows_its_own_tools() -> None:
    needs("agents")
    from agents import Agent, RunConfig, Runner, function_tool, set_tracing_disabled
    from agents.models.openai_responses import OpenAIResponsesModel
    from openai import AsyncOpenAI

    from workbench.adapters.openai_agents import PlannedInput

    set_tracing_disabled(True)
    step = {"calls": [{"tool": "read_log", "arguments": {"number": 1}}]}
    async with RehearsalServer(Script([step, {"reply": "Read."}])) as server:
        planned = PlannedInput(window=16_000)
        model = OpenAIResponsesModel("gpt-4o", openai_client=AsyncOpenAI(base_url=f"{server.url}/v1", api_key="any"))
        agent = Agent("worker", instructions="Be brief.", model=model, tools=[function_tool(read_log)])
        config = RunConfig(workflow_name="mine")
        run = Runner.run_streamed(agent, "read log 1", **planned.run(config))
        async for _ in run.stream_events():
            pass
    assert run.final_output == "Read."
    assert config.call_model_input_filter is planned
    context = planned.workbench.context
    assert context is not None
    kinds = [item.kind for item in context.plan.items]
    assert kinds.count("tool_definition") == 1
    assert context.plan.items[-1].text == "Read."


def test_langgraph_gets_planned_messages_and_keeps_its_state() -> None:
    needs("langchain")
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

    from workbench.adapters.langchain import PlannedMiddleware

    planned = PlannedMiddleware(window=16_000)
    call = {"name": "read_log", "args": {"number": 1}, "id": "c1", "type": "tool_call"}
    messages: list[Any] = [
        SystemMessage("Be brief."),
        HumanMessage("read the log", id="h1"),
        AIMessage("", tool_calls=[call], id="a1"),
        ToolMessage("12 " * 30_000, tool_call_id="c1", id="t1", artifact=b"raw"),
    ]
    sent = planned.pre_model_hook({"messages": messages})["llm_input_messages"]
    assert sent[:3] == messages[:3]
    assert [sent[3].id, sent[3].tool_call_id, sent[3].artifact] == ["t1", "c1", None]
    assert len(sent[3].content) < len(messages[3].content)
    assert messages[3].artifact == b"raw"


async def test_langchain_waits_for_a_model_without_a_loop() -> None:
    needs("langchain_openai")
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI

    from workbench.adapters.langchain import PlannedMiddleware

    step = {"calls": [{"tool": "read_log", "arguments": {"number": 1}}]}
    planned = PlannedMiddleware(window=16_000)

    def ask(url: str) -> Any:
        model: Any = ChatOpenAI(model="gpt-4o", base_url=f"{url}/v1", api_key="any")  # type: ignore[arg-type]
        agent: Any = create_agent(model, tools=[read_log], middleware=[planned])
        return agent.invoke({"messages": [{"role": "user", "content": "read log 1"}]})

    async with RehearsalServer(Script([step, {"reply": "Read."}])) as server:
        done = await asyncio.to_thread(ask, server.url)
    assert done["messages"][-1].text == "Read."
    context = planned.workbench.context
    assert context is not None
    assert [item.text for item in context.plan.items][-1] == "Read."
    assert context.plan.tokens


async def test_adk_runs_a_session_through_the_plugin() -> None:
    needs("google.adk")
    from google.adk.agents import LlmAgent
    from google.adk.apps import App
    from google.adk.runners import InMemoryRunner

    from workbench.adapters.google_adk import PlannedPlugin

    planned = PlannedPlugin(window=16_000)
    step = {"calls": [{"tool": "read_log", "arguments": {"number": 1}}]}
    async with RehearsalServer(Script([step, {"reply": "Read."}])) as server:
        agent = LlmAgent(name="worker", model=adk_model(server.url), instruction="Be brief.", tools=[read_log])
        runner = InMemoryRunner(app=App(name="mine", root_agent=agent, plugins=[planned]))
        await runner.run_debug("read log 1", quiet=True)
        await runner.close()
    context = planned.workbench.context
    assert context is not None
    talk = [item.kind for item in context.plan.items if item.kind != "tool_definition"][-4:]
    assert talk == ["message", "tool_call", "tool_result", "message"]
    assert context.plan.items[-1].text == "Read."


def test_adk_takes_a_prompt_of_any_form() -> None:
    needs("google.adk")
    from google.genai import types

    from workbench.adapters.google_adk import prompt_text

    content = types.Content(parts=[types.Part(text="Be brief."), types.Part(text="Be kind.")])
    assert prompt_text(None) == ""
    assert prompt_text("Be brief.") == "Be brief."
    assert prompt_text(content) == "Be brief.\nBe kind."
    assert prompt_text(["Be brief.", types.Part(text="Be kind.")]) == "Be brief.\nBe kind."
