"""A project on a real disk and the tools for it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from workbench.agent.tools.base import ToolLimits, ToolOutcome
from workbench.agent.tools.registry import Toolbox

Use = Callable[..., Awaitable[ToolOutcome]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def use(root: Path) -> Use:
    """Call a tool by name; `limits` may be given."""

    async def call(name: str, *, limits: ToolLimits | None = None, **arguments: Any) -> ToolOutcome:
        return await Toolbox(root, limits=limits).run_tool(name, json.dumps(arguments))

    return call
