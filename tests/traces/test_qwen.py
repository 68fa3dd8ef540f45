"""A session of Qwen Code is read as its own, not as one of Claude Code's, with the requests that it only reports."""

from __future__ import annotations

import json
from typing import Any

from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Failure,
    Reasoning,
    Request,
    Setting,
    TextPart,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
    UserMessage,
)
from workbench.traces.building import Recording
from workbench.traces.formats import read_conversations

MODEL = "qwen3"
TIME = "2026-01-02T03:04:05.678Z"


def line(kind: str, **more: Any) -> dict[str, Any]:
    return {"sessionId": "s", "timestamp": TIME, "type": kind, "cwd": "/home", "version": "0.24.4", **more}


def said(text: str, **more: Any) -> dict[str, Any]:
    return line("user", message={"role": "user", "parts": [{"text": text}]}, **more)


def answered(*parts: dict[str, Any], prompt: int = 0, **more: Any) -> dict[str, Any]:
    used = {"promptTokenCount": prompt, "candidatesTokenCount": 9, "totalTokenCount": prompt + 9}
    used |= {"cachedContentTokenCount": 4, "thoughtsTokenCount": 2}
    return line("assistant", model=MODEL, message={"role": "model", "parts": parts}, usageMetadata=used, **more)


def system(subtype: str, **payload: Any) -> dict[str, Any]:
    return line("system", subtype=subtype, systemPayload=payload)


def told(prompt: int, **more: Any) -> dict[str, Any]:
    event = {"event.name": "qwen-code.api_response", "model": MODEL, "input_token_count": prompt}
    return system("ui_telemetry", uiEvent={**event, "output_token_count": 9, "cached_content_token_count": 4, **more})


def read(*lines: dict[str, Any], chain: bool = True) -> Recording:
    """Lines in a chain, unless they say where they belong."""
    chained = [
        {"uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number and chain else None, **each}
        for number, each in enumerate(lines)
    ]
    [found] = read_conversations("file", "\n".join(map(json.dumps, chained)))
    return found


def talk(found: list[Body]) -> list[Body]:
    return [body for body in found if not isinstance(body, Setting)]


def report(prompt: int) -> Usage:
    return Usage(MODEL, 0, prompt, completion=9, cached=4, reasoning=2)


CALL = {"functionCall": {"id": "c", "name": "read_file", "args": {"path": "x"}}}
RESULT = line(
    "tool_result",
    message={
        "role": "user",
        "parts": [{"functionResponse": {"id": "c", "name": "read_file", "response": {"error": "no such file"}}}],
    },
)


def test_contents_are_messages_and_each_report_stands_behind_its_reply() -> None:
    found = read(
        said("look"),
        told(50),
        answered({"text": "hm", "thought": True}, {"text": "I look."}, CALL, prompt=50),
        RESULT,
        told(70),
        answered({"text": "Gone."}, prompt=70),
    )
    assert talk(found) == [
        UserMessage("look"),
        Reasoning("hm", "r1"),
        AssistantMessage("I look.", "r1", model=MODEL),
        ToolCall("c", "read_file", '{"path": "x"}', "r1"),
        report(50),
        ToolResult("c", "no such file", "read_file", True),
        AssistantMessage("Gone.", "r2", model=MODEL),
        report(70),
    ]
    assert set(found.times) == {1767323045678}


def test_reports_without_an_answer_are_requests_of_their_own() -> None:
    keeper = {"subagent_name": "memory", "auth_type": "anthropic"}
    found = talk(read(said("look"), told(30), told(50), answered({"text": "Done."}, prompt=50), told(20, **keeper)))
    assert found == [
        Request("chat", MODEL, "side"),
        Usage(MODEL, 0, 30, completion=9, cached=4, request=1),
        UserMessage("look"),
        AssistantMessage("Done.", "r1", model=MODEL),
        report(50),
        Request("anthropic", MODEL, "sub-agent", "memory"),
        Usage(MODEL, 0, 20, completion=9, cached=4, request=7),
    ]


def compressed(*parts: str) -> dict[str, Any]:
    history = [
        {"role": "user", "parts": [{"text": "all about it"}]},
        {"role": "model", "parts": [{"text": "Got it."}]},
        {"role": "user", "parts": [{"text": part} for part in parts]},
    ]
    info = {"originalTokenCount": 900, "newTokenCount": 90, "triggerReason": "token_limit"}
    return system("chat_compression", info=info, compressedHistory=history)


NOTED = {"made_by": "Qwen Code", "trigger": "token_limit", "tokens_before": 900, "tokens_after": 90}


def test_a_compression_has_its_own_time() -> None:
    later = {**compressed("the file x"), "timestamp": "2026-01-02T04:00:00.000Z"}
    found = read(said("look"), answered({"text": "Looked."}, prompt=50), later)
    times = {time for body, time in zip(found, found.times, strict=True) if isinstance(body, Compaction)}
    assert times == {1767326400000}


def test_a_compression_stands_for_all_before_it_and_its_request_is_marked() -> None:
    begun = [said("look"), answered({"text": "Looked."}, prompt=50), said("on"), told(60)]
    found = read(*begun, compressed("the file x", "on"), answered({"text": "On."}, prompt=40))
    at = found.index(AssistantMessage("Looked.", "r1", model=MODEL))
    assert found[at + 2] == Request("chat", MODEL, "compaction")
    assert found[at + 4 : at + 8] == [
        UserMessage("on"),
        Compaction(1, at + 5, "all about it", acknowledgement="Got it.", meta=NOTED),
        UserMessage((TextPart("the file x"), TextPart("on"))),
        AssistantMessage("On.", "r2", model=MODEL),
    ]


def test_what_was_asked_and_is_not_part_of_the_compressed_history_comes_behind_it() -> None:
    begun = [said("look"), answered({"text": "Looked."}, prompt=50), said("on")]
    found = talk(read(*begun, compressed("the file x"), answered({"text": "On."}, prompt=40)))
    assert found[3:6] == [
        Compaction(1, 4, "all about it", acknowledgement="Got it.", meta=NOTED),
        UserMessage("the file x"),
        UserMessage("on"),
    ]


def test_only_the_path_to_the_last_line_is_the_conversation() -> None:
    lines = [said("one"), said("left"), said("two", parentUuid="u0")]
    assert read(*lines) == [
        UserMessage("one"),
        UserMessage("two"),
        Setting("left out", {"entries of branches that were left": 1}),
    ]
    found = talk(read(*lines[:2], said("two", parentUuid="gone")))
    assert [body for body in found if isinstance(body, UserMessage)] == [
        *(UserMessage("one"), UserMessage("left"), UserMessage("two"))
    ]
    assert [body.message for body in found if isinstance(body, Failure)] == [
        "1 entry goes on from an entry that is not in this file: something before it is missing"
    ]


def test_the_other_lines() -> None:
    strange = line("dream", message={"role": "user"})
    found = read(said("look"), system("custom_title", customTitle="A look"), system("attribution_snapshot"), strange)
    assert found[0] == Setting("title", "A look")
    assert isinstance(found[1], Unknown)
    assert found[1].kind == "Qwen Code dream"
    assert found[-1] == Setting("left out", {"system attribution_snapshot": 1})
