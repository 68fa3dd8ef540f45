"""Sessions of OpenHands."""

from __future__ import annotations

import json
from typing import Any

from support.talk import planned, preset, spoken
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    ImagePart,
    Override,
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
from workbench.traces.formats import read_conversations
from workbench.traces.openhands import FORGOTTEN


def action(at: int, kind: str, source: str = "agent", **args: Any) -> dict[str, Any]:
    more = args.pop("more", {})
    return {"id": at, "source": source, "action": kind, "args": args, **more}


def seen(at: int, kind: str, content: str = "", **more: Any) -> dict[str, Any]:
    return {"id": at, "source": "agent", "observation": kind, "content": content, **more}


def read(*events: Any) -> list[Body]:
    [bodies] = read_conversations("file", json.dumps(events))
    return bodies


def called(call_id: str) -> dict[str, Any]:
    """What an action and its observation say of a reply with two calls."""
    calls = [{"id": each, "function": {"name": "bash", "arguments": f'{{"n": "{each}"}}'}} for each in ("c1", "c2")]
    reply = {
        "id": "r",
        "model": "claude",
        "choices": [{"message": {"content": "I look.", "tool_calls": calls}}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 3}},
    }
    return {"tool_call_metadata": {"tool_call_id": call_id, "function_name": "bash", "model_response": reply}}


def test_a_reply_is_told_once_though_each_of_its_calls_repeats_it() -> None:
    assert read(
        action(0, "message", "user", content="look", image_urls=["u"]),
        action(1, "run", command="x", more=called("c1")),
        action(2, "run", command="y", more=called("c2")),
        seen(3, "run", "no", cause=1, success=False, **called("c1")),
        seen(4, "run", "yes", cause=2, extras={"metadata": {"exit_code": 0}}, **called("c2")),
    ) == [
        UserMessage((TextPart("look"), ImagePart("u"))),
        Setting("model", "claude"),
        AssistantMessage("I look.", "r", finish="tool_calls", model="claude"),
        ToolCall("c1", "bash", '{"n": "c1"}', "r"),
        ToolCall("c2", "bash", '{"n": "c2"}', "r"),
        Usage("claude", 0, 9, 3, 0, 4),
        ToolResult("c1", "no", "bash", is_error=True),
        ToolResult("c2", "yes", "bash"),
    ]


def test_without_calls_by_name_an_action_is_the_call_and_its_observation_the_result() -> None:
    assert read(
        action(1, "run", command="ls", thought="I look."),
        seen(2, "run", "no", cause=1, extras={"exit_code": 2}),
        action(3, "run", command="cat", more={"tool_call_metadata": {"tool_call_id": "c", "function_name": "bash"}}),
        seen(4, "error", "broken", tool_call_metadata={"tool_call_id": "c"}),
        action(5, "message", content="done"),
        action(6, "finish", final_thought="all done"),
    ) == [
        AssistantMessage("I look.", "event-1"),
        ToolCall("event-1", "run", '{"command": "ls"}', "event-1"),
        ToolResult("event-1", "no", "run", is_error=True),
        ToolCall("c", "bash", '{"command": "cat"}', "event-3"),
        ToolResult("c", "broken", "bash", is_error=True),
        AssistantMessage("done", "event-5"),
        AssistantMessage("all done", "event-6"),
    ]


def test_prompt_tools_and_states() -> None:
    tool = {"type": "function", "function": {"name": "bash"}}
    ran = action(3, "run", "user", command="ls")
    assert read(
        action(0, "system", content="be brief", tools=[tool]),
        seen(1, "agent_state_changed"),
        action(2, "change_agent_state", "environment"),
        ran,
        "?",
        {"id": 9, "source": "user"},
    ) == [
        SystemMessage("be brief"),
        SlotContent("tools", "bash", json.dumps(tool)),
        Unknown("OpenHands action run", {"entry": ran}),
        Unknown("OpenHands event", {"entry": "?"}),
        Unknown("OpenHands event", {"entry": {"id": 9, "source": "user"}}),
        Setting("left out", {"agent_state_changed": 1, "change_agent_state": 1}),
    ]


def test_a_condensation_is_a_compaction_of_what_it_forgot() -> None:
    said = [action(at, "message", "user", content=f"m{at}") for at in range(4)]
    named = action(4, "condensation", forgotten_event_ids=[1, 2], summary="one and two")
    spanned = action(4, "condensation", forgotten_events_start_id=1, forgotten_events_end_id=2, summary="one and two")
    for event in (named, spanned):
        assert read(*said, event)[4] == Compaction(2, 3, "one and two", meta={"made_by": "OpenHands"})
    lost = action(4, "condensation", forgotten_event_ids=[98, 99], summary="long ago")
    assert read(*said, lost)[4] == Compaction(5, 4, "long ago", meta={"made_by": "OpenHands"})


