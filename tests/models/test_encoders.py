"""Tokenizers are found offline, equal their makers', and leave the environment as it was."""

from __future__ import annotations

import base64
import os
import shutil
import socket
import sys
import unicodedata
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import pytest
import splintr
from hypothesis import example, given
from hypothesis import strategies as st

from support.requirements import requirement
from workbench.models import encoders, litellm_data, text_pieces
from workbench.models.tokens import TokenCount, TokenCounter

OPENAI = ["o200k_base", "cl100k_base"]
REAL = [*OPENAI, "claude"]
Reference = dict[str, Callable[[str], list[int]]]


def fresh(tokenizer: str) -> TokenCounter:
    return TokenCounter(tokenizer, None, True, "its own")


@pytest.fixture
def loading_anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tokenizers are read again, and any call for the network fails the test."""

    def no_network(*args: object) -> None:
        raise AssertionError("asked for the network")

    monkeypatch.setattr(socket.socket, "connect", no_network)
    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    encoders.load_encoder.cache_clear()
    yield
    encoders.load_encoder.cache_clear()


@pytest.fixture
def without_splintr(loading_anew: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokenizers are read again, and tiktoken runs OpenAI's."""
    monkeypatch.setitem(sys.modules, "splintr", None)


@requirement(
    "layers",
    "counting",
    "a token is taken to be four bytes",
    decided="the model's own tokenizer counts; the margin of 10 % stays",
)
@pytest.mark.parametrize("tokenizer", REAL)
@given(text=st.text())
@example("<EOT><|endoftext|> ½ ﬁ … ，e\u0301 \r\n\n  x")
def test_counts_are_those_of_the_makers(reference: Reference, tokenizer: str, text: str) -> None:
    encoder = encoders.load_encoder(tokenizer)
    assert encoder is not None
    assert encoder.size(text) == len(reference[tokenizer](text))


RUNS = [
    *"aZé 7\t\n\r='/_.好かカ가😀½Ⅷ",
    "\u00a0",
    "\u3000",
    "\u0301",
    "\u200d",
    "\ufe0f",
    "\x00",
    "\x85",
    "\u2028",
    "ǅ",
    "ʰ",
]
"""Characters on which the patterns turn; one of them may be repeated many times."""
WORDS = [
    " the",
    "'ll",
    "'RE",
    "don't",
    "XMLHttp",
    "<|endoftext|>",
    "<|fim_prefix|>",
    "<|im_start|>",
    "\r\n",
    "👩‍👩‍👧🏽",
    "QUJDRA==",
]
pieces_of_text = st.one_of(
    st.sampled_from(WORDS),
    st.text(st.sampled_from(RUNS), max_size=12),
    st.tuples(st.sampled_from(RUNS), st.integers(1, 700)).map(lambda run: run[0] * run[1]),
    st.binary(min_size=1, max_size=90).map(lambda data: base64.b64encode(data).decode()),
    st.text(max_size=10),
)
hard_texts = st.lists(pieces_of_text, max_size=12).map("".join)


def quick(tokenizer: str) -> encoders.QuickEncoder:
    encoder = encoders.load_encoder(tokenizer)
    assert isinstance(encoder, encoders.QuickEncoder), "splintr is not used"
    return encoder


def ids_of(tokenizer: str, text: str) -> list[int]:
    return quick(tokenizer)._encode(unicodedata.normalize("NFKC", text) if tokenizer == "claude" else text)


@pytest.mark.parametrize("tokenizer", REAL)
@given(text=hard_texts)
def test_splintr_gives_tiktokens_ids(reference: Reference, tokenizer: str, text: str) -> None:
    ids = reference[tokenizer](text)
    encoder = quick(tokenizer)
    assert ids_of(tokenizer, text) == ids
    assert encoder.size(text) == len(ids)


@pytest.mark.parametrize(
    "tokenizer", [name if name == "o200k_base" else pytest.param(name, marks=pytest.mark.wide) for name in REAL]
)
def test_splintr_knows_every_character_as_tiktoken_does(
    loading_anew: None, monkeypatch: pytest.MonkeyPatch, tokenizer: str
) -> None:
    """Alone and beside letters, digits, blanks and itself; of the large categories, one in 64."""
    encode = quick(tokenizer)._encode
    monkeypatch.setitem(sys.modules, "splintr", None)
    encoders.load_encoder.cache_clear()
    slow = encoders.load_encoder(tokenizer)
    assert type(slow) is encoders.PairEncoder
    for code in range(0x110000):
        char = chr(code)
        rare = unicodedata.category(char) in ("Cn", "Co", "Lo")  # nine of ten; their blocks are alike
        if not 0xD800 <= code < 0xE000 and (not rare or code % 64 == 0):
            text = f"{char} a{char}b A{char}B 1{char} .{char} {char}{char} '{char}\n{char}"
            assert encode(text) == slow._encode(text)


@pytest.mark.parametrize("tokenizer", REAL)
def test_splintr_stays_within_bounds_on_texts_without_a_split(reference: Reference, tokenizer: str) -> None:
    for run in RUNS:
        text = run * text_pieces.REACH
        assert ids_of(tokenizer, text) == reference[tokenizer](text)


