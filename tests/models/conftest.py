"""The tokenizers themselves, as their makers run them, to compare with."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import tiktoken
from tokenizers import Tokenizer

from workbench.models.litellm_data import tokenizer_folder

Reference = dict[str, Callable[[str], list[int]]]


@pytest.fixture(scope="session")
def reference() -> Reference:
    """By tokenizer name: the ids of a text, from tiktoken and from Hugging Face's tokenizers."""
    folder = tokenizer_folder()
    assert folder is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        o200k, cl100k = tiktoken.get_encoding("o200k_base"), tiktoken.get_encoding("cl100k_base")
    claude = Tokenizer.from_file(str(folder / "anthropic_tokenizer.json"))
    claude.encode_special_tokens = True
    return {
        "o200k_base": lambda text: o200k.encode(text, disallowed_special=()),
        "cl100k_base": lambda text: cl100k.encode(text, disallowed_special=()),
        "claude": lambda text: claude.encode(text).ids,
    }
