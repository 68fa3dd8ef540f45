"""Chunks become parts, whatever shape a provider gives them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.models.chunk_reader import ChunkReader, coalesce_parts, reported_usage
from workbench.models.failures import ModelFailure
from workbench.models.reply_parts import CallPiece, ReplyFinished, ReplyPart, ReportedUsage, TextPiece, ThinkingPiece


def chunk(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"delta": delta}]}


def call(index: int | None, call_id: str = "", name: str = "", arguments: str = "") -> dict[str, Any]:
    return {"index": index, "id": call_id or None, "function": {"name": name or None, "arguments": arguments}}


def read(*pieces: dict[str, Any]) -> list[ReplyPart]:
    """The parts of an answer made of tool calls, each piece in a chunk of its own."""
    reader = ChunkReader()
    found = [part for piece in pieces for part in reader.parts(chunk(tool_calls=[piece]))]
    return [*found, *reader.finish("stop")]


def together(parts: list[ReplyPart]) -> list[tuple[str, str, str]]:
    """The calls by number: id, name, arguments; an id or name that is told twice shows."""
    found: dict[int, list[str]] = {}
    for part in parts:
        if isinstance(part, CallPiece):
            sums = found.setdefault(part.number, ["", "", ""])
            for place, piece in enumerate(part[1:]):
                sums[place] += piece
    return [(one, two, three) for _, (one, two, three) in sorted(found.items())]


def test_chunks_may_be_objects_or_tables() -> None:
    thing = SimpleNamespace(choices=[SimpleNamespace(delta=SimpleNamespace(content="hi"))])
    assert ChunkReader().parts(thing) == ChunkReader().parts(chunk(content="hi")) == [TextPiece("hi")]


def test_a_chunk_with_nothing_in_it_says_nothing() -> None:
    empties: list[dict[str, Any]] = [{"choices": []}, {"choices": [{"delta": None}]}, {}]
    for empty in (*empties, chunk(role="assistant", content="")):
        assert ChunkReader().parts(empty) == []


def test_thinking_blocks_repeat_the_text_and_bring_the_signature() -> None:
    blocks = [{"type": "thinking", "thinking": "hm", "signature": "s1"}]
    assert ChunkReader().parts(chunk(reasoning_content="hm", thinking_blocks=blocks)) == [ThinkingPiece("hm", "s1")]
    assert ChunkReader().parts(chunk(thinking_blocks=blocks)) == [ThinkingPiece("hm", "s1")]


def test_a_refusal_is_text_and_ends_as_refused() -> None:
    reader = ChunkReader()
    assert reader.parts(chunk(refusal="No.")) == [TextPiece("No.")]
    assert reader.finish("stop") == [ReplyFinished("refused")]


def test_id_and_name_in_every_fragment_are_told_once() -> None:
    parts = read(call(0, "a", "f", '{"x"'), call(0, "a", "f", ": 1}"))
    assert together(parts) == [("a", "f", '{"x": 1}')]


def test_one_index_for_all_calls_still_means_several() -> None:
    parts = read(call(0, "a", "f", "{}"), call(0, "b", "f", "{}"))
    assert together(parts) == [("a", "f", "{}"), ("b", "f", "{}")]


def test_no_index_at_all() -> None:
    parts = read(call(None, "a", "f", "{"), call(None, arguments="}"), call(None, "b", "g", "{}"))
    assert together(parts) == [("a", "f", "{}"), ("b", "g", "{}")]


def test_a_name_that_comes_late_leaves_with_what_was_held() -> None:
    parts = read(call(0, "a"), call(0, arguments="{"), call(0, name="f", arguments="}"))
    assert parts == [CallPiece(0, "a", "f", "{}"), ReplyFinished("tool_calls")]


def test_a_name_that_never_comes_leaves_the_call_visible() -> None:
    assert read(call(0, "a", arguments="{}"))[0] == CallPiece(0, "a", "", "{}")


def test_calls_without_ids_get_different_ones() -> None:
    parts = together(read(call(0, name="f"), call(1, name="f")))
    assert len({call_id for call_id, _, _ in parts}) == 2
    assert all(call_id for call_id, _, _ in parts)


@given(
    st.lists(st.tuples(st.sampled_from("fgh"), st.text(max_size=12)), min_size=1, max_size=5),
    st.randoms(use_true_random=False),
)
def test_calls_come_together_again_however_they_were_cut_and_mixed(calls: list[tuple[str, str]], random: Any) -> None:
    queues = []
    for index, (name, arguments) in enumerate(calls):
        at = random.randint(0, len(arguments))
        queues.append([call(index, f"c{index}", name), call(index, arguments=arguments[:at])])
        queues[-1].append(call(index, arguments=arguments[at:]))
    pieces = [queue.pop(0) for queue in queues]  # calls begin in order, their arguments may mix
    while any(queues):
        pieces.append(random.choice([queue for queue in queues if queue]).pop(0))
    expected = [(f"c{index}", name, arguments) for index, (name, arguments) in enumerate(calls)]
    assert together(read(*pieces)) == expected


@pytest.mark.parametrize("word", [None, "", "error", "insufficient_system_resource"])
def test_without_a_finish_reason_the_stream_is_broken(word: str | None) -> None:
    with pytest.raises(ModelFailure, match="broken stream"):
        ChunkReader().finish(word)


def test_usage_in_two_halves_is_added_up_and_growing_usage_is_not() -> None:
    start = {"prompt_tokens": 90, "completion_tokens": 1, "cache_read_input_tokens": 50}
    end = {"prompt_tokens": 0, "completion_tokens": 12, "cache_creation_input_tokens": 30, "cost": 0.5}
    assert reported_usage([start, end]) == ReportedUsage(90, 12, cached=50, cache_write=30, cost=0.5)
    growing = [{"prompt_tokens": 9, "completion_tokens": made} for made in (1, 2, 3)]
    assert reported_usage(growing) == ReportedUsage(9, 3)


def test_usage_of_nothing_is_no_usage() -> None:
    assert reported_usage([]) is None
    assert reported_usage([{"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": None}]) is None


parts = st.one_of(
    st.builds(TextPiece, st.text(max_size=3)),
    st.builds(ThinkingPiece, st.text(max_size=3), st.sampled_from(["", "", "s"])),
    st.builds(CallPiece, st.integers(0, 2), st.sampled_from(["", "", "id"]), st.just(""), st.text(max_size=3)),
    st.just(ReportedUsage(1, 1)),
    st.just(ReplyFinished("stop")),
)


@given(st.lists(parts, max_size=30))
def test_joining_neighbours_never_changes_what_was_said(found: list[ReplyPart]) -> None:
    def spelled(parts: list[ReplyPart]) -> list[object]:
        """One entry per character, so that where parts were cut does not show."""
        return [
            entry
            for part in parts
            for entry in (
                [("text", letter) for letter in part.text]
                if isinstance(part, TextPiece)
                else [("call", part.number, letter) for letter in part.arguments]
                if isinstance(part, CallPiece) and not part.call_id
                else [("thinking", letter) for letter in part.text]
                if isinstance(part, ThinkingPiece) and not part.signature
                else [("call", part.number, part.call_id), *(("call", part.number, x) for x in part.arguments)]
                if isinstance(part, CallPiece)
                else [part]
            )
        ]

    joined = coalesce_parts(found)
    assert spelled(joined) == spelled(found)
    assert len(joined) <= len(found)


def test_neighbours_of_one_kind_are_joined() -> None:
    thoughts = [ThinkingPiece("h"), ThinkingPiece("m")]
    fragments = [CallPiece(0, "x", "f", "{"), CallPiece(0, "", "", "}")]
    assert coalesce_parts([*thoughts, TextPiece("a"), TextPiece("b"), *fragments, ReplyFinished("stop")]) == [
        ThinkingPiece("hm"),
        TextPiece("ab"),
        CallPiece(0, "x", "f", "{}"),
        ReplyFinished("stop"),
    ]
