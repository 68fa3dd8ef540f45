"""Which tokenizer counts for which model."""

from __future__ import annotations

import pytest

from workbench.models.tokens import tokenizer_for


@pytest.mark.parametrize(
    ("model", "tokenizer", "exact"),
    [
        ("gpt-4o", "o200k_base", True),
        ("openai/gpt-4o-mini", "o200k_base", True),
        ("azure/eu/gpt-4o-2024-08-06", "o200k_base", True),
        ("gpt-4.1-nano", "o200k_base", True),
        ("openrouter/openai/gpt-5-mini", "o200k_base", True),
        ("gpt-5.1-codex", "o200k_base", True),
        ("o1", "o200k_base", True),
        ("o3-mini", "o200k_base", True),
        ("o4-mini-2025-04-16", "o200k_base", True),
        ("chatgpt-4o-latest", "o200k_base", True),
        ("groq/openai/gpt-oss-120b", "o200k_base", True),
        ("openai.gpt-oss-20b-1:0", "o200k_base", True),
        ("codex-mini-latest", "o200k_base", True),
        ("ft:gpt-4o-2024-08-06", "o200k_base", True),
        ("gpt-4", "cl100k_base", True),
        ("gpt-4-turbo", "cl100k_base", True),
        ("gpt-4-0613", "cl100k_base", True),
        ("gpt-3.5-turbo", "cl100k_base", True),
        ("azure/gpt-35-turbo", "cl100k_base", True),
        ("text-embedding-3-small", "cl100k_base", True),
        ("claude-2.1", "claude", True),
        ("anthropic.claude-v2:1", "claude", True),
        ("claude-instant-1.2", "claude", True),
        ("claude-3-haiku-20240307", "claude", False),
        ("openrouter/anthropic/claude-sonnet-4.5", "claude", False),
        ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude", False),
        ("claude-opus-4-1", "claude", False),
        ("gemini/gemini-2.5-pro", "o200k_base", False),
        ("ollama/llama3", "o200k_base", False),
        ("gpt-6-sol", "o200k_base", False),
        ("olmo-2", "o200k_base", False),
        ("123", "o200k_base", False),
        ("", "o200k_base", False),
    ],
)
def test_the_tokenizer_of_a_model_is_told_from_its_name(model: str, tokenizer: str, exact: bool) -> None:
    found, is_exact, note = tokenizer_for(model)
    assert (found, is_exact) == (tokenizer, exact)
    assert ("is used instead of" in note) == (not exact)
