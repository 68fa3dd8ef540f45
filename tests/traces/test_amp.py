"""Threads of Amp."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    ImagePart,
    Reasoning,
    Setting,
    SystemMessage,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
    UserMessage,
)
from workbench.traces.amp import as_tags
from workbench.traces.formats import read_conversations

USED = {"model": "claude", "inputTokens": 3, "outputTokens": 7, "totalInputTokens": 100, "cacheReadInputTokens": 90}


def message(number: int, role: str, *content: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": role, "messageId": number, "content": list(content), **more}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def result(**run: Any) -> dict[str, Any]:
    return {"type": "tool_result", "toolUseID": "c", "run": run}


CALL = {"type": "tool_use", "id": "c", "name": "Read", "input": {"path": "a"}, "complete": True}


def read(*messages: dict[str, Any], **more: Any) -> list[Body]:
    [bodies] = read_conversations("file", json.dumps({"v": 1, "id": "T-1", "messages": messages, **more}))
    return bodies


def test_a_thread_has_calls_with_their_results_and_the_reports() -> None:
    assert read(
        message(0, "user", text("look"), meta={"sentAt": 1_772_241_201_792}),
        message(
            1, "assistant", text("\n\n"), {"type": "thinking", "thinking": "hm"}, text("I look."), CALL, usage=USED
        ),
        message(2, "user", result(status="done", result={"absolutePath": "/a", "content": "x"})),
        title="Look",
        env={},
    ) == [
        Setting("title", "Look"),
        UserMessage("look"),
        Setting("model", "claude"),
        Reasoning("hm", "m1"),
        AssistantMessage("I look.", "m1", model="claude"),
        ToolCall("c", "Read", '{"path": "a"}', "m1"),
        Usage("claude", 0, 100, 90, completion=7),
        ToolResult("c", "<absolutePath>/a</absolutePath>\n<content>x</content>", "Read"),
        Setting("left out", {"env": 1}),
    ]


@pytest.mark.parametrize(
    ("run", "content", "failed"),
    [
        ({"status": "done", "result": "plain"}, "plain", False),
        ({"status": "done", "result": ["a", "b"]}, "a\nb", False),
        ({"status": "done", "result": [{"type": "text", "text": "a"}]}, "a", False),
        ({"status": "done", "result": {"content": "AA==", "imageInfo": {"mimeType": "image/png"}}}, None, False),
        ({"status": "error", "error": {"message": "no such file"}}, "<error>no such file</error>", True),
        ({"status": "cancelled"}, "User cancelled tool invocation", True),
        ({"status": "rejected-by-user"}, "User rejected invoking the tool", True),
        ({"status": "in-progress"}, '{"status": "in-progress"}', False),
    ],
)
def test_a_result_is_what_amp_sends_for_it(run: dict[str, Any], content: str | None, failed: bool) -> None:
    found = read(message(0, "user", text("look")), message(1, "assistant", CALL), message(2, "user", result(**run)))
    expected = (ImagePart("data:image/png;base64,AA=="),) if content is None else content
    assert found[-1] == ToolResult("c", expected, "Read", failed)


def test_an_object_is_written_with_a_tag_for_each_key() -> None:
    assert as_tags({"a": 1, "b": {"c": ["x"]}}) == '<a>1</a>\n<b>\n<c>["x"]</c>\n</b>'


def test_what_stands_between_the_messages_is_sent_too() -> None:
    ran = {
        "type": "manual_bash_invocation",
        "args": {"cmd": "ls"},
        "toolRun": {"status": "done", "result": {"output": "x"}},
    }
    found = read(
        message(0, "user", text("look")),
        message(1, "info", text("load the skill"), ran, {**ran, "hidden": True}, text(" ")),
        message(2, "info", {"type": "summary", "summary": {"type": "message", "summary": "all of it"}}),
        message(3, "info", {"type": "novelty"}),
    )
    assert found[1] == SystemMessage("load the skill", "user")
    assert isinstance(found[2], SystemMessage)
    assert "<command>ls</command>\n<working_directory>unknown</working_directory>" in str(found[2].content)
    assert found[3] == Compaction(1, 3, "all of it", meta={"made_by": "Amp"})
    assert isinstance(found[4], Unknown)
