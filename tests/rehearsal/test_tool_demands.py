"""What a client demands of calls is obeyed, in each dialect in its own words."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from workbench.log.events import ToolCall
from workbench.wire.dialects import read_answer

PLACE = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
NAMES = ("read_file", "save_note")
FUNCTIONS = [{"name": name, "description": name, "parameters": PLACE} for name in NAMES]
ASKED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "chat": (
        "/v1/chat/completions",
        {"model": "m", "messages": [{"role": "user", "content": "read a.txt"}]},
        {"tools": [{"type": "function", "function": each} for each in FUNCTIONS]},
    ),
    "responses": (
        "/v1/responses",
        {"model": "m", "input": "read a.txt"},
        {"tools": [{"type": "function", **each} for each in FUNCTIONS]},
    ),
    "anthropic": (
        "/v1/messages",
        {"model": "m", "max_tokens": 500, "messages": [{"role": "user", "content": "read a.txt"}]},
        {"tools": [{"name": name, "input_schema": PLACE} for name in NAMES]},
    ),
    "gemini": (
        "/v1beta/models/m:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "read a.txt"}]}]},
        {"tools": [{"functionDeclarations": FUNCTIONS}]},
    ),
}


def of_gemini(mode: str, *names: str) -> dict[str, Any]:
    return {
        "toolConfig": {"functionCallingConfig": {"mode": mode, **({"allowedFunctionNames": names} if names else {})}}
    }


NONE = {"chat": "none", "responses": "none", "anthropic": {"type": "none"}}
REQUIRED = {"chat": "required", "responses": "required", "anthropic": {"type": "any"}}
AUTO = {"chat": "auto", "responses": "auto", "anthropic": {"type": "auto"}}


def demand(dialect: str, words: dict[str, Any], mode: str) -> dict[str, Any]:
    return of_gemini(mode) if dialect == "gemini" else {"tool_choice": words[dialect]}


def named(dialect: str, name: str) -> dict[str, Any]:
    match dialect:
        case "chat":
            return {"tool_choice": {"type": "function", "function": {"name": name}}}
        case "responses":
            return {"tool_choice": {"type": "function", "name": name}}
        case "anthropic":
            return {"tool_choice": {"type": "tool", "name": name}}
    return of_gemini("ANY", name)


async def calls(
    client: httpx.AsyncClient, dialect: Any, *more: dict[str, Any], said: str = ""
) -> list[tuple[str, Any]]:
    path, body, _ = ASKED[dialect]
    text = json.dumps(body).replace("read a.txt", said or "read a.txt")
    for each in more:
        text = json.dumps({**json.loads(text), **each})
    found = await client.post(path, content=text)
    assert found.status_code == 200, found.text
    bodies, _ = read_answer(dialect, found.json())
    return [(body.tool, json.loads(body.arguments)) for body in bodies if isinstance(body, ToolCall)]


@pytest.mark.parametrize("dialect", ASKED)
async def test_none_is_none_and_a_call_that_is_required_comes(client: httpx.AsyncClient, dialect: str) -> None:
    tools = ASKED[dialect][2]
    assert await calls(client, dialect, tools) == [("read_file", {"path": "a.txt"})]
    assert await calls(client, dialect, tools, demand(dialect, NONE, "NONE")) == []
    required = demand(dialect, REQUIRED, "ANY")
    assert await calls(client, dialect, tools, required) == [("read_file", {"path": "a.txt"})]
    assert await calls(client, dialect, tools, required, said="good day") == [("read_file", {"path": "good day"})]
    assert await calls(client, dialect, tools, demand(dialect, AUTO, "AUTO"), said="good day") == []


@pytest.mark.parametrize("dialect", ASKED)
async def test_a_tool_that_is_named_is_called(client: httpx.AsyncClient, dialect: str) -> None:
    tools = ASKED[dialect][2]
    assert await calls(client, dialect, tools, named(dialect, "save_note")) == [("save_note", {"path": "read a.txt"})]
    assert await calls(client, dialect, tools, named(dialect, "read_file")) == [("read_file", {"path": "a.txt"})]


@pytest.mark.parametrize("dialect", ASKED)
async def test_what_cannot_be_called_is_refused(client: httpx.AsyncClient, dialect: str) -> None:
    path, body, tools = ASKED[dialect]
    wrong = await client.post(path, json={**body, **tools, **named(dialect, "fly")})
    none = await client.post(path, json={**body, **demand(dialect, REQUIRED, "ANY")})
    assert (wrong.status_code, none.status_code) == (400, 400)
    assert "'fly' is not among the tools" in wrong.json()["error"]["message"]


@pytest.mark.parametrize("mode", ["auto", "required"])
async def test_only_allowed_tools_are_called(client: httpx.AsyncClient, mode: str) -> None:
    tools = [{"type": "function", "name": "save_note"}]
    chosen = {"tool_choice": {"type": "allowed_tools", "mode": mode, "tools": tools}}
    expected = [("save_note", {"path": "read a.txt"})] if mode == "required" else []
    assert await calls(client, "responses", ASKED["responses"][2], chosen) == expected
    inner = [{"type": "function", "function": {"name": "save_note"}}]
    chat = {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": inner}}}
    assert await calls(client, "chat", ASKED["chat"][2], chat) == expected


@pytest.mark.parametrize(
    "odd",
    [{"tool_choice": 7}, {"tool_choice": {}}, {"tool_choice": ["x"]}, {"toolConfig": "x"}, {"tool_config": {"x": 1}}],
)
@pytest.mark.parametrize("dialect", ASKED)
async def test_a_demand_that_is_not_understood_is_none(
    client: httpx.AsyncClient, dialect: str, odd: dict[str, Any]
) -> None:
    assert await calls(client, dialect, ASKED[dialect][2], odd) == [("read_file", {"path": "a.txt"})]
