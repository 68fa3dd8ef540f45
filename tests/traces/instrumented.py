"""Agents of other frameworks with their own instrumentation, through a proxy: the spans and the proxy's sessions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from adapters.runs import with_langchain, with_openai_agents, with_pydantic_ai
from workbench.log.events import (
    AssistantMessage,
    Body,
    SlotContent,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
    text_of,
)
from workbench.rehearsal.script import Script
from workbench.rehearsal.server import RehearsalServer

TURNS = 2


def _calls(*numbers: int, reply: str = "") -> dict[str, Any]:
    return {"calls": [{"tool": "read_log", "arguments": {"number": number}} for number in numbers], "reply": reply}


SCRIPT = [
    *(_calls(1, reply="I look."), _calls(2, 3), {"reply": "Part 1 is done."}),
    *(_calls(5), {"reply": "Part 2 is done."}),
]


@contextmanager
def _pydantic_ai(provider: Any) -> Iterator[None]:
    from pydantic_ai import Agent
    from pydantic_ai.models.instrumented import InstrumentationSettings

    Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))
    try:
        yield
    finally:
        Agent.instrument_all(False)


@contextmanager
def _openai_agents(provider: Any) -> Iterator[None]:
    import agents
    from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

    OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)
    off, agents.set_tracing_disabled = agents.set_tracing_disabled, lambda disabled: None
    off(False)
    try:
        yield
    finally:
        agents.set_tracing_disabled = off
        off(True)
        OpenAIAgentsInstrumentor().uninstrument()


@contextmanager
def _langchain(provider: Any) -> Iterator[None]:
    from openinference.instrumentation.langchain import LangChainInstrumentor

    LangChainInstrumentor().instrument(tracer_provider=provider)
    try:
        yield
    finally:
        LangChainInstrumentor().uninstrument()


Run = Callable[..., Any]
FRAMEWORKS: dict[str, tuple[Callable[[Any], Any], Run]] = {
    "pydantic-ai": (_pydantic_ai, with_pydantic_ai),
    "openai-agents": (_openai_agents, with_openai_agents),
    "langchain": (_langchain, with_langchain),
}


@asynccontextmanager
async def scripted_model() -> AsyncIterator[str]:
    """The address of a model that follows the script."""
    async with RehearsalServer(Script(SCRIPT)) as server:
        yield server.url


async def run_instrumented(framework: str, url: str, exporter: Any) -> None:
    """Run the agent; its spans go to `exporter`, from a thread, and all are sent at the end."""
    from openinference.instrumentation import TracerProvider  # keeps all attributes, where the SDK's keeps 128
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    instrument, run = FRAMEWORKS[framework]
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=60_000))
    with instrument(provider):
        await run(url, turns=TURNS)
        await asyncio.to_thread(provider.shutdown)


def comparable_rows(bodies: Sequence[Body]) -> list[tuple[Any, ...]]:
    """What a session says of its conversation, whoever recorded it: roles, texts, calls, results, tools and usage."""
    found: list[tuple[Any, ...]] = []
    for body in bodies:
        match body:
            case UserMessage() | AssistantMessage():
                found.append((type(body).__name__, text_of(body.content)))
            case ToolCall():
                found.append(("call", body.call_id, body.tool, body.arguments.replace(" ", "")))
            case ToolResult():
                found.append(("result", body.call_id, text_of(body.content)))
            case Usage():
                found.append(("usage", body.model, body.prompt, body.cached, body.completion))
            case SlotContent(slot="system"):
                found.append(("system", body.text))
            case SlotContent(slot="tools"):
                found.append(("tool", body.name))
    return found
