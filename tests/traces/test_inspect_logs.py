"""Logs of Inspect's evaluations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from workbench.config.errors import WrongCall
from workbench.log.events import (
    AssistantMessage,
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
from workbench.traces.formats import read_conversations, read_file

LS = {"name": "ls", "description": "lists", "parameters": {"type": "object", "properties": {}}}
TOOL = {"type": "function", "function": LS}
MESSAGES: list[dict[str, Any]] = [
    {"id": "m1", "role": "system", "content": "be brief"},
    {
        "id": "m2",
        "role": "user",
        "content": [{"type": "text", "text": "attachment://a"}, {"type": "image", "image": "u"}],
    },
    {
        "id": "m3",
        "role": "assistant",
        "content": [{"type": "reasoning", "reasoning": "hm", "signature": "s"}, {"type": "text", "text": "I look."}],
        "tool_calls": [{"id": "c1", "function": "ls", "arguments": {"path": "."}}],
        "model": "claude",
    },
    {
        "id": "m4",
        "role": "tool",
        "content": "",
        "tool_call_id": "c1",
        "function": "ls",
        "error": {"type": "timeout", "message": "too slow"},
    },
]
USED = {"input_tokens": 10, "output_tokens": 7, "total_tokens": 97, "input_tokens_cache_read": 80}
EVENT = {
    "event": "model",
    "timestamp": "2026-01-01T00:00:00+00:00",
    "tools": [LS],
    "output": {"choices": [{"message": MESSAGES[2]}], "usage": USED},
}


def log(event: dict[str, Any]) -> dict[str, Any]:
    sample = {"id": 3, "epoch": 1, "messages": MESSAGES, "events": [{"event": "span_begin"}, event]}
    sample["attachments"] = {"a": "look"}
    return {"version": 2, "status": "success", "eval": {"task": "t", "model": "x/claude"}, "samples": [sample]}


def test_messages_have_their_report_from_the_event_that_made_them() -> None:
    [bodies] = read_conversations("file", json.dumps(log(EVENT)))
    assert bodies == [
        Setting("model", "x/claude"),
        SlotContent("tools", "ls", json.dumps(TOOL)),
        SlotContent("system", "system r1", "be brief"),
        UserMessage((TextPart("look"), ImagePart("u"))),
        Reasoning("hm", "r3", "s"),
        AssistantMessage("I look.", "r3", model="claude"),
        ToolCall("c1", "ls", '{"path": "."}', "r3"),
        Usage("x/claude", 0, 90, cached=80, completion=7),
        ToolResult("c1", "too slow", "ls", True),
        Setting("title", "t 3, epoch 1"),
    ]


def test_a_reply_that_only_calls_has_no_message_and_one_without_anything_is_an_empty_message() -> None:
    calling = {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "function": "ls", "arguments": {}}]}
    sample = {"id": 1, "epoch": 1, "messages": [calling, {"role": "assistant", "content": ""}]}
    value = {"version": 2, "status": "success", "eval": {"task": "t"}, "samples": [sample]}
    [bodies] = read_conversations("file", json.dumps(value))
    assert bodies[:2] == [ToolCall("c1", "ls", "{}", "r1"), AssistantMessage("", "r2")]


def test_calls_of_the_provider_are_exact_requests() -> None:
    sent = {"model": "claude", "messages": [{"role": "user", "content": "attachment://a"}], "extra_headers": {"x": "y"}}
    answer = {
        "choices": [{"message": {"role": "assistant", "content": "done"}}],
        "usage": {"prompt_tokens": 90, "completion_tokens": 7},
    }
    [bodies] = read_conversations("file", json.dumps(log({**EVENT, "call": {"request": sent, "response": answer}})))
    [(at, request)] = [(at, body) for at, body in enumerate(bodies, 1) if isinstance(body, Request)]
    assert (request.dialect, request.parameters) == ("chat", {"model": "claude", "messages": None})
    assert UserMessage("look") in bodies
    assert Usage("claude", 0, 90, completion=7, request=at) in bodies


def test_an_archive_is_the_same_log(tmp_path: Path) -> None:
    value = log(EVENT)
    file = tmp_path / "log.eval"
    with ZipFile(file, "w") as archive:
        archive.writestr("_journal/start.json", "{}")
        archive.writestr("samples/3_epoch_1.json", json.dumps(value["samples"][0]))
        archive.writestr("header.json", json.dumps({key: value[key] for key in ("version", "status", "eval")}))
    assert read_conversations(*read_file(str(file))) == read_conversations("file", json.dumps(value))


def test_another_archive_is_refused_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "some.zip"
    with ZipFile(file, "w") as archive:
        archive.writestr("a.txt", "a")
    for content in (file.read_bytes(), file.read_bytes()[:40]):
        file.write_bytes(content)
        with pytest.raises(WrongCall, match="found binary data"):
            read_file(str(file))
