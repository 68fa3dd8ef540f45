"""Token counts that are kept from one run to the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.log import counts
from workbench.log.database import Database
from workbench.log.store import Store


def test_what_was_counted_is_known(store: Store, path: Path) -> None:
    assert store.counts.load_count("o200k", b"d1") is None
    store.counts.save_counts([("o200k", b"d1", 7, True), ("cl100k", b"d1", 8, False)])
    store.counts.save_counts(iter([("o200k", b"d2", 9, True), ("o200k", b"d1", 6, False)]))
    store.counts.save_counts([])
    with Store.open(path) as again:
        assert again.counts.load_count("o200k", b"d1") == (6, False)
        assert again.counts.load_count("o200k", b"d2") == (9, True)
        assert again.counts.load_count("cl100k", b"d1") == (8, False)


MADE = 100
"""The counts of each tokenizer in the tests of many questions."""


@pytest.fixture
def queries(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The digests that a query asked for. The store has counts of two tokenizers."""
    store.counts.save_counts(
        (tokenizer, b"%d" % at, at * factor, at % 2 == 0)
        for tokenizer, factor in (("o200k", 1), ("claude", 3))
        for at in range(MADE)
    )
    made: list[bytes] = []
    ask = Database.one_row

    def one_row(self: Database, sql: str, values: tuple[object, ...]) -> object:
        found = ask(self, sql, values)
        if isinstance(values[-1], bytes):
            made.append(values[-1])
        return found

    monkeypatch.setattr(Database, "one_row", one_row)
    monkeypatch.setattr(counts, "_ASKED", 10)
    return made


@pytest.mark.parametrize("most", [MADE - 1, MADE])
def test_many_questions_have_the_answers_of_queries(
    store: Store, queries: list[bytes], monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(counts, "_READ", most)
    for tokenizer, factor in (("o200k", 1), ("claude", 3)):
        found = [store.counts.load_count(tokenizer, b"%d" % at) for at in range(MADE)]
        assert found == [(at * factor, at % 2 == 0) for at in range(MADE)]
        assert store.counts.load_count(tokenizer, b"new") is None
        store.counts.save_counts([(tokenizer, b"new", 5, True), (tokenizer, b"1", 6, False)])
        assert store.counts.load_count(tokenizer, b"new") == (5, True)
        assert store.counts.load_count(tokenizer, b"1") == (6, False)
    expected = 10 if most >= MADE else MADE + 3
    assert len(queries) == 2 * expected  # the rest was read at once, unless it is too much
