"""Every format is told from what is in the file, and nothing a file holds breaks a reader."""

from __future__ import annotations

import inspect
import json
import re
import sys
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.talk import COUNTER, ROOMY, preset
from support.validity import problems
from workbench.config.errors import WrongCall
from workbench.context.planner import plan
from workbench.context.render import request
from workbench.log.codec import decode, encode
from workbench.log.events import Failure, UserMessage
from workbench.session.source import file_logs, number_events
from workbench.traces import building
from workbench.traces.formats import FORMATS, KNOWN, conversations
from workbench.traces.reading import read_json

SAMPLES: dict[str, list[Any] | dict[str, Any]] = {
    "Kimi Code": [
        {"type": "metadata", "protocol_version": "1.5", "created_at": 1},
        {
            "type": "context.append_message",
            "message": {"role": "user", "content": [{"type": "text", "text": "hello"}], "origin": {"kind": "user"}},
        },
    ],
    "Copilot CLI": [
        {"type": "session.start", "data": {"sessionId": "s"}, "id": "1", "timestamp": "t", "parentId": None},
        {"type": "user.message", "data": {"content": "hello"}, "id": "2", "timestamp": "t", "parentId": "1"},
    ],
    "Qwen Code": [
        {
            "uuid": "u1",
            "parentUuid": None,
            "sessionId": "s",
            "type": "user",
            "message": {"role": "user", "parts": [{"text": "hello"}]},
        },
        {"uuid": "u2", "parentUuid": "u1", "sessionId": "s", "type": "system", "subtype": "x", "systemPayload": {}},
    ],
    "Claude Code": [
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
        {"type": "user", "uuid": "u1", "sessionId": "s", "message": {"role": "user", "content": "hello"}},
    ],
    "Codex": [
        {"timestamp": "t", "type": "session_meta", "payload": {"id": "s"}},
        {
            "timestamp": "t",
            "type": "response_item",
            "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
        },
    ],
    "pi": [
        {"type": "session", "id": "s", "cwd": "/home"},
        {
            "type": "message",
            "timestamp": "t",
            "message": {"role": "user", "content": [{"type": "text", "text": "hello"}]},
        },
    ],
    "SWE-agent": {"history": [{"role": "user", "content": "hello", "agent": "main"}], "info": {}},
    "mini-swe-agent": {
        "info": {"config": {"model": {"model_name": "m"}}},
        "messages": [{"role": "user", "content": "hello"}],
        "trajectory_format": "mini-swe-agent-1.1",
    },
    "opencode": {
        "info": {"id": "s", "slug": "calm-island", "title": ""},
        "messages": [
            {"info": {"id": "m", "sessionID": "s", "role": "user"}, "parts": [{"type": "text", "text": "hello"}]}
        ],
    },
    "Continue": {
        "sessionId": "s",
        "workspaceDirectory": "/home",
        "history": [{"message": {"role": "user", "content": "hello"}, "contextItems": []}],
    },
    "pydantic-ai": [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "hello"}]}],
    "OpenHands": [{"id": 0, "source": "user", "action": "message", "args": {"content": "hello"}}],
    "ADK": {"id": "s", "events": [{"author": "user", "invocation_id": "i", "content": {"parts": [{"text": "hello"}]}}]},
    "ATIF": {"schema_version": "ATIF-v1.7", "agent": {}, "steps": [{"source": "user", "message": "hello"}]},
    "Inspect": {
        "version": 2,
        "status": "success",
        "eval": {"task": "t"},
        "samples": [{"id": 1, "messages": [{"role": "user", "content": "hello"}]}],
    },
    "tau-bench": [{"task_id": 0, "reward": 0.0, "traj": [{"role": "user", "content": "hello"}]}],
    "Cline": {
        "sessionId": "s",
        "messages": [
            {"role": "user", "content": "hello", "ts": 1_783_376_868_634},
            {"role": "assistant", "content": "hi", "ts": 1_783_376_868_635, "modelInfo": {"id": "m"}},
        ],
    },
    "requests and their answers": {
        "request": {"model": "m", "messages": [{"role": "user", "content": "hello"}]},
        "response": {"choices": [{"message": {"role": "assistant", "content": "hi"}}]},
    },
    "Gemini": [{"role": "user", "parts": [{"text": "hello"}]}],
    "ShareGPT": [{"id": "0", "conversations": [{"from": "human", "value": "hello"}]}],
    "Anthropic": {"system": "be brief", "messages": [{"role": "user", "content": "hello"}]},
    "Gemini CLI": {"sessionId": "s", "messages": [{"type": "user", "content": "hello"}]},
    "OpenAI Responses": [
        {"role": "user", "content": "hello"},
        {"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}"},
    ],
}
LINES = ("Kimi Code", "Copilot CLI", "Qwen Code", "Claude Code", "Codex", "pi")


