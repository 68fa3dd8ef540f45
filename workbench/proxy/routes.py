"""Where a request goes: which provider it is for, told by its address and its headers, and where that provider is."""

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
from workbench.log.events import DialectName
from workbench.wire.dialect import ProviderHome
from workbench.wire.dialects import DEFAULT, DIALECTS

_Address = Annotated[str, Meta(description="an address such as https://example.org/v1")]


class ProxySettings(Table, frozen=True):
    """`[proxy]` of the user's settings."""

    anthropic: _Address = ""
    openai: _Address = ""
    gemini: _Address = ""
    kimi: _Address = ""
    ollama: _Address = ""
    """Where requests for a provider go; empty: to the provider itself."""
    batch_tokens: int = 4_000
    """Tokens that a policy on the way frees at least before it changes anything more."""
    redact: bool = False
    """Whether what looks like a secret is masked in what is stored."""
    hold_seconds: Annotated[float, Meta(gt=0, le=86_400, description="seconds, up to a day")] = 600
    """How long a request waits at a breakpoint before it is released unchanged."""
    largest_mib: Annotated[int, Meta(ge=1, le=1024, description="a number of MiB, up to 1024")] = 64
    """Bodies that unpack to more than this are passed on and not read: neither recorded, nor held, nor changed."""

    @property
    def largest(self) -> int:
        """The same in bytes."""
        return self.largest_mib << 20


_KIMI: Final = ProviderHome("kimi", "https://api.kimi.com/coding/v1", ("KIMI_CODE_BASE_URL",))
"""It speaks the dialects of others."""
PROVIDERS: Final[Mapping[str, ProviderHome]] = {
    home.name: home for home in (*(dialect.provider for dialect in DIALECTS.values()), _KIMI)
}
"""Where requests go, unless the user's settings or one of the variables names another address."""
KIMI_PATH: Final = "/coding"
"""How the path of a request for Kimi's coding service begins here; its dialects are those of others."""
PATHS: Final = 200
"""Paths that are remembered: agents use the same ones again and again."""
_VERSION = re.compile(r"v\d+\w*")
_GOOGLES_OPENAI = re.compile(r"/v\d+\w*/openai/")
"""How Google's own endpoint for OpenAI's dialect begins."""
GOOGLE: Final = "gemini"
"""The provider, whatever dialect it is asked in."""
_UNVERSIONED = re.compile(r"/messages(?=[/?]|$)")
_USER = re.compile(r"(?<=//)[^/?#]*@")
"""A user and a password in an address."""


class Route(NamedTuple):
    """What an address says of a request."""

    provider: str
    dialect: DialectName | None = None
    """None: no model is asked."""
    name: str = ""
    """What it is for, where the address tells: counting, compaction."""
    model: str = ""
    """Where the address names it."""


def route_of(path: str, headers: Mapping[str, str]) -> Route:
    """Whom a request is for."""
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
    """The route of a path that asks a model; None: it asks none."""
    for dialect in DIALECTS.values():
        found = dialect.recognises_path(path)
        if found is not None:
            provider = GOOGLE if _GOOGLES_OPENAI.match(path) else dialect.provider.name
            return Route(provider, dialect.name, found.purpose, found.model)
    return None


class Upstreams:
    """Where the providers are."""

    def __init__(self, to: str = "", settings: ProxySettings = ProxySettings()) -> None:  # noqa: B008 - frozen
        """`to`: where all of it goes."""
        found = {
            provider: _checked(*(("--to", to) if to else _configured(provider, settings))) for provider in PROVIDERS
        }
        self._to = {provider: _USER.sub("", address) for provider, address in found.items()}
        self._authorization = {provider: _basic(URL(address)) for provider, address in found.items()}
        self.address = lru_cache(PATHS)(self._address)
        """Where a request goes, by its provider, and by its path with the query."""

    def _address(self, provider: str, path_and_query: str) -> URL:
        """Where a request goes.

        Both ends may name the version of the interface: what is configured wins. Some of Anthropic's clients expect it
        in the address that they are given; where neither end names it, it is added.
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
        """The header for the user and the password that were given with an address; it replaces the client's own."""
        return self._authorization[provider]

    def listed(self) -> dict[str, str]:
        """By provider: where its requests go."""
        return dict(self._to)


def _configured(provider: str, settings: ProxySettings) -> tuple[str, str]:
    """Who says where a provider is, and where that is."""
    said = [(f"{provider} under [proxy] in config.toml", str(getattr(settings, provider)))]
    said += ((name, os.environ.get(name, "")) for name in PROVIDERS[provider].variables)
    return next((each for each in said if each[1]), ("", PROVIDERS[provider].address))


def _basic(address: URL) -> str:
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
        shown = _USER.sub("", address)
        raise WrongCall(f"{place}: {shown}: expected an address such as http://127.0.0.1:8000/v1{rehearsal}")
    return address.rstrip("/")
