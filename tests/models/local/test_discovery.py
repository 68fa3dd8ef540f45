"""Servers on loopback, each in its own dialect, and programs that only look like one."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.hostile import forever, head, hostile, redirect
from workbench.models.local.discovery import PORTS, FoundModel, Kind, LocalServer, discover_servers

KINDS: tuple[Kind, ...] = get_args(Kind)

OPENAI_LIST = {"object": "list", "data": [{"id": "some-model", "object": "model", "owned_by": "somebody"}]}


class Server:
    """A small HTTP server with fixed answers, which remembers what it was asked."""

    def __init__(self, answers: Mapping[str, Any], status: int = 200, headers: str = "") -> None:
        self.answers = answers
        self.head = f"HTTP/1.1 {status} -\r\nConnection: close\r\n{headers}"
        self.asked: list[str] = []
        self.port = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        path = head.split()[1]
        length = next((int(line[15:]) for line in head.splitlines() if line.lower().startswith("content-length:")), 0)
        body = await reader.readexactly(length)
        self.asked.append(path)
        answer = self.answers.get(path)
        if callable(answer):
            answer = answer(json.loads(body))
        if answer is None:
            writer.write(b"HTTP/1.1 404 -\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        else:
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            writer.write(f"{self.head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def serving(server: Server) -> AsyncIterator[Server]:
    listening = await asyncio.start_server(server.answer, "127.0.0.1", 0)
    async with listening:
        server.port = listening.sockets[0].getsockname()[1]
        yield server


async def look(kind: Kind, server: Server) -> tuple[LocalServer, ...]:
    """What is found where this server stands for one kind. Patient, for a machine that is busy."""
    async with serving(server):
        return await discover_servers({kind: server.port}, timeout=60)


def models(found: tuple[LocalServer, ...]) -> tuple[FoundModel, ...]:
    assert len(found) == 1
    return found[0].models


async def test_ollama_is_asked_for_each_model_and_its_own_setting_comes_first() -> None:
    shown = {
        "set:1b": {
            "parameters": 'stop "x"\nnum_ctx                        8192',
            "model_info": {"a.context_length": 131072},
        },
        "running:1b": {"model_info": {"a.context_length": 131072}},
        "idle:1b": {"parameters": "", "model_info": {"general.architecture": "a", "a.context_length": 40960}},
        "silent:1b": {},
        "absurd:1b": {"parameters": "num_ctx " + "9" * 5000},
    }
    server = Server(
        {
            "/api/tags": {"models": [{"name": name} for name in shown]},
            "/api/ps": {"models": [{"name": "running:1b", "context_length": 4096}]},
            "/api/show": lambda body: shown[body["model"]],
        }
    )
    found = await look("ollama", server)
    assert found[0].kind == "ollama"
    assert found[0].url == f"http://127.0.0.1:{server.port}"
    assert models(found) == (
        FoundModel("set:1b", 8192),
        FoundModel("running:1b", 4096),
        FoundModel("idle:1b", 40960),
        FoundModel("silent:1b", None),
        FoundModel("absurd:1b", None),
    )


async def test_llama_cpp_has_the_window_of_a_slot() -> None:
    entry = {"id": "some.gguf", "owned_by": "llamacpp", "meta": {"n_ctx": 2048, "n_ctx_train": 8192}}
    props = {"default_generation_settings": {"n_ctx": 4096}, "total_slots": 4}
    assert models(await look("llama.cpp", Server({"/v1/models": {"data": [entry]}, "/props": props}))) == (
        FoundModel("some.gguf", 4096),
    )
    assert models(await look("llama.cpp", Server({"/v1/models": {"data": [entry]}}))) == (
        FoundModel("some.gguf", 2048),
    )


async def test_lm_studio_has_the_window_that_is_loaded_and_else_the_largest() -> None:
    data = [
        {"id": "loaded", "type": "llm", "max_context_length": 32768, "loaded_context_length": 4096},
        {"id": "idle", "type": "vlm", "max_context_length": 131072},
        {"id": "vectors", "type": "embeddings", "max_context_length": 2048},
    ]
    assert models(await look("lm_studio", Server({"/api/v0/models": {"data": data}}))) == (
        FoundModel("loaded", 4096),
        FoundModel("idle", 131072),
    )


async def test_vllm_has_the_longest_sequence() -> None:
    data = [{"id": "org/model", "owned_by": "vllm", "max_model_len": 16384}, {"id": "adapter", "owned_by": "vllm"}]
    assert models(await look("vllm", Server({"/v1/models": {"data": data}}))) == (
        FoundModel("org/model", 16384),
        FoundModel("adapter", None),
    )


async def test_all_are_found_at_once_in_the_order_of_their_ports() -> None:
    listed = {"data": [{"id": "m", "owned_by": "llamacpp"}]}
    everyone = Server(
        {
            "/api/tags": {"models": []},
            "/v1/models": {"data": [{"id": "m", "owned_by": "llamacpp", "max_model_len": 1}]},
            "/api/v0/models": listed,
        }
    )
    async with serving(everyone):
        found = await discover_servers(dict.fromkeys(KINDS, everyone.port), timeout=60)
    assert tuple(server.kind for server in found) == KINDS == tuple(PORTS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "server",
    [
        Server({}),
        Server(dict.fromkeys(("/api/tags", "/v1/models", "/props", "/api/v0/models"), b"<html>hello</html>")),
        Server({"/v1/models": OPENAI_LIST}),
        Server({"/api/tags": {"models": []}, "/v1/models": OPENAI_LIST, "/api/v0/models": OPENAI_LIST}, status=401),
    ],
    ids=["nothing", "html", "another dialect", "refuses"],
)
async def test_another_program_is_not_taken_for_a_server(kind: Kind, server: Server) -> None:
    assert await look(kind, server) == ()
    assert server.asked


@pytest.mark.parametrize("kind", KINDS)
async def test_a_port_where_nobody_listens_is_nothing(kind: Kind) -> None:
    async with serving(Server({})) as gone:
        pass
    assert await discover_servers({kind: gone.port}, timeout=60) == ()


class Silent(Server):
    """Takes the request and never answers, or answers a byte at a time: what counts is the whole time."""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.append("")
        try:
            while True:
                writer.write(b"H")
                await writer.drain()
                await asyncio.sleep(0.05)
        except ConnectionError:
            writer.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_server_that_never_comes_to_an_end_is_given_up(kind: Kind) -> None:
    server = Silent({})
    async with serving(server):
        assert await discover_servers({kind: server.port}, timeout=0.2) == ()
    assert server.asked


async def test_neither_a_proxy_nor_a_redirect_leads_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(Server({"/v1/models": {"data": [{"id": "m", "owned_by": "vllm"}]}})) as elsewhere:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{elsewhere.port}")
        headers = f"Location: http://127.0.0.1:{elsewhere.port}/v1/models\r\n"
        moved = Server({"/v1/models": {}}, status=302, headers=headers)
        assert await look("vllm", moved) == ()
        assert moved.asked == ["/v1/models"]
        assert elsewhere.asked == []


async def test_without_httpx_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    server = Server({"/v1/models": {"data": [{"id": "m", "owned_by": "vllm"}]}})
    assert await look("vllm", server) == ()
    assert server.asked == []


KEYS = (
    *("id", "name", "models", "data", "meta", "n_ctx", "owned_by", "type", "parameters", "model_info"),
    *("context_length", "a.context_length", "max_model_len", "max_context_length", "loaded_context_length"),
    "default_generation_settings",
)
"""The keys that one dialect or another looks at."""

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner | st.sampled_from(["vllm", "llamacpp", "num_ctx 12"]),
            max_size=6,
        )
    ),
    max_leaves=20,
)


@given(listed=JSON, other=JSON)
def test_whatever_a_server_answers_the_windows_are_numbers_of_tokens_or_unknown(listed: Any, other: Any) -> None:
    paths = {"/api/tags": listed, "/v1/models": listed, "/api/v0/models": listed}
    others = {"/api/ps": other, "/props": other, "/api/show": lambda _: other}

    async def run() -> tuple[LocalServer, ...]:
        async with serving(Server(paths | others)) as server:
            return await discover_servers(dict.fromkeys(KINDS, server.port), timeout=60)

    for server in asyncio.run(run()):
        for found in server.models:
            assert isinstance(found.name, str)
            assert found.name
            assert found.window is None or (type(found.window) is int and found.window > 0)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_redirect_to_another_server_is_not_followed(kind: Kind) -> None:
    with hostile(head()) as thief, hostile(redirect(f"{thief.url}/v1/models", 302)) as server:
        assert await discover_servers({kind: server.server_address[1]}, timeout=60) == ()
        assert server.requests
        assert thief.requests == []


async def test_a_list_of_models_that_never_ends_is_none() -> None:
    with hostile(forever(b" " * 65_536, head(kind="application/json"))) as server:
        assert await discover_servers({"vllm": server.server_address[1]}, timeout=600) == ()
