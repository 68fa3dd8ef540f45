"""The scripted run in each framework, as its own pages show an agent: with nothing, its own trimming, or an adapter."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from adapters.scripted import MODEL, REQUESTS, SYSTEM, TURNS, questions, read_log

Messages = list[dict[str, Any]]
Trim = Callable[[Messages], Messages]
SCHEMA = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
CHAT_TOOL = {"type": "function", "function": {"name": "read_log", "description": "Read a log.", "parameters": SCHEMA}}
KEY = "any"


def _unchanged(messages: Messages) -> Messages:
    return messages


async def with_pydantic_ai(url: str, *capabilities: Any, turns: int = TURNS) -> None:
    """An agent with a tool, and one history through all turns."""
    from pydantic_ai import Agent, UsageLimits
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=f"{url}/v1", api_key=KEY))
    agent = Agent(model, instructions=SYSTEM, capabilities=list(capabilities))
    agent.tool_plain(read_log)
    history: Any = None
    for text in questions(turns):
        done = await agent.run(text, message_history=history, usage_limits=UsageLimits(request_limit=REQUESTS))
        history = done.all_messages()


async def with_openai_agents(url: str, session: Any = None, *, turns: int = TURNS, **run: Any) -> None:
    """An agent with a tool, and a session that holds all turns."""
    from agents import Agent, RunConfig, Runner, SQLiteSession, function_tool, set_tracing_disabled
    from agents.models.openai_responses import OpenAIResponsesModel
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    model = OpenAIResponsesModel(MODEL, openai_client=AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY))
    agent = Agent("worker", instructions=SYSTEM, model=model, tools=[function_tool(read_log)])
    config = RunConfig(call_model_input_filter=run.pop("filter", None))
    kept = session or SQLiteSession("run")
    for text in questions(turns):
        await Runner.run(agent, text, session=kept, run_config=config, max_turns=REQUESTS, **run)


async def with_langchain(url: str, *middleware: Any, turns: int = TURNS) -> None:
    """LangChain's agent with a tool, whose state holds all turns."""
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI
    from langgraph.checkpoint.memory import InMemorySaver

    agent: Any = create_agent(
        langchain_model(ChatOpenAI, url),
        tools=[read_log],
        system_prompt=SYSTEM,
        middleware=list(middleware),
        checkpointer=InMemorySaver(),
    )
    for text in questions(turns):
        asked = {"messages": [{"role": "user", "content": text}]}
        await agent.ainvoke(asked, {"configurable": {"thread_id": "1"}, "recursion_limit": 9 * REQUESTS})


def langchain_model(kind: Any, url: str) -> Any:
    """The model of the run."""
    return kind(model=MODEL, base_url=f"{url}/v1", api_key=KEY)


async def with_adk(url: str, *plugins: Any, compaction: Any = None, turns: int = TURNS) -> None:
    """ADK's agent with a tool, and one session."""
    from google.adk.agents import LlmAgent
    from google.adk.apps import App
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    agent = LlmAgent(name="worker", model=adk_model(url), instruction=SYSTEM, tools=[read_log])
    app = App(name="run", root_agent=agent, plugins=list(plugins), events_compaction_config=compaction)
    runner = InMemoryRunner(app=app)
    session = await runner.session_service.create_session(app_name="run", user_id="me")
    for text in questions(turns):
        message = types.Content(role="user", parts=[types.Part(text=text)])
        async for _ in runner.run_async(user_id="me", session_id=session.id, new_message=message):
            pass


def adk_model(url: str) -> Any:
    """The model of the run."""
    from google.adk.models.google_llm import Gemini

    return Gemini(model="gemini-2.5-pro", base_url=url, client_kwargs={"api_key": KEY})


async def with_litellm(url: str, trim: Trim = _unchanged, turns: int = TURNS) -> None:
    """A loop over `litellm.acompletion`."""
    import litellm

    async def ask(messages: Messages) -> dict[str, Any]:
        answer: Any = await litellm.acompletion(
            model=f"openai/{MODEL}", api_base=f"{url}/v1", api_key=KEY, messages=trim(messages), tools=[CHAT_TOOL]
        )
        return dict(answer.choices[0].message.model_dump(exclude_none=True))

    await _chat_loop(ask, turns)


async def with_openai(client: Any, trim: Trim = _unchanged, turns: int = TURNS) -> None:
    """A loop over `chat.completions.create`."""

    async def ask(messages: Messages) -> dict[str, Any]:
        answer = await client.chat.completions.create(model=MODEL, messages=trim(messages), tools=[CHAT_TOOL])
        return dict(answer.choices[0].message.model_dump(exclude_none=True))

    await _chat_loop(ask, turns)


async def _chat_loop(ask: Callable[[Messages], Any], turns: int) -> None:
    messages: Messages = [{"role": "system", "content": SYSTEM}]
    for text in questions(turns):
        messages.append({"role": "user", "content": text})
        while True:
            answer = await ask(messages)
            messages.append(answer)
            calls = answer.get("tool_calls") or ()
            for call in calls:
                result = read_log(**json.loads(call["function"]["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
            if not calls:
                break


async def with_anthropic(client: Any, trim: Trim = _unchanged, turns: int = TURNS) -> None:
    """A loop over `messages.create`."""
    tool = {"name": "read_log", "description": "Read a log.", "input_schema": SCHEMA}
    messages: Messages = []
    for text in questions(turns):
        messages.append({"role": "user", "content": text})
        while True:
            answer = await client.messages.create(
                model="claude-opus-4-5", max_tokens=1_000, system=SYSTEM, messages=trim(messages), tools=[tool]
            )
            messages.append({"role": "assistant", "content": [part.model_dump() for part in answer.content]})
            calls = [part for part in answer.content if part.type == "tool_use"]
            if not calls:
                break
            messages.append({"role": "user", "content": [_anthropic_result(call) for call in calls]})


def _anthropic_result(call: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call.id, "content": read_log(**call.input)}


def last_messages(count: int, head: int = 0) -> Trim:
    """The usual slice: the first messages, such as the system prompt, and the newest ones."""

    def trim(messages: Sequence[dict[str, Any]]) -> Messages:
        return [*messages[:head], *messages[head:][-count:]]

    return trim
