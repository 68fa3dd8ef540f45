"""Sessions of Claude Code."""

from __future__ import annotations

from typing import Any

import pytest

from traces.claude_code_lines import HOUR, IMAGE, USED, line, read_lines, reply
from workbench.config.errors import WrongCall
from workbench.log.events import (
    AssistantMessage,
    Compaction,
    Failure,
    ImagePart,
    Override,
    Reasoning,
    Request,
    Setting,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
    UserMessage,
)
from workbench.traces.cut_words import OLD_RESULT


def test_what_is_kept_in_the_cache_for_an_hour_is_told() -> None:
    [bodies] = read_lines(line("user", "look"), reply({"type": "text", "text": "Done."}, usage={**USED, **HOUR}))
    [used] = [body for body in bodies if isinstance(body, Usage)]
    assert (used.cached, used.cache_write, used.cache_hour) == (10, 5, 5)


def test_the_lines_of_a_reply_are_one_reply_whose_usage_is_told_once() -> None:
    first = {**USED, "output_tokens": 1}
    [bodies] = read_lines(
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


def test_replies_without_any_id_have_their_model_and_their_usage() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}
    [bodies] = read_lines(
        line("user", "look", ""),
        line("assistant", [call], "", message={"id": None, "model": "claude", "usage": USED}),
        line("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}], ""),
        line("assistant", "Done.", "", message={"model": "claude-2", "usage": USED}),
    )
    assert bodies == [
        UserMessage("look"),
        Setting("model", "claude"),
        ToolCall("t1", "Read", "{}", "r1"),
        Usage("claude", 0, 18, 10, 5, 7),
        ToolResult("t1", "x", "Read"),
        Setting("model", "claude-2"),
        AssistantMessage("Done.", "r2", model="claude-2"),
        Usage("claude-2", 0, 18, 10, 5, 7),
    ]


def test_results_that_come_before_a_reply_is_over_stand_behind_it_and_its_usage() -> None:
    [bodies] = read_lines(
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
    [bodies] = read_lines(
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
    [bodies] = read_lines(
        line("user", "look", timestamp="2026-01-02T03:04:05.678Z"),
        line("assistant", "done", message={"usage": USED}, timestamp="2026-01-02T03:04:06Z"),
        line("user", "more", timestamp="2026-01-02T03:05:00Z"),
    )
    start = 1767323045678
    assert bodies.times == [start, start + 322, start + 322, start + 54_322]


def test_a_micro_compaction_masks_the_results_it_names() -> None:
    results = [{"type": "tool_result", "tool_use_id": name, "content": name} for name in ("t1", "t2", "t3")]
    noted = {"preTokens": 65_398, "tokensSaved": 45_149, "compactedToolIds": ["t1", "t3", "t9"]}
    [bodies] = read_lines(
        line("user", "look"),
        line("user", results),
        {"type": "system", "subtype": "microcompact_boundary", "sessionId": "s", "microcompactMetadata": noted},
    )
    why = "cleared by Claude Code's micro-compaction: 65,398 tokens before it, 45,149 saved"
    assert bodies[4:] == [Override("mask", seq, seq, why, OLD_RESULT, joined=seq > 2) for seq in (2, 4)]


def test_each_session_of_a_file_is_a_conversation() -> None:
    one, two = {"sessionId": "one"}, {"sessionId": "two"}
    assert read_lines(
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
    [bodies] = read_lines(
        line("user", "first", "a1"),
        {"type": "mode", **resumed},
        line("user", "second", "b1", parentUuid="a1", **resumed),
        line("user", "third", "b2", parentUuid="b1", **resumed),
    )
    assert bodies[:3] == [UserMessage("first"), UserMessage("second"), UserMessage("third")]


def test_results_and_words_of_one_user_message_stay_in_order() -> None:
    blocks = [{"type": "text", "text": "see"}, IMAGE]
    result = {"type": "tool_result", "tool_use_id": "t1", "content": blocks}
    [bodies] = read_lines(line("user", [result, {"type": "text", "text": "go on"}]))
    picture = ImagePart("data:image/png;base64,AA==")
    assert bodies == [ToolResult("t1", (TextPart("see"), picture)), UserMessage("go on")]


def boundary(**noted: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": "compact_boundary", "uuid": "b", "sessionId": "s", "compactMetadata": noted}


def test_a_boundary_and_its_summary_are_a_compaction_of_all_before() -> None:
    [bodies] = read_lines(
        line("user", "one"),
        reply({"type": "text", "text": "two"}),
        boundary(trigger="auto", preTokens=900, postTokens=300),
        line("user", "so far: one, two", isCompactSummary=True),
        line("user", "three"),
    )
    noted = {"made_by": "Claude Code", "trigger": "auto", "tokens_before": 900, "tokens_after": 300}
    assert bodies[2:] == [Compaction(1, 2, "so far: one, two", meta=noted), UserMessage("three")]


def test_what_a_compaction_preserved_is_outside_its_range() -> None:
    [bodies] = read_lines(
        line("user", "one", "u1"),
        line("user", "two", "u2"),
        boundary(preservedSegment={"headUuid": "u2", "tailUuid": "u2"}),
        line("user", "so far: one", isCompactSummary=True),
    )
    assert bodies[2] == Compaction(1, 1, "so far: one", meta={"made_by": "Claude Code"})


def test_a_summary_at_the_beginning_is_what_the_user_said() -> None:
    [bodies] = read_lines(line("user", "so far", isCompactSummary=True))
    assert bodies[0] == UserMessage("so far")


def test_a_file_that_begins_at_a_boundary_has_the_compaction_of_what_is_not_in_it() -> None:
    [bodies] = read_lines(boundary(), line("user", "so far", isCompactSummary=True), line("user", "go on"))
    assert bodies == [Compaction(1, 0, "so far", meta={"made_by": "Claude Code"}), UserMessage("go on")]


def test_lines_that_go_on_from_a_line_of_another_file_are_read_and_said() -> None:
    lines = [line("user", "a", uuid="1", parentUuid="0"), line("user", "b", uuid="2", parentUuid="1")]
    assert read_lines(*lines) == [
        [
            UserMessage("a"),
            UserMessage("b"),
            Failure(
                "transcript",
                "1 entry goes on from an entry that is not in this file: something before it is missing",
            ),
        ]
    ]


def test_sub_agents_are_conversations_of_their_own() -> None:
    talks = read_lines(
        line("user", "main"),
        line("user", "named", "a1", isSidechain=True, agentId="x"),
        line("user", "first", "b1", isSidechain=True, parentUuid=None),
        line("user", "second", "c1", isSidechain=True, parentUuid=None),
        line("assistant", "answer", "b2", isSidechain=True, parentUuid="b1"),
    )
    assert talks == [
        [UserMessage("main"), Request("anthropic", "", "sub-agent", session="s")],
        [UserMessage("named")],
        [UserMessage("first"), AssistantMessage("answer", "b2")],
        [UserMessage("second")],
    ]
    assert [each.sub_agent for each in talks] == ["", "x", "b1", "c1"]
    assert talks[0].sub_agents == {"2": "x", "3": "b1", "4": "c1"}


def test_a_file_of_a_sub_agent_alone_is_one_conversation() -> None:
    other = {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}
    assert len(read_lines(other, line("user", "named", isSidechain=True, agentId="x"))) == 1


def test_errors_titles_and_the_rest_never_become_part_of_the_conversation() -> None:
    [bodies] = read_lines(
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
    once, [twice] = read_lines(*lines), read_lines(*lines, *lines)
    assert [body for body in twice if not isinstance(body, Setting)] == [*once[0]]


def system(subtype: str, **more: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": subtype, "uuid": subtype, "sessionId": "s", **more}


PRINTED = "<local-command-stdout>Set model to opus</local-command-stdout>"


@pytest.mark.parametrize(("version", "sent"), [("2.1.38", False), ("2.1.50", False), ("2.1.70", True), ("x.²", False)])
def test_what_a_local_command_printed_is_part_of_the_conversation_where_it_is_sent(version: str, sent: bool) -> None:
    [bodies] = read_lines(*[system("local_command", content=PRINTED, version=version)] * 2, line("user", "look"))
    said = [body for body in bodies if isinstance(body, SystemMessage | UserMessage)]
    assert said == [*[SystemMessage(PRINTED, "user")] * (2 if sent else 0), UserMessage("look")]


def test_lines_for_the_screen_are_no_reason_to_refuse_a_short_session() -> None:
    kinds = ["informational", "local_command", "permission_retry", "bridge_status", "not_known_yet"]
    [bodies] = read_lines(line("user", "look"), *(system(kind, content="shown") for kind in kinds))
    assert [body for body in bodies if not isinstance(body, Setting)] == [
        UserMessage("look"),
        Unknown("Claude Code system not_known_yet", {"entry": system("not_known_yet", content="shown")}),
    ]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"error": {"status": 529, "error": {"error": {"message": "Overloaded"}}}}, "Overloaded"),
        ({"error": {"status": 529}}, "the API answered with status 529"),
        ({"cause": {"code": "ConnectionRefused"}, "error": {}}, "ConnectionRefused"),
        ({}, "the API answered with an error"),
    ],
)
def test_an_error_of_the_api_is_a_failure_and_no_talk(more: dict[str, Any], message: str) -> None:
    [bodies] = read_lines(line("user", "look"), system("api_error", **more))
    assert bodies == [UserMessage("look"), Failure("transcript", message)]


def test_a_refusal_names_the_format_and_how_many_entries_are_unknown() -> None:
    strange = {"type": "novelty", "sessionId": "s", "content": "a"}
    with pytest.raises(WrongCall, match=r"^file: Claude Code, but 2 of 3 entries are unknown: 'novelty'$"):
        read_lines(line("user", "look"), strange, strange)
