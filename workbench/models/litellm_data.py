"""Data files in litellm's wheel, found without importing litellm (which takes seconds)."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def litellm_folder() -> Path | None:
    """Where litellm is installed; None if it is not."""
    try:
        spec = importlib.util.find_spec("litellm")
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def model_table() -> Path | None:
    """litellm's table of windows, prices and capabilities."""
    folder = litellm_folder()
    return folder / "model_prices_and_context_window_backup.json" if folder else None


def tokenizer_folder() -> Path | None:
    """The folder with OpenAI's rank files, named as in tiktoken's cache, and Anthropic's tokenizer."""
    folder = litellm_folder()
    return folder / "litellm_core_utils" / "tokenizers" if folder else None
