"""Prints the table of docs/adapters.md: the scripted run through each adapter, and with the framework's own trimming.

    uv run python tests/adapters/compare.py                 # all of it: half an hour
    uv run python tests/adapters/compare.py openai litellm  # these packages

A provider would refuse what does not fit or is invalid, and the run would end there. Here it goes on and is counted.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import warnings
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from adapters import runs
from adapters.adapted import ADAPTED
from adapters.measuring import asked, lenient_server, measure
from adapters.scripted import REQUESTS
from workbench.library.setups import policy

LIMIT = 12_000
"""Where a framework that counts tokens begins: it needs room for its next results."""
MESSAGES = 40
HEAD = "| package | trimmed by | fit | valid | tokens sent | cached | missing: user | missing: results |"
RULE = "| --- | --- | --- | --- | --- | --- | --- | --- |"
DISTRIBUTIONS = {"pydantic-ai": "pydantic-ai-slim"}
"""Packages that are installed under another name."""
Own = Callable[[str], Awaitable[Any]]


def own_trimming(package: str) -> Iterator[tuple[str, Own]]:
    """What a framework offers itself, with settings for the window of the run."""
    yield from {
        "pydantic-ai": _pydantic_ai,
        "openai-agents": _openai_agents,
        "langchain": _langchain,
        "google-adk": _google_adk,
        "litellm": _litellm,
        "openai": _openai,
        "anthropic": _anthropic,
    }[package]()


def _pydantic_ai() -> Iterator[tuple[str, Own]]:
    from pydantic_ai.capabilities import ProcessHistory

    def keep_recent(messages: list[Any]) -> list[Any]:
        return messages[-MESSAGES:]

    yield (
        f"`ProcessHistory`: the last {MESSAGES} messages",
        lambda url: runs.with_pydantic_ai(url, ProcessHistory(keep_recent)),
    )


def _openai_agents() -> Iterator[tuple[str, Own]]:
    from agents import SessionSettings, SQLiteSession
    from agents.extensions import ToolOutputTrimmer

    yield (
        "`ToolOutputTrimmer(recent_turns=1)`",
        lambda url: runs.with_openai_agents(url, filter=ToolOutputTrimmer(recent_turns=1)),
    )
    yield (
        f"`SessionSettings(limit={MESSAGES})`",
        lambda url: runs.with_openai_agents(
            url, SQLiteSession("run", session_settings=SessionSettings(limit=MESSAGES))
        ),
    )


def _langchain() -> Iterator[tuple[str, Own]]:
    from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware, SummarizationMiddleware
    from langchain_openai import ChatOpenAI

    async def summarising(url: str) -> None:
        model = runs.langchain_model(ChatOpenAI, url)
        middleware = SummarizationMiddleware(model, trigger=("tokens", LIMIT), keep=("messages", 20))
        await runs.with_langchain(url, middleware)

    yield "`SummarizationMiddleware`", summarising
    yield (
        "`ContextEditingMiddleware`",
        lambda url: runs.with_langchain(url, ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=LIMIT)])),
    )


def _google_adk() -> Iterator[tuple[str, Own]]:
    from google.adk.apps.app import EventsCompactionConfig
    from google.adk.plugins.context_filter_plugin import ContextFilterPlugin

    yield "`ContextFilterPlugin(1)`", lambda url: runs.with_adk(url, ContextFilterPlugin(num_invocations_to_keep=1))
    yield (
        "`EventsCompactionConfig`",
        lambda url: runs.with_adk(
            url, compaction=EventsCompactionConfig(token_threshold=LIMIT, event_retention_size=20)
        ),
    )


def _litellm() -> Iterator[tuple[str, Own]]:
    from litellm.utils import trim_messages

    def trim(messages: runs.Messages) -> runs.Messages:
        return list(trim_messages(messages, model="gpt-4o", max_tokens=LIMIT))

    yield "`trim_messages`", partial(runs.with_litellm, trim=trim)


def _openai() -> Iterator[tuple[str, Own]]:
    from openai import AsyncOpenAI

    async def run(url: str) -> None:
        client = AsyncOpenAI(base_url=f"{url}/v1", api_key=runs.KEY)
        await runs.with_openai(client, runs.last_messages(MESSAGES, head=1))

    yield f"none of its own: the last {MESSAGES} messages", run


def _anthropic() -> Iterator[tuple[str, Own]]:
    from anthropic import AsyncAnthropic

    async def run(url: str) -> None:
        client = AsyncAnthropic(base_url=url, api_key=runs.KEY)
        await runs.with_anthropic(client, runs.last_messages(MESSAGES))

    yield f"none of its own: the last {MESSAGES} messages", run


async def row(package: str, how: str, run: Own) -> str:
    """One line of the table."""
    async with lenient_server() as server:
        try:
            await run(server.url)
        except Exception as error:
            count = len(asked(server))
            return f"| {package} | {how} | ended at request {count}: {type(error).__name__} | | | | | |"
        figures = measure(server)
    assert figures.requests == REQUESTS, figures
    valid = figures.requests - figures.invalid
    installed = version(DISTRIBUTIONS.get(package, package))
    return (
        f"| {package} {installed} | {how} | {figures.fit} | {valid} | {figures.tokens:,} | {figures.kept:.0%} "
        f"| {figures.missing_said} | {figures.missing_found} |"
    )


async def main(packages: list[str]) -> None:
    """Print the rows as they are measured."""
    print(HEAD, RULE, sep="\n", flush=True)
    for package in packages or ADAPTED:
        adapted = ADAPTED[package][1]
        print(await row(package, "**Workbench**", adapted), flush=True)
        if package == "openai":  # the knobs do the same everywhere
            more = partial(adapted, policy=policy("workbench", keep_last=20))
            print(await row(package, "**Workbench**, `keep_last=20`", more), flush=True)
        for how, run in own_trimming(package):
            print(await row(package, how, run), flush=True)


if __name__ == "__main__":
    logging.disable(logging.ERROR)
    warnings.simplefilter("ignore")
    asyncio.run(main(sys.argv[1:]))
