"""The least work of a program that reads a transcript into a store: Python's JSON, a dict for each block, SQLite.

A yardstick for commands that read long files. Like them it begins a process, keeps many small objects and writes a
file; what parses lines alone does none of it, and is slowed down otherwise by a busy machine.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any


def blocks(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """A dict for each block of each line's message."""
    for line in lines:
        value = json.loads(line)
        content = value.get("message", {}).get("content")
        for block in content if isinstance(content, list) else [content]:
            yield {"at": value["timestamp"], "kind": value["type"], "id": value["uuid"], "block": block}


def store(path: str, found: Iterable[dict[str, Any]]) -> None:
    """Write them into a new file, in one transaction."""
    rows = ((at, each["id"], json.dumps(each)) for at, each in enumerate(found))
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE blocks(key INTEGER PRIMARY KEY, id TEXT, data TEXT, UNIQUE(id, key))")
        with db:
            db.executemany("INSERT INTO blocks VALUES(?, ?, ?)", rows)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        kept = list(blocks(file))
    store(sys.argv[2], kept)
