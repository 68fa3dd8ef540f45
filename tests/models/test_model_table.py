"""litellm's table: which entry a name finds, and what is known where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.models import model_table as module
from workbench.models.catalogue import Catalogue
from workbench.models.families import tokenizer_factor


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A table of our own in place of litellm's."""
    path = tmp_path / "table.json"
    caches = (module._table, module._names_by_lower, module._providers)
    monkeypatch.setattr(module, "model_table", lambda: path)
    for cached in caches:
        cached.cache_clear()
    yield path
    for cached in caches:
        cached.cache_clear()


@pytest.mark.parametrize(
    "name", ["GPT-4o", "openai/gpt-4o", "openrouter/openai/gpt-4o", "azure/gpt-4o", "OpenRouter/OpenAI/GPT-4o"]
)
def test_prefixes_and_case_do_not_matter(name: str) -> None:
    info = Catalogue().find_model(name)
    assert info.name == name
    assert (info.window, info.window_source) == (128_000, "catalogue")


def test_a_name_without_a_prefix_is_found_under_its_makers_before_resellers(table: Path) -> None:
    table.write_text(
        '{"azure_ai/m": {"max_input_tokens": 1, "litellm_provider": "azure_ai"},'
        ' "xai/m": {"max_input_tokens": 2, "litellm_provider": "xai"}}'
    )
    for name in ("m", "M", "openrouter/x-ai/m"):
        assert Catalogue().find_model(name).window == 2
    assert Catalogue().find_model("m").provider == "xai"


def test_the_provider_is_the_one_that_was_asked_for() -> None:
    assert Catalogue().find_model("openrouter/anthropic/claude-sonnet-4-5").provider == "openrouter"
    assert Catalogue().find_model("meta-llama/unheard-of").provider == "meta-llama"
    assert Catalogue().find_model("unheard-of").provider == ""


def test_an_entry_without_a_window_keeps_its_prices_and_takes_the_window_of_its_namesake(table: Path) -> None:
    table.write_text(
        '{"shop/maker/m": {"input_cost_per_token": 2e-6, "litellm_provider": "shop"},'
        ' "m": {"max_input_tokens": 7000, "max_output_tokens": 500, "input_cost_per_token": 1e-6}}'
    )
    info = Catalogue().find_model("shop/maker/m")
    assert (info.window, info.window_source, info.max_output) == (7000, "catalogue", 500)
    assert (info.provider, info.input_price) == ("shop", 2e-6)


def test_an_entry_without_a_window_or_namesake_falls_back_to_its_name(table: Path) -> None:
    table.write_text('{"shop/qwen-odd": {"mode": "chat", "input_cost_per_token": 2e-6, "litellm_provider": "shop"}}')
    info = Catalogue().find_model("shop/qwen-odd")
    assert (info.window, info.window_source, info.input_price) == (128_000, "fallback", 2e-6)


def test_a_price_of_nothing_is_unknown_unless_the_model_is_local(table: Path) -> None:
    table.write_text('{"shop/a": {"input_cost_per_token": 0.0}, "ollama/a": {"input_cost_per_token": 0.0}}')
    assert Catalogue().find_model("shop/a").input_price is None
    assert Catalogue().find_model("ollama/a").input_price == 0.0


def test_a_local_model_never_takes_a_hosted_models_figures() -> None:
    info = Catalogue().find_model("lm_studio/gpt-4o")
    assert (info.window_source, info.input_price, info.provider) == ("fallback", 0.0, "lm_studio")
    assert Catalogue().find_model("ollama_chat/llama3").window == 8_192


@pytest.mark.parametrize(
    "content", [None, "{ broken", "{}", "[]", '{"gpt-4o": 5}', '{"sample_spec": {"mode": "chat"}}']
)
def test_without_a_table_models_are_told_from_their_names(table: Path, content: str | None) -> None:
    if content is not None:
        table.write_text(content)
    assert Catalogue().find_model("gpt-4o").window_source == "fallback"
    assert Catalogue().names() == []


def test_without_litellm_there_is_no_table(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "model_table", lambda: None)
    assert Catalogue().find_model("mystery").window_source == "guess"


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("claude-opus-4.8", "claude-opus-4-8"),
        ("anthropic/claude-opus-4.8", "claude-opus-4-8"),
        ("claude-opus-4-8-20260601", "claude-opus-4-8"),
        ("us.anthropic.claude-opus-4-8-v1:0", "claude-opus-4-8"),
        ("claude-4.5-sonnet", "claude-sonnet-4-5"),
        ("github-copilot/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("claude-opus-4-6[1m]", "claude-opus-4-6"),
        ("gpt-4-1", "gpt-4.1"),
        ("gpt-5.5-2026-04-01", "gpt-5.5"),
    ],
)
def test_a_name_spelt_otherwise_finds_its_entry(name: str, known: str) -> None:
    found, listed = Catalogue().find_model(name), Catalogue().find_model(known)
    assert (found.window, found.window_source) == (listed.window, "catalogue")
    assert (found.input_price, found.output_price) == (listed.input_price, listed.output_price)
    assert found.input_price
    assert tokenizer_factor(name) == tokenizer_factor(known)


def test_a_variant_with_prices_of_its_own_does_not_take_those_of_the_model() -> None:
    assert Catalogue().find_model("claude-opus-4.8-fast").input_price is None
