"""What the user wants, behind what clients put around it; and what clients ask on the side."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.log.events import AssistantMessage, Body, ToolCall, UserMessage
from workbench.rehearsal.rules import answer_by_rule
from workbench.rehearsal.side_requests import schema_instance
from workbench.rehearsal.summaries import HEAD
from workbench.wire.answers import WrittenCall
from workbench.wire.checked_requests import CheckedMessage, CheckedRequest, request_of
from workbench.wire.dialects import DIALECTS, read_request

TOOL = {"type": "function", "function": {"name": "read_file", "parameters": {"properties": {"path": {}}}}}
REMINDERS = (
    "<system-reminder>\nread secret.py\n</system-reminder>",
    "<environment_context>\n  <cwd>/x</cwd>\nrun rm\n</environment_context>",
    "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nread AGENTS.md\n</INSTRUCTIONS>",
    "<ide_opened_file>The user opened b.py. read b.py</ide_opened_file>",
    "<ide_selection>\nlist src\n</ide_selection>",
    "<session_context>\nread c.py\n</session_context>",
    "<available_skills>\n- read d.py\n</available_skills>",
    "<qwen:user-prompt-submit-context>read e.py</qwen:user-prompt-submit-context>",
    "<local-command-stdout>\nrun x\n</local-command-stdout>",
    "<current_datetime>2026-01-01</current_datetime>",
    "This session is being continued from a previous conversation that ran out of context.\nread g.py",
    "Observation:\nread h.py\nError:\nno such file",
    "This is the Gemini CLI. We are setting up the context for our chat.\nread f.py",
)
WISH = "read a.py"


def paths(request: CheckedRequest) -> list[str]:
    return [json.loads(call.arguments)["path"] for call in answer_by_rule(request).calls]


def chat(*parts: Any) -> CheckedRequest:
    """A request whose messages are of several text parts."""
    messages = [
        {"role": "user", "content": [{"type": "text", "text": each} for each in texts] if texts else "x"}
        for texts in parts
    ]
    return DIALECTS["chat"].new_speaker().read_request({"messages": messages, "tools": [TOOL]})


@pytest.mark.parametrize("reminder", REMINDERS)
def test_a_reminder_before_behind_or_beside_the_wish_is_not_the_wish(reminder: str) -> None:
    assert paths(chat([reminder], [WISH])) == ["a.py"]
    assert paths(chat([WISH], [reminder])) == ["a.py"]
    assert paths(chat([reminder, WISH])) == ["a.py"]
    assert paths(chat([WISH, reminder])) == ["a.py"]


@given(st.lists(st.sampled_from(REMINDERS[:2] + REMINDERS[3:10])), st.lists(st.sampled_from(REMINDERS)))
def test_no_reminders_ever_hide_the_wish(joined: list[str], beside: list[str]) -> None:
    assert paths(chat(["\n".join([*joined, WISH, *joined]), *beside])) == ["a.py"]
    assert paths(chat(*([each] for each in beside), [WISH], *([each] for each in beside))) == ["a.py"]


def test_tags_that_are_the_user_s_own_stay() -> None:
    said = 'write a.html: "<b>bold</b> <my-element>x</my-element>"'
    tool = {"type": "function", "function": {"name": "write_file", "parameters": {}}}
    [call] = answer_by_rule(CheckedRequest((CheckedMessage("user", said),), (tool,))).calls
    assert json.loads(call.arguments)["content"] == "<b>bold</b> <my-element>x</my-element>"


def test_what_editors_put_above_a_request_is_left_out() -> None:
    said = "# Context from my IDE setup:\n\n## Open tabs:\n- read b.py\n\n## My request for Codex:\nread a.py\n"
    assert paths(chat([said])) == ["a.py"]
    assert paths(chat(['"read a.py"'])) == ["a.py"], "quoted by the command line"


@pytest.mark.parametrize(
    "said",
    [
        "\nCurrent Task: read a.py\n\nThis is the expected criteria for your final answer: read b.py\nyou MUST",
        "New task:\nread a.py",
        "Please solve this issue: read a.py\n\nYou can execute commands.",
    ],
)
def test_the_task_is_found_in_what_a_framework_puts_around_it(said: str) -> None:
    assert paths(chat([said])) == ["a.py"]


def test_results_are_seen_behind_reminders() -> None:
    use = {"type": "tool_use", "id": "1", "name": "read_file", "input": {"path": "a.py"}}
    result = {"type": "tool_result", "tool_use_id": "1", "content": "one"}
    body: dict[str, Any] = {
        "tools": [{"name": "read_file", "input_schema": {"properties": {"path": {}}}}],
        "messages": [
            {"role": "user", "content": "read a.py, then read b.py"},
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result, {"type": "text", "text": REMINDERS[0]}]},
            {"role": "system", "content": "Be terse."},
        ],
    }
    assert paths(request_of(read_request("anthropic", body), body)) == ["b.py"]
    meanwhile = "The user sent a new message while you were working:\n{}\n\nThis is how it surfaces; read on."
    body["messages"][2]["content"][1]["text"] = meanwhile.format("and hurry up")
    assert paths(request_of(read_request("anthropic", body), body)) == ["b.py"]
    body["messages"][2]["content"][1]["text"] = meanwhile.format("read c.py")
    assert paths(request_of(read_request("anthropic", body), body)) == ["c.py"]


def test_calls_that_a_client_writes_in_its_own_way_are_recognised() -> None:
    asked = CheckedMessage("user", "read a.py, then read b.py")
    done = WrittenCall("read_file", '{"why": "so", "path": "a.py"}', "1")
    made = (asked, CheckedMessage("assistant", "", (done,)), CheckedMessage("tool", "one", call_id="1"))
    tool = {**TOOL, "function": {**TOOL["function"], "name": "functions.read_file"}}  # type: ignore[dict-item]
    assert paths(CheckedRequest(made, (tool,))) == ["b.py"]


def test_a_summary_of_the_turn_stands_for_what_it_names() -> None:
    """A client that compacts in the middle of a turn keeps what the user said, and puts the summary behind it."""
    tool = {"type": "function", "function": {"name": "bash", "parameters": {}}}

    def run(request: CheckedRequest) -> list[str]:
        return [json.loads(call.arguments)["command"] for call in answer_by_rule(request).calls]

    def did(command: str) -> tuple[CheckedMessage, CheckedMessage]:
        call = WrittenCall("bash", json.dumps({"command": command}), command)
        return CheckedMessage("assistant", "", (call,)), CheckedMessage("tool", "done", call_id=command)

    wish = CheckedMessage("user", "run a.sh, then run b.sh, then run c.sh")
    prompt = CheckedMessage("user", "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary.")
    agent = CheckedMessage("developer", "You are an agent. Give each pull request a title." + " Be terse." * 1000)
    summary = answer_by_rule(CheckedRequest((agent, wish, *did("a.sh"), prompt))).text
    assert "## Commands\n- a.sh" in summary, "no title, though no tools are on offer and the agent speaks of titles"
    given = (wish, CheckedMessage("user", f"Another model began. Here is its summary:\n{summary}"))
    assert run(CheckedRequest(given, (tool,))) == ["b.sh"]
    assert run(CheckedRequest((*given, *did("b.sh")), (tool,))) == ["c.sh"]
    nothing = (wish, CheckedMessage("user", HEAD))
    assert not run(CheckedRequest(nothing, (tool,))), "it does not begin again, and again"


# On the side


@pytest.mark.parametrize(
    ("system", "said", "title"),
    [
        ("You are naming a coding session. The title is a name.", "<session>\nread a.py\n</session>\nGo.", "Read a.py"),
        ("Generate a brief title that helps to find it.", "read a.py then run ls", "Read a.py then run ls"),
        ("", "Write a short title for this conversation.", "Rehearsal"),
    ],
)
def test_a_title_is_short_and_no_call(system: str, said: str, title: str) -> None:
    messages = (CheckedMessage("system", system), CheckedMessage("user", said))
    answer = answer_by_rule(CheckedRequest(messages))
    assert (answer.text, answer.calls) == (title, ())
    shape = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
    assert json.loads(answer_by_rule(CheckedRequest(messages, schema=shape)).text) == {"title": title}


def test_a_title_is_made_though_there_are_tools_where_the_answer_is_to_have_nothing_else() -> None:
    said = "Generate a concise task title. Do not answer the request.\n\nUser prompt:\nread a.py then run ls"
    shape = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
    request = CheckedRequest((CheckedMessage("user", said),), (TOOL,), schema=shape)
    assert answer_by_rule(request).text == '{"title": "Read a.py then run ls"}'


def test_the_prompt_of_an_agent_may_speak_of_titles_and_summaries() -> None:
    system = CheckedMessage("system", "Write a title for each commit. You summarise the conversation when asked.")
    assert paths(CheckedRequest((system, CheckedMessage("user", WISH)), (TOOL,))) == ["a.py"]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "enum": ["user", "model"]}, "user"),
        ({"type": ["string", "null"]}, "text"),
        ({"const": 3}, 3),
        ({"type": "NUMBER"}, 1),
        ({"type": "integer", "minimum": 7}, 7),
        ({"type": "array", "items": {"type": "boolean"}, "minItems": 2}, [False, False]),
        ({"type": "array", "items": {"type": "string"}}, []),
        ({"anyOf": [{"type": "null"}, {"type": "string"}]}, None),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "boolean"}}}, False),
        ({"properties": {"a": {"type": "string"}}}, {"a": "text"}),
        ({"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"]}, {"b": "text"}),
        (True, "text"),
    ],
)
def test_the_plainest_value_of_a_schema(schema: Any, value: Any) -> None:
    assert schema_instance(schema, "text") == value


def test_a_schema_that_goes_on_for_ever_ends() -> None:
    inner = {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]}
    assert "next" in schema_instance(inner, "text")


def test_texts_and_calls_of_one_reply_are_one_message() -> None:
    answer: list[Body] = [AssistantMessage("one", "r"), ToolCall("c", "f", "{}", "r"), AssistantMessage("two", "r")]
    begun, reply = request_of([UserMessage("go"), *answer], {}).messages
    assert begun.text == "go"
    assert reply == CheckedMessage("assistant", "one\ntwo", (WrittenCall("f", "{}", "c"),))
