"""Where a request goes that is sent again, and whether a key goes with it.

A key goes to its provider, or to the address that the user's own settings or variables name in the provider's place. It
goes to the address of `--to` only where the user says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from yarl import URL

from workbench.log.events import DialectName
from workbench.models.keys import find_key
from workbench.proxy.routes import ProxySettings, Upstreams
from workbench.wire.dialects import DIALECTS

_SENT_AGAIN: Final = ("anthropic-version", "anthropic-beta", "openai-beta")
"""Headers that change what is answered; the others say who asked."""
_HEADER: Final = re.compile(r"[!-~](?:[ -~]{0,1022}[!-~])?")


@dataclass(frozen=True, slots=True)
class ReplayTarget:
    """Where a request goes."""

    address: str
    """The server: scheme, host and port."""
    sends_key: bool
    key_name: str = ""
    """Where the key comes from; empty: there is none."""

    @property
    def described(self) -> str:
        """In a few words, for the question."""
        if not self.key_name:
            return f"{self.address}, without a key"
        key = f"with your key {self.key_name}" if self.sends_key else "without your key, which --send-key would send"
        return f"{self.address}, {key}"


def target_of(dialect: DialectName, model: str, to: str, settings: ProxySettings, *, send_key: bool) -> ReplayTarget:
    """Where a request goes. `to`: the user's address for this one request; `send_key`: the key goes there, too."""
    provider = DIALECTS[dialect].provider
    server = _server(Upstreams(to, settings).address(provider.name, "/"))
    own = (_server(Upstreams("", settings).address(provider.name, "/")), _server(URL(provider.address)))
    return ReplayTarget(server, send_key or server in own, find_key(model, provider.name).variable)


def _server(url: URL) -> str:
    """Scheme, host and port, written in one way."""
    port = "" if url.is_default_port() else f":{url.port}"
    host = (url.raw_host or "").lower()
    return f"{url.scheme}://{f'[{host}]' if ':' in host else host}{port}"


def headers_again(headers: Mapping[str, str]) -> dict[str, str]:
    """The recorded headers that are sent again. One that is no text of a single line is left out."""
    found = {name.lower(): value for name, value in headers.items()}
    return {name: found[name] for name in _SENT_AGAIN if name in found and _HEADER.fullmatch(found[name])}
