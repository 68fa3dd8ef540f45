"""Sessions of Continue."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.talk import planned, preset, spoken
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    ImagePart,
    Reasoning,
    Setting,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.traces import continue_dev
from workbench.traces.formats import read_conversations
from workbench.traces.reading import read_json

CALL = {"id": "c1", "type": "function", "function": {"name": "Read", "arguments": '{"filepath":"x"}'}}


def item(role: str, content: Any = "", **more: Any) -> dict[str, Any]:
    """An item of the history; what belongs to the message is in `message`."""
    inside = more.pop("message", {})
    return {"message": {"role": role, "content": content, **inside}, "contextItems": [], **more}


def session(*items: dict[str, Any]) -> dict[str, Any]:
    return {"sessionId": "s", "title": "Look", "workspaceDirectory": "/home", "history": [*items]}


def read(*items: dict[str, Any]) -> list[Body]:
    [found] = read_conversations("file", json.dumps(session(*items)))
    assert found[0] == Setting("title", "Look")
    return found[1:]


def used(prompt: int, **details: int) -> dict[str, Any]:
    counts = {"prompt_tokens": prompt, "completion_tokens": 9, "prompt_tokens_details": details}
    return {"usage": {**counts, "model": "gpt", "cost_cents": 50}}


def test_a_reply_with_its_calls_its_report_and_what_came_of_them() -> None:
    states = [
        {"toolCallId": "c1", "status": "errored", "output": [{"content": "no"}, {"content": "file"}]},
        {"toolCallId": "c2", "status": "canceled"},
    ]
    called = {"toolCalls": [CALL], **used(70, cached_tokens=64)}
    assert read(
        item("user", "look"),
        item("thinking", "hm", message={"signature": "sig"}),
        item("assistant", "I look.", message=called, toolCallStates=states),
        item("assistant", "none.", message=used(10, cached_tokens=64, cache_write_tokens=5)),
    ) == [
        UserMessage("look"),
        Reasoning("hm", "r1", "sig"),
        Setting("model", "gpt"),
        AssistantMessage("I look.", "r1", model="gpt"),
        ToolCall("c1", "Read", '{"filepath":"x"}', "r1"),
        Usage("gpt", 0, 70, 64, completion=9, cost=0.5),
        ToolResult("c1", "no\nfile", "Read", is_error=True),
        ToolResult("c2", "Tool cancelled"),
        AssistantMessage("none.", "r2", model="gpt"),
        Usage("gpt", 0, 79, 64, 5, 9, cost=0.5),
    ]


def test_context_stands_before_what_the_user_wrote() -> None:
    shown = [{"name": "x.py", "content": "x = 1", "description": ""}]
    before = '<context name="x.py">\nx = 1\n</context>\n\n'
    assert read(item("user", "why?", contextItems=shown)) == [UserMessage(f"{before}why?")]
    picture = {"type": "imageUrl", "imageUrl": {"url": "data:image/png;base64,AA=="}}
    assert read(item("user", [{"type": "text", "text": "why?"}, picture], contextItems=shown)) == [
        UserMessage((TextPart(before), TextPart("why?"), ImagePart("data:image/png;base64,AA==")))
    ]


def test_a_call_of_the_last_item_may_still_return() -> None:
    waiting = [{"toolCallId": "c1", "status": "calling"}]
    found = read(item("user", "look"), item("assistant", message={"toolCalls": [CALL]}, toolCallStates=waiting))
    assert found[1:] == [ToolCall("c1", "Read", '{"filepath":"x"}', "r1")]


def test_a_summary_stands_for_all_before_it() -> None:
    made = {"made_by": "Continue"}
    alone = read(item("assistant", "so far", conversationSummary="so far"), item("user", "on"))
    assert alone == [Compaction(1, 1, "so far", meta=made), UserMessage("on")]
    [whole] = read_conversations(
        "file",
        json.dumps(
            session(item("user", "one"), item("assistant", "1", conversationSummary="so far"), item("user", "on"))
        ),
    )
    assert whole[3] == Compaction(1, 3, "so far", meta=made)
    assert [said for _, said in spoken(planned(whole, preset("sliding")))] == ["so far", "on"]


@pytest.mark.parametrize(
    "value",
    [
        {"sessionId": "s", "workspaceDirectory": "/home", "history": []},
        {"sessionId": "s", "workspaceDirectory": "/home", "history": [{"role": "user", "content": "x"}]},
        {"sessionId": "s", "history": [item("user", "x")]},
        [{"sessionId": "s", "title": "x", "workspaceDirectory": "/home"}],
    ],
)
def test_what_has_only_some_of_the_marks_is_not_continue_s(value: Any) -> None:
    assert not continue_dev.recognises(read_json("file", json.dumps(value)))


def test_what_the_program_says_is_a_system_message() -> None:
    assert read(item("user", "look"), item("system", "be brief"))[1:] == [SystemMessage("be brief")]
