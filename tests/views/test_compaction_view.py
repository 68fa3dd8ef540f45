"""What the compaction panel keeps of a log decides as the whole log does."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.logs import number
from tui.play import opened
from tui.recorded.long_run import as_file, run
from workbench.compaction.record import read_record
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Failure,
    Override,
    Reasoning,
    Revert,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.sources.services import Services
from workbench.views.compaction_view import LogFigures

BODIES: st.SearchStrategy[Body] = st.sampled_from(
    [
        UserMessage("go on"),
        Reasoning("hm", "r1"),
        AssistantMessage("done", "r1"),
        ToolCall("c1", "ls", "{}", "r1"),
        ToolResult("c1", "a.py", "ls"),
        Usage("m", 10, 12),
        Compaction(1, 2, "so far"),
        Failure("compaction", "no answer"),
        Failure("net", "gone"),
        Override("pin", 1, 1),
        Revert(3),
    ]
)


@given(st.lists(BODIES, max_size=25), st.integers(0, 25))
def test_the_thin_log_has_the_same_record_as_the_whole_log(bodies: list[Body], half: int) -> None:
    events, figures = number(bodies), LogFigures()
    figures.catch_up(events[:half])
    figures.catch_up(events)
    assert read_record(figures.events()) == read_record(events)


@pytest.mark.usefixtures("project")
async def test_the_curve_has_a_second_line_while_a_policy_is_tried(services: Services, tmp_path: Path) -> None:
    async with opened(services, as_file(tmp_path, run(4))) as on:
        assert on.compaction.curve.tried == ()
        on.model.switch_policy("window")
        await on.settled()
        assert len(on.compaction.curve.tried) == len(on.compaction.curve.sizes) > 0
