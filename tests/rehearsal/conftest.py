"""A server for each test, a client for it, and the usual request in each dialect."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from support.waiting import GIVE_UP
from workbench.rehearsal.server import RehearsalServer

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
OPENAI_TOOLS: list[Any] = [
    {"type": "function", "function": {"name": name, "description": name, "parameters": SCHEMA}}
    for name in ("read_file", "list_files")
]
ANTHROPIC_TOOLS = [{"name": name, "description": name, "input_schema": SCHEMA} for name in ("read_file", "list_files")]
ASKED: list[Any] = [{"role": "user", "content": "read a.py and list src"}]
GEMINI = "/v1beta/models/rehearsal"
PATHS = {
    "openai": "/v1/chat/completions",
    "responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": f"{GEMINI}:generateContent",
}
STEP = {"reasoning": "Hm.", "reply": "Hello.", "calls": [{"tool": "read_file", "arguments": {"path": "a.py"}}]}


def body(dialect: str, **more: Any) -> dict[str, Any]:
    match dialect:
        case "responses":
            tools = [{"type": "function", **tool["function"]} for tool in OPENAI_TOOLS]
            return {"model": "rehearsal", "input": ASKED[0]["content"], "tools": tools, **more}
        case "gemini":
            declared = [{"name": tool["name"], "parametersJsonSchema": SCHEMA} for tool in ANTHROPIC_TOOLS]
            contents = [{"role": "user", "parts": [{"text": ASKED[0]["content"]}]}]
            return {"contents": contents, "tools": [{"functionDeclarations": declared}], **more}
    tools = OPENAI_TOOLS if dialect == "openai" else ANTHROPIC_TOOLS
    return {"model": "rehearsal", "messages": ASKED, "tools": tools, "max_tokens": 1000, **more}


async def ask(client: httpx.AsyncClient, dialect: str, stream: bool = False, **more: Any) -> httpx.Response:
    """Post the usual request, to be streamed or not."""
    if dialect == "gemini":
        path = f"{GEMINI}:streamGenerateContent?alt=sse" if stream else PATHS[dialect]
        return await client.post(path, json=body(dialect), **more)
    return await client.post(PATHS[dialect], json=body(dialect, stream=stream), **more)


def client_of(server: RehearsalServer) -> httpx.AsyncClient:
    """A plain HTTP client; to load the certificates that it would trust takes longer than most tests here."""
    return httpx.AsyncClient(base_url=server.url, timeout=GIVE_UP, trust_env=False, verify=False)


def data_of(text: str) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


@pytest.fixture
async def server() -> AsyncIterator[RehearsalServer]:
    """A server without a script: the rules answer."""
    async with RehearsalServer() as running:
        yield running


@pytest.fixture
async def client(server: RehearsalServer) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(server) as client:
        yield client
