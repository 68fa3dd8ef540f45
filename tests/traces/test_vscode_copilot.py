"""Chat sessions of GitHub Copilot in VS Code."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Failure,
    Reasoning,
    Setting,
    SystemMessage,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.traces.formats import read_conversations

TREE = {
    "node": {
        "type": 1,
        "children": [{"type": 2, "text": "edited:"}, {"type": 2, "text": "a.ts", "lineBreakBefore": True}],
    }
}
ROUNDS = {
    "renderedUserMessage": [{"type": 1, "text": "<attachments/>\nlook"}, {"type": 3, "cacheType": "ephemeral"}],
    "renderedGlobalContext": [{"type": 1, "text": "<environment/>"}],
    "toolCallRounds": [
        {
            "response": "I look.",
            "thinking": {"text": "hm"},
            "toolCalls": [
                {"id": "c", "name": "edit", "arguments": '{"file": "a.ts"}'},
                {"id": "d", "name": "ls", "arguments": "{}"},
            ],
        },
        {"response": "Done.", "toolCalls": []},
    ],
    "toolCallResults": {"c": {"content": [{"value": TREE}]}, "d": {"content": [{"value": "x"}]}},
}


def request(text: str, *response: dict[str, Any], **more: Any) -> dict[str, Any]:
    asked = {"requestId": "r", "message": {"text": text, "parts": []}, "response": list(response)}
    return {**asked, "timestamp": 1_759_845_073_835, "modelId": "copilot/claude-sonnet-4", **more}


def read(*requests: dict[str, Any]) -> list[Body]:
    [bodies] = read_conversations("file", json.dumps({"version": 3, "requests": requests}))
    assert bodies.format == "VS Code Copilot"
    return bodies


MODEL = "claude-sonnet-4"


def test_rounds_are_what_went_to_the_model() -> None:
    used = {"promptTokens": 100, "completionTokens": 5}
    assert read(request("look", {"value": "shown"}, result={"metadata": ROUNDS, "usage": used})) == [
        Setting("model", MODEL),
        SystemMessage("<environment/>", "user"),
        UserMessage("<attachments/>\nlook"),
        Reasoning("hm", "r1"),
        AssistantMessage("I look.", "r1", model=MODEL),
        ToolCall("c", "edit", '{"file": "a.ts"}', "r1"),
        ToolCall("d", "ls", "{}", "r1"),
        ToolResult("c", "edited:\na.ts", "edit"),
        ToolResult("d", "x", "ls"),
        AssistantMessage("Done.", "r2", model=MODEL),
        Usage(MODEL, 0, 100, completion=5),
    ]


def test_a_round_of_calls_alone_has_no_text() -> None:
    call = {"id": "c", "name": "ls", "arguments": "{}"}
    rounds = {"toolCallRounds": [{"response": "", "toolCalls": [call]}, {"response": "", "toolCalls": []}]}
    assert read(request("look", result={"metadata": rounds}))[2:] == [
        ToolCall("c", "ls", "{}", "r1"),
        AssistantMessage("", "r2", model=MODEL),
    ]


def test_a_result_may_be_plain_text() -> None:
    calls = [{"id": name, "name": "ls", "arguments": "{}"} for name in ("c", "d")]
    results = {"c": "a.ts", "d": {"content": []}}
    metadata = {"toolCallRounds": [{"response": "", "toolCalls": calls}], "toolCallResults": results}
    assert read(request("look", result={"metadata": metadata}))[-2:] == [
        ToolResult("c", "a.ts", "ls"),
        ToolResult("d", "", "ls"),
    ]


def test_a_tree_of_texts_is_read_to_a_depth_of_sixty() -> None:
    node: dict[str, Any] = {}
    for depth in range(70, -1, -1):
        node = {"text": f"{depth} ", "children": [node]}
    calls = [{"id": "c", "name": "ls", "arguments": "{}"}]
    results = {"c": {"content": [{"value": {"node": node}}]}}
    metadata = {"toolCallRounds": [{"response": "", "toolCalls": calls}], "toolCallResults": results}
    [result] = [each for each in read(request("look", result={"metadata": metadata})) if isinstance(each, ToolResult)]
    assert str(result.content).split() == [str(depth) for depth in range(61)]


def test_without_rounds_the_reply_is_what_the_screen_shows() -> None:
    tool = {
        "kind": "toolInvocationSerialized",
        "toolCallId": "c",
        "toolId": "copilot_readFile",
        "invocationMessage": {"value": "Reading a.ts"},
        "pastTenseMessage": "Read a.ts",
    }
    file = {"kind": "inlineReference", "inlineReference": {"path": "/a.ts"}}
    found = read(
        request(
            "look",
            {"kind": "thinking", "value": "hm"},
            {"value": "See "},
            file,
            tool,
            {"kind": "undoStop"},
            {"value": "Done."},
            result={"errorDetails": {"message": "no quota"}},
        )
    )
    assert found[1:] == [
        UserMessage("look"),
        Reasoning("hm", "r1"),
        AssistantMessage("See /a.ts", "r1", model=MODEL),
        ToolCall("c", "copilot_readFile", '{"message": "Reading a.ts"}', "r1"),
        ToolResult("c", "Read a.ts", "copilot_readFile"),
        AssistantMessage("Done.", "r1", model=MODEL),
        Failure("transcript", "no quota"),
        Setting("left out", {"undoStop": 1}),
    ]


def test_a_round_with_a_summary_is_a_compaction() -> None:
    rounds = {"toolCallRounds": [{"response": "a", "toolCalls": [], "summary": "all of it"}, {"response": "b"}]}
    found = read(request("look", result={"metadata": rounds}))
    assert found[-2:] == [
        Compaction(1, 3, "all of it", meta={"made_by": "VS Code Copilot"}),
        AssistantMessage("b", "r2", model=MODEL),
    ]


@pytest.mark.parametrize(
    "broken", [{"kind": 1, "k": ["x", 9, "y"], "v": 1}, {"kind": 2, "k": []}, {"kind": 7, "k": [[]]}]
)
def test_a_session_that_is_written_line_by_line_has_all_changes(broken: dict[str, Any]) -> None:
    lines = [
        {"kind": 0, "v": {"version": 3, "responderUsername": "GitHub Copilot", "requests": []}},
        {"kind": 2, "k": ["requests"], "v": [request("look")]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "half"}]},
        {"kind": 2, "k": ["requests", 0, "response"], "i": 0, "v": [{"value": "Done."}]},
        {"kind": 1, "k": ["customTitle"], "v": "Look"},
        {"kind": 3, "k": ["responderUsername"]},
        broken,
    ]
    [bodies] = read_conversations("file", "\n".join(map(json.dumps, lines)))
    assert bodies == [
        Setting("title", "Look"),
        Setting("model", MODEL),
        UserMessage("look"),
        AssistantMessage("Done.", "r1", model=MODEL),
    ]
