"""What providers clear and compact, as it stands in bodies and streams."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from workbench.context.control import NO_DECISION, apply_override
from workbench.log.events import Compaction, Event, Reasoning, ToolResult, UserMessage
from workbench.wire.context_edits import ProviderClearing, ProviderEdits, applied_edits
from workbench.wire.dialects import from_stream, read_answer, read_request
from workbench.wire.responses import SEALED


@given(st.lists(st.tuples(st.sampled_from(["result", "request"]), st.integers(0, 6)), max_size=30))
def test_in_each_request_the_oldest_results_are_cleared_and_no_others(steps: list[tuple[str, int]]) -> None:
    clearing, overrides, results, seq = ProviderClearing(), dict[int, Any](), list[int](), 0
    for kind, count in steps:
        if kind == "result":
            seq += 1
            results.append(seq)
            clearing.add_event(seq, ToolResult(f"c{seq}", "x", "ls"))
            continue
        for decided in clearing.decisions(ProviderEdits(results=count)):
            seq += 1
            apply_override(overrides, Event(seq, "e", 0, decided))
        masked = [each for each in results if overrides.get(each, NO_DECISION).masked]
        assert masked == results[:count]


def test_the_oldest_thinking_is_cleared_reply_by_reply() -> None:
    clearing = ProviderClearing()
    for seq, reply in enumerate(("r1", "r1", "r2"), 1):
        clearing.add_event(seq, Reasoning(f"thought {seq}", reply))
    made = clearing.decisions(ProviderEdits(replies=1))
    assert [(each.action, each.first) for each in made] == [("exclude", 1), ("exclude", 2)]


def test_what_a_compaction_replaced_is_not_counted() -> None:
    clearing = ProviderClearing()
    clearing.add_event(1, ToolResult("a", "x"))
    clearing.add_event(2, Compaction(1, 1, "so far"))
    clearing.add_event(3, ToolResult("b", "y"))
    assert [each.first for each in clearing.decisions(ProviderEdits(results=1))] == [3]


def test_a_stream_reports_clearing_at_its_end_and_a_compaction_in_pieces() -> None:
    done = {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 8, "cleared_input_tokens": 50_000}
    events = [
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "usage": {"input_tokens": 9}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "compaction", "content": None}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "compaction_delta", "content": "so "}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "compaction_delta", "content": "far"}},
        {"type": "message_delta", "delta": {}, "usage": {}, "context_management": {"applied_edits": [done]}},
    ]
    body = from_stream("anthropic", "".join(f"data: {json.dumps(each)}\n\n" for each in events))
    assert applied_edits(body)[:2] == (8, 50_000)
    [summary], _ = read_answer("anthropic", body)
    assert isinstance(summary, Compaction)
    assert summary.summary == "so far"


def test_a_compaction_of_anthropic_that_failed_changes_nothing() -> None:
    message = {"role": "assistant", "content": [{"type": "compaction", "content": None}, {"type": "text", "text": "x"}]}
    assert not any(isinstance(body, Compaction) for body in read_request("anthropic", {"messages": [message]}))


USER = {"role": "user", "content": "look"}
ITEM = {"type": "compaction", "id": "cmp_1", "encrypted_content": "x"}
CALL = {"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}"}


def compaction_in(bodies: list[Any]) -> Compaction:
    [found] = [body for body in bodies if isinstance(body, Compaction)]
    return found


def test_a_compaction_item_behind_the_models_words_stands_for_all_before_it() -> None:
    found = compaction_in(read_request("responses", {"input": [USER, CALL, ITEM, USER]}))
    assert (found.first, found.last, found.summary, found.meta["made_by"]) == (1, 2, SEALED, "OpenAI")


def test_behind_what_the_user_said_alone_it_stands_for_what_is_not_there_any_more() -> None:
    bodies = read_request("responses", {"input": [USER, ITEM, USER]})
    found = compaction_in(bodies)
    assert found.first > found.last
    assert bodies[0] == UserMessage("look")


def test_in_an_answer_it_replaces_what_was_asked() -> None:
    bodies, _ = read_answer("responses", {"output": [ITEM, {"type": "message", "role": "assistant", "content": "x"}]})
    assert compaction_in(bodies).first == 1
