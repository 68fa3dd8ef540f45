"""Messages of pydantic-ai."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.log.codec import decode_event, encode_event
from workbench.log.events import (
    AssistantMessage,
    Body,
    ImagePart,
    Reasoning,
    Setting,
    SlotContent,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.sources.source import number_events
from workbench.traces import pydantic_ai
from workbench.traces.formats import read_conversations
from workbench.traces.reading import read_json


def part(kind: str, content: Any = None, **more: Any) -> dict[str, Any]:
    return {"part_kind": kind, "content": content, **more}


def request(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"kind": "request", "parts": [*parts], "timestamp": "2026-11-15T10:00:00Z", **more}


def response(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"kind": "response", "parts": [*parts], "timestamp": "2026-11-15T10:00:01Z", "model_name": "gpt", **more}


def read(*messages: dict[str, Any]) -> list[Body]:
    [found] = read_conversations("file", json.dumps(messages))
    return found


def called(call: str, args: Any) -> dict[str, Any]:
    return {"part_kind": "tool-call", "tool_name": "read", "args": args, "tool_call_id": call}


def returned(call: str, content: Any, **more: Any) -> dict[str, Any]:
    return part("tool-return", content, tool_name="read", tool_call_id=call, **more)


def test_a_run_with_its_instructions_calls_results_and_reports() -> None:
    used = {
        "input_tokens": 223,
        "cache_read_tokens": 128,
        "cache_write_tokens": 5,
        "output_tokens": 31,
        "details": {"reasoning_tokens": 7},
    }
    assert read(
        request(part("user-prompt", "look"), instructions="Be brief."),
        response(
            part("thinking", "hm", signature="sig"),
            part("text", "I look."),
            called("c1", '{"path": "ü"}'),
            called("c2", {"path": "y"}),
            usage=used,
            finish_reason="tool_call",
        ),
        request(returned("c1", {"out": "x"}), returned("c2", "no", outcome="retried"), instructions="Be brief."),
    ) == [
        SlotContent("system", "instructions", "Be brief."),
        UserMessage("look"),
        Setting("model", "gpt"),
        Reasoning("hm", "r1", "sig"),
        AssistantMessage("I look.", "r1", finish="tool_calls", model="gpt"),
        ToolCall("c1", "read", '{"path":"ü"}', "r1"),
        ToolCall("c2", "read", '{"path":"y"}', "r1"),
        Usage("gpt", 0, 223, 128, 5, 31, 7),
        ToolResult("c1", '{"out":"x"}', "read"),
        ToolResult("c2", '{"error":"no"}', "read", is_error=True),
    ]


def test_messages_of_older_versions() -> None:
    again = part("retry-prompt", "no such file", tool_name="read", tool_call_id="c1")
    assert read(
        request(part("system-prompt", "Be brief."), part("user-prompt", "look")),
        response(called("c1", "{}"), usage={"request_tokens": 70, "response_tokens": 9}),
        request(again),
        request(part("retry-prompt", "not JSON", tool_name=None)),
    ) == [
        SystemMessage("Be brief."),
        UserMessage("look"),
        Setting("model", "gpt"),
        ToolCall("c1", "read", "{}", "r1"),
        Usage("gpt", 0, 70, completion=9),
        ToolResult("c1", "no such file\n\nFix the errors and try again.", "read", is_error=True),
        UserMessage("Validation feedback:\nnot JSON\n\nFix the errors and try again."),
    ]


def test_pictures_stand_between_texts_and_cache_points_are_no_content() -> None:
    content = [
        "these:",
        {"kind": "binary", "media_type": "image/png", "data": "_-A="},
        {"kind": "image-url", "url": "https://example.org/x.png"},
        {"kind": "cache-point"},
    ]
    shown = (TextPart("these:"), ImagePart("data:image/png;base64,/+A="), ImagePart("https://example.org/x.png"))
    assert read(request(part("user-prompt", content))) == [UserMessage(shown)]


@pytest.mark.parametrize(
    "value",
    [
        [{"kind": "request", "parts": [{"text": "hello"}]}],
        [{"kind": "request", "parts": []}],
        [{"kind": "message", "parts": [{"part_kind": "user-prompt", "content": "hello"}]}],
        [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "hello"}]}, {"parts": []}],
    ],
)
def test_what_has_only_some_of_the_marks_is_not_pydantic_ai_s(value: Any) -> None:
    assert not pydantic_ai.recognises(read_json("file", json.dumps(value)))


def test_half_a_character_is_not_stored() -> None:
    found = read(request(returned("c1", {"x": "\ud800"}), returned("c2", "\ud800", outcome="failed")))
    assert [decode_event(encode_event(event).encode().decode()).body for event in number_events(found)] == found


def test_a_response_may_be_empty() -> None:
    assert read(request(part("user-prompt", "look")), response())[0] == UserMessage("look")
