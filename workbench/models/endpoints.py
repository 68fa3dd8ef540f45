"""Where a model is reached and with which key. Keys are never written and never shown."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

HIDDEN = "[key]"
"""What stands in an error's text where a key stood."""

NO_KEY = "none"
"""Sent to a server of the user's own when no key is set; OpenAI's client refuses to send none at all."""

_SECRET_NAME = re.compile(r"(^|_)(API_?KEY|KEY|KEY_ID|TOKEN|SECRET|SECRETS|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS)$")
_SHORTEST = 8
"""Values with fewer characters are no keys; taking them out would only mangle the text."""

_LOOKS_LIKE_A_KEY = re.compile(
    r"\b(?:sk|gsk|xai|hf|nvapi|pplx)[-_][A-Za-z0-9_*.\-]{6,}[A-Za-z0-9*]"
    r"|\bAIza[A-Za-z0-9_\-]{10,}"
    r"|\b(?:Bearer|Basic)\s+[A-Za-z0-9._~+/=*\-]{8,}"
)
"""Keys as their makers shape them, also with their middle starred out: a provider may quote one that we never saw."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go; empty fields mean what litellm finds by the model's name and in the environment."""

    api_base: str = ""
    api_key: str = field(default="", repr=False)
    """For a server of this machine, and from the key store; what is in the environment litellm finds by itself."""
    provider: str = ""
    """litellm's name of the dialect, where the model's name does not tell it."""
    model: str = ""
    """What the server calls the model, where that is not its name here."""


def is_secret_name(name: str) -> bool:
    """Whether an environment variable is named like one that holds a key."""
    return _SECRET_NAME.search(name.upper()) is not None


def secrets(endpoint: Endpoint, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Every key that a request to this endpoint could carry, the longest first."""
    found = {value for name, value in environ.items() if is_secret_name(name)}
    found.add(endpoint.api_key)
    return tuple(sorted((value for value in found if len(value) >= _SHORTEST), key=lambda value: (-len(value), value)))


def redact(text: str, endpoint: Endpoint, environ: Mapping[str, str] = os.environ) -> str:
    """The text without keys: those we know, and what looks like one."""
    for value in secrets(endpoint, environ):
        text = text.replace(value, HIDDEN)
    return _LOOKS_LIKE_A_KEY.sub(HIDDEN, text)
