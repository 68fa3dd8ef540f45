"""Context windows by name, for models that are not in litellm's table, and which models' limits are for input only."""

from __future__ import annotations

import re

GUESS = 128_000
"""The window assumed for an unknown model."""

_BY_NAME = (
    ("claude", 200_000),
    ("gpt-5", 400_000),
    ("gpt-4.1", 1_000_000),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4", 128_000),
    ("gemini-1.5-pro", 2_000_000),
    ("gemini", 1_000_000),
    ("grok-4", 2_000_000),
    ("grok", 131_072),
    ("deepseek-v3", 163_840),
    ("deepseek-chat-v3", 163_840),
    ("deepseek", 128_000),
    ("qwen3", 131_072),
    ("qwen", 128_000),
    ("llama-4", 327_680),
    ("llama", 128_000),
    ("mistral-large", 262_144),
    ("mistral", 128_000),
    ("mixtral", 128_000),
)
"""A part of a name, and the window of such models; the more specific first. The numbers are from the document that the
preset `layers` follows; that of Gemini 1.5 Pro is from the document of `codex`. See docs/documents.md."""

_LARGEST_OUTPUTS = (
    *(("claude-3-5", 8_192), ("claude-3.5", 8_192), ("claude-3-7", 64_000), ("claude-3.7", 64_000)),
    *(("claude-3-", 4_096), ("claude-sonnet-4", 64_000), ("claude-opus-4", 32_000)),
    *(("gemini-1.5", 8_192), ("gemini-2.0-flash", 8_192), ("gemini-2.5", 65_536)),
    *(("llama3.2", 8_192), ("llama-3.2", 8_192)),
)
"""A part of a name, and the longest answer of such models, according to their makers; the more specific first. The
documents name these models, but litellm's table does not have them, or no longer."""

_ON_OLLAMA = ((r"mistral(:.*)?", 32_768), (r"llama3\.2:1b\b.*", 8_192))
"""A pattern for the whole name, and the window of such models in Ollama; from the documents of `codex` and `window`."""

_LONG = (("claude", (1_000_000,)), ("", (200_000, 256_000, 400_000, 1_000_000, 1_050_000, 2_000_000)))
"""A part of a name, and the windows that such models can have if a request was longer than their usual window."""
_COMPACTS_FROM = 0.4
"""No agent that we know compacts by itself before this share of its window is used."""

_SHARED_WINDOWS = (128_000, 400_000, 1_050_000)
"""The whole windows of OpenAI's models from gpt-5 on."""


def window_by_name(model: str) -> int | None:
    """The window of a model's family; None for an unknown family."""
    name = model.lower()
    known = ollama_window(name)
    return next((window for part, window in _BY_NAME if part in name), None) if known is None else known


def window_seen(model: str, known: int, largest: int, compacted_at: int) -> int:
    """The window that an agent works with, derived from what it did.

    `known`: the model's window, by the table or its name. `largest`: the tokens of its largest answered request, which
    must have fitted. `compacted_at`: the tokens at which it compacted by itself, or 0. If that is far below the model's
    window, the agent was given a smaller one: the family's usual window, if that fits.
    """
    if largest > known:
        long = next(windows for part, windows in _LONG if part in model.lower())
        return next((window for window in long if window >= largest), known)
    usual = window_by_name(model) or known
    is_smaller = 0 < compacted_at < _COMPACTS_FROM * known and max(largest, compacted_at) <= usual < known
    return usual if is_smaller else known


def output_by_name(model: str) -> int | None:
    """The longest answer of a model's family; None for an unknown family."""
    name = model.lower()
    return next((tokens for part, tokens in _LARGEST_OUTPUTS if part in name), None)


def ollama_window(model: str) -> int | None:
    """The window of a model in Ollama (its name has the prefix `ollama` or a tag, as in `mistral:7b`), if known."""
    prefix, _, name = model.lower().rpartition("/")
    if not prefix.startswith("ollama") and ":" not in name:
        return None
    return next((window for pattern, window in _ON_OLLAMA if re.fullmatch(pattern, name)), None)


def has_outdated_entry(model: str) -> bool:
    """Whether the table may only have the first version of a model, which cannot chat."""
    return re.fullmatch(r"mistral(:.*)?", model.lower().rpartition("/")[2]) is not None


def is_input_only(model: str, window: int, max_output: int | None) -> bool:
    """Whether a limit is for input only, so no part of it is reserved for the answer.

    This is true for Gemini, and for OpenAI's newer models if the table gives the input's share (272,000 of 400,000):
    input and output then add up to the whole window.
    """
    name = model.lower()
    if "gemini" in name:
        return True
    return bool(re.search(r"gpt-[5-9]", name)) and max_output is not None and window + max_output in _SHARED_WINDOWS
