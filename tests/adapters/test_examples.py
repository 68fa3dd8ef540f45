"""The examples run as a user starts them, against the rehearsal server, and leave a session that the program shows.

They run in the tests' process: to import the frameworks takes ten times as long as to run the examples.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path

import pytest

from clients.libraries import addresses
from workbench.log.events import AssistantMessage, Override, ToolCall, ToolResult, Usage, UserMessage
from workbench.log.store import Store
from workbench.models.engine import import_litellm
from workbench.rehearsal.server import RehearsalServer

EXAMPLES = Path(__file__).parents[2] / "examples"
PACKAGES = {
    "anthropic_client": ("anthropic", "anthropic example"),
    "google_adk_agent": ("google.adk", "adk example"),
    "langchain_agent": ("langchain", "langchain example"),
    "litellm_loop": ("litellm", "litellm example"),
    "openai_agents_agent": ("agents", "openai-agents example"),
    "openai_client": ("openai", "openai example"),
    "pydantic_ai_agent": ("pydantic_ai", "pydantic-ai example"),
}


def installed(module: str) -> bool:
    """Whether a package is there, which may be a part of another."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def needs(module: str) -> None:
    """Skip a test where a package is missing."""
    if not installed(module):
        pytest.skip(f"{module} is not installed")


def test_every_example_of_an_adapter_is_run() -> None:
    found = {path.stem for path in EXAMPLES.glob("*.py")}
    assert found == PACKAGES.keys()


async def run_with_addresses(monkeypatch: pytest.MonkeyPatch, run: Callable[[], object]) -> None:
    """Run code in a thread of its own, with a rehearsal server where the providers are looked for."""
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    monkeypatch.setattr(import_litellm(), "callbacks", [])
    async with RehearsalServer() as server:
        for variable, value in addresses(server.url).items():
            monkeypatch.setenv(variable, value)
        await asyncio.to_thread(run)


@pytest.mark.xdist_group("litellm")
@pytest.mark.parametrize("name", PACKAGES)
async def test_an_example_runs_and_its_session_is_recorded(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module, title = PACKAGES[name]
    needs(module)
    (tmp_path / "notes.txt").write_text("The port is 8417.")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(EXAMPLES / f"{name}.py"), "read notes.txt"])
    await run_with_addresses(monkeypatch, partial(run_path, sys.argv[0], run_name="__main__"))
    assert "8417" in capsys.readouterr().out
    with Store.open() as store:
        bodies = [event.body for event in store.session(title).events()]
    asked, answered = [[body for body in bodies if isinstance(body, kind)] for kind in (UserMessage, AssistantMessage)]
    assert [body.content for body in asked if isinstance(body, UserMessage)] == ["read notes.txt"]
    assert [body.tool for body in bodies if isinstance(body, ToolCall)] == ["read_file"]
    assert ["8417" in str(body.content) for body in bodies if isinstance(body, ToolResult)] == [True]
    assert len([body for body in bodies if isinstance(body, Usage)]) == 2
    assert "8417" in str(answered[-1])
    assert not [body for body in bodies if isinstance(body, Override)], (
        "an answer was not recognised when it came again"
    )
