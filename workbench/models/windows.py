"""Context windows by name, for models that no table knows, and whose limit is for input alone."""

from __future__ import annotations

import re

GUESS = 128_000
"""The window of a model nobody knows."""

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
"""What a name contains, and the window that goes with it; the more specific first. From the document of the
preset `layers`, but for Gemini 1.5 Pro, which is from that of `codex`."""

_ON_OLLAMA = ((r"mistral(:.*)?", 32_768), (r"llama3\.2:1b\b.*", 8_192))
"""The same for the whole names of models as Ollama has them: from the documents of `codex` and `window`."""

_SHARED_WINDOWS = (128_000, 400_000, 1_050_000)
"""The whole windows of OpenAI's models from gpt-5 on."""


def window_by_name(model: str) -> int | None:
    """The window of a model's family; None for a family nobody knows."""
    name = model.lower()
    known = ollama_window(name)
    return next((window for part, window in _BY_NAME if part in name), None) if known is None else known


def ollama_window(model: str) -> int | None:
    """The window of a model that Ollama serves under this very name, with or without a tag."""
    name = model.lower().rpartition("/")[2]
    return next((window for pattern, window in _ON_OLLAMA if re.fullmatch(pattern, name)), None)


def is_input_only(model: str, window: int, max_output: int | None) -> bool:
    """Whether a limit is for input alone, so that nothing of it has to be kept for the answer.

    So it is for Gemini, and for OpenAI's newer models where the table gives the input's share (272,000 of
    400,000): input and output then add up to the whole window.
    """
    name = model.lower()
    if "gemini" in name:
        return True
    return bool(re.search(r"gpt-[5-9]", name)) and max_output is not None and window + max_output in _SHARED_WINDOWS
