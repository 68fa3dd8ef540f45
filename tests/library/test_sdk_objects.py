"""The providers' own objects, from their own packages."""

from __future__ import annotations

import json
from typing import Any

import pytest

import workbench
from workbench.library.plain_values import plain

pytestmark = pytest.mark.xdist_group("litellm")  # where the other tests import the packages
CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": null}'}}


def test_objects_of_openai() -> None:
    chat = pytest.importorskip("openai.types.chat")
    answer = chat.ChatCompletion.model_validate(
        {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": "gpt-4o",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "tool_calls",
                    "logprobs": None,
                    "message": {"role": "assistant", "content": None, "refusal": None, "tool_calls": [CALL]},
                }
            ],
            "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12},
        }
    )
    for given in (answer, answer.choices[0].message):
        context = workbench.Context()
        context.add("read it")
        context.add(given)
        context.add({"role": "tool", "tool_call_id": "c1", "content": "text"})
        sent = context.request()["messages"]
        assert sent[1] == {"role": "assistant", "tool_calls": [CALL]}
        context.report(answer)
        context.report(answer.usage)


def test_items_of_openais_responses() -> None:
    responses = pytest.importorskip("openai.types.responses")
    call = responses.ResponseFunctionToolCall(type="function_call", call_id="c1", name="read", arguments="{}")
    thought = responses.ResponseReasoningItem(type="reasoning", id="rs_1", summary=[], encrypted_content="gAAA")
    context = workbench.Context()
    for message in ("read it", thought, call, {"type": "function_call_output", "call_id": "c1", "output": "text"}):
        context.add(message)
    sent = context.request()["input"]
    assert [each.get("type") for each in sent] == [None, "reasoning", "function_call", "function_call_output"]
    assert sent[1]["encrypted_content"] == "gAAA"


def test_objects_of_anthropic() -> None:
    types = pytest.importorskip("anthropic.types")
    blocks = [
        types.ThinkingBlock(type="thinking", thinking="hm", signature="c2ln"),
        types.ToolUseBlock(type="tool_use", id="t1", name="read", input={"path": None, "lines": [1, None]}),
    ]
    answer = types.Message(
        id="msg_1",
        type="message",
        role="assistant",
        model="claude-sonnet-4-5",
        content=blocks,
        stop_reason="tool_use",
        usage=types.Usage(input_tokens=5, output_tokens=2, cache_read_input_tokens=100),
    )
    for given in (answer, {"role": "assistant", "content": blocks}, {"role": "assistant", "content": answer.content}):
        context = workbench.Context(model="claude-sonnet-4-5")
        context.add("read it")
        context.add(given)
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": "t1", "content": "text"}
        context.add({"role": "user", "content": [result]})
        sent = context.request()["messages"]
        assert sent[1]["content"][0] == {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
        assert sent[1]["content"][1]["input"] == {"path": None, "lines": [1, None]}
        assert json.dumps(sent)
    context.report(answer)


def test_what_openais_package_adds_for_its_users_is_left_out() -> None:
    chat = pytest.importorskip("openai.types.chat")
    parsed = pytest.importorskip("openai.types.responses.parsed_response")
    own = {"role": "user", "parsed": 1, "arguments": 2, "parsed_arguments": 3}
    function = {"name": "read", "arguments": "{}", "parsed_arguments": own}
    call = chat.ParsedFunctionToolCall(id="c1", type="function", function=function)
    answer = chat.ParsedChatCompletionMessage[Any](role="assistant", content="{}", parsed=own, tool_calls=[call])
    bare_call = CALL | {"function": {"name": "read", "arguments": "{}"}}
    bare = {"role": "assistant", "content": "{}", "tool_calls": [bare_call]}
    dumped = answer.model_dump(exclude_none=True)
    for given in (answer, dumped, {**dumped, "tool_calls": answer.tool_calls}):
        assert plain(given, "message") == bare

    part: dict[str, Any] = {"type": "output_text", "text": "{}", "annotations": []}
    message = {"type": "message", "id": "m1", "role": "assistant", "status": "completed"}
    item = parsed.ParsedResponseOutputMessage[Any](**message, content=[part | {"parsed": own}])
    assert plain(item, "message") == message | {"content": [part]}
    called = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"}
    assert plain(parsed.ParsedResponseFunctionToolCall(**called, parsed_arguments=own), "message") == called


def test_arguments_and_schemas_are_kept_whole() -> None:
    types = pytest.importorskip("anthropic.types")
    own = {"role": "user", "content": {"role": "x", "parsed": 1}, "parsed": {"arguments": 1, "parsed_arguments": 2}}
    block = types.ToolUseBlock(type="tool_use", id="t1", name="read", input=own)
    assert plain({"role": "assistant", "content": [block]}, "message")["content"][0]["input"] == own
    schema = {"type": "object", "properties": {"parsed": {}, "role": {}, "arguments": {}, "parsed_arguments": {}}}
    for description in ("one", "half of \udce9"):
        for tool in (
            {"name": "read", "description": description, "input_schema": schema},
            {"type": "function", "function": {"name": "read", "description": description, "parameters": schema}},
        ):
            made = plain(tool, "tool")
            assert made.get("function", made).get("parameters", made.get("input_schema")) == schema


def test_objects_of_google() -> None:
    types = pytest.importorskip("google.genai.types")
    context = workbench.Context(model="gemini/gemini-2.5-pro")
    context.add(types.Content(role="user", parts=[types.Part(text="read it")]))
    call = types.Part(function_call=types.FunctionCall(name="read", args={"path": "a"}), thought_signature=b"sig")
    answer = types.GenerateContentResponse(
        candidates=[types.Candidate(content=types.Content(role="model", parts=[call]))],
        usage_metadata=types.GenerateContentResponseUsageMetadata(prompt_token_count=7, candidates_token_count=2),
    )
    context.add(answer)
    context.add(
        types.Content(role="user", parts=[types.Part.from_function_response(name="read", response={"output": "x"})])
    )
    context.report(answer)
    body = context.request()
    assert body["contents"][1]["parts"][0]["functionCall"] == {"name": "read", "args": {"path": "a"}}
    assert body["contents"][1]["parts"][0]["thoughtSignature"]
    assert [types.Content.model_validate(each).role for each in body["contents"]] == ["user", "model", "user"]
