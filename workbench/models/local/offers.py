"""Our own names for models of local servers: `ollama/NAME`, `llamacpp/NAME`, `lmstudio/NAME`, `vllm/NAME`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

from msgspec import Meta, defstruct

from workbench.config.background import background
from workbench.config.tables import Table, read_table
from workbench.models.endpoints import NO_KEY, Endpoint
from workbench.models.local.discovery import HOST, PORTS, TIMEOUT, FoundModel, Kind, LocalServer, discover_servers

PREFIXES: Mapping[str, Kind] = MappingProxyType(
    {"ollama": "ollama", "llamacpp": "llama.cpp", "lmstudio": "lm_studio", "vllm": "vllm"}
)
"""The prefixes of our names."""

_ALSO: Mapping[str, Kind] = MappingProxyType(
    {"ollama_chat": "ollama", "llama.cpp": "llama.cpp", "lm_studio": "lm_studio", "hosted_vllm": "vllm"}
)
"""The names that litellm and the servers themselves use for the same."""

_LITELLMS = MappingProxyType(
    {
        "ollama": "OLLAMA_API_BASE",
        "ollama_chat": "OLLAMA_API_BASE",
        "lm_studio": "LM_STUDIO_API_BASE",
        "hosted_vllm": "HOSTED_VLLM_API_BASE",
    }
)
"""Prefixes that litellm knows as well, and the variables in which it looks for the server's address."""

_DIALECT = "openai"
"""The dialect of all four, under `/v1`, by litellm's name."""

PATIENT = 5.0
"""Seconds for one request to a server that the user named. If no program listens, the answer comes at once."""


class OfferedModel(NamedTuple):
    """A model that a server on this machine offers."""

    name: str
    """Our name for it, with its prefix."""
    model: FoundModel
    server: LocalServer

    @property
    def endpoint(self) -> Endpoint:
        """Where it answers; with a dummy key, to keep the user's keys from being sent to it."""
        return _endpoint(f"{self.server.url}/v1", self.model.name)


def server_kind_of(model: str) -> Kind | None:
    """The kind of server that a model's name refers to; None for all other names."""
    prefix, slash, name = model.partition("/")
    return (PREFIXES.get(prefix) or _ALSO.get(prefix)) if slash and name else None


def endpoint_of(
    model: str,
    api_base: str,
    ports: Mapping[Kind, int],
    offer: OfferedModel | None,
    environ: Mapping[str, str] = os.environ,
) -> Endpoint:
    """Where a model of one of these servers answers: at a given address, where it was found, or at its server's default
    address, where a request will fail with a clear error."""
    prefix, _, name = model.partition("/")
    if prefix in _LITELLMS and (api_base or environ.get(_LITELLMS[prefix])):
        return Endpoint(api_base)
    if api_base:
        return _endpoint(api_base, name)
    kind = server_kind_of(model)
    assert kind is not None, "the name of another kind of model"
    return offer.endpoint if offer else _endpoint(f"http://{HOST}:{ports[kind]}/v1", name)


def _endpoint(address: str, name: str) -> Endpoint:
    return Endpoint(address, NO_KEY, _DIALECT, name)


def offers_of(servers: Iterable[LocalServer]) -> list[OfferedModel]:
    """All models of these servers."""
    prefixes = {kind: prefix for prefix, kind in PREFIXES.items()}
    return [
        OfferedModel(f"{prefixes[server.kind]}/{model.name}", model, server)
        for server in servers
        for model in server.models
    ]


def pick_offer(model: str, servers: Iterable[LocalServer]) -> OfferedModel | None:
    """The offer that a name means: the server's name, without Ollama's `:latest`, or a file without its folder."""
    kind, name = server_kind_of(model), model.partition("/")[2]
    here = [offer for offer in offers_of(servers) if offer.server.kind == kind]
    for names in (_exact, _short):
        found = [offer for offer in here if name in names(offer.model.name)]
        if len(found) == 1:
            return found[0]._replace(name=model)
    return None


def _exact(name: str) -> tuple[str, ...]:
    return (name, name.removesuffix(":latest"))


def _short(name: str) -> tuple[str, ...]:
    file = PurePosixPath(name)
    return (file.name, file.name.removesuffix(".gguf"))


_Port = Annotated[int, Meta(ge=1, le=65535, description="a port on this machine from 1 to 65535")]
_Ports = defstruct("_Ports", [(prefix, _Port, PORTS[kind]) for prefix, kind in PREFIXES.items()], bases=(Table,))


def check_ports(table: Mapping[str, Any], file: str = "config.toml") -> dict[Kind, int]:
    """The `[servers]` table on top of the usual ports. Raises WrongCall for anything that is not a port."""
    ports = read_table(_Ports, table, file, "servers")
    return {kind: getattr(ports, prefix) for prefix, kind in PREFIXES.items()}


def look_around(ports: Mapping[Kind, int] = PORTS, timeout: float = TIMEOUT) -> tuple[LocalServer, ...]:
    """The servers that answer, for callers without an event loop, or with one that they must not block."""
    return background(lambda: asyncio.run(discover_servers(ports, timeout))).result()
