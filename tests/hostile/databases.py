"""Databases that are damaged in every way, under the commands that read them, and recovered.

A fault: a traceback, a hang, more than one line of complaint, an exit code that does not say so; a recovery that fails
where rows are left, changes the damaged file, or makes a store that is not sound.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from hostile.tally import Tally, call, complaint
from workbench.log.drafts import Draft
from workbench.log.events import AssistantMessage, Compaction, Setting, ToolCall, ToolResult, UserMessage
from workbench.log.store import FILE_NAME, Store

PAGE = 4096
COMMANDS = (
    ("sessions",),
    ("sessions", "--json"),
    ("plan", "s"),
    ("plan", "s", "--json"),
    ("export", "s"),
    ("sessions", "search", "words"),
    ("compactions", "s"),
    ("sessions", "rename", "s", "other"),
)
Harm = Callable[[Path, random.Random], None]


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    tally = Tally("damaged databases")
    sound = _sound(folder / "sound")
    data = folder / "workbench_data_dir"
    refused = recovered = lost = 0
    for number in range(tries):
        harm = HARMS[number % len(HARMS)]
        shutil.rmtree(data, ignore_errors=True)
        shutil.copytree(sound, data)
        harm(data / FILE_NAME, chance)
        shutil.copytree(data, folder / "kept", dirs_exist_ok=True)
        for command in chance.sample(COMMANDS, 3):
            with tally.watching(f"{harm.__name__}, {' '.join(command)}"):
                tally.tries -= 1  # a try is a database
                outcome = call(*command)
                refused += outcome.code == 1
                assert not (said := complaint(outcome)), said
        with tally.watching(f"{harm.__name__}, recover"):
            shutil.rmtree(data)
            shutil.copytree(folder / "kept", data)
            events, missing = _recovered(data / FILE_NAME, folder / "new.db")
            recovered, lost = recovered + events, lost + missing
        shutil.rmtree(folder / "kept")
    tally.told = f"{refused:,} calls refused in a line; {recovered:,} events recovered, {lost:,} known to be lost"
    return tally


def _sound(folder: Path) -> Path:
    """A store as people have it, and one whose last changes are in its log alone."""
    with Store.open(folder / FILE_NAME) as store:
        session = store.create([Setting("model", "gpt-4o")], id="s", title="words and more words")
        for turn in range(25):
            session.append(
                UserMessage(f"words of turn {turn} " * 20), ToolCall(f"c{turn}", "read_file", "{}", f"r{turn}")
            )
            session.append(ToolResult(f"c{turn}", f"line {turn}\n" * 900), AssistantMessage("done", f"a{turn}"))
        session.append(Compaction(2, 9, "what happened"))
        store.create([UserMessage("another")], title="another").close()
        session.append(UserMessage("last words"))
        session.keep_draft(Draft("r", "gpt-4o", "", "as far as"))
        live = folder.with_name("live")
        shutil.copytree(folder, live)
    shutil.rmtree(live / "locks", ignore_errors=True)
    (live / f"{FILE_NAME}-shm").unlink(missing_ok=True)
    return live


def _recovered(path: Path, target: Path) -> tuple[int, int]:
    before = {file.name: file.read_bytes() for file in path.parent.iterdir() if file.is_file()}
    target.unlink(missing_ok=True)
    if not path.exists():
        return 0, 0
    outcome = call("sessions", "recover", path, "-o", target, "--json")
    assert not (said := complaint(outcome)), said
    after = {file.name: file.read_bytes() for file in path.parent.iterdir() if file.is_file()}
    assert after == before, "the damaged file was changed"
    if outcome.code:
        assert "nothing in it can be read" in outcome.err, outcome.err
        return 0, 0
    with closing(sqlite3.connect(target)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with Store.open(target) as store:
        for info in store.list():
            store.session(info.id, write=False).events()
    for beside in ("-wal", "-shm"):
        target.with_name(target.name + beside).unlink(missing_ok=True)
    found = outcome.json
    return found["events"], found["lost"]


# Harms


def _change(path: Path, change: Callable[[bytearray], bytes | bytearray]) -> None:
    path.write_bytes(change(bytearray(path.read_bytes())))


def cut_off(path: Path, chance: random.Random) -> None:
    _change(path, lambda data: data[: chance.randrange(len(data))])


def overwritten_pages(path: Path, chance: random.Random) -> None:
    def spoil(data: bytearray) -> bytearray:
        for _ in range(chance.randrange(1, 12)):
            at = chance.randrange(max(len(data) // PAGE, 1)) * PAGE
            data[at : at + PAGE] = chance.randbytes(PAGE) if chance.random() < 0.5 else bytes(PAGE)
        return data

    _change(path, spoil)


def flipped_bytes(path: Path, chance: random.Random) -> None:
    def spoil(data: bytearray) -> bytearray:
        for _ in range(chance.randrange(1, 400)):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        return data

    _change(path, spoil)


def swapped_pages(path: Path, chance: random.Random) -> None:
    def spoil(data: bytearray) -> bytearray:
        one, other = (chance.randrange(len(data) // PAGE) * PAGE for _ in range(2))
        data[one : one + PAGE], data[other : other + PAGE] = data[other : other + PAGE], data[one : one + PAGE]
        return data

    _change(path, spoil)


def rubbish_header(path: Path, chance: random.Random) -> None:
    length = chance.choice((16, 20, 100, PAGE))
    _change(path, lambda data: chance.randbytes(length) + data[length:])


def odd_header(path: Path, chance: random.Random) -> None:
    """One field of the header says something else: page size, version, format, number of pages, free list, ..."""

    def spoil(data: bytearray) -> bytearray:
        at = chance.choice((16, 18, 19, 20, 21, 24, 28, 32, 36, 44, 52, 56, 60, 68))
        data[at : at + 4] = chance.randbytes(4)
        return data

    _change(path, spoil)


def rubbish(path: Path, chance: random.Random) -> None:
    path.write_bytes(chance.randbytes(chance.choice((0, 1, 99, 5_000, 100_000))))


def no_log(path: Path, chance: random.Random) -> None:
    path.with_name(f"{FILE_NAME}-wal").unlink()


def spoilt_log(path: Path, chance: random.Random) -> None:
    log = path.with_name(f"{FILE_NAME}-wal")
    chance.choice((cut_off, flipped_bytes, rubbish))(log, chance)


def log_alone(path: Path, chance: random.Random) -> None:
    path.write_bytes(b"")


def wrong_values(path: Path, chance: random.Random) -> None:
    """Sound for SQLite, but not what we write."""
    wrong = chance.choice((None, -1, 2**62, 1.5, "", "x", b"\xff\xfe", "\x01" + "0" * 64, '{"v":1}', "[" * 5_000))
    column = chance.choice(
        ("sessions.title", "sessions.model", "sessions.events", "sessions.updated", "sessions.forked_at", "sessions.id",
         "events.seq", "events.id", "events.data", "texts.text", "texts.hash", "drafts.text", "facts.value")
    )  # fmt: skip
    table, name = column.split(".")
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '')")
        db.commit()
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"UPDATE OR IGNORE {table} SET {name} = ? WHERE rowid % 3 = 1", (wrong,))
        db.commit()


def lost_rows(path: Path, chance: random.Random) -> None:
    table = chance.choice(("events", "sessions", "texts", "facts", "event_texts", "words_data"))
    with closing(sqlite3.connect(path)) as db:
        if chance.random() < 0.3 and table != "words_data":
            db.execute(f"DROP TABLE {table}")
        else:
            key = "event" if table == "event_texts" else "rowid"
            db.execute(f"DELETE FROM {table} WHERE {key} % 2 = 1")
        db.commit()


HARMS: tuple[Harm, ...] = (
    cut_off,
    overwritten_pages,
    flipped_bytes,
    swapped_pages,
    rubbish_header,
    odd_header,
    rubbish,
    no_log,
    spoilt_log,
    log_alone,
    wrong_values,
    lost_rows,
)
