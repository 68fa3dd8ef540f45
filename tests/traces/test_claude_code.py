"""Sessions of Claude Code."""

from __future__ import annotations

import json
from typing import Any

from workbench.log.events import (
    AssistantMessage,
    Compaction,
    Failure,
    ImagePart,
    Override,
    Reasoning,
    Setting,
    SlotContent,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
    UserMessage,
)
from workbench.traces.building import OLD_RESULT, Recording
from workbench.traces.formats import conversations


def line(kind: str, content: Any = None, uuid: str = "u", **more: Any) -> dict[str, Any]:
    """A line that holds a message."""
    message = {"role": kind, "content": content, **more.pop("message", {})}
    return {"type": kind, "uuid": uuid, "sessionId": "s", "message": message, **more}


def reply(block: dict[str, Any], name: str = "msg", **more: Any) -> dict[str, Any]:
    """A line with one block of a reply."""
    return line("assistant", [block], message={"id": name, **more})


def read(*lines: dict[str, Any]) -> list[Recording]:
    return conversations("file", "\n".join(map(json.dumps, lines)))


USED = {"input_tokens": 3, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 5, "output_tokens": 7}
HOUR = {"cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 5}}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}


def test_what_is_kept_in_the_cache_for_an_hour_is_told() -> None:
    [bodies] = read(line("user", "look"), reply({"type": "text", "text": "Done."}, usage={**USED, **HOUR}))
    [used] = [body for body in bodies if isinstance(body, Usage)]
    assert (used.cached, used.cache_write, used.cache_hour) == (10, 5, 5)


def test_the_lines_of_a_reply_are_one_reply_whose_usage_is_told_once() -> None:
    first = {**USED, "output_tokens": 1}
    [bodies] = read(
        line("user", "look"),
        reply({"type": "thinking", "thinking": "hm", "signature": "sig"}, model="claude", usage=first),
        reply({"type": "text", "text": "I look."}, model="claude", usage=first),
        reply({"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "x"}}, usage=USED),
        line("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "no file", "is_error": True}]),
        reply({"type": "text", "text": "There is none."}, "msg2", stop_reason="max_tokens"),
    )
    assert bodies == [
        UserMessage("look"),
        Setting("model", "claude"),
        Reasoning("hm", "msg", "sig"),
        AssistantMessage("I look.", "msg", model="claude"),
        ToolCall("t1", "Read", '{"path": "x"}', "msg"),
        Usage("claude", 0, 18, 10, 5, 7),
        ToolResult("t1", "no file", "Read", is_error=True),
        AssistantMessage("There is none.", "msg2", finish="length", model="claude"),
    ]


def test_results_that_come_before_a_reply_is_over_stand_behind_it_and_its_usage() -> None:
    [bodies] = read(
        line("user", "look"),
        reply({"type": "tool_use", "id": "t1", "name": "Read", "input": {}}, usage=USED),
        line("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "one"}]),
        {"type": "progress", "uuid": "p", "sessionId": "s"},
        reply({"type": "tool_use", "id": "t2", "name": "Read", "input": {}}, usage=USED),
        line("user", [{"type": "tool_result", "tool_use_id": "t2", "content": "two"}]),
    )
    assert bodies[1:6] == [
        ToolCall("t1", "Read", "{}", "msg"),
        ToolCall("t2", "Read", "{}", "msg"),
        Usage("", 0, 18, 10, 5, 7),
        ToolResult("t1", "one", "Read"),
        ToolResult("t2", "two", "Read"),
    ]


def test_a_reply_that_goes_on_behind_something_else_is_reported_once() -> None:
    [bodies] = read(
        line("user", "look"),
        reply({"type": "text", "text": "I look."}, usage=USED),
        line("user", "and hurry"),
        reply({"type": "tool_use", "id": "t1", "name": "Read", "input": {}}, usage=USED),
        line("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "one"}]),
        reply({"type": "text", "text": "Done."}, "msg2", usage=USED),
    )
    assert [type(body).__name__ for body in bodies] == [
        *("UserMessage", "AssistantMessage", "Usage", "UserMessage"),
        *("ToolCall", "ToolResult", "AssistantMessage", "Usage"),
    ]


def test_the_time_is_that_of_the_line() -> None:
    [bodies] = read(
        line("user", "look", timestamp="2026-01-02T03:04:05.678Z"),
        line("assistant", "done", message={"usage": USED}, timestamp="2026-01-02T03:04:06Z"),
        line("user", "more", timestamp="2026-01-02T03:05:00Z"),
    )
    start = 1767323045678
    assert bodies.times == [start, start + 322, start + 322, start + 54_322]


def attachment(kind: str, rendered: tuple[str, ...] = (), role: str = "", **more: Any) -> dict[str, Any]:
    shown = {"rendered": [{"content": text} for text in rendered], "renderedRole": role} if rendered else {}
    return {"type": "attachment", "uuid": "a", "sessionId": "s", "attachment": {"type": kind, **more}, **shown}


REMINDER = "<system-reminder>\nToday is Monday.\n</system-reminder>"


def test_what_was_typed_while_the_agent_worked_is_a_message_in_its_place() -> None:
    [bodies] = read(
        line("user", "look"),
        reply({"type": "text", "text": "I look."}),
        attachment("queued_command", prompt="and hurry", commandMode="prompt"),
        attachment("queued_command", prompt=[{"type": "text", "text": "please"}]),
        reply({"type": "text", "text": "Yes."}, "msg2"),
    )
    assert bodies == [
        UserMessage("look"),
        AssistantMessage("I look.", "msg"),
        UserMessage("and hurry"),
        UserMessage("please"),
        AssistantMessage("Yes.", "msg2"),
    ]


def test_attachments_that_were_rendered_are_messages_as_they_were_sent() -> None:
    [bodies] = read(
        line("user", "look"),
        attachment("date", (REMINDER,), "system"),
        attachment("file", (REMINDER, "its text"), "user"),
        attachment("queued_command", (REMINDER,), "system", prompt="x"),
        attachment("task", (REMINDER,), "user"),
        attachment("novelty"),
    )
    assert bodies == [
        UserMessage("look"),
        SystemMessage("Today is Monday.", "system"),
        SystemMessage(REMINDER, "user"),
        SystemMessage("its text", "user"),
        UserMessage("Today is Monday."),
        SystemMessage(REMINDER, "user"),
        Unknown("Claude Code attachment novelty", {"entry": attachment("novelty")}),
    ]


def test_a_snapshot_of_the_prompt_fills_the_slots() -> None:
    schema = {"name": "Read", "input_schema": {"type": "object"}}
    [bodies] = read(
        line("user", "look"), attachment("prompt_snapshot", systemPrompt=["one", "two"], tools=[{"schema": schema}])
    )
    assert bodies[1:3] == [
        SlotContent("system", "system", "one\n\ntwo"),
        SlotContent(
            "tools", "Read", '{"type": "function", "function": {"name": "Read", "parameters": {"type": "object"}}}'
        ),
    ]


def test_a_micro_compaction_masks_the_results_it_names() -> None:
    results = [{"type": "tool_result", "tool_use_id": name, "content": name} for name in ("t1", "t2", "t3")]
    noted = {"preTokens": 65_398, "tokensSaved": 45_149, "compactedToolIds": ["t1", "t3", "t9"]}
    [bodies] = read(
        line("user", "look"),
        line("user", results),
        {"type": "system", "subtype": "microcompact_boundary", "sessionId": "s", "microcompactMetadata": noted},
    )
    why = "cleared by Claude Code's micro-compaction: 65,398 tokens before it, 45,149 saved"
    assert bodies[4:] == [Override("mask", seq, seq, why, OLD_RESULT, joined=seq > 2) for seq in (2, 4)]


def test_each_session_of_a_file_is_a_conversation() -> None:
    one, two = {"sessionId": "one"}, {"sessionId": "two"}
    assert read(
        {"type": "summary", "summary": "A title", "leafUuid": "u"},
        line("user", "first", "a1", **one),
        line("user", "second", "b1", **two),
        line("user", "agent", "c1", isSidechain=True, agentId="x", **two),
        line("assistant", "to the first", "a2", parentUuid="a1", **one),
    ) == [
        [Setting("title", "A title"), UserMessage("first"), AssistantMessage("to the first", "a2")],
        [UserMessage("second")],
        [UserMessage("agent")],
    ]


def test_a_session_that_goes_on_from_another_is_the_same_conversation() -> None:
    resumed = {"sessionId": "two"}
    [bodies] = read(
        line("user", "first", "a1"),
        {"type": "mode", **resumed},
        line("user", "second", "b1", parentUuid="a1", **resumed),
        line("user", "third", "b2", parentUuid="b1", **resumed),
    )
    assert bodies[:3] == [UserMessage("first"), UserMessage("second"), UserMessage("third")]


def test_results_and_words_of_one_user_message_stay_in_order() -> None:
    blocks = [{"type": "text", "text": "see"}, IMAGE]
    result = {"type": "tool_result", "tool_use_id": "t1", "content": blocks}
    [bodies] = read(line("user", [result, {"type": "text", "text": "go on"}]))
    picture = ImagePart("data:image/png;base64,AA==")
    assert bodies == [ToolResult("t1", (TextPart("see"), picture)), UserMessage("go on")]


def boundary(**noted: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": "compact_boundary", "uuid": "b", "sessionId": "s", "compactMetadata": noted}


def test_a_boundary_and_its_summary_are_a_compaction_of_all_before() -> None:
    [bodies] = read(
        line("user", "one"),
        reply({"type": "text", "text": "two"}),
        boundary(trigger="auto", preTokens=900, postTokens=300),
        line("user", "so far: one, two", isCompactSummary=True),
        line("user", "three"),
    )
    noted = {"made_by": "Claude Code", "trigger": "auto", "tokens_before": 900, "tokens_after": 300}
    assert bodies[2:] == [Compaction(1, 2, "so far: one, two", meta=noted), UserMessage("three")]


def test_what_a_compaction_preserved_is_outside_its_range() -> None:
    [bodies] = read(
        line("user", "one", "u1"),
        line("user", "two", "u2"),
        boundary(preservedSegment={"headUuid": "u2", "tailUuid": "u2"}),
        line("user", "so far: one", isCompactSummary=True),
    )
    assert bodies[2] == Compaction(1, 1, "so far: one", meta={"made_by": "Claude Code"})


def test_a_summary_at_the_beginning_is_what_the_user_said() -> None:
    [bodies] = read(boundary(), line("user", "so far", isCompactSummary=True))
    assert bodies[0] == UserMessage("so far")


def test_sub_agents_are_conversations_of_their_own() -> None:
    talks = read(
        line("user", "main"),
        line("user", "named", "a1", isSidechain=True, agentId="x"),
        line("user", "first", "b1", isSidechain=True, parentUuid=None),
        line("user", "second", "c1", isSidechain=True, parentUuid=None),
        line("assistant", "answer", "b2", isSidechain=True, parentUuid="b1"),
    )
    assert talks == [
        [UserMessage("main")],
        [UserMessage("named")],
        [UserMessage("first"), AssistantMessage("answer", "b2")],
        [UserMessage("second")],
    ]


def test_a_file_of_a_sub_agent_alone_is_one_conversation() -> None:
    other = {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}
    assert len(read(other, line("user", "named", isSidechain=True, agentId="x"))) == 1


def test_errors_titles_and_the_rest_never_become_part_of_the_conversation() -> None:
    [bodies] = read(
        {"type": "summary", "summary": "A  title", "leafUuid": "u"},
        {"type": "ai-title", "aiTitle": "A title", "sessionId": "s"},
        line("assistant", [{"type": "text", "text": "API Error: 529"}], isApiErrorMessage=True),
        {"type": "progress", "uuid": "p", "sessionId": "s", "data": {}},
        {"type": "progress", "uuid": "p", "sessionId": "s", "data": {}},
        {"type": "system", "subtype": "turn_duration", "sessionId": "s"},
        {"type": "system", "subtype": "nano_boundary", "sessionId": "s"},
        reply({"type": "redacted_thinking", "data": "x"}),
        {"type": "novelty", "sessionId": "s"},
        boundary(),
    )
    assert bodies == [
        Setting("title", "A title"),
        Failure("transcript", "API Error: 529"),
        Unknown(
            "Claude Code system nano_boundary",
            {"entry": {"type": "system", "subtype": "nano_boundary", "sessionId": "s"}},
        ),
        Unknown("Claude Code novelty", {"entry": {"type": "novelty", "sessionId": "s"}}),
        Unknown("Claude Code system compact_boundary", {"entry": boundary()}),
        Setting("left out", {"progress": 2, "system turn_duration": 1, "redacted_thinking": 1}),
    ]


def test_a_line_that_stands_there_twice_counts_once() -> None:
    lines = [line("user", "hi", uuid="u1"), line("assistant", [{"type": "text", "text": "yes"}], uuid="u2")]
    once, [twice] = read(*lines), read(*lines, *lines)
    assert [body for body in twice if not isinstance(body, Setting)] == [*once[0]]
