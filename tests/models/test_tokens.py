"""Counts are exact where they can be, never made twice, and a cut is never over its limit."""

from __future__ import annotations

import base64
import random
import sqlite3
import string
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.requirements import requirement
from workbench.config.errors import WrongCall
from workbench.models import text_pieces, tokens
from workbench.models.encoders import TOKENIZERS, RoughEncoder, load_encoder
from workbench.models.tokens import TokenCount, TokenCounter, counter_for, counter_named

ALL = ["o200k_base", "cl100k_base", "claude", "rough"]
MEGABYTE = 1_000_000
RANDOM = random.Random(7)


def fresh(tokenizer: str = "o200k_base", store: tokens.CountStore | None = None) -> TokenCounter:
    return TokenCounter(tokenizer, store, True, "its own")


def prose(characters: int) -> str:
    words = [
        "the",
        "model",
        "sees,",
        "what",
        "it",
        "sees.\n",
        "def",
        "f(x):\n    return",
        "你好，世界",
        "naïve",
        "😀",
    ]
    return " ".join(RANDOM.choices(words, k=characters // 5))[:characters]


runs = st.tuples(st.sampled_from([*"aB 7\n=好😀\ud800", "a ", "\n/", "½"]), st.integers(1, 25)).map(
    lambda run: run[0] * run[1]
)
odd = st.sampled_from([*"aB 7\n\r\t'/.。，éё½ﷺ😀好", "\u0301", "\u3000", "\ud83d", "\ude00", "'ll", " the", "<EOT>"])
odd_texts = st.lists(st.one_of(runs, odd, st.characters()), max_size=30).map("".join)


sizes = st.sampled_from([(4, 6), (8, 12)])


@contextmanager
def pieces_of(size: tuple[int, int]) -> Iterator[None]:
    """Pieces so small that a short text has many, hard cuts included."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_pieces, "PIECE", size[0])
        patch.setattr(text_pieces, "REACH", size[1])
        yield


@pytest.mark.parametrize("tokenizer", ["o200k_base", "cl100k_base", "claude"])
def test_a_long_text_counts_as_a_whole(reference: dict[str, Callable[[str], list[int]]], tokenizer: str) -> None:
    text = prose(100_000)
    assert fresh(tokenizer).count(text) == TokenCount(len(reference[tokenizer](text)), True)


@pytest.mark.parametrize("tokenizer", ["o200k_base", "cl100k_base", "claude"])
@given(text=odd_texts, size=sizes)
def test_a_count_that_says_exact_is_exact(
    reference: dict[str, Callable[[str], list[int]]], tokenizer: str, text: str, size: tuple[int, int]
) -> None:
    with pieces_of(size):
        count = fresh(tokenizer).count(text)
    assert count.tokens > 0 or not text
    if count.exact:
        assert count.tokens == len(reference[tokenizer](text))


@pytest.mark.parametrize("tokenizer", ALL)
@pytest.mark.parametrize("known", [True, False])
@given(text=odd_texts, limit=st.integers(-1, 40), size=sizes)
def test_heads_and_tails_are_never_over_their_limit(
    tokenizer: str, known: bool, text: str, limit: int, size: tuple[int, int]
) -> None:
    counter = fresh(tokenizer)
    with pieces_of(size):
        if known:
            counter.count(text)
        head, tail = counter.head(text, limit), counter.tail(text, limit)
        assert counter.count(text[:head]).tokens <= max(limit, 0)
        assert counter.count(text[tail:]).tokens <= max(limit, 0)
        if counter.count(text).tokens <= limit:
            assert (head, tail) == (len(text), 0)


def test_a_text_that_fits_is_not_cut_where_its_end_alone_would_take_more() -> None:
    counter, text = fresh("cl100k_base"), "a" * 13 + "\n" * 16
    with pieces_of((8, 12)):
        assert counter.tail(text, 5) == 0
        assert counter.count(text).tokens == 5


@pytest.mark.parametrize("tokenizer", ALL)
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("limit", [500, 8_000])
def test_heads_and_tails_of_a_long_text_are_near_their_limit(tokenizer: str, known: bool, limit: int) -> None:
    text = prose(200_000)
    counter = fresh(tokenizer)
    if known:
        counter.count(text)
    for part in (text[: counter.head(text, limit)], text[counter.tail(text, limit) :]):
        assert 0.98 * limit <= counter.count(part).tokens <= limit


PATHOLOGICAL: dict[str, Callable[[], str]] = {
    "one letter": lambda: "a" * MEGABYTE,
    "blanks": lambda: " " * MEGABYTE,
    "newlines": lambda: "\n" * MEGABYTE,
    "tabs and blanks": lambda: " \t" * (MEGABYTE // 2),
    "digits": lambda: "7" * MEGABYTE,
    "letters": lambda: "".join(RANDOM.choices(string.ascii_letters, k=MEGABYTE // 4)),
    "ideographs": lambda: "".join(chr(RANDOM.randrange(0x4E00, 0x9000)) for _ in range(MEGABYTE // 12)),
    "faces": lambda: "😀" * (MEGABYTE // 4),
    "accents": lambda: "\u0301" * (MEGABYTE // 2),
    "half characters": lambda: "\ud800" * (MEGABYTE // 3),
}


@pytest.mark.parametrize("tokenizer", ALL)
@pytest.mark.parametrize("kind", PATHOLOGICAL)
def test_a_text_without_a_place_is_counted_and_marked_approximate(tokenizer: str, kind: str) -> None:
    text = PATHOLOGICAL[kind]()
    count = fresh(tokenizer).count(text)
    assert count.tokens > 0
    assert count.exact == (tokenizer == "rough" and kind != "half characters")


@pytest.mark.parametrize("kind", PATHOLOGICAL)
def test_a_text_without_a_place_can_be_cut(kind: str) -> None:
    text = PATHOLOGICAL[kind]()
    counter = fresh()
    total = counter.count(text).tokens
    for part in (text[: counter.head(text, total // 2)], text[counter.tail(text, total // 2) :]):
        assert 0.97 * (total // 2) <= counter.count(part).tokens <= total // 2


def test_base64_is_counted_exactly(reference: dict[str, Callable[[str], list[int]]]) -> None:
    text = base64.b64encode(RANDOM.randbytes(300_000)).decode()
    assert fresh().count(text) == TokenCount(len(reference["o200k_base"](text)), True)


def test_a_special_token_counts_as_the_text_it_is() -> None:
    assert fresh("o200k_base").count("<|endoftext|>").tokens > 1
    assert fresh("claude").count("<EOT>").tokens > 1


def test_half_a_character_counts_as_the_replacement_character() -> None:
    counter = fresh()
    assert counter.count("a\ud800b").tokens == counter.count("a\ufffdb").tokens
    assert not counter.count("a\ud800b").exact
    assert counter.count("a\ufffdb").exact


@pytest.mark.parametrize("tokenizer", ALL)
@given(text=odd_texts, size=sizes)
def test_spans_join_to_the_text(tokenizer: str, text: str, size: tuple[int, int]) -> None:
    with pieces_of(size):
        spans = fresh(tokenizer).spans(text)
    assert "".join(spans) == text
    assert all(spans)


def test_spans_are_the_tokens_and_a_shared_character_is_one_span() -> None:
    assert fresh().spans("hello world") == ["hello", " world"]
    counter = fresh()
    assert counter.count("🫠").tokens > 1
    assert counter.spans("a 🫠") == ["a", " 🫠"]
    assert fresh("claude").spans("so… ok") == ["so", "…", " ok"]


def test_a_text_in_memory_is_never_encoded_again() -> None:
    counter = fresh()
    texts = ["hello", "é" * 100, prose(20_000), "a" * 20_000, "\ud800" * 9_000]
    counts = [counter.count(text) for text in texts]
    counter._encoder = Refusing()
    assert [counter.count(text) for text in texts] == counts


def test_a_counter_apart_counts_only_what_the_other_does_not_know() -> None:
    known = TokenCounter("o200k_base", None, True, "")
    known.suppose("counted before", 77)
    apart = known.apart()
    assert apart.count("counted before").tokens == 77
    assert apart.count("not counted before") == counter_named("o200k_base").count("not counted before")
    assert known.known_count("not counted before") is None


def test_a_text_in_memory_is_known_and_another_is_not() -> None:
    counter = fresh()
    assert counter.known_count("hello") is None
    assert counter.count("hello") is counter.known_count("hello")


def test_memory_is_bounded_and_the_older_half_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "REMEMBERED", 100_000)
    counter = fresh()
    texts = [f"{number} " + "word " * 2000 for number in range(40)]  # long enough for an index
    for text in texts:
        counter.count(text)
    known = [counter.known_count(text) is not None for text in texts]
    assert known == sorted(known)
    assert 0 < sum(known) * len(texts[0]) <= 100_000
    assert len(counter._indexes) == sum(known)


def test_many_threads_may_count_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "REMEMBERED", 50_000)
    counter, alone = fresh(), fresh()
    texts = [f"thread {number} " * 50 for number in range(300)]
    wrong: list[str] = []

    def work() -> None:
        wrong.extend(text for text in texts if counter.count(text) != alone_counts[text])

    alone_counts = {text: alone.count(text) for text in texts}
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


class SqliteCounts:
    """Counts in a real SQLite file."""

    def __init__(self, path: Path) -> None:
        self.database = sqlite3.connect(path)
        self.database.execute(
            "create table if not exists counts (tokenizer, digest, tokens, whole, primary key (tokenizer, digest))"
        )

    def load_count(self, tokenizer: str, digest: bytes) -> tuple[int, bool] | None:
        row = self.database.execute(
            "select tokens, whole from counts where tokenizer = ? and digest = ?", (tokenizer, digest)
        ).fetchone()
        return (row[0], bool(row[1])) if row else None

    def save_counts(self, rows: Iterable[tuple[str, bytes, int, bool]]) -> None:
        with self.database:
            self.database.executemany("insert or replace into counts values (?, ?, ?, ?)", rows)

    def rows(self) -> list[tuple[str, int, bool]]:
        return self.database.execute("select tokenizer, tokens, whole from counts order by tokens").fetchall()


class Refusing(RoughEncoder):
    """A tokenizer that must not be asked."""

    def size(self, text: str) -> int:
        raise AssertionError("encoded again")


def test_a_stored_count_is_never_made_again(tmp_path: Path) -> None:
    text = prose(50_000)
    store = SqliteCounts(tmp_path / "counts.db")
    first = fresh(store=store)
    count = first.count(text)
    first.flush()
    second = fresh(store=SqliteCounts(tmp_path / "counts.db"))
    second._encoder = Refusing()
    assert second.count(text) == count
    assert second.known_count(text) == count
    with pytest.raises(AssertionError, match="encoded again"):
        second.count("something new")


def test_counts_wait_for_flush_and_short_texts_are_not_stored(tmp_path: Path) -> None:
    store = SqliteCounts(tmp_path / "counts.db")
    counter = fresh(store=store)
    counter.count("short " * 100)
    tokens_of_long = counter.count("long " * 1000).tokens
    assert store.rows() == []
    counter.flush()
    counter.flush()
    assert store.rows() == [("o200k_base", tokens_of_long, 1)]


def test_what_is_stored_is_the_tokenizers_word_not_the_models(tmp_path: Path) -> None:
    store = SqliteCounts(tmp_path / "counts.db")
    text = "word " * 1000
    stand_in = counter_named("o200k_base", store, exact=False, note="stands in")
    assert not stand_in.count(text).exact
    stand_in.flush()
    assert counter_named("o200k_base", store).count(text).exact


def test_rough_counts_are_not_stored(tmp_path: Path) -> None:
    store = SqliteCounts(tmp_path / "counts.db")
    rough = counter_named("rough", store)
    assert rough.count("word " * 1000) == TokenCount(1250, False)
    rough.flush()
    assert store.rows() == []


@pytest.mark.parametrize("part", ["head", "tail"])
def test_cutting_a_text_known_from_the_store_encodes_only_the_end_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    text = prose(500_000)
    store = SqliteCounts(tmp_path / "counts.db")
    first = fresh(store=store)
    first.count(text)
    first.flush()
    second = fresh(store=store)
    second.count(text)
    encoded = 0
    size = second._size

    def counting(piece: str) -> int:
        nonlocal encoded
        encoded += len(piece)
        return size(piece)

    monkeypatch.setattr(second, "_size", counting)
    getattr(second, part)(text, 2_000)
    assert 0 < encoded < 50_000


def test_cutting_a_text_counted_here_encodes_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    text = prose(500_000)
    counter = fresh()
    counter.count(text)
    encoded = 0
    size = counter._size

    def counting(piece: str) -> int:
        nonlocal encoded
        encoded += len(piece)
        return size(piece)

    monkeypatch.setattr(counter, "_size", counting)
    counter.head(text, 20_000)
    counter.tail(text, 20_000)
    assert 0 < encoded <= 4 * text_pieces.REACH


def test_without_a_store_a_counter_is_shared() -> None:
    assert counter_named("o200k_base") is counter_named("o200k_base")
    assert counter_named("o200k_base") is counter_for("openai/gpt-4o")
    assert counter_named("o200k_base") is not counter_for("gemini-2.5-pro")


def test_an_unknown_tokenizer_is_a_wrong_call() -> None:
    with pytest.raises(WrongCall, match="unknown tokenizer 'bert': expected one of o200k_base, cl100k_base, claude"):
        counter_named("bert")


@requirement(
    "window", "counting", "tokens are counted with a tokenizer, or estimated where none is known, and told apart"
)
def test_a_stand_in_is_never_exact() -> None:
    gemini = counter_for("gemini/gemini-2.5-pro")
    assert gemini.note == "o200k_base is used instead of Gemini's own tokenizer, which is not public"
    assert gemini.count("hello world") == TokenCount(2, False)
    mistral, unnamed = counter_for("mistral/mistral-large"), counter_for("4")
    assert mistral.note == "o200k_base is used instead of mistral's own tokenizer, which is not at hand"
    assert unnamed.note == "o200k_base is used instead of the model's own tokenizer, which is not at hand"


def test_every_named_tokenizer_can_be_read() -> None:
    assert all(load_encoder(name) is not None for name in TOKENIZERS)
