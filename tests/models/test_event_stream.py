"""An event stream leaves as the same events, however it was cut into pieces and lines."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.models.event_stream import MOST_EVENT, EventStream, mended_event
from workbench.models.failures import ModelFailure

WORDS = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=12)
BODIES = st.lists(st.dictionaries(st.sampled_from(["text", "type"]), WORDS, max_size=2), max_size=5)


def fed(data: bytes, cuts: list[int]) -> bytes:
    """The stream in pieces that end at these places."""
    stream, found, start = EventStream(), b"", 0
    for cut in sorted(min(cut, len(data)) for cut in cuts):
        found += stream.feed(data[start:cut])
        start = cut
    return found + stream.feed(data[start:]) + stream.end()


@given(BODIES, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans(), st.lists(st.integers(0, 300), max_size=9))
def test_pieces_line_ends_marks_and_comments_make_no_difference(
    bodies: list[dict[str, str]], end: str, mark: bool, cuts: list[int]
) -> None:
    told = [json.dumps(body, ensure_ascii=False) for body in bodies]
    plain = "".join(f"data: {body}\n\n" for body in told).encode()
    spread = "".join(f": hush{end}id: 7{end}data:{body}{end}{end}" for body in told).encode()
    assert fed(b"\xef\xbb\xbf" * mark + spread, cuts) == plain


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=9))
def test_any_bytes_give_the_same_however_they_are_cut(data: bytes, cuts: list[int]) -> None:
    assert fed(data, cuts) == fed(data, [])


def test_data_on_several_lines_is_one_value() -> None:
    found = fed(b'event: x\ndata: {"a":\ndata: 1}\n\n', [])
    assert found == b'event: x\ndata: {"a": 1}\n\n'


def test_the_last_event_needs_no_blank_line_and_half_a_value_is_none() -> None:
    assert fed(b'data: {"a": 1}', []) == b'data: {"a": 1}\n\n'
    assert fed(b"data: [DONE]", []) == b"data: [DONE]\n\n"
    assert fed(b'data: {"a": 1}\n\ndata: {"a', []) == b'data: {"a": 1}\n\n'


def test_plain_lines_of_json_pass() -> None:
    assert fed(b'{"a": 1}\n{"b": 2}\n', []) == b'{"a": 1}\n\n{"b": 2}\n\n'


def test_an_event_without_an_end_is_refused() -> None:
    with pytest.raises(ModelFailure) as caught:
        fed(b"data: " + b"x" * MOST_EVENT, [2**16 * at for at in range(500)])
    assert caught.value.category == "unreadable_answer"


def test_the_longest_event_passes_after_another_one_too() -> None:
    longest = b"data: " + b"x" * (MOST_EVENT - 8) + b"\n\n"
    assert fed(b"data: [DONE]\n\n" + longest, []) == b"data: [DONE]\n\n" + longest


def choice(**delta: object) -> bytes:
    return json.dumps({"choices": [{"delta": delta}]}).encode()


def test_texts_ids_and_arguments_get_their_usual_shapes() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    parts = [thought, {"type": "text", "text": "a"}, "b", 5, None, {"type": "image"}]
    assert json.loads(mended_event(choice(content=parts))) == json.loads(choice(content="ab", reasoning_content="hm"))
    call = {"index": 0, "id": 5, "function": {"name": "f", "arguments": {"x": 1}}}
    [found] = json.loads(mended_event(choice(tool_calls=[call])))["choices"][0]["delta"]["tool_calls"]
    assert (found["id"], found["function"]["arguments"]) == ("5", '{"x": 1}')
    block = {"type": "content_block_start", "content_block": {"type": "tool_use", "id": None}}
    assert json.loads(mended_event(json.dumps(block).encode()))["content_block"]["id"] == ""


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = ("content", "tool_calls", "id", "function", "arguments", "type", "thinking", "text")


@given(st.dictionaries(st.sampled_from(KEYS), JSON), JSON)
def test_whatever_stands_in_an_event_nothing_is_raised(delta: dict[str, object], other: object) -> None:
    for body in ({"choices": [{"delta": delta}, delta, other]}, {"content_block": delta}, {"choices": other}, other):
        json.loads(mended_event(json.dumps(body).encode()))


def test_figures_that_are_no_numbers_are_left_out() -> None:
    data = b'{"usage": {"total_tokens": Infinity, "prompt_tokens": 3, "details": {"cached": NaN, "audio": 1e999}}}'
    assert json.loads(mended_event(data)) == {"usage": {"prompt_tokens": 3, "details": {}}}


def test_what_is_in_order_is_not_touched() -> None:
    for data in (choice(content="a"), b"[DONE]", b"", b"[1", b"1" * 5_000, b"[" * 10_000):
        assert mended_event(data) is data
