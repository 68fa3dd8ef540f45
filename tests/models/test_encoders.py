"""Tokenizers are found offline, equal their makers', and leave the environment as it was."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from workbench.models import encoders, wheel
from workbench.models.tokens import TokenCounter

REAL = ["o200k_base", "cl100k_base", "claude"]


def fresh(tokenizer: str) -> TokenCounter:
    return TokenCounter(tokenizer, None, True, "its own")


@pytest.fixture
def loading_anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tokenizers are read again, and any call for the network fails the test."""

    def no_network(*args: object) -> None:
        raise AssertionError("asked for the network")

    monkeypatch.setattr(socket.socket, "connect", no_network)
    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    encoders.load.cache_clear()
    yield
    encoders.load.cache_clear()


@pytest.mark.parametrize("tokenizer", REAL)
@given(text=st.text())
@example("<EOT><|endoftext|> ½ ﬁ … ，e\u0301 \r\n\n  x")
@settings(max_examples=200, deadline=None)
def test_counts_are_those_of_the_makers(
    reference: dict[str, Callable[[str], list[int]]], tokenizer: str, text: str
) -> None:
    encoder = encoders.load(tokenizer)
    assert encoder is not None
    assert encoder.size(text) == len(reference[tokenizer](text))


@pytest.mark.parametrize("tokenizer", [*REAL, "rough"])
@given(text=st.text(st.sampled_from("abc \n😀好é½ﬁ…，e\u0301가각\u1100"), max_size=40), tokens=st.integers(1, 20))
@settings(max_examples=200, deadline=None)
def test_ends_heads_and_tails_lie_on_characters_and_go_up(tokenizer: str, text: str, tokens: int) -> None:
    encoder = encoders.load(tokenizer)
    assert encoder is not None
    ends = encoder.ends(text)
    assert len(ends) == encoder.size(text)
    assert ends == sorted(ends)
    assert not text or ends[-1] == len(text)
    assert 0 <= encoder.head(text, tokens) <= len(text)
    assert 0 <= encoder.tail(text, tokens) <= len(text)
    if tokens >= len(ends):
        assert encoder.head(text, tokens) == len(text) or not text
        assert encoder.tail(text, tokens) == 0


def test_a_users_own_cache_folder_is_put_back(loading_anew: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "/somewhere/of/theirs")
    assert fresh("cl100k_base").count("hello").exact
    assert os.environ["TIKTOKEN_CACHE_DIR"] == "/somewhere/of/theirs"


def test_no_cache_folder_is_left_behind(loading_anew: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    assert fresh("o200k_base").count("hello").exact
    assert "TIKTOKEN_CACHE_DIR" not in os.environ


@pytest.mark.parametrize("tokenizer", REAL)
def test_without_litellm_counts_are_rough_and_say_so(
    loading_anew: None, monkeypatch: pytest.MonkeyPatch, tokenizer: str
) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.setattr(encoders, "tokenizer_folder", lambda: None)
    counter = fresh(tokenizer)
    assert counter.count("hello world") == (3, False)
    assert counter.count("é" * 4001) == (2001, False)
    assert not counter.exact
    assert counter.note == f"a quarter of the bytes, because the file of the tokenizer {tokenizer} is missing"


@pytest.mark.parametrize("tokenizer", REAL)
def test_a_broken_file_is_neither_used_nor_deleted(
    loading_anew: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tokenizer: str
) -> None:
    name = encoders.CLAUDE_FILE if tokenizer == "claude" else encoders.RANK_FILES[tokenizer][0]
    (tmp_path / name).write_text("{ broken")
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.setattr(encoders, "tokenizer_folder", lambda: tmp_path)
    assert not fresh(tokenizer).count("hello").exact
    assert (tmp_path / name).read_text() == "{ broken"


def test_a_users_own_cache_folder_serves_where_litellm_has_no_file(
    loading_anew: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = wheel.tokenizer_folder()
    assert folder is not None
    name = encoders.RANK_FILES["cl100k_base"][0]
    shutil.copy(folder / name, tmp_path / name)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(encoders, "tokenizer_folder", lambda: tmp_path / "nothing")
    assert fresh("cl100k_base").count("hello world") == (2, True)


def test_litellm_that_is_not_installed_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    wheel.litellm_folder.cache_clear()
    monkeypatch.setattr(wheel.importlib.util, "find_spec", lambda name: None)
    assert wheel.litellm_folder() is None
    assert wheel.model_table() is None
    assert wheel.tokenizer_folder() is None
    wheel.litellm_folder.cache_clear()


def test_litellm_that_cannot_be_looked_for_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> None:
        raise ValueError(f"{name}.__spec__ is None")

    wheel.litellm_folder.cache_clear()
    monkeypatch.setattr(wheel.importlib.util, "find_spec", broken)
    assert wheel.litellm_folder() is None
    wheel.litellm_folder.cache_clear()
