"""Where a model is reached and with which key. Keys come from the environment, are never written, and never shown."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

HIDDEN = "[key]"
"""What stands in an error's text where a key stood."""

_SECRET_NAME = re.compile(r"(_API_KEY|_KEY|_TOKEN|_SECRET|_PASSWORD|_CREDENTIALS|_KEY_ID)$")
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
    """Only for a server that we started ourselves; all others get theirs from the environment, through litellm."""
    provider: str = ""
    """litellm's name of the dialect, where the model's name does not tell it."""


def secrets(endpoint: Endpoint, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Every key that a request to this endpoint could carry, the longest first."""
    found = {value for name, value in environ.items() if _SECRET_NAME.search(name.upper())}
    found.add(endpoint.api_key)
    return tuple(sorted((value for value in found if len(value) >= _SHORTEST), key=lambda value: (-len(value), value)))


def redact(text: str, endpoint: Endpoint, environ: Mapping[str, str] = os.environ) -> str:
    """The text without keys: those we know, and what looks like one."""
    for value in secrets(endpoint, environ):
        text = text.replace(value, HIDDEN)
    return _LOOKS_LIKE_A_KEY.sub(HIDDEN, text)
