"""The address of a model and its key. Keys are never written and never shown."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from workbench.config.patterns import late_pattern
from workbench.config.variables import HIDDEN, KEY_SHAPES, without_known_keys

NO_KEY = "none"
"""Sent to a server of the user's own if no key is set; OpenAI's client refuses to send no key at all."""

_LOOKS_LIKE_A_KEY = late_pattern(rf"{KEY_SHAPES}|\b(?:Bearer|Basic)\s+[A-Za-z0-9._~+/=*\-]{{8,}}")
"""A provider may quote a key that we never saw."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go. For empty fields, litellm uses the model's name and the environment."""

    api_base: str = ""
    api_key: str = field(default="", repr=False)
    """For a server on this machine, and from the key store; litellm finds keys in the environment itself."""
    provider: str = ""
    """litellm's name for the dialect, if the model's name does not determine it."""
    model: str = ""
    """The server's name for the model, if it is another than ours."""
    lacks_key: str = ""
    """The variable that should have the model's key but has none; then every request would fail."""
    plain: bool = False
    """Whether the server accepts requests in OpenAI's dialect directly; then litellm is not needed."""


def redact(text: str, endpoint: Endpoint, environ: Mapping[str, str] = os.environ) -> str:
    """The text without keys: those we know, and anything that looks like one."""
    return _LOOKS_LIKE_A_KEY.sub(HIDDEN, without_known_keys(text, [endpoint.api_key], environ))
