"""Where a model is reached and with which key. Keys are never written and never shown."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from workbench.config.variables import HIDDEN, KEY_SHAPES, without_known_keys

NO_KEY = "none"
"""Sent to a server of the user's own when no key is set; OpenAI's client refuses to send none at all."""

_LOOKS_LIKE_A_KEY = re.compile(rf"{KEY_SHAPES}|\b(?:Bearer|Basic)\s+[A-Za-z0-9._~+/=*\-]{{8,}}")
"""A provider may quote a key that we never saw."""


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
    lacks_key: str = ""
    """The variable that has no key for the model, where it needs one; then every request would fail."""
    plain: bool = False
    """Whether the server takes requests in OpenAI's dialect as they are, so that litellm is not needed."""


def redact(text: str, endpoint: Endpoint, environ: Mapping[str, str] = os.environ) -> str:
    """The text without keys: those we know, and what looks like one."""
    return _LOOKS_LIKE_A_KEY.sub(HIDDEN, without_known_keys(text, [endpoint.api_key], environ))
