"""Finds the provider of a request from its path and headers, and the address of that provider."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Final, NamedTuple

from msgspec import Meta
from yarl import URL

from workbench.config.errors import WrongCall
from workbench.config.tables import Table
from workbench.config.text import printable
from workbench.log.events import DialectName
from workbench.wire.dialect import ProviderHome
from workbench.wire.dialects import DEFAULT, DIALECT_REGISTRY, DIALECTS

_Address = Annotated[str, Meta(description="an address such as https://example.org/v1")]


class ProxySettings(Table, frozen=True):
    """`[proxy]` of the user's settings."""

    anthropic: _Address = ""
    openai: _Address = ""
    gemini: _Address = ""
    kimi: _Address = ""
    ollama: _Address = ""
    """The address for requests to this provider, here as for those above; empty: the provider's own."""
    batch_tokens: int = 4_000
    """The least number of tokens that a policy must save before it changes anything more."""
    redact: bool = False
    """Whether to mask secrets in what is stored."""
    hold_seconds: Annotated[float, Meta(gt=0, le=86_400, description="seconds, up to a day")] = 600
    """How long a request waits at a breakpoint before it is released unchanged."""
    largest_mib: Annotated[int, Meta(ge=1, le=1024, description="a number of MiB, up to 1024")] = 16
    """Bodies that are larger than this after decompression are only passed on: not recorded, held or changed."""

    @property
    def largest(self) -> int:
        """The same limit in bytes."""
        return self.largest_mib << 20


_KIMI: Final = ProviderHome("kimi", "https://api.kimi.com/coding/v1", ("KIMI_CODE_BASE_URL",))
"""Kimi uses the dialects of other providers."""
KIMI_PATH: Final = "/coding"
"""The prefix of paths for Kimi's coding service in the proxy. Its dialects are those of other providers."""
PATHS: Final = 200
"""The number of cached addresses: agents use the same paths again and again."""
_VERSION = re.compile(r"v\d+\w*")
_GOOGLES_OPENAI = re.compile(r"/v\d+\w*/openai/")
"""The prefix of Google's own endpoint for OpenAI's dialect."""
GOOGLE: Final = "gemini"
"""Google as a provider, in any dialect."""
_UNVERSIONED = re.compile(r"/messages(?=[/?]|$)")
_USER = re.compile(r"(?<=//)[^/?#]*@")
"""A user and a password in an address."""


def known_providers() -> Mapping[str, ProviderHome]:
    """The providers and their addresses, unless the user's settings or a variable give another address.

    A plug-in cannot move one of ours to another address.
    """
    own = {dialect.provider.name: dialect.provider for dialect in DIALECT_REGISTRY.own.values()}
    foreign = {dialect.provider.name: dialect.provider for dialect in DIALECT_REGISTRY.plugins().values()}
    return {**foreign, **own, _KIMI.name: _KIMI}


class Route(NamedTuple):
    """What the path and headers of a request show."""

    provider: str
    dialect: DialectName | None = None
    """None: it asks no model."""
    name: str = ""
    """The purpose, if the path shows it: counting or compaction."""
    model: str = ""
    """The model, if the path names it."""
    is_wrapped: bool = False
    """Whether the body has the request inside. Then it is recorded, but not held and not changed."""


def route_of(path: str, headers: Mapping[str, str]) -> Route:
    """The route of a request."""
    path = path.rstrip("/")
    if path.startswith(f"{KIMI_PATH}/"):
        return route_of(path.removeprefix(KIMI_PATH), headers)._replace(provider="kimi")
    found = _model_route(path)
    if found is not None:
        return found
    asked = (each for each in DIALECTS.values() if each.recognises_client(path, headers))
    return Route(next(asked, DEFAULT).provider.name)


@lru_cache(PATHS)
def _model_route(path: str) -> Route | None:
    """The route of a path that asks a model; None if it asks none."""
    for dialect in DIALECTS.values():
        found = dialect.recognises_path(path)
        if found is not None:
            provider = GOOGLE if _GOOGLES_OPENAI.match(path) else dialect.provider.name
            return Route(provider, dialect.name, found.purpose, found.model, found.is_wrapped)
    return None


class RequestTarget(NamedTuple):
    """Where a request is sent."""

    url: URL
    authorization: str = ""
    """The header for a user and password in the address. It replaces the client's own, unless it is empty."""


class Upstreams:
    """The addresses of the providers."""

    def __init__(self, to: str = "", settings: ProxySettings = ProxySettings()) -> None:  # noqa: B008 - frozen
        """`to`: one address for all providers."""
        self._is_one = bool(to)
        found = {
            provider: _checked(*(("--to", to) if to else _configured(home, settings)))
            for provider, home in known_providers().items()
        }
        self._to = {provider: _USER.sub("", address) for provider, address in found.items()}
        self._authorization = {provider: basic_authorization(URL(address)) for provider, address in found.items()}
        self.address = lru_cache(PATHS)(self._address)
        """Returns the address for a request, given its provider and its path with the query."""

    def _address(self, provider: str, path_and_query: str) -> URL:
        """The address for a request.

        Both the configured address and the path may name the API version; the configured one is used. Some clients of
        Anthropic expect the version in the address that they are given. If neither names it, it is added.
        """
        base = self._to[provider]
        if provider == "kimi":
            path_and_query = path_and_query.removeprefix(KIMI_PATH)
        has_version = _VERSION.fullmatch(base.rpartition("/")[2])
        parts = path_and_query.split("/", 2)  # "", "v1", the rest
        if has_version and len(parts) == 3 and _VERSION.fullmatch(parts[1]):
            path_and_query = f"/{parts[2]}"
        elif not has_version and _UNVERSIONED.match(path_and_query):
            path_and_query = f"/v1{path_and_query}"
        return URL(base + path_and_query, encoded=True)

    def authorization(self, provider: str) -> str:
        """The header for a user and password in an address. It replaces the client's own."""
        return self._authorization[provider]

    def target_for(self, provider: str, path_and_query: str, origin: str = "") -> RequestTarget:
        """Where a request goes. One that its client sent to an `origin` goes there, unless all go to one address."""
        if origin and not self._is_one:
            return RequestTarget(URL(origin + path_and_query, encoded=True))
        return RequestTarget(self.address(provider, path_and_query), self.authorization(provider))

    def listed(self) -> dict[str, str]:
        """The address of each provider."""
        return dict(self._to)


def _configured(provider: ProviderHome, settings: ProxySettings) -> tuple[str, str]:
    """The setting or variable that names a provider's address, and the address."""
    addresses = [(f"{provider.name} under [proxy] in config.toml", str(getattr(settings, provider.name, "")))]
    addresses += ((name, os.environ.get(name, "")) for name in provider.variables)
    return next((each for each in addresses if each[1]), ("", provider.address))


def basic_authorization(address: URL) -> str:
    """The header for the user and password in an address; empty if it has none."""
    if address.user is None and address.password is None:
        return ""
    return "Basic " + b64encode(f"{address.user or ''}:{address.password or ''}".encode()).decode()


def _checked(place: str, address: str) -> str:
    try:
        found = URL(address)
    except ValueError:
        found = URL()
    if found.scheme not in ("http", "https") or not found.host or any(map(str.isspace, address)):
        rehearsal = ", or rehearsal" if place == "--to" else ""
        shown = printable(_USER.sub("", address))
        raise WrongCall(f"{place}: {shown}: expected an address such as http://127.0.0.1:8000/v1{rehearsal}")
    return address.rstrip("/")