def written(name: str) -> str:
    """A sample as its format has it."""
    sample = SAMPLES[name]
    return "\n".join(map(json.dumps, sample)) if name in LINES else json.dumps(sample, indent=1)


@pytest.mark.parametrize("name", SAMPLES)
def test_each_format_is_told_from_its_content_and_by_one_reader_alone(name: str) -> None:
    document = read_json("file", written(name))
    assert [each.name for each in FORMATS if each.recognises(document)] == [name]
    [bodies] = conversations("file", written(name))
    assert [body for body in bodies if isinstance(body, UserMessage)] == [UserMessage("hello")]


def test_there_is_a_sample_of_every_format() -> None:
    assert [each.name for each in FORMATS] == list(SAMPLES)


@pytest.mark.parametrize(
    "value",
    [
        [{"role": "user", "content": "a"}],
        {"messages": [{"role": "user", "content": "a"}], "id": "x", "history": [], "model": "m"},
        {"role": "user", "content": "a", "type": "message"},
        [],
    ],
)
def test_openai_style_messages_are_taken_for_nothing_else(value: Any) -> None:
    document = read_json("file", json.dumps(value))
    assert [each.name for each in FORMATS if each.recognises(document)] == []
    assert len(conversations("file", json.dumps(value))) == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('\n{"hello": 7}', "file: line 2: found an object with 'hello',"),
        ("{}", "file: line 1: found an empty object,"),
        ("[[7]]", "file: line 1: found a list that begins with a list that begins with a number,"),
        ('"hello"', "file: line 1: found a text,"),
        ("null", "file: line 1: found null,"),
        (json.dumps(dict.fromkeys("abcdef")), "file: line 1: found an object with 'a', 'b', 'c', 'd', 'e', ...,"),
    ],
)
def test_a_file_of_no_format_is_told_in_one_line_with_the_formats_there_are(text: str, found: str) -> None:
    with pytest.raises(WrongCall) as told:
        conversations("file", text)
    assert str(told.value).startswith(found)
    assert str(told.value).endswith(KNOWN)


STRANGERS: dict[str, list[dict[str, Any]]] = {
    "Cursor's transcripts": [
        {"role": "user", "message": {"content": [{"type": "text", "text": "<user_query>\nhello\n</user_query>"}]}},
        {"role": "assistant", "message": {"content": [{"type": "tool_use", "name": "Read", "input": {"path": "x"}}]}},
    ],
    "what Cursor prints": [
        {"type": "system", "subtype": "init", "cwd": "/home", "session_id": "s", "model": "m"},
        {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "a"}]}, "session_id": "s"},
        {"type": "tool_call", "subtype": "started", "call_id": "c", "tool_call": {}, "session_id": "s"},
        {"type": "assistant", "message": {"role": "assistant", "content": "b"}, "session_id": "s"},
    ],
    "a chat of the AI SDK": [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "hello"}]}],
}


@pytest.mark.parametrize("lines", STRANGERS.values(), ids=STRANGERS)
def test_what_no_reader_knows_is_refused_and_not_read_as_silence(lines: list[dict[str, Any]]) -> None:
    for text in ("\n".join(map(json.dumps, lines)), json.dumps(lines)):
        with pytest.raises(WrongCall, match="which is no transcript of a known format") as told:
            conversations("file", text)
        assert all(repr(key) in str(told.value) for key in lines[0])


