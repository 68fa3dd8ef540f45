"""Keys of providers: from the environment, otherwise from the system's key store. Never written, never shown.

The key store is reached with the package `keyring` (the extra `keys`), under the service `workbench` and the name of
the environment variable. The user stores a key with keyring's own command: `keyring set workbench OPENAI_API_KEY`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, Literal

from workbench.config.background import background
from workbench.config.variables import remember_key
from workbench.models.catalogue import is_built_in
from workbench.models.model_table import LOCAL_PROVIDERS

SERVICE = "workbench"
PACKAGE = "keyring"
SECONDS = 5.0
"""The time limit for the key store. A store that asks to be unlocked would never return if no user is present."""

Origin = Literal["environment", "key store", "none", "not needed", "other"]
"""none: also for an unknown provider. other: the provider's own kind of credentials, which litellm looks for."""

_VARIABLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "openai": ("OPENAI_API_KEY",),
        "anthropic": ("ANTHROPIC_API_KEY",),
        "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "together_ai": ("TOGETHERAI_API_KEY",),
        "fireworks_ai": ("FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY"),
        "cohere": ("COHERE_API_KEY",),
        "perplexity": ("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"),
        "huggingface": ("HUGGINGFACE_API_KEY", "HF_TOKEN"),
        "vercel_ai_gateway": ("VERCEL_AI_GATEWAY_API_KEY",),
        "meta_llama": ("LLAMA_API_KEY",),
    }
)
"""Providers whose variable is not simply PROVIDER_API_KEY, or that are used most."""

_SAME_AS = MappingProxyType({"text-completion-openai": "openai", "cohere_chat": "cohere", "azure_text": "azure"})
"""The table's names for providers that share a key with another."""

_OTHER_WAYS = ("bedrock", "vertex_ai", "sagemaker", "github_copilot", "chatgpt", "oci", "watsonx", "snowflake")
"""Providers with their own kind of credentials, which litellm finds itself; names begin with these."""

_TERMINAL = ("keyrings.alt.", "keyrings.cryptfile.")
"""Key stores that ask for a password on the terminal, which may belong to a screen or to nobody; never used."""


@dataclass(frozen=True, slots=True)
class KeyOrigin:
    """Where the key of a provider comes from."""

    origin: Origin
    variables: tuple[str, ...] = ()
    """The names it may have; the first is the usual one."""
    variable: str = ""
    """The name under which it was found."""
    value: str = field(default="", repr=False)
    """Only from the key store; litellm finds keys in the environment itself."""
    problem: str = ""
    """Why the key store could not be read, in one line; empty if it could, or is not installed."""

    @property
    def described(self) -> str:
        """Where the key comes from, in words; never the key."""
        match self.origin:
            case "environment" | "key store":
                return f"{self.variable}, from the {self.origin}"
            case "not needed":
                return "none is needed"
            case "other":
                return "the provider's own kind of credentials, which litellm looks for"
        if not self.variables:
            return "unknown, because the provider is unknown; write it before the name, as in openai/NAME"
        usual = self.variables[0]
        problem = f" ({self.problem})" if self.problem else ""
        return f"none{problem}: set {usual}, or put it into the key store with `keyring set {SERVICE} {usual}`"


def variables_of(provider: str) -> tuple[str, ...]:
    """The environment variables that may have a provider's key; empty if it uses no such key."""
    name = _SAME_AS.get(provider, provider)
    if not name or name in LOCAL_PROVIDERS or name.startswith(_OTHER_WAYS):
        return ()
    return _VARIABLES.get(name) or (f"{name.upper().replace('-', '_')}_API_KEY",)


def keys_set(environ: Mapping[str, str]) -> list[str]:
    """The variables of well-known providers that hold a key."""
    names = dict.fromkeys(name for names in _VARIABLES.values() for name in names)
    return [name for name in names if environ.get(name)]


def find_key(model: str, provider: str, environ: Mapping[str, str] = os.environ, seconds: float = SECONDS) -> KeyOrigin:
    """Where the key for a model comes from. Waits at most `seconds` for the key store, and never raises."""
    if is_built_in(model) or provider in LOCAL_PROVIDERS:
        return KeyOrigin("not needed")
    variables = variables_of(provider)
    if not variables:
        return KeyOrigin("other" if provider else "none")
    for name in variables:
        if environ.get(name):
            return KeyOrigin("environment", variables, name)
    if find_spec(PACKAGE) is None:
        return KeyOrigin("none", variables)
    return _from_store(variables, seconds)


def _from_store(variables: tuple[str, ...], seconds: float) -> KeyOrigin:
    """Read the key store in a thread, which is abandoned if it does not return in time."""
    asked = background(lambda: _stored(variables))
    wait([asked], seconds)
    if not asked.done():
        return KeyOrigin("none", variables, problem=f"the key store did not answer within {seconds:g} s")
    error = asked.exception()  # a backend may raise anything
    if error is not None:
        return KeyOrigin("none", variables, problem=f"the key store failed: {type(error).__name__}")
    return asked.result()


def _stored(variables: Sequence[str]) -> KeyOrigin:
    found = import_module(PACKAGE).get_keyring()
    stores: Sequence[Any] = getattr(found, "backends", None) or [found]  # several at once, in keyring's `chainer`
    for store in stores:
        if f"{type(store).__module__}.".startswith(_TERMINAL):
            continue
        for name in variables:
            value = store.get_password(SERVICE, name)
            if value:
                remember_key(str(value))
                return KeyOrigin("key store", tuple(variables), name, str(value))
    return KeyOrigin("none", tuple(variables))
