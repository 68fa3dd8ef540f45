"""Files that are not JSON: databases are read as they are, and what nobody knows is refused in one line."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from workbench.config.errors import WrongCall
from workbench.traces.formats import KNOWN, read_conversations, read_file
from workbench.traces.tables import Tables

WRITER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("PRAGMA journal_mode = " + sys.argv[2])
db.execute("CREATE TABLE kept (x)")
db.execute("INSERT INTO kept VALUES (1)")
db.commit()
db.execute("BEGIN IMMEDIATE")
db.execute("INSERT INTO kept VALUES (2)")
print("writing", flush=True)
sys.stdin.readline()
"""


def opened(source: str | Path) -> Tables:
    _, found = read_file(str(source))
    assert isinstance(found, Tables)
    return found


def kept(database: Tables) -> list[int]:
    return [row["x"] for row in database.rows("SELECT x FROM kept")]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_database_that_another_process_writes_is_read_and_nothing_beside_it_changes(
    tmp_path: Path, mode: str
) -> None:
    path = tmp_path / "kept.db"
    command = [sys.executable, "-c", WRITER, str(path), mode]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "writing\n"
        before = contents(tmp_path)
        assert kept(opened(path)) == [1]
        assert contents(tmp_path) == before
        writer.kill()
    assert kept(opened(path)) == [1]
    assert contents(tmp_path) == before


def test_what_waits_in_the_log_is_read_also_without_its_index(tmp_path: Path) -> None:
    writer = sqlite3.connect(tmp_path / "kept.db")
    writer.executescript("PRAGMA journal_mode = wal; CREATE TABLE kept (x); INSERT INTO kept VALUES (7);")
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("kept.db", "kept.db-wal"):
        (copy / name).write_bytes((tmp_path / name).read_bytes())
    before = contents(copy)
    assert kept(opened(copy / "kept.db")) == [7]
    assert contents(copy) == before
    writer.close()


def test_a_finished_database_gets_no_files_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "odd ?name#1.db"
    with sqlite3.connect(path) as writer:
        writer.executescript("PRAGMA journal_mode = wal; CREATE TABLE kept (x); INSERT INTO kept VALUES (7);")
    writer.close()
    assert kept(opened(path)) == [7]
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_database_comes_through_standard_input_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kept.db"
    with sqlite3.connect(path) as writer:
        writer.executescript("PRAGMA journal_mode = wal; CREATE TABLE kept (x); INSERT INTO kept VALUES (7);")
    writer.close()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(path.read_bytes())))
    assert kept(opened("-")) == [7]


def test_a_database_of_nobody_is_told_by_its_tables(tmp_path: Path) -> None:
    path = tmp_path / "kept.db"
    with sqlite3.connect(path) as writer:
        writer.executescript("CREATE TABLE session (id); CREATE TABLE message (id); CREATE TABLE part (id);")
    name, found = read_file(str(path))
    with pytest.raises(WrongCall) as told:
        read_conversations(name, found)
    assert str(told.value).startswith(f"{path}: found a database with the tables 'session', 'message', 'part',")
    assert str(told.value).endswith(KNOWN)


@pytest.mark.parametrize("size", [16, 100, 6000])
def test_a_broken_database_is_told_in_one_line(tmp_path: Path, size: int) -> None:
    path = tmp_path / "kept.db"
    with sqlite3.connect(path) as writer:
        writer.execute("CREATE TABLE kept (x)")
        writer.executemany("INSERT INTO kept VALUES (?)", [("x" * 999,)] * 99)
    writer.close()
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(WrongCall, match=r"kept\.db: ") as told:
        kept(opened(path))
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        (b"\x7fELF\x02\0\0", "binary data"),
        (b"PK\x03\x04\0\0\xff", "binary data"),
        (b"# Notes\n\nSome text.\n", "Markdown, but not aider's history"),
        (b"Hello\n\n```py\nx = 1\n```\n", "Markdown, but not aider's history"),
    ],
)
def test_binary_and_markdown_files_are_refused_by_what_they_are(tmp_path: Path, raw: bytes, found: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(raw)
    with pytest.raises(WrongCall) as told:
        read_conversations(*read_file(str(path)))
    assert str(told.value) == f"{path}: found {found}, which is no transcript of a known format: {KNOWN}"


def test_json_with_markdown_in_it_is_json(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(json.dumps([{"role": "user", "content": "x"}], indent=1) + "\n\n")
    assert len(read_conversations(*read_file(str(path)))) == 1
    path.write_text('{"role": "user", "content": "# x"}\n# no JSON\n')
    with pytest.raises(WrongCall, match="line 2: expected one JSON value"):
        read_conversations(*read_file(str(path)))


@pytest.mark.parametrize("side", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_pipe_beside_a_database_is_not_waited_for(side: str, mode: str, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA journal_mode = {mode}")
        db.execute("CREATE TABLE kept (x)")
    db.close()
    os.mkfifo(f"{path}{side}")
    with pytest.raises(WrongCall, match=r"a\.db: expected a file, this is a pipe"):
        read_file(str(path))


def test_an_archive_that_unpacks_to_far_more_than_a_log_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.eval"
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        archive.writestr("header.json", "{}")
        archive.writestr("samples/1.json", bytes(70_000_000))
    with pytest.raises(WrongCall, match="expected at most 67,108,864 bytes, this has 70,000,002 bytes"):
        read_file(str(path))


@pytest.mark.parametrize("start", [b"y\n", b"\n", bytes(1), b"# Notes\n", "ä".encode()])
def test_an_endless_stream_is_refused_by_its_beginning(start: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(io.RawIOBase):
        """Says the same for ever."""

        given = 0

        def readable(self) -> bool:
            return True

        def readinto(self, room: Any) -> int:
            text = start * (len(room) // len(start) + 1)
            room[:] = text[: len(room)]
            self.given += len(room)
            assert self.given < 1_000_000
            return len(room)

    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BufferedReader(Endless())))
    with pytest.raises(WrongCall, match="standard input"):
        read_conversations(*read_file("-"))


def test_a_file_above_the_limit_is_refused_with_the_name_of_the_setting(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    with path.open("wb") as file:
        file.write(b"{")
        file.truncate(200 * 1024**3)
    with pytest.raises(
        WrongCall, match=r"at most 2,147,483,648 bytes, this has 214,748,364,800 bytes; max_bytes under"
    ):
        read_file(str(path))
