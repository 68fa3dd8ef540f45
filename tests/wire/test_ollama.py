"""Ollama's chat: streams by default, a line of JSON each; calls may have no ids, and results no names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.log.events import AssistantMessage, ImagePart, Reasoning, TextPart, ToolCall, ToolResult, UserMessage
from workbench.models.reply_parts import ReportedUsage
from workbench.proxy.routes import route_of
from workbench.wire.answers import PacedAnswer, Refusal, WrittenAnswer, WrittenCall
from workbench.wire.checked_requests import BadRequest
from workbench.wire.dialects import DIALECTS, read_answer, read_request

OLLAMA = DIALECTS["ollama"]
ASKED: dict[str, Any] = {"model": "qwen3:8b", "messages": [{"role": "user", "content": "look"}]}
PLAYED = PacedAnswer(
    WrittenAnswer("done", "hm", (WrittenCall("ls", '{"path": "."}', "c1"),), usage=ReportedUsage(40, 5)),
)


def test_a_stream_says_what_the_whole_answer_says() -> None:
    speaker = OLLAMA.new_speaker()
    request = speaker.read_request(ASKED)
    assert request.stream
    lines = b"".join(each.data for each in speaker.stream(PLAYED, request, "1"))
    assert OLLAMA.answer_in_stream(lines) == speaker.full_answer(PLAYED, request, "1")
    bodies, used = read_answer("ollama", OLLAMA.answer_in_stream(lines))
    assert [type(body) for body in bodies[::2]] == [Reasoning, ToolCall]
    assert used is not None
    assert (used.prompt, used.completion, used.model) == (40, 5, "qwen3:8b")


def test_a_stream_that_is_cut_off_gives_what_it_held() -> None:
    speaker = OLLAMA.new_speaker()
    lines = [each.data for each in speaker.stream(PLAYED, speaker.read_request(ASKED), "1")]
    found = OLLAMA.answer_in_stream(b"".join(lines[:2]) + lines[2][:20])
    assert found["message"] == {"role": "assistant", "content": "done", "thinking": "hm"}
    assert OLLAMA.answer_in_stream(speaker.error_event()) == json.loads(speaker.error_event())
    assert OLLAMA.answer_in_stream(b"") == {}


def test_results_without_names_belong_to_the_calls_in_their_order() -> None:
    calls: list[Any] = [{"function": {"name": name, "arguments": {}}} for name in ("ls", "cat")]
    results = [{"role": "tool", "content": "one"}, {"role": "tool", "tool_name": "cat", "content": "two"}]
    body = {**ASKED, "messages": [*ASKED["messages"], {"role": "assistant", "tool_calls": calls}, *results]}
    found = [each for each in read_request("ollama", body) if isinstance(each, ToolResult)]
    assert [(each.tool, each.call_id, each.content) for each in found] == [
        ("ls", "call-1", "one"),
        ("cat", "call-2", "two"),
    ]


def test_the_replies_of_a_request_are_numbered() -> None:
    said = [{"role": "assistant", "content": text} for text in ("one", "two")]
    found = read_request("ollama", {**ASKED, "messages": [*ASKED["messages"], *said]})
    assert [each.reply for each in found if isinstance(each, AssistantMessage)] == ["r1", "r2"]


def test_pictures_are_a_part_of_what_was_said() -> None:
    [said] = read_request("ollama", {"messages": [{"role": "user", "content": "look", "images": ["aGk="]}]})
    assert said == UserMessage((TextPart("look"), ImagePart("data:image/png;base64,aGk=")))


@pytest.mark.parametrize(
    ("path", "provider"),
    [
        ("/api/chat", "ollama"),
        ("/api/tags", "ollama"),
        ("/api/show", "ollama"),
        ("/api/blobs/sha256:1", "ollama"),
        ("/api/event_logging/batch", "anthropic"),
    ],
)
def test_what_else_its_clients_ask_goes_to_it_and_nothing_of_others(path: str, provider: str) -> None:
    assert route_of(path, {}).provider == provider


def test_it_drops_what_does_not_fit_unless_it_is_told_not_to() -> None:
    assert OLLAMA.may_truncate({"options": {"num_ctx": 8192}})
    assert not OLLAMA.may_truncate({"truncate": False})


def test_errors_are_texts_and_a_strange_request_is_refused_in_a_sentence() -> None:
    speaker = OLLAMA.new_speaker()
    assert speaker.error(Refusal(404), "qwen3:8b") == {"error": "model 'qwen3:8b' not found"}
    with pytest.raises(BadRequest, match=r"messages\[0\].role: expected system, user, assistant, tool"):
        speaker.read_request({"messages": [{"role": "developer", "content": "x"}]})


def test_only_the_message_of_a_tool_is_a_result() -> None:
    found = [*OLLAMA.items_in_message({"role": "tool", "tool_name": "ls", "content": "a.py"})]
    assert [(each.key, each.kind, each.tool) for each in found] == [("", "result", "ls")]
    [said] = OLLAMA.items_in_message({"role": "user", "content": "hi"})
    assert (said.key, said.text) == ("content", "hi")
