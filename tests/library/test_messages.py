"""Messages in: every dialect, the SDKs' own objects, and what is wrong with a bad one."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import workbench
from library.conversations import TOOLS, checked, in_dialect

IMAGE = "data:image/png;base64,iVBORw0KGgo="


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (7, "messages[1]: expected a message, which is a dict or an object of an SDK, got 7"),
        (object(), "messages[1]: expected a dict, or an object of an SDK, got an object of the type builtins.object"),
        (
            {"content": "hi"},
            "messages[1].role: expected one of system, developer, user, assistant, tool, function, got None",
        ),
        ({"role": "user"}, "messages[1].content: expected text or a list of parts, got None"),
        ({"role": "user", "content": 5}, "messages[1].content: expected text or a list of parts, got 5"),
        (
            {"role": "user", "content": [3]},
            "messages[1].content[0]: expected a part, which is a dict with a type, got 3",
        ),
        (
            {"role": "user", "content": [{"text": "x"}]},
            "messages[1].content[0].type: expected the type of the part, such as text, got None",
        ),
        ({"role": "user", "content": [{"type": "text"}]}, "messages[1].content[0].text: expected a text, got None"),
        (
            {"role": "assistant", "content": None, "tool_calls": 1},
            "messages[1].tool_calls: expected a list of calls, got 1",
        ),
        (
            {"role": "assistant", "content": None, "tool_calls": [{"id": "a"}]},
            "messages[1].tool_calls[0]: expected a call with the key function, got {'id': 'a'}",
        ),
        ({"role": "tool", "content": "x"}, "messages[1].tool_call_id: expected a text, got None"),
        (
            {"role": "user", "content": [{"type": "tool_result", "content": "x"}]},
            "messages[1].content[0].tool_use_id: expected a text, got None",
        ),
        (
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": 3}]},
            "messages[1].content[0].input: expected a dict, got 3",
        ),
        (
            {"role": "robot", "parts": []},
            "messages[1].role: expected one of user, model, function, system, got 'robot'",
        ),
        (
            {"role": "user", "parts": [None]},
            "messages[1].parts[0]: expected a part, which is a dict with text, functionCall or the like, got None",
        ),
        (
            {"type": "function_call", "name": "n", "arguments": "{}"},
            "messages[1].call_id: expected the id of the call, got None",
        ),
        ({"type": "function_call_output", "output": "x"}, "messages[1].call_id: expected a text, got None"),
        ({"type": "banana"}, "messages[1].type: expected message, function_call, reasoning"),
    ],
)
def test_a_bad_message_is_refused_with_the_path_into_it(message: Any, said: str) -> None:
    context = workbench.Context()
    with pytest.raises(workbench.BadMessage) as error:
        context.extend([{"role": "user", "content": "hi"}, message])
    assert str(error.value).startswith(said)
    with pytest.raises(workbench.WorkbenchError):
        workbench.plan([{"role": "user", "content": "hi"}, message])
    assert list(context.plan.items) == []


@pytest.mark.parametrize("messages", ["hi", {"role": "user", "content": "hi"}, 5, None])
def test_messages_are_a_list(messages: Any) -> None:
    with pytest.raises(workbench.BadMessage, match="messages: expected a list of messages"):
        workbench.plan(messages)


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ("x", "tools: expected a list"),
        ([3], r"tools\[0\]: expected a tool's definition"),
        ([{}], r"tools\[0\]: expected a definition with a name"),
        ([{"type": "function", "function": {"parameters": {}}}], "a definition with a name"),
        ([{"type": "function", "parameters": {}}], "a definition with a name"),
        ([{"name": "", "input_schema": {}}], "a definition with a name"),
        ([{"function_declarations": [{"description": "x"}]}], "a definition with a name"),
        ([{"name": "a", "input_schema": {}}, {"name": "a", "input_schema": {"type": "object"}}], "no other tool has"),
    ],
)
def test_a_bad_tool_is_refused_too(tools: Any, said: str) -> None:
    with pytest.raises(workbench.BadMessage, match=said):
        workbench.Context(tools=tools)


def test_tools_of_every_dialect_become_those_of_every_other() -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    given: list[dict[str, Any]] = [
        {"type": "function", "function": {"name": "a", "description": "A.", "parameters": schema}},
        {"type": "function", "name": "b", "description": "B.", "parameters": schema},
        {"name": "c", "description": "C.", "input_schema": schema},
        {"functionDeclarations": [{"name": "d", "description": "D.", "parametersJsonSchema": schema}]},
    ]
    plan = workbench.plan(["hi"], given)
    written = plan.request("openai")["tools"]
    assert [(each["function"]["name"], each["function"]["parameters"]) for each in written] == [
        (name, schema) for name in "abcd"
    ]
    assert [each["input_schema"] for each in plan.request("anthropic")["tools"]] == [schema] * 4
    assert [each["name"] for each in plan.request("google")["tools"][0]["functionDeclarations"]] == list("abcd")
    assert [each["name"] for each in plan.request("openai-responses")["tools"]] == list("abcd")


def test_pictures_go_into_every_dialect() -> None:
    message = {
        "role": "user",
        "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": IMAGE}}],
    }
    plan = workbench.plan([message])
    data = IMAGE.partition(",")[2]
    assert plan.request("openai")["messages"] == [message]
    assert plan.request("anthropic")["messages"][0]["content"][1]["source"]["data"] == data
    assert plan.request("google")["contents"][0]["parts"][1] == {"inlineData": {"mimeType": "image/png", "data": data}}
    assert plan.request("openai-responses")["input"][0]["content"][1]["image_url"] == IMAGE
    assert plan.request("ollama")["messages"][0]["images"] == [data]


def test_a_picture_that_does_not_say_its_type_is_a_png() -> None:
    part = {"type": "image_url", "image_url": {"url": "data:;base64,iVBORw0KGgo="}}
    plan = workbench.plan([{"role": "user", "content": [part]}])
    assert plan.request("anthropic")["messages"][0]["content"][0]["source"]["media_type"] == "image/png"


ANTHROPIC: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "text", "text": "look", "cache_control": {"type": "ephemeral"}}]},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "I should look.", "signature": "c2ln"},
            {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": None}},
        ],
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "x"}]}],
    },
]
GEMINI: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"text": "look"}]},
    {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {}}, "thoughtSignature": "c2ln"}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"result": "x"}}}]},
]
RESPONSES: list[dict[str, Any]] = [
    {"role": "user", "content": "look"},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "read", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "x"},
]


@pytest.mark.parametrize(
    ("dialect", "key", "messages"),
    [("anthropic", "messages", ANTHROPIC), ("google", "contents", GEMINI), ("openai-responses", "input", RESPONSES)],
)
def test_signatures_and_cache_marks_are_sent_back_as_they_came(dialect: str, key: str, messages: list[Any]) -> None:
    context = workbench.Context()
    for message in messages:
        context.add(message)
    assert context.request()[key] == messages
    assert context.request(dialect)[key] == messages
    assert workbench.plan(messages).request()[key] == messages
    for other in ("openai", "anthropic", "google", "openai-responses", "ollama"):
        checked(other, context.request(other))


def test_thinking_is_counted_where_it_is_sent_and_left_out_on_request() -> None:
    sent, left_out = workbench.plan(ANTHROPIC), workbench.plan(ANTHROPIC, thinking=False)
    assert sent.tokens > left_out.tokens
    assert [block["type"] for block in left_out.request()["messages"][1]["content"]] == ["tool_use"]
    chat = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho", "reasoning_content": "hmm"}]
    assert "reasoning_content" not in workbench.plan(chat).messages[1]
    assert workbench.plan(chat, thinking=True).messages == chat


def test_dialects_may_be_mixed() -> None:
    context = workbench.Context()
    for message in (*ANTHROPIC, *GEMINI[1:], *RESPONSES, {"role": "user", "content": "and now?"}):
        context.add(message)
    for dialect in ("openai", "anthropic", "google", "openai-responses", "ollama"):
        checked(dialect, context.request(dialect))
    assert [item.text for item in context.plan.items if item.kind == "tool_result"] == ["x", "x", "x"]


def test_a_masked_result_leaves_the_rest_of_its_message_as_it_was() -> None:
    long = "word " * 3_000
    talk = [ANTHROPIC[0]]
    for at in range(12):
        talk.append(
            {"role": "assistant", "content": [{"type": "tool_use", "id": f"t{at}", "name": "read", "input": {}}]}
        )
        talk.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{at}", "content": long}]})
    plan = workbench.plan(talk, TOOLS, "layers", window=64_000)
    sent = plan.request()["messages"]
    assert {item.state for item in plan.items if item.kind == "tool_result"} == {"sent", "masked"}
    assert sent[0] == talk[0]
    assert sent[1::2] == talk[1::2]
    assert [message["content"][0]["tool_use_id"] for message in sent[2::2]] == [f"t{at}" for at in range(12)]


def test_unknown_dialects_and_policies_are_named() -> None:
    with pytest.raises(
        workbench.WorkbenchError, match="dialect: expected one of openai-responses, google, ollama, anthropic, openai"
    ):
        workbench.plan([]).request("klingon")
    with pytest.raises(workbench.WorkbenchError, match="nowhere"):
        workbench.plan([], policy="nowhere")
    with pytest.raises(workbench.WorkbenchError, match=r"several have this name: .*truncation__max_tokens"):
        workbench.policy(max_tokens=3)
    with pytest.raises(workbench.WorkbenchError, match=r"masking\.keep_lost"):
        workbench.policy("layers", masking__keep_lost=3)
    with pytest.raises(workbench.WorkbenchError, match=r"^masking\.keep_last: expected a whole number"):
        workbench.policy("layers", keep_last=-3)
    with pytest.raises(workbench.WorkbenchError, match="window: expected a whole number"):
        workbench.plan([], window=0)
    with pytest.raises(workbench.WorkbenchError, match="reserve: expected less than the window"):
        workbench.plan([], window=1_000, reserve=1_000)
    with pytest.raises(workbench.WorkbenchError, match="thinking: expected True, False or None, got 'x'"):
        workbench.plan([], thinking="x")  # type: ignore[arg-type]
    with pytest.raises(workbench.WorkbenchError, match="thinking: expected True, False or None, got 0"):
        workbench.Context(thinking=0)  # type: ignore[arg-type]


def test_a_providers_own_tools_need_no_name() -> None:
    assert workbench.Context(tools=[{"type": "web_search"}]).plan.items[0].kind == "tool_definition"
    declared = {"function_declarations": [{"name": "read", "description": "It reads."}]}
    context = workbench.Context("workbench", "gemini/gemini-2.5-pro", 16_000, [{"google_search": {}}, declared])
    context.add("hello")
    assert context.request("google")["tools"] == [{"google_search": {}}, declared]
    assert [tool["function"]["name"] for tool in context.request("openai")["tools"]] == ["read"]


def test_tools_and_prompt_go_out_as_they_came_in_where_the_dialect_is_theirs() -> None:
    search = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}
    read = {"name": "read", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}
    blocks = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    context = workbench.Context(model="claude-sonnet-4-5", tools=[search, read], system=blocks)
    context.add("hi")
    for plan in (context.plan, workbench.plan(["hi"], [search, read], model="claude-sonnet-4-5", system=blocks)):
        assert plan.request() == {
            "system": blocks,
            "messages": [{"role": "user", "content": "hi"}],
            "tools": [search, read],
        }
        assert {item.state for item in plan.items} == {"sent"}
        assert plan.request("openai")["messages"][0] == {"role": "system", "content": "Be brief."}
        assert [tool["function"]["name"] for tool in plan.request("openai")["tools"]] == ["read"]
    context.configure(tools=[read])
    assert context.request()["tools"] == [read]
    assert context.request()["system"] == blocks
    context.configure(system="Be loud.")
    assert context.request()["system"] == "Be loud."


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_an_id_that_is_used_twice_is_renamed_in_the_call_and_in_its_result(dialect: str) -> None:
    """Agents count their calls from the start again in each turn or run."""
    call: dict[str, Any] = {"id": "k1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    again: list[dict[str, Any]] = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "k1", "content": "text"},
    ]
    context = workbench.Context(window=16_000)
    context.extend(in_dialect([{"role": "user", "content": "go"}, *again, *again], dialect))
    sent = json.dumps(context.request(dialect))
    assert re.findall(r'"(?:id|tool_call_id|tool_use_id)": "([^"]+)"', sent) == ["k1", "k1", "k1_2", "k1_2"]
