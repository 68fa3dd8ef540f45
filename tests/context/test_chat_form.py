"""Every request is one that OpenAI's and Anthropic's own types take, whatever an agent recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.logs import number
from support.recordings import FOLDER, readable_files
from support.schemas import refused_by_anthropic, refused_by_openai
from support.talk import COUNTER, ROOMY, planned, preset
from workbench.config.errors import WrongCall
from workbench.context.planner import plan
from workbench.context.policy import Policy
from workbench.context.render import render_messages, render_request
from workbench.context.stages.chat_form import chat_tool
from workbench.log.events import (
    AssistantMessage,
    Body,
    Content,
    Event,
    ImagePart,
    OtherPart,
    Part,
    SlotContent,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolResult,
    UserMessage,
)
from workbench.sources.source import file_logs

pytestmark = pytest.mark.xdist_group("litellm")

PLAIN = Policy()
PICTURE = ImagePart("data:image/png;base64,iVBORw0KGgo=")
REFERENCE = OtherPart({"type": "tool_reference", "tool_name": "WebFetch"})
DOCUMENT = OtherPart({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "the text"}})
FALLBACK = OtherPart({"type": "fallback", "value": 3})
FREE = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
AUDIO = OtherPart({"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}})


def called(content: Content) -> list[Body]:
    return [UserMessage("go"), ToolCall("c1", "look", "{}", "r1"), ToolResult("c1", content, "look")]


def test_parts_that_a_chat_api_does_not_take_are_sent_as_text_and_the_row_says_so() -> None:
    made = planned(called((TextPart("found"), REFERENCE, DOCUMENT, FALLBACK)), PLAIN)
    row = next(row for row in made.items if row.kind == "tool_result")
    assert row.content == tuple(map(TextPart, ("found", "[tool_reference: WebFetch]", "the text", "[fallback]")))
    assert row.edits[0].why == "a chat API does not take document, fallback, tool_reference here; sent as text"
    assert row.tokens < row.original_tokens


def test_pictures_of_results_follow_behind_all_results_of_a_reply() -> None:
    log: list[Body] = [
        UserMessage("go"),
        ToolCall("c1", "look", "{}", "r1"),
        ToolCall("c2", "look", "{}", "r1"),
        ToolResult("c1", (PICTURE,)),
        ToolResult("c2", "text"),
        AssistantMessage("I see", "r2"),
    ]
    made = planned(log, PLAIN)
    said = render_messages(made)
    assert [message["role"] for message in said] == ["user", "assistant", "tool", "tool", "user", "assistant"]
    assert said[2]["content"] == [{"type": "text", "text": "[image]"}]
    assert said[4]["content"] == [{"type": "image_url", "image_url": {"url": PICTURE.url}}]
    row = next(row for row in made.items if row.kind == "tool_result")
    assert "follow in a message of the user's" in row.edits[0].why


def test_what_was_recorded_is_shown_as_it_was_sent_and_written_as_chat_has_it() -> None:
    said = (TextPart("found"), REFERENCE, FALLBACK)
    log = called(said)
    recorded = planned(log, preset("recorded"))
    row = next(row for row in recorded.items if row.kind == "tool_result")
    assert (row.content, row.edits, row.tokens) == (said, (), row.original_tokens)
    assert refused_by_openai(render_request(recorded)) == ""
    tool = SlotContent("tools", "web_search", '{"type": "web_search"}')
    assert planned([tool, *log], preset("recorded")).items[0].state == "sent"
    assert planned([tool, *log], PLAIN).items[0].state == "dropped"


@pytest.mark.parametrize(
    ("definition", "sent"),
    [
        ({"type": "web_search"}, None),
        ({"type": "bash_20250124", "name": "bash"}, None),
        (
            {"type": "custom", "name": "patch", "description": "d", "format": {"type": "grammar"}},
            {"name": "patch", "description": "d", "parameters": FREE},
        ),
        ({"type": "custom", "custom": {"name": "patch"}}, {"name": "patch", "parameters": FREE}),
        ({"type": "custom"}, None),
        ({"name": "ls", "input_schema": {"type": "object"}}, {"name": "ls", "parameters": {"type": "object"}}),
        ({"type": "function", "function": {"name": "ls", "parameters": None}}, {"name": "ls"}),
        ({"type": "function", "function": {"name": "ls"}}, {"name": "ls"}),
    ],
)
def test_a_tool_is_sent_as_a_function_or_not_at_all(definition: Any, sent: Any) -> None:
    found, note = chat_tool(definition)
    assert found == (None if sent is None else {"type": "function", "function": sent})
    assert bool(note) == (found != definition)


kinds = st.sampled_from(
    ["tool_reference", "fallback", "document", "input_image", "file", "input_audio", "thinking", "x"]
)
values = (
    st.none()
    | st.text("ab ", max_size=3)
    | st.dictionaries(st.sampled_from(["data", "format", "type"]), st.just("wav"))
)
others = st.builds(
    lambda kind, more: OtherPart({**more, "type": kind}),
    kinds,
    st.dictionaries(st.sampled_from(["text", "content", "source", "file", "input_audio", "tool_name"]), values),
)
KNOWN: list[Part] = [TextPart("a"), TextPart(" "), PICTURE, REFERENCE, DOCUMENT, FALLBACK, AUDIO]
parts: st.SearchStrategy[Part] = st.sampled_from(KNOWN) | others
contents = st.text("ab ", max_size=3) | st.lists(parts, max_size=4).map(tuple)
tools = st.sampled_from(
    [
        "{}",
        "[]",
        '{"type": "x", "name": "y"}',
        '{"name": "y", "parameters": {}}',
        '{"function": {"name": "y", "strict": 3}}',
    ]
)


@st.composite
def talks(draw: st.DrawFn) -> list[Event]:
    said: list[Body] = [SlotContent("tools", "y", draw(tools)), SystemMessage(draw(contents))]
    for at in range(draw(st.integers(1, 3))):
        said.append(UserMessage(draw(contents)))
        said.append(AssistantMessage(draw(contents), f"r{at}"))
        said.append(ToolCall(f"c{at}", "y", "{}", f"r{at}"))
        said.append(ToolResult(f"c{at}", draw(contents)))
        said.append(SystemMessage(draw(contents)))
    return number(said)


@given(talks(), st.sampled_from(["workbench", "recorded"]))
def test_whatever_was_said_the_request_is_one_that_their_types_take(log: list[Event], policy: str) -> None:
    body = render_request(plan(log, preset(policy), ROOMY, COUNTER))
    assert refused_by_openai(body) == ""
    assert refused_by_anthropic(body) == ""


def transcripts() -> Iterator[tuple[str, list[Event]]]:
    for file in readable_files(".json", ".jsonl", ".traj"):
        try:
            found = file_logs(file.name, file.read_text("utf-8"))
        except WrongCall:
            continue
        longest = sorted(range(len(found)), key=lambda at: -len(found[at]))[:3]
        yield from ((f"{file.name}#{at + 1}", found[at]) for at in sorted(longest))


@pytest.mark.skipif(not FOLDER.is_dir(), reason="no transcripts here")
@pytest.mark.long
def test_requests_of_real_transcripts_are_taken() -> None:
    for name, events in transcripts():
        for policy in ("workbench", "recorded"):
            body = render_request(plan(events, preset(policy), ROOMY, COUNTER))
            assert refused_by_openai(body) == "", name
            assert refused_by_anthropic(body) == "", name
            assert json.dumps(body)
