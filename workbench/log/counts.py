"""Token counts that are kept from one run to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from workbench.log.database import Database

_ASKED: Final = 500
"""After so many questions about a tokenizer its counts are read all at once: a question takes ten times as long as a
row does then."""
_READ: Final = 50_000
"""The most counts to read at once. If there are more, each question is a query."""


class KeptCounts:
    """The counts of one file, each by its tokenizer and the digest of its text."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._asked: Counter[str] = Counter()
        self._read: dict[str, dict[bytes, tuple[int, int]]] = {}
        """By tokenizer: all its counts."""

    def load_count(self, tokenizer: str, digest: bytes) -> tuple[int, bool] | None:
        """The tokens of a text, and whether they are exact; None if it was never counted."""
        if tokenizer in self._read:
            found = self._read[tokenizer].get(digest)
        else:
            found = self._database.one_row(
                "SELECT tokens, exact FROM counts WHERE tokenizer = ? AND digest = ?", (tokenizer, digest)
            )
            self._asked[tokenizer] += 1
            if self._asked[tokenizer] == _ASKED:
                self._read_all(tokenizer)
        return None if found is None else (found[0], bool(found[1]))

    def _read_all(self, tokenizer: str) -> None:
        with self._database.read_transaction() as db:
            rows = db.execute(
                "SELECT digest, tokens, exact FROM counts WHERE tokenizer = ? LIMIT ?", (tokenizer, _READ + 1)
            ).fetchall()
        if len(rows) <= _READ:
            self._read[tokenizer] = {digest: (tokens, exact) for digest, tokens, exact in rows}

    def save_counts(self, rows: Iterable[tuple[str, bytes, int, bool]]) -> None:
        """Keep counts: tokenizer, the text's digest, tokens, and whether they are exact."""
        if self._database.read_only:
            return  # a count can be made again
        given = [*rows]  # now, because the caller may read the store while making them
        with self._database.write_transaction() as db:
            db.executemany("INSERT OR REPLACE INTO counts VALUES(?, ?, ?, ?)", given)
        for tokenizer, digest, tokens, exact in given:
            if tokenizer in self._read:
                self._read[tokenizer][digest] = (tokens, exact)
