"""Recordings of HTTP, and requests in Bedrock's dialect in them."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import pytest

from workbench.log.events import (
    AssistantMessage,
    Body,
    ImagePart,
    Reasoning,
    Request,
    Setting,
    SlotContent,
    TextPart,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.traces import bedrock
from workbench.traces.formats import read_conversations

CALL = {"toolUse": {"toolUseId": "c", "name": "weather", "input": {"city": "Paris"}}}
ASKED = {"role": "user", "content": [{"text": "And the weather?"}, {"cachePoint": {"type": "default"}}]}
TOOLS = {"tools": [{"toolSpec": {"name": "weather", "description": "d", "inputSchema": {"json": {"type": "object"}}}}]}
BODY = {"modelId": "nova", "messages": [ASKED], "system": [{"text": "be brief"}], "toolConfig": TOOLS}
GIVEN = {"toolResult": {"toolUseId": "c", "content": [{"json": {"c": 22}}, {"text": "sunny"}], "status": "error"}}


def event(kind: str, value: dict[str, Any]) -> bytes:
    headers = {":content-type": "application/json", ":event-type": kind}
    head = b"".join(
        bytes([len(name)]) + name.encode() + b"\7" + struct.pack(">H", len(text)) + text.encode()
        for name, text in headers.items()
    )
    payload = json.dumps(value).encode()
    return struct.pack(">II", 16 + len(head) + len(payload), len(head)) + b"crc1" + head + payload + b"crc2"


STREAM = [
    event("messageStart", {"role": "assistant"}),
    event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "hm"}}}),
    event("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"text": "I "}}),
    event("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"text": "look."}}),
    event("contentBlockStart", {"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "c", "name": "weather"}}}),
    event("contentBlockDelta", {"contentBlockIndex": 2, "delta": {"toolUse": {"input": '{"city": "Paris"}'}}}),
    event("messageStop", {"stopReason": "tool_use"}),
    event("metadata", {"usage": {"inputTokens": 425, "outputTokens": 45}}),
]


def interaction(body: dict[str, Any], answer: str) -> dict[str, Any]:
    request = {"method": "POST", "url": "https://x/model/nova/converse-stream", "body": json.dumps(body)}
    return {"transport": "http", "request": request, "response": {"status": 200, "body": answer}}


def read(*interactions: dict[str, Any]) -> list[Body]:
    [bodies] = read_conversations("file", json.dumps({"version": 1, "metadata": {}, "interactions": interactions}))
    return bodies


def test_a_loop_of_converse_is_one_conversation_with_its_reports() -> None:
    said = {"role": "assistant", "content": [{"text": "I look."}, CALL]}
    again = {**BODY, "messages": [ASKED, said, {"role": "user", "content": [GIVEN]}]}
    answer = {
        "output": {"message": {"content": [{"text": "Sunny."}]}},
        "usage": {"inputTokens": 510, "outputTokens": 9},
    }
    stream = base64.b64encode(b"".join(STREAM)).decode()
    bodies = read(interaction(BODY, stream), interaction(again, json.dumps(answer)))
    assert [body for body in bodies if not isinstance(body, Setting | SlotContent)] == [
        UserMessage("And the weather?"),
        Reasoning("hm", "r2"),
        AssistantMessage("I look.", "r2", finish="tool_calls", model="nova"),
        ToolCall("c", "weather", '{"city": "Paris"}', "r2"),
        Usage("nova", 0, 425, completion=45),
        ToolResult("c", (TextPart('{"c": 22}'), TextPart("sunny")), "weather", True),
        AssistantMessage("Sunny.", "r4", model="nova"),
        Usage("nova", 0, 510, completion=9),
    ]
    assert SlotContent("system", "system", "be brief") in bodies
    assert not any(isinstance(body, Request) for body in bodies)


@pytest.mark.parametrize("raw", ["", "no base64!", base64.b64encode(b"\0" * 40).decode(), "AAAA"])
def test_a_stream_that_is_none_leaves_the_request_without_an_answer(raw: str) -> None:
    assert [body for body in read(interaction(BODY, raw)) if not isinstance(body, Setting | SlotContent)] == [
        UserMessage("And the weather?")
    ]


def test_a_stream_that_breaks_off_has_what_came() -> None:
    raw = base64.b64encode(b"".join(STREAM[:4]) + STREAM[4][:30]).decode()
    assert AssistantMessage("I look.", "r2", model="nova") in read(interaction(BODY, raw))


def test_an_image_is_one() -> None:
    body = {"messages": [{"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": "AA=="}}}]}]}
    assert bedrock.is_body(body)
    assert UserMessage((ImagePart("data:image/png;base64,AA=="),)) in read(interaction(body, "{}"))


CHAT = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
SAID = {"choices": [{"message": {"role": "assistant", "content": "hi"}}], "usage": {"prompt_tokens": 7}}
HAR = {
    "request": {"method": "POST", "url": "https://x", "postData": {"mimeType": "json", "text": json.dumps(CHAT)}},
    "response": {"status": 200, "content": {"mimeType": "json", "text": json.dumps(SAID)}},
}
CASSETTE = {
    "request": {"method": "POST", "uri": "https://x", "body": json.dumps(CHAT)},
    "response": {"status": {"code": 200}, "body": {"string": json.dumps(SAID)}},
}
OTHER = {"request": {"method": "GET", "url": "https://x/models"}, "response": {"status": 200, "body": "{}"}}


@pytest.mark.parametrize(
    "file",
    [
        {"interactions": [interaction(CHAT, json.dumps(SAID)), OTHER]},
        {"version": 1, "interactions": [OTHER, CASSETTE]},
        {"http_interactions": [CASSETTE, OTHER]},
        {"log": {"version": "1.2", "entries": [HAR, OTHER]}},
    ],
)
def test_requests_that_a_recorder_of_http_wrote_are_read(file: dict[str, Any]) -> None:
    [bodies] = read_conversations("file", json.dumps(file))
    talk = [body for body in bodies if isinstance(body, UserMessage | AssistantMessage | Usage)]
    assert [type(body) for body in talk] == [UserMessage, AssistantMessage, Usage]
    assert Setting("left out", {"requests that ask no model": 1}) in bodies


@pytest.mark.parametrize("odd", [None, "x", 7, ["text"]])
def test_a_part_of_an_answer_that_is_no_object_is_left_out(odd: Any) -> None:
    answer = {"output": {"message": {"content": [odd, {"text": "Sunny."}]}}, "usage": {"inputTokens": 5}}
    bodies = read(interaction(BODY, json.dumps(answer)))
    assert [body.content for body in bodies if isinstance(body, AssistantMessage)] == ["Sunny."]