def test_a_condensation_without_a_summary_forgets_what_it_says() -> None:
    said = [action(at, "message", "user", content=f"m{at}") for at in range(6)]
    silent = action(6, "condensation", forgotten_event_ids=[4, 1, 2, 77])
    found = read(*said, silent)
    assert found[6:] == [Override("exclude", 2, 3, FORGOTTEN), Override("exclude", 5, 5, FORGOTTEN)]
    made = planned(found, preset("sliding"))
    assert [content for _, content in spoken(made)] == ["m0", "m3", "m5"]
    assert {row.edits[-1].why for row in made.items if row.state == "excluded"} == {FORGOTTEN}


def test_a_condensation_that_names_nothing_is_carried_along() -> None:
    empty = action(1, "condensation", forgotten_event_ids=[])
    assert read(action(0, "message", "user", content="m"), empty)[1] == Unknown(
        "OpenHands condensation", {"entry": empty}
    )


def test_histories_in_lines_are_conversations_and_pairs_in_them_are_events() -> None:
    pair = [action(0, "run", command="ls"), seen(1, "run", "x", cause=0)]
    one = {"instance_id": "a", "history": [pair]}
    two = {"instance_id": "b", "history": [action(0, "message", "user", content="hi")]}
    found = read_conversations("file", f"{json.dumps(one)}\n{json.dumps(two)}")
    assert [type(body) for body in found[0]] == [ToolCall, ToolResult]
    assert found[1] == [UserMessage("hi")]


def test_events_of_the_agent_sdk() -> None:
    tool = {"type": "function", "function": {"name": "bash"}}
    said = {"role": "user", "content": [{"type": "text", "text": "look"}]}
    call = {"tool_name": "bash", "tool_call_id": "c", "llm_response_id": "r", "source": "agent"}
    thought = [{"type": "text", "text": "I look."}]
    assert read(
        {"kind": "SystemPromptEvent", "source": "agent", "system_prompt": {"text": "be brief"}, "tools": [tool]},
        {"kind": "MessageEvent", "id": "a", "source": "user", "llm_message": said},
        {"kind": "ActionEvent", **call, "thought": thought, "tool_call": {"arguments": '{"x": 1}'}},
        {"kind": "ObservationEvent", **call, "observation": {"content": thought, "is_error": True}},
        {"kind": "AgentErrorEvent", **call, "error": "no such tool"},
        {"kind": "MessageEvent", "id": "b", "source": "agent", "llm_message": {"content": "done"}},
        {"kind": "Condensation", "forgotten_event_ids": ["a"], "summary": "looked"},
        {"kind": "PauseEvent"},
        {"kind": "Novelty"},
    ) == [
        SystemMessage("be brief"),
        SlotContent("tools", "bash", json.dumps(tool)),
        UserMessage("look"),
        AssistantMessage("I look.", "r", finish="tool_calls"),
        ToolCall("c", "bash", '{"x": 1}', "r"),
        ToolResult("c", "I look.", "bash", is_error=True),
        ToolResult("c", "no such tool", "bash", is_error=True),
        AssistantMessage("done", "b"),
        Compaction(3, 3, "looked", meta={"made_by": "OpenHands"}),
        Unknown("OpenHands Novelty", {"entry": {"kind": "Novelty"}}),
        Setting("left out", {"PauseEvent": 1}),
    ]


def test_of_an_edit_the_model_saw_what_became_of_it_and_not_the_change() -> None:
    metadata = {"tool_call_id": "c", "function_name": "edit", "model_response": {"id": "r", "choices": []}}
    events = [
        {"id": 1, "source": "user", "action": "message", "args": {"content": "edit it"}},
        {"id": 2, "source": "agent", "action": "edit", "args": {"path": "a"}, "tool_call_metadata": metadata},
        {
            "id": 3,
            "source": "agent",
            "observation": "edit",
            "cause": 2,
            "content": "+ the whole new file",
            "extras": {"formatted_output_and_error": "File created: a"},
            "tool_call_metadata": metadata,
        },
    ]
    assert [body.content for body in read(*events) if isinstance(body, ToolResult)] == ["File created: a"]