def test_a_history_of_contents_is_gemini_s_and_not_a_trajectory() -> None:
    assert conversations("file", json.dumps({"history": SAMPLES["Gemini"]})) == [[UserMessage("hello")]]


@pytest.mark.parametrize("name", LINES)
def test_a_line_that_was_cut_off_is_skipped_and_told_and_the_rest_is_read(name: str) -> None:
    text = written(name)
    [bodies] = conversations("file", f"{text}\n{text[:20]}")
    assert UserMessage("hello") in bodies
    [failure] = [body for body in bodies if isinstance(body, Failure)]
    assert failure.message.startswith("skipped: file: line 3: expected one JSON value on the line")


def test_of_many_broken_lines_the_first_are_told_one_by_one() -> None:
    [bodies] = conversations("file", written("pi") + "\n{" * 30)
    told = [body.message for body in bodies if isinstance(body, Failure)]
    assert len(told) == 21
    assert told[-1] == "skipped: 10 more lines that are not JSON"


@pytest.mark.parametrize(
    ("text", "line"),
    [("", 1), ("\n\n", 1), (written("Gemini")[:-3], 9), ('{"role": "user", "content": "a"}\n{"role', 2), ("{\n{", 1)],
)
def test_what_cannot_be_read_at_all_is_one_line_with_the_place(text: str, line: int) -> None:
    with pytest.raises(WrongCall) as told:
        file_logs("file", text)
    assert str(told.value).startswith(f"file: line {line}: expected ")
    assert "\n" not in str(told.value)


def test_json_nested_too_deeply_is_told() -> None:
    deep: Any = "x"
    for _ in range(400):
        deep = [deep]
    sample = [{"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": [deep]}}]
    [bodies] = conversations("file", json.dumps(sample))
    assert len(bodies) == 1
    with pytest.raises(WrongCall, match="file: line 1: expected JSON"):
        conversations("file", json.dumps(sample).replace("[[", "[" * 100_000))


MODULES = [building, *(sys.modules[each.read.__module__] for each in FORMATS)]
WORDS = sorted({word for module in MODULES for word in re.findall(r'"([\w.$-]+)"', inspect.getsource(module))})
"""The keys and kinds that the readers look for."""
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
LONGER: list[list[Any]] = [
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
]
"""Sessions of agents whose files change what was before."""


@st.composite
def spoilt(draw: st.DrawFn) -> Any:
    """A sample of a format with wrong things in it."""
    return _mixed(draw, draw(st.sampled_from([*SAMPLES.values(), *LONGER])))


@settings(max_examples=150)
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
            assert [decode(encode(event).encode().decode()) for event in log] == log
            assert problems(request(plan(log, preset("workbench"), ROOMY, COUNTER))["messages"]) == []


def test_a_format_is_taken_only_when_nine_tenths_of_the_talk_are_understood() -> None:
    def pi(*roles: str) -> str:
        said = [{"type": "message", "timestamp": 1, "message": {"role": role, "content": "x"}} for role in roles]
        return "\n".join(map(json.dumps, [{"type": "session", "cwd": "/x"}, *said]))

    assert len(conversations("file", pi(*["user"] * 18, "ghost", "ghost"))) == 1
    with pytest.raises(WrongCall, match=r"line 1: found an object with 'type', 'cwd', which is no transcript"):
        conversations("file", pi(*["user"] * 10, "ghost", "ghost"))
    with pytest.raises(WrongCall, match="is no transcript of a known format"):
        conversations("file", pi("ghost"))


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2026-11-15T10:00:00Z", 1_794_736_800_000),
        ("2026-11-15T11:00:00.250+01:00", 1_794_736_800_250),
        (1_794_736_800, 1_794_736_800_000),
        (1_794_736_800.5, 1_794_736_800_500),
        (1_794_736_800_000, 1_794_736_800_000),
        (1_794_736_800_000_000, 1_794_736_800_000),
        ("yesterday", 0),
        (None, 0),
        (True, 0),
        (-1, 0),
    ],
)
def test_times_are_read_as_transcripts_write_them(written: object, read: int) -> None:
    assert building.milliseconds(written) == read
