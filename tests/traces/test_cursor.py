"""Transcripts of Cursor's agent, and what it prints."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.log.events import (
    AssistantMessage,
    Body,
    Failure,
    Reasoning,
    Setting,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
    UserMessage,
)
from workbench.traces.formats import read_conversations


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def line(role: str, *content: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "message": {"content": list(content)}}


def printed(kind: str, subtype: str = "", **more: Any) -> dict[str, Any]:
    return {"type": kind, **({"subtype": subtype} if subtype else {}), "session_id": "s", **more}


def said(role: str, words: str) -> dict[str, Any]:
    return printed(role, message={"role": role, "content": [text(words)]})


INIT = printed("system", "init", model="gpt", permissionMode="default", cwd="/home")


def read(*lines: dict[str, Any]) -> list[Body]:
    [bodies] = read_conversations("file", "\n".join(map(json.dumps, lines)))
    assert bodies.format == "Cursor"
    return bodies


def test_calls_of_a_transcript_get_ids_and_what_is_redacted_is_counted() -> None:
    call = {"type": "tool_use", "name": "Read", "input": {"path": "a"}}
    assert read(
        line("user", text("<user_query>\nlook\n</user_query>")),
        line("assistant", text("I look.\n\n[REDACTED]"), call, call),
        line("assistant", text("[REDACTED]"), call),
        line("assistant", text("Done.")),
    ) == [
        UserMessage("<user_query>\nlook\n</user_query>"),
        AssistantMessage("I look.", "r1"),
        ToolCall("call_1", "Read", '{"path": "a"}', "r1"),
        ToolCall("call_2", "Read", '{"path": "a"}', "r1"),
        ToolCall("call_3", "Read", '{"path": "a"}', "r2"),
        AssistantMessage("Done.", "r3"),
        Setting("left out", {"thinking that is redacted": 2}),
    ]


def test_what_is_printed_has_calls_with_results_and_thoughts() -> None:
    started = {"readToolCall": {"args": {"path": "a"}}}
    done = {"readToolCall": {"args": {"path": "a"}, "result": {"success": {"content": "x", "totalLines": 1}}}}
    failed = {"shellToolCall": {"args": {"command": "ls"}, "result": {"failure": {"exitCode": 1, "stderr": "no"}}}}
    assert read(
        INIT,
        said("user", "look"),
        printed("thinking", "delta", text="h"),
        printed("thinking", "delta", text="m"),
        printed("thinking", "completed", timestamp_ms=1_770_823_435_070),
        said("assistant", "I look."),
        printed("tool_call", "started", call_id="c", tool_call=started),
        printed("tool_call", "completed", call_id="c", tool_call=done),
        printed("tool_call", "completed", call_id="d", tool_call=failed),
        said("assistant", "Done."),
        printed("result", "success", result="Done.", is_error=False, usage={"inputTokens": 7}),
        printed("novelty"),
    ) == [
        Setting("model", "gpt"),
        UserMessage("look"),
        Reasoning("hm", "r1"),
        AssistantMessage("I look.", "r1", model="gpt"),
        ToolCall("c", "read", '{"path": "a"}', "r1"),
        ToolResult("c", "x", "read"),
        ToolCall("d", "shell", '{"command": "ls"}', "r2"),
        ToolResult("d", '{"exitCode": 1, "stderr": "no"}', "shell", True),
        AssistantMessage("Done.", "r3", model="gpt"),
        Unknown("Cursor novelty", {"entry": printed("novelty")}),
        Setting("left out", {"system init": 1, "result": 1}),
    ]


def test_each_answer_that_is_printed_is_a_reply_of_its_own() -> None:
    talk = [said(each, each) for each in ("user", "assistant") * 2]
    assert [each.reply for each in read(INIT, *talk) if isinstance(each, AssistantMessage)] == ["r1", "r2"]


@pytest.mark.parametrize("is_error", [True, False])
def test_the_sum_of_tokens_is_the_report_on_a_single_request(is_error: bool) -> None:
    used = {"inputTokens": 3, "cacheReadTokens": 90, "cacheWriteTokens": 7, "outputTokens": 5}
    bodies = read(INIT, said("user", "a"), said("assistant", "b"), printed("result", usage=used, is_error=is_error))
    assert Usage("gpt", 0, 100, 90, 7, 5) in bodies
    assert any(isinstance(body, Failure) for body in bodies) == is_error


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_line_of_the_talk_without_a_message_is_unknown_and_not_empty_talk(role: str) -> None:
    talk = [said(each, each) for each in ("user", "assistant") * 10]
    bodies = read(INIT, *talk, printed(role, content="all of it"))
    assert [each.data["entry"]["content"] for each in bodies if isinstance(each, Unknown)] == ["all of it"]
    assert len([each for each in bodies if isinstance(each, UserMessage)]) == 10
