"""Every model has a window, and says where it comes from."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.requirements import requirement
from workbench.config.errors import WrongCall
from workbench.models.catalogue import Catalogue
from workbench.models.windows import is_input_only, window_by_name, window_seen


@requirement("codex", "windows", "the registry of models knows window and maximum output")
def test_a_known_model_is_described_by_the_table() -> None:
    info = Catalogue().find_model("gpt-4o")
    assert (info.window, info.window_source, info.max_output) == (128_000, "catalogue", 16_384)
    assert (info.input_price, info.output_price) == (2.5e-06, 1e-05)
    assert info.cached_price == 1.25e-06
    assert info.cache_write_price is None
    assert {"tools", "vision", "prompt_caching"} <= info.capabilities
    assert (info.provider, info.tokenizer, info.tokenizer_exact) == ("openai", "o200k_base", True)


@requirement(
    "layers",
    "windows",
    "without a configured limit the name alone gives the window",
    decided="a table of models comes first; the name decides where the table has no entry",
)
@requirement("codex", "windows", "Gemini 1.5 Pro has 2M")
@requirement("codex", "windows", "Mistral under Ollama has 32K")
@requirement("codex", "windows", "Llama 2 under Ollama has 4K")
@requirement("window", "windows", "Llama 3.2:1b under Ollama has 8K")
@pytest.mark.parametrize(
    ("name", "window", "source", "input_only"),
    [
        ("gpt-5", 272_000, "catalogue", True),
        ("openai/gpt-5-mini", 272_000, "catalogue", True),
        ("gpt-5-chat-latest", 128_000, "catalogue", False),
        ("gpt-5-pro", 400_000, "catalogue", False),
        ("gpt-4.1", 1_047_576, "catalogue", False),
        ("gemini/gemini-2.5-pro", 1_048_576, "catalogue", True),
        ("claude-sonnet-4-20250514", 200_000, "fallback", False),
        ("gpt-5-of-tomorrow", 400_000, "fallback", False),
        ("gemini-of-tomorrow", 1_000_000, "fallback", True),
        ("gemini/gemini-1.5-pro", 2_000_000, "fallback", True),
        ("ollama/mistral", 32_768, "fallback", False),
        ("ollama_chat/mistral:latest", 32_768, "fallback", False),
        ("ollama/mistral-7B-Instruct-v0.1", 8_192, "catalogue", False),
        ("ollama/llama3.2:1b", 8_192, "fallback", False),
        ("ollama/llama2", 4_096, "catalogue", False),
        ("mystery", 128_000, "guess", False),
        ("", 128_000, "guess", False),
    ],
)
def test_windows_and_whether_they_are_for_input_alone(name: str, window: int, source: str, input_only: bool) -> None:
    info = Catalogue().find_model(name)
    assert (info.window, info.window_source, info.input_only) == (window, source, input_only)


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("Claude-X", 200_000),
        ("my-gpt-5-x", 400_000),
        ("gpt-4.1-x", 1_000_000),
        ("gpt-4o-x", 128_000),
        ("gpt-4-turbo-x", 128_000),
        ("gpt-4-x", 128_000),
        ("gemini-x", 1_000_000),
        ("grok-4-x", 2_000_000),
        ("grok-x", 131_072),
        ("deepseek-v3-x", 163_840),
        ("deepseek-chat-v3-x", 163_840),
        ("deepseek-x", 128_000),
        ("qwen3-x", 131_072),
        ("qwen-x", 128_000),
        ("llama-4-x", 327_680),
        ("llama-x", 128_000),
        ("mistral-large-x", 262_144),
        ("mistral-x", 128_000),
        ("mixtral-x", 128_000),
        ("gemini-1.5-pro-x", 2_000_000),
        ("gemini-1.5-flash", 1_000_000),
        ("mistral", 128_000),
        ("ollama/mistral", 32_768),
        ("mistral:7b", 32_768),
        ("llama3.2:1b", 8_192),
        ("llama3.2:1b-instruct-q4_K_M", 8_192),
        ("llama3.2:3b", 128_000),
        ("nobody", None),
    ],
)
def test_the_documents_table_by_name(name: str, window: int | None) -> None:
    assert window_by_name(name) == window


def test_the_rehearsal_model_is_counted_exactly_and_the_embedded_one_is_not() -> None:
    assert [Catalogue().find_model(name).tokenizer_exact for name in ("rehearsal", "local")] == [True, False]


def test_input_alone_needs_the_parts_to_add_up() -> None:
    assert is_input_only("gpt-5.4", 922_000, 128_000)
    assert is_input_only("gpt-5.9", 100_000, 28_000)
    assert not is_input_only("gpt-5.4", 922_000, None)
    assert not is_input_only("gpt-4", 272_000, 128_000)


def test_names_are_chat_models_and_the_users_own() -> None:
    names = Catalogue({"mine": {"window": 10}}).names()
    assert {"gpt-4o", "gpt-5-codex", "mine"} <= set(names)
    assert not {"text-embedding-3-small", "dall-e-3", "sample_spec"} & set(names)
    assert names == sorted(names)


def test_a_mistyped_name_has_close_matches() -> None:
    assert Catalogue().close_matches("gpt4o")[0] == "gpt-4o"
    assert "claude-sonnet-4-5" in Catalogue().close_matches("Claud-Sonnet-4-5")
    assert "mine-local" in Catalogue({"mine-local": {}}).close_matches("mine")
    assert len(Catalogue().close_matches("gpt")) == 5
    assert Catalogue().close_matches("") == []


@requirement("confirm", "windows", "a model's window can be configured, and the agent knows it")
def test_the_users_entry_wins_and_inherits_the_rest() -> None:
    own = {"gpt-4o": {"window": 64_000, "input_price": 3, "cached_price": 0, "capabilities": ["tools"]}}
    info = Catalogue(own).find_model("gpt-4o")
    assert (info.window, info.window_source) == (64_000, "config")
    assert (info.input_price, info.cached_price, info.output_price) == (3e-06, 0.0, 1e-05)
    assert info.capabilities == {"tools"}
    assert info.max_output == 16_384


def test_the_users_entry_holds_with_a_prefix_and_in_any_case() -> None:
    models = Catalogue({"House-Model": {"window": 9_000, "input_only": True, "max_output": 100}})
    info = models.find_model("hosted_vllm/house-model")
    assert (info.window, info.input_only, info.max_output) == (9_000, True, 100)


def test_an_entry_for_the_full_name_wins_over_one_for_the_bare_name() -> None:
    models = Catalogue({"m": {"window": 1}, "a/m": {"window": 2}})
    assert [models.find_model(name).window for name in ("m", "a/m", "b/m")] == [1, 2, 1]


def test_an_entry_without_a_window_leaves_its_source() -> None:
    assert Catalogue({"mystery": {"output_price": 1.5}}).find_model("mystery").window_source == "guess"


def test_the_users_tokenizer_is_believed() -> None:
    info = Catalogue({"prod-chat": {"tokenizer": "cl100k_base"}}).find_model("prod-chat")
    assert (info.tokenizer, info.tokenizer_exact) == ("cl100k_base", True)
    assert info.tokenizer_note == "cl100k_base, as the [models] entry says"
    assert not Catalogue({"prod-chat": {"tokenizer": "rough"}}).find_model("prod-chat").tokenizer_exact
    assert not Catalogue({"gemini-x": {"tokenizer": "o200k_base"}}).find_model("gemini-x").tokenizer_exact


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"windw": 5}, ".windw: no such key; expected one of window, max_output, input_only, "),
        ({"window": "big"}, ".window: expected a number of tokens above 0, got 'big'"),
        ({"window": 0}, ".window: expected a number of tokens above 0, got 0"),
        ({"window": True}, ".window: expected a number of tokens above 0, got True"),
        ({"max_output": 1.5}, ".max_output: expected a number of tokens above 0, got 1.5"),
        ({"input_only": 1}, ".input_only: expected true or false, got 1"),
        ({"input_price": -1}, ".input_price: expected dollars per million tokens, 0 or more, got -1"),
        ({"output_price": True}, ".output_price: expected dollars per million tokens, 0 or more, got True"),
        ({"cached_price": float("nan")}, ".cached_price: expected dollars per million tokens, 0 or more, got nan"),
        ({"cached_price": float("inf")}, ".cached_price: expected dollars per million tokens, 0 or more, got inf"),
        ({"cache_write_price": "free"}, ".cache_write_price: expected dollars per million tokens, 0 or more, got "),
        ({"tokenizer": "bert"}, ".tokenizer: expected one of o200k_base, cl100k_base, claude, rough, got 'bert'"),
        ({"tokenizer": ["claude"]}, ".tokenizer: expected one of o200k_base, cl100k_base, claude, rough, got "),
        ({"capabilities": "tools"}, '.capabilities: expected a list of words such as ["tools", "vision"], got '),
        ({"capabilities": [1]}, '.capabilities: expected a list of words such as ["tools", "vision"], got [1]'),
        ({"api_base": 1}, ".api_base: expected an address, got 1"),
        (7, ": expected a table, got 7"),
    ],
)
def test_a_bad_entry_is_refused_by_its_key(entry: Any, message: str) -> None:
    with pytest.raises(WrongCall) as caught:
        Catalogue({"m": entry}, "c.toml")
    assert str(caught.value).startswith(f'c.toml: models."m"{message}')


@given(name=st.text())
def test_any_name_has_an_answer(name: str) -> None:
    models = Catalogue()
    info = models.find_model(name)
    assert info.window > 0
    assert info.tokenizer_note
    assert models.provider_of(name) == info.provider


def test_every_model_of_the_table_has_a_window() -> None:
    models = Catalogue()
    for name in models.names():
        info = models.find_model(name)
        assert info.window > 0
        assert models.provider_of(name) == info.provider
        assert info.max_output is None or info.max_output > 0
        assert all(price is None or 0 <= price < 0.01 for price in (info.input_price, info.output_price))


# The documents' tables of models


@pytest.mark.parametrize(
    ("name", "window"),
    [
        pytest.param(
            "gemini/gemini-2.5-flash", 1_048_576, marks=requirement("codex", "windows", "Gemini 2.5 Flash has 1M")
        ),
        pytest.param("gpt-4-turbo", 128_000, marks=requirement("codex", "windows", "GPT-4 Turbo has 128K")),
        pytest.param("claude-3-opus", 200_000, marks=requirement("codex", "windows", "Claude 3 Opus has 200K")),
        pytest.param(
            "claude-3-5-sonnet-20241022", 200_000, marks=requirement("window", "windows", "Claude 3.5 Sonnet has 200K")
        ),
        pytest.param(
            "claude-3-haiku-20240307", 200_000, marks=requirement("window", "windows", "Claude 3 Haiku has 200K")
        ),
        pytest.param(
            "ollama/llama3.2", 128_000, marks=requirement("window", "windows", "Llama 3.2 under Ollama has 128K")
        ),
    ],
)
def test_a_model_of_the_documents_has_the_window_they_give_it(name: str, window: int) -> None:
    assert Catalogue().find_model(name).window == window


@requirement("codex", "windows", "the registry has the maximum output of every model that the documents name")
@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("claude-3-5-sonnet-20241022", 8_192),
        ("claude-3-haiku-20240307", 4_096),
        ("claude-3-opus-20240229", 4_096),
        ("claude-sonnet-4-20250514", 64_000),
        ("gemini/gemini-1.5-pro", 8_192),
        ("gemini-2.0-flash", 8_192),
        ("gpt-4-turbo", 4_096),
        ("ollama/llama3.2", 8_192),
        ("ollama/llama3.2:1b", 8_192),
        ("ollama/llama2", 4_096),
        ("ollama/mistral", 8_192),
        ("kimi-k2.5", 262_144),
    ],
)
def test_a_model_of_the_documents_has_a_maximum_output(model: str, tokens: int) -> None:
    assert Catalogue().find_model(model).max_output == tokens


@requirement("layers", "windows", "a name with `mistral` in it has 128,000")
def test_mistral_without_a_server_has_the_window_of_its_family() -> None:
    info = Catalogue().find_model("mistral")
    assert (info.window, info.window_source) == (128_000, "fallback")


@requirement(
    "codex", "windows", "Gemini 2.5 Flash answers with at most 8,000 tokens", decided="65,536, as its maker says"
)
def test_the_maximum_output_is_the_makers_own_figure() -> None:
    assert Catalogue().find_model("gemini/gemini-2.5-flash").max_output == 65_536


def test_a_long_request_has_the_prices_of_long_ones() -> None:
    info = Catalogue().find_model("gpt-5.4")
    assert [each.above for each in info.long_prices] == [272_000]
    assert info.for_request(272_000) is info
    long = info.for_request(272_001)
    assert (long.input_price, long.cached_price, long.output_price) == (5e-6, 5e-7, 2.25e-5)
    own = Catalogue({"gpt-5.4": {"input_price": 1}}).find_model("gpt-5.4")
    assert own.for_request(300_000).input_price == 1e-6, "whoever says a price means it"


@pytest.mark.parametrize(
    ("model", "known", "largest", "compacted_at", "window"),
    [
        ("claude-opus-4-6", 1_000_000, 166_000, 167_117, 200_000),
        ("claude-opus-4-6", 1_000_000, 350_000, 167_117, 1_000_000),
        ("claude-opus-4-6", 1_000_000, 960_000, 967_000, 1_000_000),
        ("claude-opus-4-5", 200_000, 150_000, 155_099, 200_000),
        ("claude-sonnet-4-5", 200_000, 350_000, 0, 1_000_000),
        ("nobody-knows", 128_000, 150_000, 0, 200_000),
        ("nobody-knows", 128_000, 5_000_000, 0, 128_000),
    ],
)
def test_the_window_is_what_the_agent_worked_with(
    model: str, known: int, largest: int, compacted_at: int, window: int
) -> None:
    assert window_seen(model, known, largest, compacted_at) == window


@given(st.sampled_from(["claude-x", "gpt-5", "m"]), *[st.integers(0, 3_000_000)] * 3)
def test_no_window_is_seen_that_a_request_did_not_fit_in(model: str, known: int, largest: int, at: int) -> None:
    window = window_seen(model, known, largest, at)
    assert window == known or window >= largest
    assert window <= known or largest > known
