"""All dialects alike over real HTTP: faults of the connection and of the stream, and whatever a client sends."""

from __future__ import annotations

import copy
import json
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rehearsal.conftest import PATHS, SCHEMA, ask, body, client_of, data_of
from workbench.log.events import AssistantMessage, DialectName, Reasoning, ToolCall, text_of
from workbench.rehearsal.rehearsal_model import RehearsalModel
from workbench.rehearsal.script import Script
from workbench.rehearsal.server import RehearsalServer
from workbench.wire.answers import PacedAnswer, WrittenAnswer, WrittenCall
from workbench.wire.checked_requests import BadRequest
from workbench.wire.dialects import DIALECTS
from workbench.wire.speaking import to_json

# Faults of the connection and the stream, alike in all


@pytest.mark.parametrize("dialect", PATHS)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fault", ["cut", "drop"])
async def test_a_connection_that_closes_is_seen_as_such(
    server: RehearsalServer, client: httpx.AsyncClient, dialect: str, stream: bool, fault: str
) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        await ask(client, dialect, stream, headers={"x-rehearse-fault": fault})
    assert await server.requests[0].outcome == "broken"


@pytest.mark.parametrize("dialect", PATHS)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fault", ["silence", "stall", "mute"])
async def test_silence_lasts_until_the_client_goes_away(
    server: RehearsalServer, client: httpx.AsyncClient, dialect: str, stream: bool, fault: str
) -> None:
    timeout = httpx.Timeout(60, read=0.2)
    with pytest.raises(httpx.ReadTimeout):
        await ask(client, dialect, stream, headers={"x-rehearse-fault": fault}, timeout=timeout)
    assert await (await server.arrival()).outcome == "gone"


@pytest.mark.parametrize("dialect", PATHS)
async def test_a_page_of_html_comes_with_status_200(client: httpx.AsyncClient, dialect: str) -> None:
    found = await ask(client, dialect, True, headers={"x-rehearse-fault": "html"})
    assert found.status_code == 200
    assert found.headers["content-type"].startswith("text/html")
    assert found.text.startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("dialect", PATHS)
async def test_a_stream_may_end_without_a_reason(client: httpx.AsyncClient, dialect: str) -> None:
    fault = {"x-rehearse-fault": "no_finish"}
    text = (await ask(client, dialect, True, headers=fault)).text
    assert "a.py" in text
    assert 'tool_calls"}' not in text
    ends = ('"finish_reason":"', '"stop_reason":"', "[DONE]", "message_stop", "finishReason", "response.completed")
    assert not any(word in text for word in ends)
    whole = (await ask(client, dialect, headers=fault)).json()
    match dialect:
        case "openai":
            assert whole["choices"][0]["finish_reason"] is None
        case "responses":
            assert whole["status"] == "in_progress"
        case "anthropic":
            assert whole["stop_reason"] is None
        case "gemini":
            assert "finishReason" not in whole["candidates"][0]


@pytest.mark.parametrize("dialect", PATHS)
@pytest.mark.parametrize("stream", [False, True])
async def test_json_may_be_broken(client: httpx.AsyncClient, dialect: str, stream: bool) -> None:
    found = await ask(client, dialect, stream, headers={"x-rehearse-fault": "bad_json"})
    with pytest.raises(json.JSONDecodeError):
        data_of(found.text) if stream else found.json()


@pytest.mark.parametrize("dialect", PATHS)
async def test_an_error_may_come_in_the_middle(client: httpx.AsyncClient, dialect: str) -> None:
    fault = {"x-rehearse-fault": "error"}
    events = data_of((await ask(client, dialect, True, headers=fault)).text)
    assert len(events) > 1
    assert "error" in events[-1]
    assert (await ask(client, dialect, headers=fault)).status_code == 500


@pytest.mark.parametrize("dialect", PATHS)
async def test_usage_may_be_missing(client: httpx.AsyncClient, dialect: str) -> None:
    found = await ask(client, dialect, headers={"x-rehearse-fault": "no_usage"})
    assert not {"usage", "usageMetadata"} & found.json().keys()


@pytest.mark.parametrize("dialect", PATHS)
async def test_an_answer_at_a_speed_comes_whole_and_a_client_that_leaves_ends_it(dialect: str) -> None:
    script = Script([{"reply": "Hello.", "speed": 600, "delay": 0.01}, {"reply": "x" * 99, "speed": 1}], chunk=1)
    async with RehearsalServer(script) as server, client_of(server) as client:
        found = data_of((await ask(client, dialect, True)).text)
        assert len(found) > 5
        path = PATHS[dialect].replace(":generate", ":streamGenerate")
        async with client.stream("POST", path, json=body(dialect, stream=True)) as response:
            await anext(response.aiter_raw())
        assert await server.requests[1].outcome == "gone"


# Whatever a client sends

