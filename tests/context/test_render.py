"""Render: the request says what the rows say, in their order and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from support.logs import limits, logs, number, policies
from support.talk import COUNTER, iteration, planned, preset, spoken, summary_of
from workbench.context.budget import Limits
from workbench.context.fixed_slots import is_merged
from workbench.context.planner import plan
from workbench.context.policy import Policy
from workbench.context.render import content_json, render_messages, render_request
from workbench.log.events import (
    AssistantMessage,
    Body,
    Event,
    ImagePart,
    OtherPart,
    Override,
    Reasoning,
    SlotContent,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolResult,
    UserMessage,
)
from workbench.models.framing import CALL, MESSAGE, REPLY_PRIMING

PLAIN = preset("sliding")
TOOL = {"type": "function", "function": {"name": "read_file", "parameters": {"type": "object", "properties": {}}}}


def test_a_whole_request() -> None:
    log: list[Body] = [
        SlotContent("system", "prompt", "be kind"),
        SlotContent("tools", "read_file", json.dumps(TOOL)),
        UserMessage("read it", "ann"),
        Reasoning("I should read", "r"),
        AssistantMessage("Reading.", "r"),
        ToolCall("one", "read_file", '{"path": "a"}', "r"),
        ToolCall("two", "read_file", '{"path": "b"}', "r"),
        ToolResult("two", "B"),
        ToolResult("one", "A"),
        AssistantMessage("Done.", "s"),
    ]
    made = plan(number(log), PLAIN, Limits(1_000, "option", 0, 0), COUNTER, model="gpt-4o")
    assert render_request(made) == {
        "model": "gpt-4o",
        "messages": [
            {"role": "system", "content": "be kind"},
            {"role": "user", "content": "read it", "name": "ann"},
            {
                "role": "assistant",
                "content": "Reading.",
                "tool_calls": [
                    {"id": "one", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a"}'}},
                    {"id": "two", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "b"}'}},
                ],
            },
            {"role": "tool", "tool_call_id": "two", "content": "B"},
            {"role": "tool", "tool_call_id": "one", "content": "A"},
            {"role": "assistant", "content": "Done."},
        ],
        "tools": [TOOL],
    }


def test_a_request_without_model_and_tools_has_no_such_keys() -> None:
    assert render_request(planned([UserMessage("go")], PLAIN)) == {"messages": [{"role": "user", "content": "go"}]}


def test_a_call_without_text_has_no_content() -> None:
    _, called, _ = render_messages(planned([UserMessage("go"), *iteration("x", "done")], PLAIN))
    assert called["content"] is None
    assert [each["id"] for each in called["tool_calls"]] == ["x"]


def test_a_reply_in_several_pieces_is_one_message() -> None:
    log: list[Body] = [
        UserMessage("go"),
        AssistantMessage("one", "r"),
        AssistantMessage("two", "r"),
        *iteration("x", "done"),
    ]
    said = spoken(planned(log, PLAIN))
    assert said[1] == ("assistant", [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}])
    assert [role for role, _ in said] == ["user", "assistant", "assistant", "tool"]


def test_a_reply_in_several_pieces_is_framed_once() -> None:
    pieces = [AssistantMessage(text, "r") for text in ("one", "two", "three")]
    made = planned([UserMessage("go"), *pieces, ToolCall("x", "run", "{}", "r"), ToolResult("x", "done")], PLAIN)
    assert len(render_messages(made)) == 3
    assert made.totals.framing == REPLY_PRIMING + 3 * MESSAGE + CALL
    touched = planned([UserMessage("go"), *pieces, Override("unpin", 1, 4)], PLAIN)
    assert touched.totals == planned([UserMessage("go"), *pieces], PLAIN).totals, "an override that changes nothing"


def test_replies_that_follow_each_other_stay_apart() -> None:
    log: list[Body] = [UserMessage("go"), AssistantMessage("one", "r"), AssistantMessage("two", "s")]
    assert spoken(planned(log, PLAIN)) == [("user", "go"), ("assistant", "one"), ("assistant", "two")]


def test_parts_in_openais_form() -> None:
    parts = (
        TextPart("look"),
        ImagePart("https://example.org/a.png"),
        ImagePart("data:image/png;base64,AA", "low"),
        OtherPart({"type": "input_audio", "input_audio": {"data": "AA"}}),
    )
    assert content_json(parts) == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA", "detail": "low"}},
        {"type": "input_audio", "input_audio": {"data": "AA"}},
    ]


def test_what_is_excluded_is_not_rendered() -> None:
    log: list[Body] = [
        SlotContent("system", "prompt", "be kind"),
        SlotContent("tools", "read_file", json.dumps(TOOL)),
        SlotContent("memory", "preferences.md", "be short"),
        UserMessage("go"),
        *iteration("x", "done"),
        UserMessage("next"),
    ]
    made = planned([*log, Override("exclude", 2, 3), Override("exclude", 6, 6)], PLAIN)
    body = render_request(made)
    assert body == {
        "messages": [
            {"role": "system", "content": "be kind"},
            {"role": "user", "content": "go"},
            {"role": "user", "content": "next"},
        ]
    }


def test_a_developer_message_keeps_its_role() -> None:
    made = planned([SystemMessage("obey", "developer"), UserMessage("go")], PLAIN)
    assert spoken(made) == [("developer", "obey"), ("user", "go")]


def test_a_system_message_in_the_middle_stays_in_its_place() -> None:
    made = planned([UserMessage("go"), SystemMessage("the date changed"), AssistantMessage("yes", "r")], PLAIN)
    assert spoken(made) == [("user", "go"), ("system", "the date changed"), ("assistant", "yes")]


def test_rows_stand_in_the_order_of_the_request() -> None:
    log: list[Body] = [
        SystemMessage("from the transcript"),
        SlotContent("system", "prompt", "be kind"),
        SlotContent("instructions", "AGENTS.md", "use tabs"),
        SlotContent("memory", "preferences.md", "be short"),
        UserMessage("go"),
        AssistantMessage("yes", "r"),
        summary_of(PLAIN, 5, 6, "they agreed"),
        UserMessage("next"),
    ]
    made = planned(log, PLAIN)
    wire = json.dumps(render_messages(made))
    places = [wire.index(row.text.strip().splitlines()[-1]) for row in made.items if row.in_request and row.text]
    assert places == sorted(places)


@given(logs(), policies(), limits)
def test_every_text_that_a_row_shows_is_in_the_request_and_nothing_more(
    log: list[Event], policy: Policy, budget: Limits
) -> None:
    made = plan(log, policy, budget, COUNTER)
    rows = [row for row in made.items.sent_items() if row.kind != "tool_definition"]
    slots = [row for row in rows if row.slot in ("system", "instructions", "memory")]
    before = sum(not is_merged(row) for row in slots) + any(is_merged(row) for row in slots)
    said = render_messages(made)[before:]
    spoken = [row for row in rows[len(slots) :] if row.kind != "tool_call"]
    shown = [text for row in spoken for text in _texts(content_json(row.content or ""))]
    assert [text for message in said for text in _texts(message["content"])] == shown
    assert [row.text for row in spoken if isinstance(row.content, str)] == [
        row.content for row in spoken if isinstance(row.content, str)
    ]


def _texts(content: Any) -> list[str]:
    """The texts of a message that are not blank."""
    parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content or []]
    return [text for text in parts if text.strip()]


@given(logs(most=12), policies(), limits)
def test_framing_is_what_the_messages_cost_beside_their_content(
    log: list[Event], policy: Policy, budget: Limits
) -> None:
    made = plan(log, policy, budget, COUNTER)
    said = render_messages(made)
    names = sum(COUNTER.count(message["name"]).tokens + 1 for message in said if "name" in message)
    tools = [call["function"]["name"] for message in said for call in message.get("tool_calls", [])]
    names += sum(COUNTER.count(tool).tokens - 1 for tool in tools)
    slots = [row for row in made.items.sent_items() if row.slot in ("system", "instructions", "memory", "tools")]
    if not slots and made.verdict.status != "waiting":
        results = [
            row.content for row in made.items.sent_items() if row.role == "tool" and isinstance(row.content, tuple)
        ]
        pictures = sum(any(isinstance(part, ImagePart) for part in content) for content in results)
        alone = len(said) - pictures  # the message that carries a result's pictures is part of what they cost
        assert made.totals.framing == REPLY_PRIMING + MESSAGE * alone + CALL * len(tools) + names


@pytest.mark.parametrize("text", ["not JSON", "[]", "[" * 100_000, '"a name"'], ids=range(4))
def test_a_tool_whose_definition_is_no_object_is_left_out_with_the_reason(text: str) -> None:
    made = plan(
        number([SlotContent("tools", "odd", text), UserMessage("hello")]), PLAIN, Limits(8_000, "option", 0, 0), COUNTER
    )
    [row] = [row for row in made.items if row.slot == "tools"]
    assert row.state == "dropped"
    assert "no JSON object" in row.edits[-1].why
    assert row.tokens == 0
    assert "tools" not in render_request(made)
