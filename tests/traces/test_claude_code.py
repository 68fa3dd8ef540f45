"""Sessions of Claude Code."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from workbench.config.errors import WrongCall
from workbench.log.events import (
    AgentCut,
    AssistantMessage,
    Compaction,
    Failure,
    ImagePart,
    Override,
    Reasoning,
    Request,
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
from workbench.traces.building import Recording
from workbench.traces.cut_words import OLD_RESULT
from workbench.traces.formats import read_conversations


def line(kind: str, content: Any = None, uuid: str = "u", **more: Any) -> dict[str, Any]:
    """A line that holds a message."""
    message = {"role": kind, "content": content, **more.pop("message", {})}
    return {"type": kind, "uuid": uuid, "sessionId": "s", "message": message, **more}


def reply(block: dict[str, Any], name: str = "msg", **more: Any) -> dict[str, Any]:
    """A line with one block of a reply."""
    return line("assistant", [block], message={"id": name, **more})


def read(*lines: dict[str, Any]) -> list[Recording]:
    return read_conversations("file", "\n".join(map(json.dumps, lines)))


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
    [bodies] = read(line("user", "so far", isCompactSummary=True))
    assert bodies[0] == UserMessage("so far")


def test_a_file_that_begins_at_a_boundary_has_the_compaction_of_what_is_not_in_it() -> None:
    [bodies] = read(boundary(), line("user", "so far", isCompactSummary=True), line("user", "go on"))
    assert bodies == [Compaction(1, 0, "so far", meta={"made_by": "Claude Code"}), UserMessage("go on")]


def test_lines_that_go_on_from_a_line_of_another_file_are_read_and_said() -> None:
    lines = [line("user", "a", uuid="1", parentUuid="0"), line("user", "b", uuid="2", parentUuid="1")]
    assert read(*lines) == [
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
    talks = read(
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


def system(subtype: str, **more: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": subtype, "uuid": subtype, "sessionId": "s", **more}


PRINTED = "<local-command-stdout>Set model to opus</local-command-stdout>"


@pytest.mark.parametrize(("version", "sent"), [("2.1.38", False), ("2.1.50", False), ("2.1.70", True), ("x.²", False)])
def test_what_a_local_command_printed_is_part_of_the_conversation_where_it_is_sent(version: str, sent: bool) -> None:
    [bodies] = read(*[system("local_command", content=PRINTED, version=version)] * 2, line("user", "look"))
    said = [body for body in bodies if isinstance(body, SystemMessage | UserMessage)]
    assert said == [*[SystemMessage(PRINTED, "user")] * (2 if sent else 0), UserMessage("look")]


def test_lines_for_the_screen_are_no_reason_to_refuse_a_short_session() -> None:
    kinds = ["informational", "local_command", "permission_retry", "bridge_status", "not_known_yet"]
    [bodies] = read(line("user", "look"), *(system(kind, content="shown") for kind in kinds))
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
    [bodies] = read(line("user", "look"), system("api_error", **more))
    assert bodies == [UserMessage("look"), Failure("transcript", message)]


def reminder(text: str) -> SystemMessage:
    return SystemMessage(f"<system-reminder>\n{text}\n</system-reminder>", "user")


def test_a_file_that_was_attached_is_content() -> None:
    file = {"filePath": "/a.py", "content": "import os\nprint()" + "#" * 40, "startLine": 3, "numLines": 2}
    attached = attachment("file", filename="/a.py", content={"type": "text", "file": file}, truncated=True)
    [bodies] = read(line("user", "look"), attached)
    result = reminder("Result of calling the Read tool:\n     3→import os\n     4→print()" + "#" * 40)
    assert bodies == [
        UserMessage("look"),
        reminder('Called the Read tool with the following input: {"file_path": "/a.py"}'),
        replace(result, cut=AgentCut("truncated", "Claude Code")),
        reminder("Note: The file /a.py was too large and has been truncated."),
    ]


@pytest.mark.parametrize(
    ("file", "text"), [({"content": "a cell"}, "a cell"), ({"numPages": 3}, '{"numPages": 3}')], ids=["text", "none"]
)
def test_an_attached_file_of_another_kind_is_its_text_or_what_is_known_of_it(file: dict[str, Any], text: str) -> None:
    attached = attachment("file", filename="/a.ipynb", content={"type": "notebook", "file": file})
    [bodies] = read(line("user", "look"), attached)
    assert bodies[-1] == reminder(f"Result of calling the Read tool:\n{text}")


def test_an_image_that_was_attached_is_one() -> None:
    file = {"type": "image", "file": {"base64": "AA==", "type": "image/png"}}
    [bodies] = read(line("user", "look"), attachment("file", filename="/a.png", content=file))
    assert bodies[-1] == SystemMessage((ImagePart("data:image/png;base64,AA=="),), "user")


@pytest.mark.parametrize(
    ("kind", "more", "words"),
    [
        ("nested_memory", {"content": {"path": "/x/CLAUDE.md", "content": "be brief"}}, "be brief"),
        ("edited_text_file", {"filename": "/a", "snippet": "1 x"}, "1 x"),
        ("selected_lines_in_ide", {"filename": "/a", "content": "y" * 3000}, "y" * 2000 + "\n... (truncated)"),
        ("opened_file_in_ide", {"filename": "/a"}, "opened the file /a"),
        ("compact_file_reference", {"filename": "/a"}, "too large to include"),
        ("plan_file_reference", {"planFilePath": "/p", "planContent": "first"}, "first"),
        ("directory", {"path": "/d", "content": "a b"}, "a b"),
        ("skill_listing", {"content": "- sing"}, "- sing"),
        ("invoked_skills", {"skills": [{"name": "sing", "path": "/s", "content": "la"}]}, "### Skill: sing"),
        ("hook_additional_context", {"hookName": "H", "content": ["a", "b"]}, "H hook additional context: a\nb"),
        ("hook_success", {"hookEvent": "SessionStart", "hookName": "H", "content": "ok"}, "H hook success: ok"),
        ("critical_system_reminder", {"content": "stop"}, "stop"),
    ],
)
def test_what_the_program_attached_is_read_with_the_words_it_was_sent_with(
    kind: str, more: dict[str, Any], words: str
) -> None:
    [bodies] = read(line("user", "look"), attachment(kind, **more))
    assert len(bodies) == 2
    assert isinstance(bodies[1], SystemMessage)
    assert words in str(bodies[1].content)


@pytest.mark.parametrize(
    "more", [{"type": "hook_success", "hookEvent": "Stop", "content": "x"}, {"type": "hook_cancelled"}]
)
def test_attachments_that_only_the_user_sees_are_counted(more: dict[str, Any]) -> None:
    [bodies] = read(line("user", "look"), {**attachment(""), "attachment": more})
    assert bodies == [UserMessage("look"), Setting("left out", {f"attachment {more['type']}": 1})]


def test_a_refusal_names_the_format_and_how_many_entries_are_unknown() -> None:
    strange = {"type": "novelty", "sessionId": "s", "content": "a"}
    with pytest.raises(WrongCall, match=r"^file: Claude Code, but 2 of 3 entries are unknown: 'novelty'$"):
        read(line("user", "look"), strange, strange)