NAMES = st.sampled_from(
    [
        *("messages", "input", "contents", "role", "content", "parts", "type", "text", "tools", "name", "function"),
        *("tool_calls", "arguments", "functionCall", "functionResponse", "call_id", "output", "system", "response"),
        *("functionDeclarations", "tool_use_id", "tool_call_id", "max_tokens", "stream", "generationConfig", "schema"),
        *("custom", "response_format", "output_config", "format", "previous_response_id", "instructions", "id"),
    ]
)
WORDS = st.sampled_from(
    [
        *("user", "assistant", "system", "tool", "model", "message", "text", "tool_use", "tool_result", "function"),
        *(
            "function_call",
            "function_call_output",
            "namespace",
            "custom",
            "additional_tools",
            "read a.py",
            "run ls",
            "",
        ),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=6),
    max_leaves=25,
)


TALKS: dict[DialectName, dict[str, Any]] = {
    "chat": {
        **body("openai", response_format={"type": "json_schema", "json_schema": {"schema": SCHEMA}}),
        "messages": [
            {"role": "system", "content": "Be terse."},
            {
                "role": "user",
                "content": [{"type": "text", "text": "read a.py"}, {"type": "image_url", "image_url": {}}],
            },
            {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "read_file", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "1", "content": "one"},
        ],
    },
    "responses": {
        **body("responses", text={"format": {"type": "json_schema", "schema": SCHEMA}}, instructions="Be terse."),
        "input": [
            {"type": "additional_tools", "tools": [{"type": "namespace", "name": "a", "tools": [{"type": "custom"}]}]},
            {"role": "user", "content": [{"type": "input_text", "text": "read a.py"}]},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
            {"type": "function_call", "call_id": "1", "name": "read_file", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "1", "output": [{"type": "input_text", "text": "one"}]},
        ],
    },
    "anthropic": {
        **body(
            "anthropic", output_config={"format": {"schema": SCHEMA}}, system=[{"type": "text", "text": "Be terse."}]
        ),
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "read a.py"}, {"type": "image", "source": {}}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "read_file", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "one"}]},
            {"role": "system", "content": "Be quick."},
        ],
    },
    "gemini": {
        **body(
            "gemini", generationConfig={"responseSchema": SCHEMA}, systemInstruction={"parts": [{"text": "Terse."}]}
        ),
        "contents": [
            {"role": "user", "parts": [{"text": "read a.py"}, {"inlineData": {"mimeType": "image/png", "data": ""}}]},
            {"role": "model", "parts": [{"functionCall": {"name": "read_file", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "read_file", "response": {"output": "one"}}}]},
        ],
    },
    "ollama": {
        "model": "rehearsal",
        "stream": False,
        "format": SCHEMA,
        "options": {"num_predict": 500},
        "messages": [
            {"role": "system", "content": "Be terse."},
            {"role": "user", "content": "read a.py", "images": ["aGk="]},
            {
                "role": "assistant",
                "content": "",
                "thinking": "Hm.",
                "tool_calls": [{"function": {"name": "read_file", "arguments": {}}}],
            },
            {"role": "tool", "tool_name": "read_file", "content": "one"},
        ],
    },
}


def places(value: Any, *before: Any) -> list[tuple[Any, ...]]:
    """Where something stands in a value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [each for key, inner in inside for each in [(*before, key), *places(inner, *before, key)]]


@given(st.sampled_from(list(DIALECTS)), st.data())
def test_any_object_is_answered_or_refused_and_nothing_else(name: DialectName, data: st.DataObject) -> None:
    dialect, sent = DIALECTS[name].new_speaker(), copy.deepcopy(TALKS[name])
    for _ in range(data.draw(st.integers(0, 3))):
        found = places(sent)
        *before, last = data.draw(st.sampled_from(found)) if found else ("messages",)
        place: Any = sent
        for key in before:
            place = place[key]
        place[last] = data.draw(JSON)
    try:
        request = dialect.read_request(sent, "/v1beta/models/m:generateContent")
    except BadRequest:
        return
    played = RehearsalModel().play(request)
    assert json.loads(to_json(dialect.full_answer(played, request, "1")))
    assert b"".join(event.data for event in dialect.stream(played, request, "1"))


@pytest.mark.parametrize("name", TALKS)
def test_an_answer_is_read_as_it_was_written(name: DialectName) -> None:
    speaker = DIALECTS[name].new_speaker()
    request = speaker.read_request(copy.deepcopy(TALKS[name]), "/v1beta/models/m:generateContent")
    written = WrittenAnswer("Yes.", "Hm.", (WrittenCall("read_file", '{"path": "a.txt"}', "c9"),))
    full = json.loads(to_json(speaker.full_answer(PacedAnswer(written), request, "1")))
    bodies, _ = DIALECTS[name].read_answer(full)
    assert [each.text for each in bodies if isinstance(each, Reasoning)] == ["Hm."]
    assert [text_of(each.content) for each in bodies if isinstance(each, AssistantMessage)] == ["Yes."]
    [call] = [each for each in bodies if isinstance(each, ToolCall)]
    assert (call.tool, json.loads(call.arguments)) == ("read_file", {"path": "a.txt"})
