"""Sessions of pi."""

from __future__ import annotations

import json
from typing import Any

from support.talk import planned, preset, spoken
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Failure,
    ImagePart,
    Override,
    Reasoning,
    Setting,
    SlotContent,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
    UserMessage,
)
from workbench.traces.formats import read_conversations

SESSION = {"type": "session", "id": "s", "cwd": "/home", "modelId": "claude"}


def message(role: str, content: Any = None, **more: Any) -> dict[str, Any]:
    """A line with a message; `id` and `parentId` are the line's."""
    ids: dict[str, Any] = {key: more.pop(key) for key in ("id", "parentId") if key in more}
    return {"type": "message", "timestamp": "t", **ids, "message": {"role": role, "content": content, **more}}


def read(*lines: dict[str, Any]) -> list[Body]:
    [bodies] = read_conversations("file", "\n".join(map(json.dumps, [SESSION, *lines])))
    return bodies[1:]


def text(said: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": said}]


def test_a_reply_with_its_thoughts_calls_usage_and_cost() -> None:
    used = {"input": 3, "output": 9, "cacheRead": 4, "cacheWrite": 5, "cost": {"total": 0.5}}
    blocks = [
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"},
        *text("I look."),
        {"type": "toolCall", "id": "t1", "name": "read", "arguments": {"path": "x"}},
    ]
    assert read(
        message("user", text("look")),
        message("assistant", blocks, model="claude", usage=used, stopReason="toolUse"),
        message("toolResult", text("no file"), toolCallId="t1", toolName="read", isError=True),
    ) == [
        UserMessage("look"),
        Reasoning("hm", "r1", "sig"),
        AssistantMessage("I look.", "r1", finish="tool_calls", model="claude"),
        ToolCall("t1", "read", '{"path": "x"}', "r1"),
        Usage("claude", 0, 12, 4, 5, 9, cost=0.5),
        ToolResult("t1", "no file", "read", is_error=True),
    ]


def test_a_reply_that_was_cut_short_is_kept_and_its_error_is_none_of_it() -> None:
    assert read(message("assistant", text("I w"), stopReason="aborted", errorMessage="aborted")) == [
        AssistantMessage("I w", "r1", finish="cancelled", model="claude"),
        Failure("transcript", "aborted"),
    ]


NEWER = {"type": "session", "version": 3, "id": "s", "cwd": "/home"}
BACK = "this conversation came back from"


def test_system_prompt_and_tools_fill_the_slots_and_change() -> None:
    schema = {"name": "read", "description": "Reads.", "parameters": {"type": "object"}}
    found = read(
        message("system", "", sections={"preamble": "You are pi.", "cwd": "/a"}, toolsAdded=[{**schema, "strict": 1}]),
        message("user", text("look")),
        message("system", "More.", sections={"cwd": None}, toolsRemoved=[{"name": "read"}]),
    )
    assert found == [
        SlotContent("system", "preamble", "You are pi."),
        SlotContent("system", "cwd", "/a"),
        SlotContent("tools", "read", json.dumps({"type": "function", "function": schema})),
        UserMessage("look"),
        SlotContent("system", "system 1", "More."),
        SlotContent("system", "cwd", ""),
        SlotContent("tools", "read", ""),
    ]


CALL = {"type": "toolCall", "id": "t1", "name": "read", "arguments": {}}
BROKEN = message("assistant", [*text("I w"), CALL], stopReason="aborted", usage={"input": 30, "output": 2})


def test_a_reply_that_broke_off_is_not_sent_again_and_keeps_its_report() -> None:
    found = read(NEWER, message("user", text("look")), BROKEN, message("assistant", text("Yes."), usage={"input": 40}))
    assert found[1:] == [
        AssistantMessage("I w", "r1", finish="cancelled", model="claude"),
        ToolCall("t1", "read", "{}", "r1"),
        Usage("claude", 0, 30, completion=2),
        Override("exclude", 3, 4, "pi does not send again what broke off"),
        AssistantMessage("Yes.", "r2", model="claude"),
        Usage("claude", 0, 40),
    ]


def test_in_older_sessions_only_a_call_that_never_ran_is_not_sent_again() -> None:
    ran = message("toolResult", text("no"), toolCallId="t1")
    never = Override("exclude", 4, 4, "pi does not send again a call that never ran")
    assert never in read(message("user", text("look")), BROKEN)
    assert not any(isinstance(body, Override) for body in read(message("user", text("look")), BROKEN, ran))


def test_what_was_kept_from_the_model_is_excluded() -> None:
    found = read(
        message("bashExecution", command="ls", exitCode=0, excludeFromContext=True),
        message("user", text("one"), id="a", parentId="s"),
        {"type": "context_edit", "id": "b", "parentId": "a", "targetId": "a", "replacement": None},
    )
    assert found == [
        UserMessage("Ran `ls`\n(no output)"),
        Override("exclude", 2, 2, "a command that the user kept to themselves"),
        UserMessage("one"),
        Override("exclude", 4, 4, "taken out by an edit of pi's"),
    ]


def test_the_time_is_that_of_the_entry() -> None:
    first = {**message("user", "a"), "timestamp": "2026-01-02T03:04:05.678Z"}
    [bodies] = read_conversations("file", "\n".join(map(json.dumps, [SESSION, first])))
    assert bodies.times == [0, 1767323045678]


def test_a_picture_is_no_text() -> None:
    picture = {"type": "image", "data": "AA==", "mimeType": "image/png"}
    assert read(message("user", [picture])) == [UserMessage((ImagePart("data:image/png;base64,AA=="),))]


def test_a_command_of_the_user_is_what_the_user_said() -> None:
    assert read(message("bashExecution", command="ls", output="x", exitCode=1)) == [
        UserMessage("Ran `ls`\n```\nx\n```\n\nCommand exited with code 1")
    ]


def compacted(first: int, last: int, summary: str, **noted: Any) -> Compaction:
    """A compaction as pi words it."""
    preface = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
    return Compaction(first, last, f"{summary}\n</summary>", preface=preface, meta={"made_by": "pi", **noted})


def test_a_compaction_ends_before_the_first_entry_that_was_kept() -> None:
    lines = [
        message("user", "one", id="a", parentId="s"),
        message("user", "two", id="b", parentId="a"),
        {
            "type": "compaction",
            "id": "c",
            "parentId": "b",
            "summary": "one",
            "firstKeptEntryId": "b",
            "tokensBefore": 9,
            "usage": {"input": 7, "cost": {"total": 0.25}},
        },
    ]
    # The model's name is the first event.
    assert read(*lines)[2] == compacted(1, 2, "one", tokens_before=9, cost=0.25)


def test_an_older_compaction_counts_lines() -> None:
    old = {"type": "compaction", "summary": "one", "firstKeptEntryIndex": 2}
    assert read(message("user", "one"), message("user", "two"), old)[2] == compacted(1, 2, "one")


def test_a_summary_stands_before_what_was_kept_also_when_that_is_everything() -> None:
    begun = {"type": "session", "id": "s", "cwd": "/home"}
    made = {"type": "compaction", "summary": "before this", "firstKeptEntryIndex": 1}
    lines = [begun, message("user", "one"), message("user", "two"), made]
    [found] = read_conversations("file", "\n".join(map(json.dumps, lines)))
    assert found[2] == compacted(1, 0, "before this")
    role, said = spoken(planned(found, preset("sliding")))[0]
    assert role == "user"
    assert said.endswith("<summary>\nbefore this\n</summary>")


def test_only_the_path_to_the_last_entry_is_the_conversation() -> None:
    assert read(
        message("user", "one", id="a", parentId=None),
        message("user", "left", id="b", parentId="a"),
        message("user", "two", id="c", parentId="a"),
    ) == [UserMessage("one"), UserMessage("two"), Setting("left out", {"entries of branches that were left": 1})]


def test_the_other_entries() -> None:
    assert read(
        {"type": "model_change", "modelId": "gpt"},
        {"type": "session_info", "name": "A title"},
        {"type": "branch_summary", "summary": "tried x"},
        {"type": "custom_message", "content": "from an extension"},
        {"type": "thinking_level_change", "thinkingLevel": "high"},
        {"type": "novelty"},
        message("king", "x"),
    ) == [
        Setting("model", "gpt"),
        Setting("title", "A title"),
        UserMessage(f"The following is a summary of a branch that {BACK}:\n\n<summary>\ntried x</summary>"),
        UserMessage("from an extension"),
        Unknown("pi novelty", {"entry": {"type": "novelty"}}),
        Unknown("pi message", {"entry": message("king", "x")}),
        Setting("left out", {"thinking_level_change": 1}),
    ]


def test_a_session_without_its_first_line_is_told_by_what_only_pi_writes() -> None:
    lines = [message("user", text("look")), message("assistant", text("I see."), stopReason="stop")]
    [bodies] = read_conversations("file", "\n".join(map(json.dumps, lines)))
    assert bodies[0] == UserMessage("look")


def test_lines_of_droid_are_not_pi_s() -> None:
    lines = [
        {"type": "session_start", "id": "s", "title": "Look", "owner": "me", "cwd": "/home"},
        message("user", text("look"), id="a"),
        message("assistant", [{"type": "tool_use", "id": "t", "name": "Read", "input": {}}], id="b", parentId="a"),
        message("user", [{"type": "tool_result", "tool_use_id": "t", "content": "x"}], id="c", parentId="b"),
    ]
    assert [each.format for each in read_conversations("file", "\n".join(map(json.dumps, lines)))] == ["Droid"]


def test_each_session_of_a_file_is_a_conversation() -> None:
    said = [{"type": "message", "timestamp": 1, "message": {"role": "user", "content": word}} for word in ("a", "b")]
    lines = [{**SESSION, "id": "one"}, said[0], {**SESSION, "id": "two"}, said[1], {**SESSION, "id": "two"}]
    found = read_conversations("file", "\n".join(map(json.dumps, lines)))
    assert [[body for body in each if isinstance(body, UserMessage)] for each in found] == [
        [UserMessage("a")],
        [UserMessage("b")],
    ]


def test_what_stands_before_a_missing_parent_is_not_lost() -> None:
    found = read(
        message("user", text("a"), id="1", parentId=None),
        message("user", text("left"), id="2", parentId="1"),
        message("user", text("b"), id="3", parentId="1"),
        message("user", text("c"), id="5", parentId="4"),
    )
    said = [body.content for body in found if isinstance(body, UserMessage)]
    assert said == ["a", "b", "c"]
    assert [body.message for body in found if isinstance(body, Failure)] == [
        "1 entry goes on from an entry that is not in this file: something before it is missing"
    ]