@pytest.mark.parametrize("tokenizer", OPENAI)
def test_a_special_token_in_a_text_is_text_to_splintr_too(reference: Reference, tokenizer: str) -> None:
    encoder = quick(tokenizer)
    for token in splintr.Tokenizer.from_pretrained(tokenizer).special_tokens():
        text = f"what {token}{token} says"
        assert encoder._encode(text) == reference[tokenizer](text)
        assert encoder.size(text) == len(reference[tokenizer](text))


@pytest.mark.parametrize("tokenizer", REAL)
def test_the_trial_is_what_tiktoken_gives(reference: Reference, tokenizer: str) -> None:
    ids = b"".join(token.to_bytes(4, "little") for token in reference[tokenizer](encoders.TRIAL))
    assert sha256(ids).hexdigest() == encoders.TRIAL_IDS[tokenizer]


@pytest.mark.parametrize("tokenizer", REAL)
@pytest.mark.parametrize("fault", ["not installed", "another interface", "other ids"])
def test_tiktoken_takes_over_where_splintr_cannot_be_used(
    loading_anew: None, monkeypatch: pytest.MonkeyPatch, reference: Reference, tokenizer: str, fault: str
) -> None:
    if fault == "not installed":
        monkeypatch.setitem(sys.modules, "splintr", None)
    elif fault == "another interface":
        monkeypatch.setitem(sys.modules, "splintr", ModuleType("splintr"))
    else:
        monkeypatch.setitem(encoders.TRIAL_IDS, tokenizer, sha256(b"").hexdigest())
    encoder = encoders.load_encoder(tokenizer)
    assert type(encoder) is encoders.PairEncoder
    text = "what the model sees 好 😀 ﬁne"
    assert encoder.size(text) == len(reference[tokenizer](text)) == len(encoder.ends(text))
    assert fresh(tokenizer).count(text).exact


@pytest.mark.parametrize("tokenizer", [*REAL, "rough"])
@given(text=st.text(st.sampled_from("abc \n😀好é½ﬁ…，e\u0301가각\u1100"), max_size=40), tokens=st.integers(1, 20))
def test_ends_heads_and_tails_lie_on_characters_and_go_up(tokenizer: str, text: str, tokens: int) -> None:
    encoder = encoders.load_encoder(tokenizer)
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


def test_a_users_own_cache_folder_is_put_back(without_splintr: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "/somewhere/of/theirs")
    assert fresh("cl100k_base").count("hello").exact
    assert os.environ["TIKTOKEN_CACHE_DIR"] == "/somewhere/of/theirs"


def test_no_cache_folder_is_left_behind(without_splintr: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    assert fresh("o200k_base").count("hello").exact
    assert "TIKTOKEN_CACHE_DIR" not in os.environ


@pytest.mark.parametrize("tokenizer", REAL)
def test_without_litellm_counts_are_rough_and_say_so(
    without_splintr: None, monkeypatch: pytest.MonkeyPatch, tokenizer: str
) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.setattr(encoders, "tokenizer_folder", lambda: None)
    counter = fresh(tokenizer)
    assert counter.count("hello world") == TokenCount(3, False)
    assert counter.count("é" * 4001) == TokenCount(2001, False)
    assert not counter.exact
    assert counter.note == f"a quarter of the bytes, because the file of the tokenizer {tokenizer} is missing"


@pytest.mark.parametrize("tokenizer", REAL)
def test_a_broken_file_is_neither_used_nor_deleted(
    without_splintr: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tokenizer: str
) -> None:
    name = encoders.CLAUDE_FILE if tokenizer == "claude" else encoders.RANK_FILES[tokenizer][0]
    (tmp_path / name).write_text("{ broken")
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.setattr(encoders, "tokenizer_folder", lambda: tmp_path)
    assert not fresh(tokenizer).count("hello").exact
    assert (tmp_path / name).read_text() == "{ broken"


def test_a_users_own_cache_folder_serves_where_litellm_has_no_file(
    without_splintr: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = litellm_data.tokenizer_folder()
    assert folder is not None
    name = encoders.RANK_FILES["cl100k_base"][0]
    shutil.copy(folder / name, tmp_path / name)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(encoders, "tokenizer_folder", lambda: tmp_path / "nothing")
    assert fresh("cl100k_base").count("hello world") == TokenCount(2, True)


@pytest.mark.parametrize("tokenizer", OPENAI)
def test_splintr_needs_no_file(loading_anew: None, monkeypatch: pytest.MonkeyPatch, tokenizer: str) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.setattr(encoders, "tokenizer_folder", lambda: None)
    assert fresh(tokenizer).count("hello world") == TokenCount(2, True)


def test_litellm_that_is_not_installed_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    litellm_data.litellm_folder.cache_clear()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert litellm_data.litellm_folder() is None
    assert litellm_data.model_table() is None
    assert litellm_data.tokenizer_folder() is None
    litellm_data.litellm_folder.cache_clear()


def test_litellm_that_cannot_be_looked_for_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> None:
        raise ValueError(f"{name}.__spec__ is None")

    litellm_data.litellm_folder.cache_clear()
    monkeypatch.setattr("importlib.util.find_spec", broken)
    assert litellm_data.litellm_folder() is None
    litellm_data.litellm_folder.cache_clear()
