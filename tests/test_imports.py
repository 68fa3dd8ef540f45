"""What each part of the program pulls in, seen from a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCREEN = {"textual", "rich"}
TOKENIZERS = {"splintr", "tiktoken"}
HEAVY = {"aiohttp", "litellm", "openai", "mcp", "tokenizers", *TOKENIZERS}


def loaded_by(code: str) -> set[str]:
    """The top-level modules in memory after some code ran."""
    script = f"import sys\n{code}\nprint(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "module",
    [
        "workbench.cli.main",
        "workbench.cli.plan",
        "workbench.cli.sessions",
        "workbench.agent.instructions",
        "workbench.agent.memory",
        "workbench.context.planner",
        "workbench.models.catalogue",
        "workbench.log.store",
    ],
)
def test_the_core_knows_no_screen_and_loads_nothing_heavy(module: str) -> None:
    assert not loaded_by(f"import {module}") & (SCREEN | HEAVY)


def test_planning_a_file_needs_no_litellm_and_no_screen(tmp_path: object) -> None:
    code = (
        "from workbench.session.source import number_events\n"
        "from workbench.log.events import UserMessage\n"
        "from workbench.config.settings import Settings\n"
        "from workbench.context.setup import PlanOptions, set_up\n"
        "from workbench.models.catalogue import Catalogue\n"
        "made = set_up(PlanOptions(model='gpt-4o'), Settings(), Catalogue()).plan(number_events([UserMessage('hi')]))\n"
        "assert made.verdict.fits"
    )
    found = loaded_by(code)
    assert len(found & TOKENIZERS) == 1
    assert not found & (SCREEN | HEAVY - TOKENIZERS)
