"""Nothing that a file holds breaks a reader."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from copy import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.talk import COUNTER, ROOMY, preset
from support.validity import problems
from traces.format_samples import SAMPLES, WORDS, JsonLines
from workbench.config.errors import WorkbenchError, WrongCall
from workbench.context.planner import plan
from workbench.context.render import render_request
from workbench.log.codec import decode_event, encode_event
from workbench.sources.source import number_events
from workbench.traces.formats import FORMATS, read_conversations
from workbench.traces.reading import read_json

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
leaves = scalars | st.sampled_from(WORDS) | st.text(max_size=4) | st.just("\ud800")
keys = st.sampled_from(WORDS) | st.text(max_size=3)
anything = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=5), max_leaves=25
)


def _mixed(draw: st.DrawFn, value: Any) -> Any:
    """A value of which some parts are something else."""
    if draw(st.integers(0, 9)) == 0:
        return draw(anything)
    if isinstance(value, dict):
        more = draw(st.dictionaries(keys, anything, max_size=2))
        return {**{key: _mixed(draw, each) for key, each in value.items()}, **more}
    if isinstance(value, list):
        return [*(_mixed(draw, each) for each in value), *draw(st.lists(anything, max_size=2))]
    return value


_CALL = {"functionCall": {"id": "c", "name": "ls", "args": {}}}
_GIVEN = {"functionResponse": {"id": "c", "name": "ls", "response": {"output": "x"}}}
_OLD, _NEW = [{"role": "model", "parts": [_CALL]}, {"role": "user", "parts": [_GIVEN]}], [{"text": "all of it"}]
LONGER: list[list[Any] | dict[str, Any]] = [
    [
        {"type": "profile.bind", "systemPrompt": "be brief"},
        {"type": "llm.tools_snapshot", "hash": "t", "tools": [{"name": "ls"}]},
        {"type": "context.append_loop_event", "event": {"type": "step.begin"}},
        {"type": "llm.request", "kind": "loop", "provider": "openai", "toolsHash": "t", "messageCount": 0},
        {"type": "usage.record", "usage": {"inputOther": 7, "output": 1}},
        {"type": "context.append_loop_event", "event": {"type": "tool.call", "toolCallId": "c", "name": "ls"}},
        {"type": "context.append_loop_event", "event": {"type": "tool.result", "toolCallId": "c", "result": {}}},
        {"type": "context.apply_compaction", "contextSummary": "all of it", "keptUserMessageCount": 1},
        {"type": "context.undo", "count": 1},
    ],
    [
        {"type": "session.usage_record", "data": {"usage": {"inputTokens": 7, "apiCallId": "a"}}},
        {
            "type": "assistant.message",
            "data": {"apiCallId": "a", "toolRequests": [{"toolCallId": "c", "name": "ls", "arguments": {}}]},
            "parentId": "1",
        },
        {"type": "session.compaction_start", "data": {}},
        {"type": "tool.execution_complete", "data": {"toolCallId": "c", "result": {"content": "x"}}},
        {"type": "session.compaction_complete", "data": {"success": True, "summaryContent": "all of it"}},
    ],
    [
        *({"uuid": str(at), "sessionId": "s", "type": "assistant", "message": each} for at, each in enumerate(_OLD)),
        {
            "uuid": "2",
            "sessionId": "s",
            "type": "system",
            "subtype": "chat_compression",
            "systemPayload": {"compressedHistory": [{"role": "user", "parts": _NEW}]},
        },
    ],
    [
        {"sessionId": "s", "projectHash": "h", "startTime": "t"},
        {"id": "1", "type": "gemini", "content": [_CALL], "toolCalls": [{"id": "c", "name": "ls", "result": [_GIVEN]}]},
        {"$set": {"messages": [{"id": "2", "type": "user", "content": _NEW}]}},
        {"id": "3", "type": "user", "content": [_GIVEN]},
        {"$rewindTo": "3"},
    ],
    [
        {"role": "user", "content": "a", "ts": 1, "condenseParent": "x"},
        {"role": "assistant", "content": "b", "ts": 2, "truncationParent": "t"},
        {"role": "assistant", "content": "all of it", "ts": 3, "isSummary": True, "condenseId": "x"},
        {"role": "user", "content": "hidden", "ts": 4, "isTruncationMarker": True, "truncationId": "t"},
    ],
    [
        {"role": "user", "created": 1, "content": [{"type": "text", "text": "a"}], "metadata": {"agentVisible": False}},
        {
            "role": "user",
            "created": 2,
            "content": [{"type": "text", "text": "all of it"}],
            "metadata": {"userVisible": False, "agentVisible": True},
        },
        {
            "role": "assistant",
            "created": 3,
            "content": [{"type": "toolRequest", "id": "c", "toolCall": {"name": "ls"}}],
        },
    ],
    {
        "trajectory": [
            {"query": [{"role": "user", "content": "a"}], "response": "b", "observation": "x"},
            {"query": [{"role": "user", "content": "omitted"}, {"role": "assistant", "content": "b"}]},
        ],
    },
    [
        {"kind": 0, "v": {"requests": [{"message": {"text": "a"}, "response": [{"value": "b"}]}]}},
        {"kind": 2, "k": ["requests", 0, "response"], "i": 0, "v": [{"value": "c"}]},
        {"kind": 1, "k": ["requests", 0, "result"], "v": {"metadata": {"toolCallRounds": [{"response": "d"}]}}},
    ],
    {
        "interactions": [
            {
                "request": {"url": "model/x", "body": {"messages": [{"role": "user", "content": [{"text": "a"}]}]}},
                "response": {
                    "body": {
                        "output": {"message": {"content": [{"text": "b"}, {"toolUse": {"toolUseId": "c"}}]}},
                        "usage": {"inputTokens": 7},
                    }
                },
            }
        ]
    },
    [
        {
            "type": "GENERATION",
            "traceId": "t",
            "startTime": "2025-09-30T09:03:59.962Z",
            "input": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "a"}],
            "output": {"choices": [{"message": {"role": "assistant", "content": "b", "tool_calls": []}}]},
        },
        {"type": "TOOL", "traceId": "t", "startTime": "2025-09-30T09:04:00Z", "name": "ls", "input": {}, "output": "x"},
    ],
    [
        {"type": "session", "id": "s", "cwd": "/home"},
        {"type": "message", "message": {"role": "system", "sections": {"cwd": "/a"}, "toolsAdded": [{"name": "ls"}]}},
        {"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": "a"}]}},
        {
            "type": "message",
            "message": {"role": "assistant", "content": [{"type": "toolCall", "id": "c", "name": "ls"}], "usage": {}},
        },
    ],
    {
        "version": 2,
        "status": "success",
        "eval": {"task": "t"},
        "samples": [
            {
                "id": 1,
                "messages": [{"role": "user", "content": "a"}, {"id": "m", "role": "assistant", "content": "b"}],
                "events": [
                    {
                        "event": "model",
                        "tools": [{"name": "ls"}],
                        "output": {"choices": [{"message": {"id": "m"}}], "usage": {"input_tokens": 7}},
                    }
                ],
            }
        ],
    },
]
"""Sessions of agents whose files change what was before, and others with much in them."""


@st.composite
def spoilt(draw: st.DrawFn) -> Any:
    """A sample of a format with wrong things in it."""
    return _mixed(draw, draw(st.sampled_from([*SAMPLES.values(), *LONGER])))


@given(anything | spoilt(), st.booleans())
def test_a_reader_refuses_what_it_cannot_read_in_words_and_never_otherwise(value: Any, lines: bool) -> None:
    """Whatever is read can be stored, and its request is one that providers take."""
    many = lines and isinstance(value, list) and len(value) > 1
    text = "\n".join(map(json.dumps, value)) if many else json.dumps(value)
    document = read_json("file", text)
    for reader in FORMATS:
        reader.recognises(document)
        found = []
        with suppress(WrongCall):
            found = reader.read(document, text)
        for bodies in found[:3]:
            log = number_events(bodies)
            assert [decode_event(encode_event(event).encode().decode()) for event in log] == log
            assert problems(render_request(plan(log, preset("workbench"), ROOMY, COUNTER))["messages"]) == []


ODD = (None, "x", 5, ["x"])


def _with_one_odd_value(value: Any) -> Iterator[Any]:
    """The same value again and again, each time with something else in one place."""
    for key, inner in [*value.items()] if isinstance(value, dict) else [*enumerate(value)]:
        more = _with_one_odd_value(inner) if isinstance(inner, dict | list) else ()
        for each in (*ODD, *more):
            other = copy(value)
            other[key] = each
            yield other


@pytest.mark.parametrize("name", [*SAMPLES, *range(len(LONGER))])
def test_no_value_of_another_type_breaks_a_reader(name: str | int) -> None:
    sample = SAMPLES[name] if isinstance(name, str) else LONGER[name]
    are_lines = isinstance(sample, JsonLines) if isinstance(name, str) else isinstance(sample, list)

    def written(value: Any) -> str:
        return "\n".join(map(json.dumps, value)) if are_lines else json.dumps(value)

    assert read_conversations("file", written(sample)), "or nothing would be read below"
    for value in _with_one_odd_value(sample):
        with suppress(WorkbenchError):
            read_conversations("file", written(value))
