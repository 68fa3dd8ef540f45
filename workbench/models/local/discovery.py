"""Model servers that already run on this machine, and the models they offer. Only loopback addresses are used."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from workbench.config.background import in_background
from workbench.models.failures import ModelFailure

if TYPE_CHECKING:
    import httpx

Kind = Literal["ollama", "llama.cpp", "lm_studio", "vllm"]

HOST = "127.0.0.1"

PORTS: Mapping[Kind, int] = MappingProxyType({"ollama": 11434, "llama.cpp": 8080, "lm_studio": 1234, "vllm": 8000})
"""The default port of each."""

TIMEOUT = 0.3
"""Seconds for one request. On loopback a running server answers in a few milliseconds."""

_NUM_CTX = re.compile(r"^\s*num_ctx\s+(\d{1,9})\b", re.MULTILINE)


class FoundModel(Struct, frozen=True):
    """A model that a server offers."""

    name: str
    """The server's name for it."""
    window: int | None
    """In tokens, as the server reports it; None if it does not."""


class LocalServer(Struct, frozen=True):
    kind: Kind
    url: str
    models: tuple[FoundModel, ...]


Json = Mapping[str, Any]
Ask = Callable[..., Awaitable[Json]]
"""`await ask(path, body)`: the JSON object at a path; an empty one if there is none. With a body it is a POST."""


async def discover_servers(ports: Mapping[Kind, int] = PORTS, timeout: float = TIMEOUT) -> tuple[LocalServer, ...]:
    """The servers that answer, all asked at once. Also empty if httpx, which comes with litellm, is missing."""
    try:
        await in_background(import_module, "httpx")  # takes a tenth of a second
        guard = import_module("workbench.models.http_guard")
    except ImportError:
        return ()
    # No proxies from the environment and no certificates: this is loopback.
    async with guard.GuardedClient(trust_env=False, verify=False, timeout=timeout) as client:
        found = await asyncio.gather(*(_ask_server(client, kind, port, timeout) for kind, port in ports.items()))
    return tuple(server for server in found if server is not None)


async def _ask_server(client: httpx.AsyncClient, kind: Kind, port: int, timeout: float) -> LocalServer | None:
    """The server of this kind at this port; None if there is none, or another program."""
    url = f"http://{HOST}:{port}"

    async def ask(path: str, body: Json | None = None) -> Json:
        return await _ask(client, url + path, body, timeout)

    models = await _DIALECTS[kind](ask)
    return None if models is None else LocalServer(kind, url, models)


async def _ask(client: httpx.AsyncClient, url: str, body: Json | None, timeout: float) -> Json:
    """Make one request. Another program may listen there and answer anything, so every error gives an empty object."""
    http = import_module("httpx")
    try:
        async with asyncio.timeout(timeout):  # httpx's own timeout starts again with every byte
            answer = await (client.get(url) if body is None else client.post(url, json=body))
        found = answer.json() if answer.status_code == http.codes.OK else None
    except (TimeoutError, ModelFailure, http.HTTPError, http.InvalidURL, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


async def _ollama(ask: Ask) -> tuple[FoundModel, ...] | None:
    """Ollama lists its models in one request, and the setup of each needs its own request."""
    tags, running = await asyncio.gather(ask("/api/tags"), ask("/api/ps"))
    if "models" not in tags:
        return None
    names = [name for name, _ in _named(tags["models"], "name")]
    loaded = dict(_named(running.get("models"), "name"))
    shown = await asyncio.gather(*(ask("/api/show", {"model": name}) for name in names))
    return tuple(
        FoundModel(name, _ollama_window(show, loaded.get(name, {}))) for name, show in zip(names, shown, strict=True)
    )


def _ollama_window(show: Json, loaded: Json) -> int | None:
    """The window in use, often far below the one that the model was trained for; the trained one comes last."""
    parameters = show.get("parameters")
    set_up = _NUM_CTX.search(parameters) if isinstance(parameters, str) else None
    trained = _inner(show, "model_info")
    lengths = (_whole(value) for key, value in trained.items() if key.endswith(".context_length"))
    return (
        _whole(int(set_up.group(1)) if set_up else None)
        or _whole(loaded.get("context_length"))
        or next((length for length in lengths if length), None)
    )


async def _llama_cpp(ask: Ask) -> tuple[FoundModel, ...] | None:
    """llama.cpp usually serves one model; its properties give the window of one slot."""
    listed, props = await asyncio.gather(ask("/v1/models"), ask("/props"))
    entries = _named(listed.get("data"), "id")
    slot = _inner(props, "default_generation_settings")
    if not slot and not any(entry.get("owned_by") == "llamacpp" for _, entry in entries):
        return None
    return tuple(
        FoundModel(name, _whole(slot.get("n_ctx")) or _whole(_inner(entry, "meta").get("n_ctx")))
        for name, entry in entries
    )


async def _lm_studio(ask: Ask) -> tuple[FoundModel, ...] | None:
    """LM Studio gives the actual window of a loaded model, and the largest possible window of the others."""
    listed = await ask("/api/v0/models")
    if "data" not in listed:
        return None
    return tuple(
        FoundModel(name, _whole(entry.get("loaded_context_length")) or _whole(entry.get("max_context_length")))
        for name, entry in _named(listed["data"], "id")
        if entry.get("type") != "embeddings"
    )


async def _vllm(ask: Ask) -> tuple[FoundModel, ...] | None:
    """vLLM lists its models in OpenAI's format, and adds the window to each."""
    entries = _named((await ask("/v1/models")).get("data"), "id")
    if not any(entry.get("owned_by") == "vllm" or "max_model_len" in entry for _, entry in entries):
        return None
    return tuple(FoundModel(name, _whole(entry.get("max_model_len"))) for name, entry in entries)


_DIALECTS: dict[Kind, Callable[[Ask], Awaitable[tuple[FoundModel, ...] | None]]] = {
    "ollama": _ollama,
    "llama.cpp": _llama_cpp,
    "lm_studio": _lm_studio,
    "vllm": _vllm,
}


def _named(value: Any, key: str) -> list[tuple[str, Json]]:
    """The objects of a list that have a name, with their names; empty if it is not a list."""
    entries = value if isinstance(value, list) else []
    return [
        (name, entry)
        for entry in entries
        if isinstance(entry, dict) and isinstance(name := entry.get(key), str) and name
    ]


def _inner(entry: Json, key: str) -> Json:
    """The object inside an object; an empty one if there is none."""
    value = entry.get(key)
    return value if isinstance(value, dict) else {}


def _whole(value: Any) -> int | None:
    """A number of tokens; None for anything else, including 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
