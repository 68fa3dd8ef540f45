"""litellm's table of models: the entries for a name, and the provider that serves it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from workbench.models.families import bare_name, maker_of
from workbench.models.litellm_data import model_table
from workbench.models.model_names import spellings

LOCAL_PROVIDERS = frozenset(
    {
        "ollama",
        "ollama_chat",
        "lm_studio",
        "llamafile",
        "vllm",
        "hosted_vllm",
        "lemonade",
        "docker_model_runner",
        # other spellings
        "llamacpp",
        "lmstudio",
        "llama.cpp",
    }
)
"""Providers on the user's own machine. A price of 0 is right for them, and figures of other providers do not apply."""

_GATEWAYS = frozenset({"openrouter", "litellm_proxy"})
"""Providers that serve the models of many makers, and that the table does not list."""

_MAKERS = (
    *("openai", "anthropic", "gemini", "vertex_ai", "xai", "mistral", "codestral", "deepseek", "moonshot", "zai"),
    *("dashscope", "minimax", "perplexity", "meta_llama", "groq", "cerebras", "azure", "azure_ai", "ollama"),
)
"""Prefixes to try for a name without one; makers before resellers."""

_CHAT_MODES = ("chat", "responses")

Entry = Mapping[str, Any]

_TABLE = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ENTRY = msgspec.json.Decoder(dict[str, Any])


@lru_cache(maxsize=1)
def _table() -> dict[str, msgspec.Raw]:
    """litellm's table; empty if it is missing or cannot be read. Entries stay raw until they are needed."""
    path = model_table()
    try:
        table = _TABLE.decode(path.read_bytes()) if path else {}
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}
    table.pop("sample_spec", None)
    return table


def _entry(name: str) -> Entry:
    """The table's entry with exactly this name; empty if it is not an object."""
    try:
        return _ENTRY.decode(_table()[name])
    except msgspec.MsgspecError:
        return {}


@lru_cache(maxsize=1)
def _names_by_lower() -> dict[str, str]:
    return {name.lower(): name for name in _table()}


@lru_cache(maxsize=1)
def _providers() -> frozenset[str]:
    return frozenset(str(_entry(name).get("litellm_provider")) for name in _table())


def without_prefixes(name: str) -> Iterator[str]:
    """The name, then the name with its provider prefixes removed one by one."""
    yield name
    while "/" in name:
        name = name.split("/", 1)[1]
        yield name


def table_entries(name: str) -> Iterator[Entry]:
    """Table entries for a name, the closest first."""
    by_lower = _names_by_lower()
    for spelt in _names_to_try(name):
        known = by_lower.get(spelt.lower())
        if known is not None:
            yield _entry(known)


def _names_to_try(name: str) -> Iterator[str]:
    """Names that a model may have in the table: as given, without prefixes, with a maker's, spelt differently."""
    bare = list(without_prefixes(name))
    if _prefix(name) in LOCAL_PROVIDERS:
        yield from (name, f"ollama/{bare[-1]}")
        return
    yield from bare
    yield from (f"{maker}/{bare[-1]}" for maker in _MAKERS)
    others = [each for each in spellings(bare_name(name)) if each != bare[-1].lower()]
    yield from others
    yield from (f"{maker}/{each}" for each in others for maker in _MAKERS)


def _prefix(name: str) -> str:
    return name.split("/", 1)[0].lower() if "/" in name else ""


def provider_in_table(name: str, entry: Entry) -> str:
    """The provider that a prefix names, otherwise the one of the table's entry."""
    prefix = _prefix(name)
    if prefix in LOCAL_PROVIDERS or prefix in _GATEWAYS or (prefix and prefix in _providers()):
        return prefix
    if not any(bare.lower() in _names_by_lower() for bare in without_prefixes(name)):
        # The table has it at most from a reseller, and a bare name does not mean a reseller.
        prefix = prefix or maker_of(name)
        return prefix or str(entry.get("litellm_provider", ""))
    return str(entry.get("litellm_provider", prefix))


def chat_models() -> set[str]:
    """The chat models that have an entry."""
    return {name for name in _table() if _entry(name).get("mode") in _CHAT_MODES}
