"""Tasks of Roo Code and Kilo Code."""

from __future__ import annotations

import json
from typing import Any

from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    KeptEvent,
    Override,
    Reasoning,
    ToolCall,
    ToolResult,
    UserMessage,
)
from workbench.traces.formats import read_conversations
from workbench.traces.roo import HIDDEN


def said(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, "ts": 1_783_376_868_634, **more}


def read(*values: dict[str, Any]) -> list[Body]:
    [bodies] = read_conversations("file", json.dumps(values))
    assert bodies.format == "Roo Code"
    return bodies


def test_a_summary_replaces_the_messages_that_name_it() -> None:
    summary = [{"type": "reasoning", "text": "Condensing."}, {"type": "text", "text": "all of it"}]
    call = {"type": "tool_use", "id": "c", "name": "read_file", "input": {}}
    assert read(
        said("user", "task"),
        said("assistant", [{"type": "reasoning", "text": "hm"}, call], condenseParent="x"),
        said("user", [{"type": "tool_result", "tool_use_id": "c", "content": "text"}], condenseParent="x"),
        said("assistant", summary, isSummary=True, condenseId="x"),
        said("user", "go on"),
    ) == [
        UserMessage("task"),
        Reasoning("hm", "r2"),
        ToolCall("c", "read_file", "{}", "r2"),
        ToolResult("c", "text", "read_file"),
        Compaction(2, 4, "all of it", meta={"made_by": "Roo Code"}),
        UserMessage("go on"),
    ]


def test_what_was_not_condensed_inside_the_range_is_kept() -> None:
    found = read(
        said("user", "task", condenseParent="x"),
        said("assistant", "kept"),
        said("user", "more", condenseParent="x"),
        said("user", "all of it", isSummary=True, condenseId="x"),
    )
    assert found[-1] == Compaction(1, 3, "all of it", (KeptEvent(2),), meta={"made_by": "Roo Code"})


def test_messages_outside_the_sliding_window_are_excluded() -> None:
    assert read(
        said("user", "task"),
        said("assistant", "a", truncationParent="t"),
        said("user", "b", truncationParent="t"),
        said("user", "c", truncationParent="gone"),
        said("assistant", "[2 messages hidden]", isTruncationMarker=True, truncationId="t"),
    ) == [
        UserMessage("task"),
        AssistantMessage("a", "r2"),
        UserMessage("b"),
        UserMessage("c"),
        Override("exclude", 2, 2, HIDDEN),
        Override("exclude", 3, 3, HIDDEN, joined=True),
        AssistantMessage("[2 messages hidden]", "r5"),
    ]


def test_reasoning_may_be_an_entry_of_its_own() -> None:
    thought = {"type": "reasoning", "summary": [{"text": "hm"}], "encrypted_content": "x", "ts": 1}
    assert read(said("user", "task"), thought) == [UserMessage("task"), Reasoning("hm", "", "x")]
