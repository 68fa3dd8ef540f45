"""Decides where a repeated request is sent, and whether it is sent with a key.

A key is sent to its provider, or to the address that the user's settings or variables give for the provider. It is sent
to the address of `--to` only if the user asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from yarl import URL

from workbench.log.events import DialectName
from workbench.models.keys import find_key
from workbench.proxy.routes import ProxySettings, Upstreams
from workbench.wire.dialects import DIALECTS

_SENT_AGAIN: Final = ("anthropic-version", "anthropic-beta", "openai-beta")
"""Headers that affect the answer; all others describe the client."""
_HEADER: Final = re.compile(r"[!-~](?:[ -~]{0,1022}[!-~])?")


class ReplayTarget(Struct, frozen=True):
    """Where a request is sent."""

    address: str
    """The server: scheme, host and port."""
    sends_key: bool
    key_name: str = ""
    """The name of the variable with the key; empty if there is no key."""

    @property
    def described(self) -> str:
        """A short description, for the question to the user."""
        if not self.key_name:
            return f"{self.address}, without a key"
        key = f"with your key {self.key_name}" if self.sends_key else "without your key, which --send-key would send"
        return f"{self.address}, {key}"


def target_of(dialect: DialectName, model: str, to: str, settings: ProxySettings, *, send_key: bool) -> ReplayTarget:
    """Where to send a request. `to`: the user's address for this one request; `send_key`: send the key there, too."""
    provider = DIALECTS[dialect].provider
    server = _server(Upstreams(to, settings).address(provider.name, "/"))
    own = (_server(Upstreams("", settings).address(provider.name, "/")), _server(URL(provider.address)))
    return ReplayTarget(server, send_key or server in own, find_key(model, provider.name).variable)


def _server(url: URL) -> str:
    """Scheme, host and port in a normalised form."""
    port = "" if url.is_default_port() else f":{url.port}"
    host = (url.raw_host or "").lower()
    return f"{url.scheme}://{f'[{host}]' if ':' in host else host}{port}"


def headers_again(headers: Mapping[str, str]) -> dict[str, str]:
    """The recorded headers to send again. Values that are not a single line of text are left out."""
    found = {name.lower(): value for name, value in headers.items()}
    return {name: found[name] for name in _SENT_AGAIN if name in found and _HEADER.fullmatch(found[name])}
