"""Keeps what was paid for in the cache folder: answers, so that a search can go on later, and what was found."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Any, Self

import msgspec

from workbench.config.cache_files import open_cache
from workbench.config.paths import cache_dir
from workbench.explain.values import RequestFindings
from workbench.sources.replay_answers import ReplayAnswer
from workbench.wire.rewriting import Rewrite

FILE = "explain.db"
_ANSWERS = "CREATE TABLE answers (request BLOB, try INTEGER, data BLOB, PRIMARY KEY (request, try)) WITHOUT ROWID"
_FINDINGS = "CREATE TABLE findings (request BLOB PRIMARY KEY, data BLOB) WITHOUT ROWID"


def request_digest(where: tuple[str, ...], body: Mapping[str, Any]) -> bytes:
    """What identifies a request: dialect, model, server and body."""
    return sha256(json.dumps([where, body], sort_keys=True).encode()).digest()


def changed_digest(digest: bytes, rewrite: Rewrite) -> bytes:
    """What identifies a request without some of its items. A long body is hashed once for all changes of it."""
    gone = json.dumps([sorted(rewrite.exclude), sorted(rewrite.mask.items())])
    return sha256(digest + gone.encode()).digest()


def recorded_digest(dialect: str, body: Mapping[str, Any]) -> bytes:
    """What identifies a recorded request, wherever it is sent again."""
    return request_digest((dialect,), body)


class KeptAnswers:
    """The answers by request and try, and the findings by request.

    Where nothing can be written, nothing is kept, and that is no error.
    """

    def __init__(self) -> None:
        self._db = open_cache(cache_dir() / FILE, (_ANSWERS, _FINDINGS))
        self._decoder = msgspec.msgpack.Decoder(ReplayAnswer)
        self._findings = msgspec.msgpack.Decoder(RequestFindings)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._db is not None:
            self._db.close()

    def load_answer(self, request: bytes, try_number: int) -> ReplayAnswer | None:
        """The answer to a try; None if none is kept, or if it cannot be read."""
        if self._db is None:
            return None
        with suppress(sqlite3.Error, msgspec.MsgspecError, RecursionError):
            query = "SELECT data FROM answers WHERE request = ? AND try = ?"
            row = self._db.execute(query, (request, try_number)).fetchone()
            return None if row is None else self._decoder.decode(row[0])
        return None

    def keep_answer(self, request: bytes, try_number: int, answer: ReplayAnswer) -> None:
        """Keep an answer at once: the program may be ended before the next one."""
        if self._db is None:
            return
        with suppress(sqlite3.Error, UnicodeEncodeError, OverflowError):
            data = msgspec.msgpack.encode(answer)
            self._db.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", (request, try_number, data))

    def load_findings(self, request: bytes) -> RequestFindings | None:
        """What was found last about a request; None if nothing is kept, or if it cannot be read."""
        if self._db is None:
            return None
        with suppress(sqlite3.Error, msgspec.MsgspecError, RecursionError):
            row = self._db.execute("SELECT data FROM findings WHERE request = ?", (request,)).fetchone()
            return None if row is None else self._findings.decode(row[0])
        return None

    def keep_findings(self, request: bytes, findings: RequestFindings) -> None:
        """Keep what was found about a request, in place of what was found before."""
        if self._db is None:
            return
        with suppress(sqlite3.Error, UnicodeEncodeError, OverflowError):
            data = msgspec.msgpack.encode(findings)
            self._db.execute("INSERT OR REPLACE INTO findings VALUES (?, ?)", (request, data))


def were_answers_kept() -> bool:
    """Whether there may be any; to ask this makes no file."""
    return (cache_dir() / FILE).exists()
