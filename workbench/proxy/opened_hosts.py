"""The hosts whose connections the forward proxy opens. All others pass untouched."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from yarl import URL

from workbench.config.errors import WrongCall
from workbench.config.text import printable
from workbench.proxy.routes import known_providers

HTTPS: Final = 443
_OTHERS: Final = (
    "chatgpt.com",  # Codex with a login
    "cloudcode-pa.googleapis.com",  # Gemini CLI with a login
    "aiplatform.googleapis.com",
    "api.githubcopilot.com",
    "api.individual.githubcopilot.com",
    "api.business.githubcopilot.com",
    "api.enterprise.githubcopilot.com",
    "api.cerebras.ai",
    "api.deepseek.com",
    "api.fireworks.ai",
    "api.groq.com",
    "api.minimax.io",
    "api.mistral.ai",
    "api.moonshot.ai",
    "api.together.xyz",
    "api.x.ai",
    "api.z.ai",
    "openrouter.ai",
    "router.huggingface.co",
)
"""Hosts of models, apart from those that the dialects name."""
_NAME: Final = re.compile(r"(?=.{1,253}$)(?:(?!-)[a-z0-9_-]{1,63}(?<!-)\.)*(?!-)(?!\d+$)[a-z0-9-]{1,63}(?<!-)")


class HostPort(NamedTuple):
    """A host and a port, as a client names them."""

    host: str
    port: int = HTTPS

    @property
    def origin(self) -> str:
        """The beginning of an address there."""
        return f"https://{self.host}" if self.port == HTTPS else f"https://{self.host}:{self.port}"


def opened_hosts(added: Sequence[str] = ()) -> tuple[HostPort, ...]:
    """The hosts of the known providers, and those that the user adds. Raises WrongCall for one that is no host."""
    homes = (URL(home.address) for home in known_providers().values())
    known = [home.host for home in homes if home.scheme == "https" and home.host and home.port == HTTPS]
    return tuple(dict.fromkeys([*(HostPort(host) for host in (*known, *_OTHERS)), *map(_added_host, added)]))


def _added_host(text: str) -> HostPort:
    host, colon, port = text.lower().partition(":")
    digits = port.isascii() and port.isdigit() and len(port) <= 5
    if _NAME.fullmatch(host) and (not colon or (digits and 0 < int(port) < 65536)):
        return HostPort(host, int(port) if colon else HTTPS)
    raise WrongCall(
        f"--tls-host: {printable(text)}: expected the name of a host, as in api.example.org or llm.local:8443"
    )
