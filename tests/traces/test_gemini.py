"""Gemini's contents, and sessions of ADK, which are made of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.requirements import requirement
from support.talk import planned, preset, spoken
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Failure,
    ImagePart,
    OtherPart,
    Reasoning,
    Setting,
    SlotContent,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
    UserMessage,
)
from workbench.traces.formats import read_conversations


def read(value: Any) -> list[Body]:
    [bodies] = read_conversations("file", json.dumps(value))
    return bodies


def content(role: str, *parts: Any) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def call(name: str, **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {}, **more}}


def response(name: str, given: Any, **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": given, **more}}


def test_a_content_of_the_model_is_one_reply() -> None:
    assert read(
        [
            content("system", {"text": "be brief"}),
            content("user", {"text": "look"}),
            content(
                "model", {"text": "hm", "thought": True, "thoughtSignature": "sig"}, {"text": "I look."}, call("ls")
            ),
        ]
    ) == [
        SystemMessage("be brief"),
        UserMessage("look"),
        Reasoning("hm", "r1", "sig"),
        AssistantMessage("I look.", "r1"),
        ToolCall("call-1", "ls", "{}", "r1"),
    ]


def test_responses_are_paired_by_id_or_by_name_in_their_order() -> None:
    found = read(
        [
            content("model", call("ls"), call("ls"), call("cat", id="k1"), call("cat", id="k2")),
            content("user", response("cat", {"output": "two"}, id="k2"), response("ls", {"error": "no"})),
            content("function", response("ls", {"a": 1}), response("cat", None)),
        ]
    )
    assert found[4:] == [
        ToolResult("k2", "two", "cat"),
        ToolResult("call-1", "no", "ls", is_error=True),
        ToolResult("call-2", '{"a": 1}', "ls"),
        ToolResult("k1", "", "cat"),
    ]


def test_a_request_has_system_and_tools_beside_its_contents() -> None:
    tool = {"name": "ls", "parameters": {}}
    request = {
        "model": "models/gemini-pro",
        "system_instruction": {"parts": [{"text": "be brief"}]},
        "tools": [{"functionDeclarations": [tool]}, {"googleSearch": {}}],
        "contents": [content("user", {"text": "look"})],
    }
    expected = [
        Setting("model", "gemini-pro"),
        SlotContent("system", "system instruction", "be brief"),
        SlotContent("tools", "ls", json.dumps({"type": "function", "function": tool})),
        SlotContent("tools", "googleSearch", json.dumps({"type": "googleSearch", "googleSearch": {}})),
        UserMessage("look"),
    ]
    assert read(request)[:5] == expected
    answered = {**request, "contents": [content("user", {"text": "look"}), content("model", {"text": "ok"})]}
    expected.append(AssistantMessage("ok", "r1", model="gemini-pro"))
    assert read_conversations("file", f"{json.dumps(answered)}\n{json.dumps(answered)}") == [expected, expected]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"inlineData": {"mimeType": "image/png", "data": "AA=="}}, ImagePart("data:image/png;base64,AA==")),
        ({"file_data": {"mime_type": "image/png", "file_uri": "gs://x"}}, ImagePart("gs://x")),
        ({"executableCode": {"code": "1"}}, OtherPart({"type": "unknown", "value": {"executableCode": {"code": "1"}}})),
        (7, OtherPart({"type": "unknown", "value": 7})),
    ],
)
def test_parts_that_are_no_text(part: Any, expected: Any) -> None:
    assert read([content("user", {"text": "see"}, part)]) == [UserMessage((TextPart("see"), expected))]


def test_what_is_no_content_is_carried_along() -> None:
    assert read([content("user", {"text": "a"}), 7])[1] == Unknown("Gemini content", {"entry": 7})


# ADK


def event(author: str, time: float, *parts: Any, **more: Any) -> dict[str, Any]:
    return {"author": author, "invocation_id": "i", "timestamp": time, "content": {"parts": list(parts)}, **more}


def test_events_of_adk_carry_the_agents_name_and_usage() -> None:
    used = {
        "prompt_token_count": 9,
        "candidatesTokenCount": 3,
        "thoughts_token_count": 2,
        "cached_content_token_count": 1,
    }
    assert read(
        {
            "id": "s",
            "events": [
                event("user", 1, {"text": "look"}),
                event("scout", 2, {"text": "I l"}, partial=True),
                event("scout", 3, {"text": "I look."}, usage_metadata=used, model_version="gemini-pro"),
                {"author": "scout", "invocation_id": "i", "error_code": "429", "error_message": "too many"},
                {"author": "scout", "invocation_id": "i", "actions": {"state_delta": {}}},
                {"author": "scout", "invocation_id": "i", "content": "odd"},
                7,
            ],
        }
    ) == [
        UserMessage("look"),
        Setting("model", "gemini-pro"),
        AssistantMessage("I look.", "r1", "scout", model="gemini-pro"),
        Usage("gemini-pro", 0, 9, 1, 0, 5, 2),
        Failure("transcript", "too many"),
        Unknown("ADK event", {"entry": {"author": "scout", "invocation_id": "i", "content": "odd"}}),
        Unknown("ADK event", {"entry": 7}),
        Setting("left out", {"partial": 1, "events without content": 1}),
    ]


def compacting(start: Any, end: Any, text: str = "one, two") -> dict[str, Any]:
    made = {"start_timestamp": start, "end_timestamp": end, "compacted_content": {"parts": [{"text": text}]}}
    return {"author": "user", "invocation_id": "i", "timestamp": 9, "actions": {"compaction": made}}


def told(*times: Any) -> list[dict[str, Any]]:
    return [event("user", time, {"text": f"m{at}"}) for at, time in enumerate(times, 1)]


BY_ADK = {"made_by": "ADK"}


@requirement("sliding", "log", "the form of ADK for Python, an action of the event, is understood")
def test_a_compaction_of_adk_covers_the_events_between_its_times() -> None:
    assert read([*told(1, 2, 3), compacting(1, 2)])[3] == Compaction(1, 2, "one, two", meta=BY_ADK)


@requirement("sliding", "log", "times of a range are RFC 3339")
def test_times_are_seconds_or_rfc_3339() -> None:
    said = told("2026-01-01T10:00:00Z", "2026-01-01T10:00:01.123456789Z", "2026-01-01T10:00:02.5Z")
    made = compacting("2026-01-01T12:00:00+02:00", "2026-01-01T10:00:01.123456789Z")
    assert read([*said, made])[3] == Compaction(1, 2, "one, two", meta=BY_ADK)


@requirement(
    "sliding",
    "log",
    "a compaction is in the event's custom metadata, under a key of ADK's",
    decided="it is an event of its own kind; that form is read from ADK's files",
)
def test_a_compaction_in_the_custom_metadata_is_read() -> None:
    summary = {"role": "model", "parts": [{"text": "one, two"}]}
    noted = {
        "start_timestamp": "2026-01-01T10:00:00Z",
        "end_timestamp": "2026-01-01T10:00:01Z",
        "compacted_content_json": json.dumps(summary),
        "original_tokens": 900,
    }
    made = event("user", 9, *summary["parts"], custom_metadata={"_adk_compaction": noted})
    said = told("2026-01-01T10:00:00Z", "2026-01-01T10:00:01Z", "2026-01-01T10:00:02Z")
    assert read([*said, made])[3:] == [Compaction(1, 2, "one, two", meta={**BY_ADK, "tokens_before": 900})]


@requirement("sliding", "log", "a summary is used even if the events that it replaces are missing")
def test_a_compaction_takes_the_place_of_originals_that_are_not_in_the_file() -> None:
    lost = [compacting(1, 2, "long ago"), compacting(2, 4, "later")]
    assert read([*told(5, 6), *lost]) == [
        Compaction(1, 0, "long ago", meta=BY_ADK),
        Compaction(2, 1, "later", meta=BY_ADK),
        UserMessage("m1"),
        UserMessage("m2"),
    ]
    said = spoken(planned(read([*told(5, 6), *lost]), preset("sliding")))
    assert [content for _, content in said] == ["long ago", "later", "m1", "m2"]


def test_a_compaction_without_times_stands_where_it_is_and_one_without_text_is_carried_along() -> None:
    assert read([*told(1), compacting(None, "soon")])[1] == Compaction(2, 1, "one, two", meta=BY_ADK)
    empty = compacting(1, 2, "")
    assert read([empty]) == [Unknown("ADK compaction", {"entry": empty})]


def answer(time: int, result: Any, **more: Any) -> dict[str, Any]:
    given = {"id": "c", "name": "send", "response": result}
    return event("user", time, {"function_response": given}, **more)


def test_a_call_that_waits_for_a_confirmation_stays_open_until_its_real_result() -> None:
    called = event("scout", 1, {"function_call": {"id": "c", "name": "send", "args": {}}})
    asking = event("scout", 3, {"function_call": {"id": "q", "name": "adk_request_confirmation", "args": {}}})
    agreed = {"id": "q", "name": "adk_request_confirmation", "response": {"confirmed": True}}
    confirmed = event("user", 4, {"function_response": agreed})
    refusal = {"error": "This tool call requires confirmation, please approve or reject."}
    asked = answer(2, {"error": "wait"}, actions={"requested_tool_confirmations": {"c": {"hint": "sure?"}}})
    for placeholder in (asked, answer(2, refusal)):
        waiting = read([called, placeholder, asking])
        assert waiting == [ToolCall("c", "send", "{}", "r1"), Setting("left out", {"confirmations": 2})]
        found = read([called, placeholder, asking, confirmed, answer(5, {"result": "sent"})])
        assert found[:2] == [ToolCall("c", "send", "{}", "r1"), ToolResult("c", "sent", "send")]
