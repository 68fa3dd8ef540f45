"""A streamed answer is put together again, however it was cut into pieces."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.wire.dialects import DIALECTS, from_stream
from workbench.wire.streams import parsed_json

PIECES = st.lists(st.text(), max_size=8)
KEYS = st.sampled_from(
    (
        *("choices", "delta", "tool_calls", "index", "function", "arguments", "name", "content", "type", "message"),
        *("content_block", "usage", "response", "output", "item", "candidates", "parts", "text", "thought", "id"),
        *("finish_reason", "finishReason", "usageMetadata", "partial_json"),
    )
)


def stream(*events: dict[str, Any]) -> str:
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events)


def chat(**delta: Any) -> dict[str, Any]:
    return {"id": "a", "choices": [{"index": 0, "delta": delta}]}


def called(index: int, **function: str) -> dict[str, Any]:
    return chat(tool_calls=[{"index": index, "id": f"c{index}", "function": function}])


def delta(index: int, kind: str, key: str, text: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, key: text}}


@given(PIECES, PIECES, PIECES)
def test_pieces_of_openai_are_the_whole(text: list[str], thought: list[str], given_to: list[str]) -> None:
    events = [chat(content=piece) for piece in text] + [chat(reasoning=piece) for piece in thought]
    events += [called(0, name="ls"), *(called(0, arguments=piece) for piece in given_to)]
    message = from_stream("chat", stream(*events))["choices"][0]["message"]
    assert message["content"] == "".join(text)
    assert message.get("reasoning", "") == "".join(thought)
    assert message["tool_calls"] == [
        {"id": "c0", "type": "function", "function": {"name": "ls", "arguments": "".join(given_to)}}
    ]


@given(PIECES, PIECES, st.dictionaries(st.text(), st.text(), max_size=3), st.integers(0, 40))
def test_pieces_of_anthropic_are_the_whole(
    text: list[str], thought: list[str], asked: dict[str, str], cut: int
) -> None:
    written = json.dumps(asked)
    blocks = [
        {"type": "thinking", "thinking": ""},
        {"type": "text", "text": "so: "},
        {"type": "tool_use", "name": "ls"},
    ]
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "m"}},
        *({"type": "content_block_start", "index": at, "content_block": block} for at, block in enumerate(blocks)),
        *(delta(0, "thinking_delta", "thinking", piece) for piece in thought),
        *(delta(1, "text_delta", "text", piece) for piece in text),
        *(delta(2, "input_json_delta", "partial_json", piece) for piece in (written[:cut], written[cut:])),
    ]
    found = from_stream("anthropic", stream(*events))["content"]
    assert [found[0]["thinking"], found[1]["text"], found[2]["input"]] == [
        "".join(thought),
        "so: " + "".join(text),
        asked,
    ]


def test_the_finished_items_of_openai_responses_are_the_output() -> None:
    one, other = ({"type": "message", "id": name} for name in ("a", "b"))
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": "r", "output": []}},
        {"type": "response.output_item.added", "item": {**one, "status": "in_progress"}},
        {"type": "response.output_item.done", "item": one},
        {"type": "response.output_item.done"},
        {"type": "response.output_item.done", "item": other},
        {"type": "response.in_progress"},
    ]
    assert from_stream("responses", stream(*events)) == {"id": "r", "output": [one, other]}
    whole = {"type": "response.completed", "response": {"id": "r", "output": [other]}}
    assert from_stream("responses", stream(*events, whole))["output"] == [other], "what the end says counts"


def test_a_character_that_comes_in_two_halves_is_one() -> None:
    halves = ("\ud83d", "\ude00")
    assert from_stream("chat", stream(*(chat(content=half) for half in halves)))["choices"][0]["message"] == {
        "role": "assistant",
        "content": "😀",
    }
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    events = [start, *(delta(0, "text_delta", "text", half) for half in halves)]
    assert from_stream("anthropic", stream(*events))["content"][0]["text"] == "😀"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('{"b": 1e999, "c": [-1e999, 0.5]}', {"b": "1e999", "c": ["-1e999", 0.5]}),
        ('{"b": NaN, "c": -Infinity}', {"b": "NaN", "c": "-Infinity"}),
        ('{"b": 1', '{"b": 1'),
        ("", {}),
    ],
)
def test_the_input_of_a_call_has_only_values_that_json_can_hold(written: str, expected: Any) -> None:
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "name": "ls"}}
    events = [start, delta(0, "input_json_delta", "partial_json", written)]
    assert from_stream("anthropic", stream(*events))["content"][0]["input"] == expected


def test_what_is_nested_too_deeply_to_be_read_is_nothing() -> None:
    assert parsed_json("[" * 100_000 + "]" * 100_000) is None


EVENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(("text", "message_start")),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(KEYS, inside, max_size=5),
    max_leaves=25,
)


@given(st.sampled_from(("chat", "anthropic", "responses", "gemini")), st.lists(EVENTS, max_size=6), st.binary())
def test_a_stream_of_nonsense_is_read_as_far_as_it_makes_sense(dialect: Any, events: list[Any], junk: bytes) -> None:
    lines = [b"data: " + json.dumps(event).encode() + b"\n\n" for event in events]
    assert isinstance(from_stream(dialect, junk.join(lines)), dict)
    assert isinstance(from_stream(dialect, json.dumps(events).encode()), dict)


def test_the_pieces_of_a_long_text_are_put_together_once() -> None:
    """A text that grows by one piece at a time would be copied again and again."""
    event = b'data: {"candidates":[{"content":{"parts":[{"text":"ab"}]}}]}\n'
    found = from_stream("gemini", event * 200_000)
    assert found["candidates"][0]["content"]["parts"] == [{"text": "ab" * 200_000}]


def test_an_answer_of_gemini_is_unwrapped_only_where_it_is_wrapped() -> None:
    gemini, answer = DIALECTS["gemini"], {"candidates": [], "response": {"text": "a field of its own"}}
    assert gemini.unwrapped_answer({"response": {"candidates": []}}) == {"candidates": []}
    assert gemini.unwrapped_answer(answer) == answer
    assert gemini.unwrapped_answer({"error": {"code": 400}}) == {"error": {"code": 400}}
