"""A session on which policies differ."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tui.screens.lab_sample import reading
from workbench.log.events import AssistantMessage, ToolCall, ToolResult, UserMessage
from workbench.sources.services import Services


@pytest.fixture
def many_results(tmp_path: Path) -> Iterator[Services]:
    """A session with large results, and a policy of the user's own beside a broken one."""
    own = tmp_path / "config" / "policies"
    own.mkdir(parents=True)
    (own / "mine.toml").write_text('extends = "layers"\ndescription = "mine alone"\n[masking]\nkeep_last = 9\n')
    (own / "torn.toml").write_text("[masking\n")
    bodies: list[Any] = [UserMessage("look at all of them")]
    for number in range(9):
        bodies += [
            ToolCall(f"c{number}", "read_file", "{}", reply=f"r{number}"),
            ToolResult(f"c{number}", f"{number} and some words\n" * 700, "read_file"),
        ]
    with Services() as made:
        made.store.create([*bodies, AssistantMessage("done")], title="many results").close()
        yield made


@pytest.fixture
def reader() -> Iterator[Services]:
    """A session of one agent that reads many files."""
    with Services() as made:
        made.store.create(reading(), title="many files").close()
        yield made
