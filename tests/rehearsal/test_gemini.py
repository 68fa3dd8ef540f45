"""Gemini's dialect, held against shapes that its own service and library have."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from rehearsal.conftest import client_of
from workbench.rehearsal.script import Script
from workbench.rehearsal.server import RehearsalServer
from workbench.wire.dialects import from_stream, read_answer

SCHEMA = {"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]}
TOOLS = [
    {"functionDeclarations": [{"name": "read_file", "parametersJsonSchema": SCHEMA}]},
    {"googleSearch": {}},
]
STEP = {"reasoning": "Hm.", "reply": "Hello.", "calls": [{"tool": "read_file", "arguments": {"file_path": "a.py"}}]}
WHOLE = "/v1beta/models/gemini-x:generateContent"
STREAM = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse"


def said(*texts: str, **more: Any) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": [{"text": text} for text in texts]}], "tools": TOOLS, **more}


async def test_a_whole_answer_is_one_candidate() -> None:
    async with RehearsalServer(Script([STEP])) as server, client_of(server) as client:
        found = (await client.post(WHOLE, json=said("go"))).json()
    [candidate] = found["candidates"]
    thought, text, call = candidate["content"]["parts"]
    assert thought == {"text": "Hm.", "thought": True}
    assert text == {"text": "Hello."}
    assert call["functionCall"]["name"] == "read_file"
    assert call["functionCall"]["args"] == {"file_path": "a.py"}
    assert (candidate["content"]["role"], candidate["finishReason"], candidate["index"]) == ("model", "STOP", 0)
    assert found["modelVersion"] == "gemini-x"
    used = found["usageMetadata"]
    assert used["thoughtsTokenCount"] > 0
    parts = ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount")
    assert used["totalTokenCount"] == sum(used[part] for part in parts)


async def test_a_stream_holds_the_same_with_calls_whole_and_the_reason_last() -> None:
    async with RehearsalServer(Script([STEP, STEP], chunk=2)) as server, client_of(server) as client:
        whole = (await client.post(WHOLE, json=said("go"))).json()
        answer = await client.post(STREAM, json=said("go"))
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [json.loads(line.removeprefix("data: ")) for line in answer.text.splitlines() if line]
    assert [("finishReason" in event["candidates"][0]) for event in events] == [False] * (len(events) - 1) + [True]
    calls = [part for event in events for part in event["candidates"][0]["content"]["parts"] if "functionCall" in part]
    assert [call["functionCall"]["args"] for call in calls] == [{"file_path": "a.py"}]
    bodies, used = read_answer("gemini", whole)
    again, reported = read_answer("gemini", from_stream("gemini", answer.text))
    assert [*map(repr, bodies)] == [*map(repr, again)]
    assert used is not None
    assert reported is not None
    assert used.completion == reported.completion


async def test_a_conversation_is_understood_with_and_without_ids(client: httpx.AsyncClient) -> None:
    for ids in ({"id": "c1"}, {}):
        call = {"functionCall": {"name": "read_file", "args": {"file_path": "a.py"}, **ids}}
        result = {"functionResponse": {"name": "read_file", "response": {"output": "one"}, **ids}}
        contents = [
            *said("<session_context>\nread old.py\n</session_context>", "read a.py")["contents"],
            {"role": "model", "parts": [call]},
            {"role": "user", "parts": [result]},
        ]
        found = (await client.post(WHOLE, json=said(contents=contents))).json()
        text = found["candidates"][0]["content"]["parts"][0]["text"]
        assert "`read_file` a.py gave 1 line, 3 characters" in text


async def test_tokens_are_counted_and_models_named(client: httpx.AsyncClient) -> None:
    used = (await client.post(WHOLE, json=said("one two three"))).json()["usageMetadata"]
    counting = WHOLE.replace("generateContent", "countTokens")
    counted = (await client.post(counting, json={"generateContentRequest": said("one two three")})).json()
    assert counted == {"totalTokens": used["promptTokenCount"]}
    listed = (await client.get("/v1beta/models")).json()["models"]
    assert [model["name"] for model in listed] == ["models/rehearsal"]
    assert (await client.get("/v1beta/models/gemini-x")).json()["name"] == "models/gemini-x"
    theirs = (await client.get("/v1/models", headers={"x-goog-api-key": "any"})).json()
    assert "generateContent" in theirs["models"][0]["supportedGenerationMethods"]


async def test_a_decision_comes_in_the_shape_that_was_asked_for(client: httpx.AsyncClient) -> None:
    shape = {
        "type": "OBJECT",
        "properties": {
            "reasoning": {"type": "STRING"},
            "model_choice": {"type": "STRING", "enum": ["flash", "pro"]},
            "score": {"type": "INTEGER"},
        },
        "required": ["reasoning", "model_choice", "score"],
    }
    config = {"responseMimeType": "application/json", "responseJsonSchema": shape}
    asked = {"contents": said("run ls")["contents"], "generationConfig": config}
    found = (await client.post(WHOLE, json=asked)).json()
    made = json.loads(found["candidates"][0]["content"]["parts"][0]["text"])
    assert (made["model_choice"], made["score"]) == ("flash", 1)


@pytest.mark.parametrize(
    ("fault", "status", "name", "told"),
    [
        ("context 4096", 400, "INVALID_ARGUMENT", "exceeds the maximum number of tokens allowed (4096)"),
        ("status 401", 401, "UNAUTHENTICATED", "credentials"),
        ("status 404", 404, "NOT_FOUND", "models/gemini-x is not found"),
        ("status 429 wait 3", 429, "RESOURCE_EXHAUSTED", "exhausted"),
        ("status 500", 500, "INTERNAL", "internal"),
        ("status 503", 503, "UNAVAILABLE", "overloaded"),
        ("status 418", 418, "INVALID_ARGUMENT", "invalid argument"),
        ("quota", 429, "RESOURCE_EXHAUSTED", "quota"),
        ("policy", 400, "INVALID_ARGUMENT", "blocked"),
    ],
)
async def test_errors_have_google_s_form(
    client: httpx.AsyncClient, fault: str, status: int, name: str, told: str
) -> None:
    for path in (WHOLE, STREAM):
        found = await client.post(path, json=said("go"), headers={"x-rehearse-fault": fault})
        error = found.json()["error"]
        assert (found.status_code, error["code"], error["status"]) == (status, status, name)
        assert told in error["message"]
    if "wait" in fault:
        assert error["details"][0]["retryDelay"] == "3s"


@pytest.mark.parametrize(
    ("contents", "told"),
    [
        (None, "contents is not specified"),
        ([], "contents is not specified"),
        ("text", "contents: expected a list of objects"),
        ([{"role": "model", "parts": [{"functionCall": {"name": "a", "args": {}}}]}], "number of function response"),
    ],
)
async def test_what_google_refuses_is_refused(client: httpx.AsyncClient, contents: Any, told: str) -> None:
    found = await client.post(WHOLE, json={"contents": contents})
    assert found.status_code == 400
    assert told in found.json()["error"]["message"]


async def test_a_refusal_and_a_limit_have_reasons_of_their_own(client: httpx.AsyncClient) -> None:
    for fault, reason in (("refused", "SAFETY"), ("length", "MAX_TOKENS")):
        for path in (WHOLE, STREAM):
            text = (await client.post(path, json=said("hello"), headers={"x-rehearse-fault": fault})).text
            assert f'"finishReason":"{reason}"' in text
