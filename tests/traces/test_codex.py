"""Rollouts of Codex."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Failure,
    KeptEvent,
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
from workbench.log.learnt_windows import LearntWindow, window_setting
from workbench.traces.codex_lines import SEALED, SEALED_MESSAGE
from workbench.traces.formats import read_conversations


def line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "t", "type": kind, "payload": payload}


def item(kind: str, **more: Any) -> dict[str, Any]:
    return line("response_item", type=kind, **more)


def said(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def message(role: str, text: str) -> dict[str, Any]:
    return {"timestamp": "t", "type": "response_item", "payload": said(role, text)}


def read(*lines: dict[str, Any]) -> list[Body]:
    [bodies] = read_conversations("file", "\n".join(map(json.dumps, lines)))
    return [body for body in bodies if not (isinstance(body, Setting) and body.key == "left out")]


def test_what_the_model_said_in_a_row_is_one_reply() -> None:
    assert read(
        line("session_meta", id="s", base_instructions={"text": "be brief"}),
        line("turn_context", model="gpt"),
        message("developer", "sandbox"),
        message("user", "look"),
        item("reasoning", summary=[{"type": "summary_text", "text": "hm"}], encrypted_content="x"),
        message("assistant", "I look."),
        item("function_call", name="exec", arguments='{"cmd": "ls"}', call_id="c1"),
        item("custom_tool_call", name="apply_patch", input="*** Begin", call_id="c2"),
        item("function_call_output", call_id="c1", output="Chunk ID: 1\nProcess exited with code 2\nOutput:\nno"),
        item("custom_tool_call_output", call_id="c2", output="Exit code: 0\nOutput:\ndone"),
        item("local_shell_call", call_id="c3", action={"command": ["ls"]}),
        item("web_search_call", id="w"),
    ) == [
        SlotContent("system", "base instructions", "be brief"),
        Setting("model", "gpt"),
        SystemMessage("sandbox", "developer"),
        UserMessage("look"),
        Reasoning("hm", "r1", "x"),
        AssistantMessage("I look.", "r1", model="gpt"),
        ToolCall("c1", "exec", '{"cmd": "ls"}', "r1"),
        ToolCall("c2", "apply_patch", '{"input": "*** Begin"}', "r1"),
        ToolResult("c1", "Chunk ID: 1\nProcess exited with code 2\nOutput:\nno", "exec", is_error=True),
        ToolResult("c2", "Exit code: 0\nOutput:\ndone", "apply_patch"),
        ToolCall("c3", "local_shell", '{"command": ["ls"]}', "r2"),
        Unknown("Codex web_search_call", {"entry": {"type": "web_search_call", "id": "w"}}),
    ]


AGENTS = "# AGENTS.md instructions for /src/app\n\n<INSTRUCTIONS>\nuse uv\n</INSTRUCTIONS>"
PLACE = "<environment_context>\n  <cwd>/src/app</cwd>\n</environment_context>"
RULES = SlotContent("instructions", "AGENTS.md instructions for /src/app", AGENTS)
PLACED = SlotContent("instructions", "environment_context", PLACE)


def parts(*texts: str) -> dict[str, Any]:
    content = [{"type": "input_text", "text": text} for text in texts]
    return {"type": "message", "role": "user", "content": content}


def test_instructions_are_no_user_turns() -> None:
    assert read(
        line("session_meta", id="s"),
        line("response_item", **parts(AGENTS, PLACE)),
        line("response_item", **parts(PLACE, "look", "here")),
        message("user", "what does <environment_context> mean?"),
        message("user", "# AGENTS.md instructions are unclear to me"),
        message("user", "<user_instructions>\nold form"),
    ) == [
        RULES,
        PLACED,
        UserMessage((TextPart("look"), TextPart("here"))),
        UserMessage("what does <environment_context> mean?"),
        UserMessage("# AGENTS.md instructions are unclear to me"),
        SlotContent("instructions", "user_instructions", "<user_instructions>\nold form"),
    ]


def test_a_compaction_does_not_keep_instructions_as_user_messages() -> None:
    later = PLACE.replace("app", "lib")
    history = [said("user", "one"), parts(AGENTS, later), said("user", "Summary: two")]
    found = read(
        line("response_item", **parts(AGENTS, PLACE)),
        message("user", "one"),
        message("assistant", "two"),
        line("compacted", message="", replacement_history=history),
    )
    assert found[4:] == [
        SlotContent("instructions", "environment_context", later),
        Compaction(1, 4, "Summary: two", (KeptEvent(3),), "end", meta={"made_by": "Codex"}),
    ]


@pytest.mark.parametrize(
    ("output", "content", "is_error"),
    [
        ({"content": "no", "success": False}, "no", True),
        ({"content": "yes", "success": True}, "yes", False),
        ([{"type": "input_text", "text": "a part"}], "a part", False),
        ('{"output": "no", "metadata": {"exit_code": 1}}', '{"output": "no", "metadata": {"exit_code": 1}}', True),
        ('{"output" and more', '{"output" and more', False),
        ("The text says Exit code: 1 somewhere", "The text says Exit code: 1 somewhere", False),
        (None, "", False),
    ],
)
def test_an_output_has_many_forms(output: Any, content: str, is_error: bool) -> None:
    found = read(message("user", "a"), item("function_call_output", call_id="c", output=output))
    assert found[1] == ToolResult("c", content, is_error=is_error)


def count(total: int, window: int = 1000) -> dict[str, Any]:
    last = {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 3, "reasoning_output_tokens": 2}
    info = {"total_token_usage": {"total": total}, "last_token_usage": last, "model_context_window": window}
    return line("event_msg", type="token_count", info=info)


def test_a_count_that_is_told_twice_is_one_request() -> None:
    found = read(line("turn_context", model="gpt"), count(13), count(13), count(26))
    usage = Usage("gpt", 0, 10, 4, 0, 3, 2)
    assert found == [Setting("model", "gpt"), window_setting("gpt", LearntWindow(1000)), usage, usage]


def test_a_report_stands_behind_the_reply_and_before_the_outputs_of_its_calls() -> None:
    found = read(
        line("turn_context", model="gpt"),
        message("user", "look"),
        item("function_call", name="exec", arguments="{}", call_id="c1"),
        item("function_call_output", call_id="c1", output="one"),
        count(13, 0),
        message("assistant", "Done."),
        count(26, 0),
    )
    usage = Usage("gpt", 0, 10, 4, 0, 3, 2)
    assert found[2:] == [
        ToolCall("c1", "exec", "{}", "r1"),
        usage,
        ToolResult("c1", "one", "exec"),
        AssistantMessage("Done.", "r2", model="gpt"),
        usage,
    ]


def record(name: str, prompt: int, total: int = 0) -> dict[str, Any]:
    used = {"input_tokens": prompt, "cached_input_tokens": 4, "cache_write_input_tokens": 2, "output_tokens": 3}
    return line("token_usage_record", response_id=name, usage={**used, "total_tokens": total})


def test_a_record_of_usage_is_the_report_and_the_count_behind_it_is_not() -> None:
    found = read(message("user", "look"), message("assistant", "One."), record("r1", 10), count(13, 0))
    assert found[2:] == [Usage("", 0, 10, 4, 2, 3)]


def test_each_response_that_was_reported_is_a_reply() -> None:
    found = read(message("user", "a"), message("assistant", "One."), record("a", 10), message("assistant", "Two."))
    assert [body.reply for body in found if isinstance(body, AssistantMessage)] == ["r1", "r2"]


def test_instructions_that_are_sent_as_an_item_are_not_counted_twice() -> None:
    told = "You are Codex. " * 40
    found = read(
        line("session_meta", id="s", base_instructions={"text": f"{told}And one line more."}),
        message("developer", told),
        message("user", "look"),
    )
    assert found == [SystemMessage(told, "developer"), UserMessage("look")]


def test_tools_that_are_sent_as_an_item_are_tools() -> None:
    wait = {"type": "function", "name": "wait", "parameters": {"type": "object"}}
    run = {"type": "custom", "name": "exec", "description": "Runs code."}
    sent = [{"type": "namespace", "name": "functions", "tools": [run, wait]}]
    found = read(item("additional_tools", role="developer", tools=sent), message("user", "look"))
    assert [(body.slot, body.name) for body in found if isinstance(body, SlotContent)] == [
        ("tools", "functions.exec"),
        ("tools", "functions.wait"),
    ]


def test_reasoning_that_is_encrypted_is_there_without_its_text() -> None:
    found = read(message("user", "look"), item("reasoning", summary=[], encrypted_content="gAAA"))
    assert found[1:] == [Reasoning("", "r1", "gAAA")]


def test_a_compaction_has_codex_own_figures() -> None:
    left = {"total_token_usage": {"total": 26}, "last_token_usage": {"input_tokens": 0, "total_tokens": 700}}
    found = read(
        message("user", "one"),
        message("assistant", "two"),
        record("r1", 900, 1_000),
        line("compacted", message="it went well", replacement_history=[said("user", "one")]),
        line("event_msg", type="token_count", info=left),
    )
    noted = {"made_by": "Codex", "tokens_before": 1_000, "tokens_after": 700}
    assert found[3:] == [Compaction(1, 3, "it went well", (KeptEvent(1),), "end", meta=noted)]


def test_what_was_asked_for_a_summary_is_a_request_of_its_own_and_its_answer_no_talk() -> None:
    found = read(
        line("turn_context", model="gpt"),
        message("user", "one"),
        message("assistant", "two"),
        record("r1", 900, 1_000),
        item("reasoning", summary=[], encrypted_content="x"),
        message("assistant", "it went well"),
        record("r2", 950, 1_050),
        line("compacted", message="it went well", replacement_history=[], compaction_response_id="r2"),
    )
    assert found[4:] == [
        Request("responses", "gpt", "compaction"),
        Usage("gpt", 0, 950, 4, 2, 3, request=5),
        Compaction(1, 6, "it went well", (), "end", meta={"made_by": "Codex", "tokens_before": 950}),
    ]


def test_the_time_is_that_of_the_line() -> None:
    at = {"timestamp": "2026-01-02T03:04:05.678Z"}
    [bodies] = read_conversations("file", "\n".join(map(json.dumps, ({**message("user", "a"), **at}, record("r", 3)))))
    assert bodies.times[:1] == [1767323045678]


def test_errors_and_names_of_threads_are_told() -> None:
    failed = line("event_msg", type="error", message="stream closed")
    named = line("event_msg", type="thread_name_updated", thread_name="A title")
    assert read(failed, named) == [Failure("transcript", "stream closed"), Setting("title", "A title")]


def test_a_compaction_keeps_the_messages_that_its_history_repeats() -> None:
    history = [said("user", "one"), said("developer", "new rules"), said("user", "Summary: two")]
    found = read(
        message("user", "one"),
        message("assistant", "two"),
        line("compacted", message="", replacement_history=history),
        message("user", "three"),
    )
    assert found[2:] == [
        Compaction(1, 2, "Summary: two", (KeptEvent(1),), "end", meta={"made_by": "Codex"}),
        SystemMessage("new rules", "developer"),
        UserMessage("three"),
    ]


def test_what_a_developer_says_is_kept_even_if_it_reads_like_instructions() -> None:
    history = [said("developer", AGENTS), said("user", "Summary: two")]
    found = read(message("user", "one"), line("compacted", message="", replacement_history=history))
    assert found[2:] == [SystemMessage(AGENTS, "developer")]


def test_a_summary_that_is_encrypted_is_said_to_be() -> None:
    history = [said("user", "one"), {"type": "compaction", "encrypted_content": "x"}]
    found = read(message("user", "one"), line("compacted", message="", replacement_history=history))
    assert found[1] == Compaction(1, 1, SEALED, (KeptEvent(1),), "end", meta={"made_by": "Codex", "sealed": True})


def test_a_summary_in_the_message_is_not_told_again() -> None:
    history = [said("user", "Another model says: it went well")]
    found = read(message("user", "one"), line("compacted", message="it went well", replacement_history=history))
    assert found[1:] == [Compaction(1, 1, "it went well", (), "end", meta={"made_by": "Codex"})]


def test_old_rollouts_have_bare_items_behind_a_header() -> None:
    header = {"id": "s", "timestamp": "t", "instructions": "be brief", "git": {}}
    found = read(header, said("user", "hello"), {"record_type": "state"}, said("assistant", "hi"))
    assert found == [
        SlotContent("system", "base instructions", "be brief"),
        UserMessage("hello"),
        AssistantMessage("hi", "r1"),
    ]


def test_items_of_roles_that_nobody_knows_are_carried_along() -> None:
    assert read(line("session_meta", id="s"), message("user", "hi"), message("king", "x")) == [
        UserMessage("hi"),
        Unknown("Codex message", {"entry": said("king", "x")}),
    ]


def test_what_another_agent_wrote_is_part_of_the_conversation() -> None:
    sealed = {"type": "encrypted_content", "encrypted_content": "xyz"}
    found = read(
        item("message", role="user", content=[{"type": "input_text", "text": "go"}]),
        item("agent_message", author="/root/reviewer", content=[{"type": "input_text", "text": "done"}, sealed]),
        item("agent_message", author="/root/reviewer", content=[sealed]),
        line("inter_agent_communication", author="/root", recipient="/root/reviewer", content="thanks"),
        line("inter_agent_communication_metadata", trigger_turn=True),
    )
    assert found == [
        UserMessage("go"),
        SystemMessage("done", "user", "/root/reviewer"),
        SystemMessage(SEALED_MESSAGE, "user", "/root/reviewer"),
        SystemMessage("thanks", "user", "/root"),
    ]


def test_a_rollout_that_begins_with_a_compaction_keeps_its_summary() -> None:
    [made] = read(line("compacted", message="all of it"))
    assert isinstance(made, Compaction)
    assert (made.first, made.last, made.summary) == (1, 0, "all of it")
