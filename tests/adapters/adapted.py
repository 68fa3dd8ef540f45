"""Each adapter in the scripted run, with the real package."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from adapters import runs
from adapters.scripted import TURNS, WINDOW
from adapters.test_examples import installed

Run = Callable[..., Awaitable[Any]]
"""Takes the address of the server and the number of turns, and gives the adapter's conversations."""


async def _openai(url: str, turns: int = TURNS, **settings: Any) -> Any:
    from openai import AsyncOpenAI

    from workbench.adapters.openai import plan_openai

    client = plan_openai(AsyncOpenAI(base_url=f"{url}/v1", api_key=runs.KEY, max_retries=0), window=WINDOW, **settings)
    await runs.with_openai(client, turns=turns)
    return vars(client.chat.completions)["workbench"]


async def _anthropic(url: str, turns: int = TURNS, **settings: Any) -> Any:
    from anthropic import AsyncAnthropic

    from workbench.adapters.anthropic import plan_anthropic

    client = plan_anthropic(AsyncAnthropic(base_url=url, api_key=runs.KEY, max_retries=0), window=WINDOW, **settings)
    await runs.with_anthropic(client, turns=turns)
    return vars(client.messages)["workbench"]


async def _litellm(url: str, turns: int = TURNS, **settings: Any) -> Any:
    from workbench.adapters.litellm import plan_litellm
    from workbench.models.engine import import_litellm

    litellm = import_litellm()
    planned = plan_litellm(window=WINDOW, **settings)
    litellm.callbacks = [planned]
    try:
        await runs.with_litellm(url, turns=turns)
    finally:
        litellm.callbacks = []
    return planned.workbench


async def _pydantic_ai(url: str, turns: int = TURNS, **settings: Any) -> Any:
    from workbench.adapters.pydantic_ai import PlannedRequests

    planned = PlannedRequests(window=WINDOW, **settings)
    await runs.with_pydantic_ai(url, planned, turns=turns)
    return planned.workbench


async def _openai_agents(url: str, turns: int = TURNS, **settings: Any) -> Any:
    from workbench.adapters.openai_agents import PlannedInput

    planned = PlannedInput(window=WINDOW, **settings)
    await runs.with_openai_agents(url, turns=turns, filter=planned, hooks=planned)
    return planned.workbench


async def _langchain(url: str, turns: int = TURNS, **settings: Any) -> Any:
    from workbench.adapters.langchain import PlannedMiddleware

    planned = PlannedMiddleware(window=WINDOW, **settings)
    await runs.with_langchain(url, planned, turns=turns)
    return planned.workbench


async def _google_adk(url: str, turns: int = TURNS, **settings: Any) -> Any:
    from workbench.adapters.google_adk import PlannedPlugin

    planned = PlannedPlugin(window=WINDOW, **settings)
    await runs.with_adk(url, planned, turns=turns)
    return planned.workbench


ADAPTED: dict[str, tuple[str, Run]] = {
    "pydantic-ai": ("pydantic_ai", _pydantic_ai),
    "openai-agents": ("agents", _openai_agents),
    "langchain": ("langchain_openai", _langchain),
    "google-adk": ("google.adk", _google_adk),
    "litellm": ("litellm", _litellm),
    "openai": ("openai", _openai),
    "anthropic": ("anthropic", _anthropic),
}
"""By the name of the package: the module that must be there, and the run."""


def every_adapter() -> list[Any]:
    """The adapters as parameters of a test. They share the process that imports litellm, which imports some, too."""
    return [
        pytest.param(
            name,
            marks=[
                pytest.mark.skipif(not installed(module), reason=f"{module} is not installed"),
                pytest.mark.xdist_group("litellm"),
            ],
        )
        for name, (module, _) in ADAPTED.items()
    ]
