"""Rows are read from the bytes of an SQLite file as SQLite reads them."""

from __future__ import annotations

import sqlite3
import struct
from contextlib import closing
from pathlib import Path

import pytest

from workbench.log.pages import Pages, _varint

VALUES = (None, 0, 1, 5, -300, 70_000, -900_000_000, 2**40, -(2**60), 0.5, "two", b"\0\1")
"""One of each kind that a record can hold."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(f"CREATE TABLE kinds ({', '.join(f'c{number}' for number in range(len(VALUES)))})")
        db.execute(f"INSERT INTO kinds VALUES ({', '.join('?' * len(VALUES))})", VALUES)
        db.execute("CREATE TABLE pairs (a, b)")
        db.execute("INSERT INTO pairs VALUES (5, 'x'), (7, 'z')")
    return path


def rows_in(data: bytes) -> list[tuple[object, ...]]:
    return [row.values for row in Pages(memoryview(data), memoryview(b"")).rows()]


def test_every_kind_of_value_is_read(file: Path) -> None:
    assert VALUES in rows_in(file.read_bytes())


def test_a_row_that_fills_several_pages_is_read(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("INSERT INTO pairs VALUES (6, ?)", ["long " * 4_000])
    assert (6, "long " * 4_000) in rows_in(file.read_bytes())


@pytest.mark.parametrize("kind", [10, 11])
def test_a_row_with_a_kind_that_no_file_has_is_left_out(file: Path, kind: int) -> None:
    data, row = file.read_bytes(), b"\x03\x01\x0f\x05x"
    assert data.count(row) == 1
    assert (5, "x") in rows_in(data)
    others = [each for each in rows_in(data) if each != (5, "x")]
    assert rows_in(data.replace(row, bytes([3, kind]) + row[2:])) == others


@pytest.mark.parametrize(
    ("data", "value"),
    [(b"\x05", 5), (b"\x81\x00", 128), (b"\x80" * 7 + b"\x81\x05", 1 << 8 | 5), (b"\xff" * 9, 2**64 - 1)],
)
def test_a_number_has_up_to_nine_bytes_and_the_ninth_counts_in_full(data: bytes, value: int) -> None:
    assert _varint(b"-" + data + b"-", 1) == (value, 1 + len(data))


def test_where_the_file_does_not_say_it_the_log_says_how_large_pages_are() -> None:
    log = struct.pack(">IIIIIIII", 0x377F0682, 3_007_000, 1024, 0, 7, 7, 0, 0)
    assert Pages(memoryview(bytes(4096)), memoryview(log)).size == 1024


def test_the_pages_of_deleted_rows_are_known(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        with db:
            db.executemany("INSERT INTO pairs VALUES (?, zeroblob(9000))", [(number,) for number in range(50)])
        with db:
            db.execute("DELETE FROM pairs")
        [(count,)] = db.execute("PRAGMA freelist_count")
    assert count > 50
    assert len(Pages(memoryview(file.read_bytes()), memoryview(b""))._unused()) == count
