"""Several processes on one file, and processes that die."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from workbench.config.foreign_files import read_regular_file
from workbench.log.errors import ReadOnly
from workbench.log.events import UserMessage
from workbench.log.store import Store

START = """
import sys
from pathlib import Path
from workbench.log.events import ToolResult, UserMessage
from workbench.log.store import Store
"""

HOLD = (
    START
    + """
store = Store.open(Path(sys.argv[1]))
session = store.session(sys.argv[2])
session.append(UserMessage("from the other process"))
print("writing" if session.writable else session.why_read_only, flush=True)
sys.stdin.read()
"""
)

APPEND = (
    START
    + """
store = Store.open(Path(sys.argv[1]))
session = store.session(sys.argv[2])
for number in range(int(sys.argv[3])):
    large = [ToolResult("c", f"{number} " * 3000)] if number % 5 == 0 else []
    for event in session.append(UserMessage(f"number {number}"), *large):
        print(event.seq, event.id, flush=True)
store.close()
"""
)

CREATE = (
    START
    + """
print("ready", flush=True)
sys.stdin.readline()
with Store.open(Path(sys.argv[1])) as store:
    print(store.create([UserMessage("x")]).id, flush=True)
"""
)

FORK = (
    START
    + """
import os
store = Store.open(Path(sys.argv[1]))
session = store.create(id="s")
if os.fork() == 0:
    sys.exit()
os.wait()
print(Store.open(Path(sys.argv[1])).session("s").writable)
"""
)

Start = Callable[..., subprocess.Popen[str]]


def line_of(child: subprocess.Popen[str]) -> str:
    """The next line it prints."""
    assert child.stdout
    return child.stdout.readline()


def test_a_second_process_reads_along_and_takes_over_when_the_first_is_killed(
    store: Store, path: Path, python: Start
) -> None:
    store.create([UserMessage("one")], id="s").close()
    child = python(HOLD, "s")
    assert line_of(child) == "writing\n"

    session = store.session("s")
    assert not session.writable
    assert session.why_read_only.startswith(f"Session s is open in process {child.pid} (since ")
    with pytest.raises(ReadOnly):
        session.append(UserMessage("mine"))
    assert [event.body for event in session.events()] == [UserMessage("one"), UserMessage("from the other process")]
    assert (session.take_over(), session.is_written) == (False, True)

    child.kill()
    child.wait()
    assert not session.is_written
    assert session.take_over()
    assert session.refresh() == []
    assert session.append(UserMessage("mine"))[0].seq == 3


def test_a_reader_sees_what_the_other_process_appended(store: Store, python: Start) -> None:
    store.create(id="s").close()
    reader = store.session("s", write=False)
    child = python(APPEND, "s", "10")
    acknowledged = child.communicate()[0].split()
    events = reader.refresh()
    assert [str(event.seq) for event in events] == acknowledged[::2]
    assert [event.id for event in events] == acknowledged[1::2]


def test_every_acknowledged_event_survives_kill_9(path: Path, python: Start) -> None:
    chance = random.Random(20)
    with Store.open(path) as store:
        store.create(id="s").close()
    known: dict[int, str] = {}
    for _ in range(12):
        child = python(APPEND, "s", "1000000")
        for _ in range(chance.randrange(1, 150)):
            seq, name = line_of(child).split()
            known[int(seq)] = name
        child.kill()
        assert child.stdout is not None
        rest = child.stdout.read().split("\n")  # not `communicate`: it would pass over what was read ahead
        child.wait()
        known.update({int(line.split()[0]): line.split()[1] for line in rest[:-1]})  # the last may be cut short
        assert child.returncode < 0, "it should have been killed at work"

        with Store.open(path) as store, store.session("s") as session:
            assert session.writable
            events = session.events()
            assert [event.seq for event in events] == list(range(1, len(events) + 1))
            assert {event.seq: event.id for event in events}.items() >= known.items()
            (event,) = session.append(UserMessage("it goes on"))
            assert event.seq == len(events) + 1
            known[event.seq] = event.id
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert db.execute("PRAGMA foreign_key_check").fetchall() == []
            db.execute("INSERT INTO words(words) VALUES('integrity-check')")


def test_processes_append_to_different_sessions_at_once(store: Store, python: Start) -> None:
    for name in ("a", "b", "c"):
        store.create(id=name).close()
    children = {name: python(APPEND, name, "150") for name in ("a", "b")}
    mine = store.session("c")
    for number in range(150):
        mine.append(UserMessage(str(number)))
    for name, child in children.items():
        acknowledged = child.communicate()[0].split()
        assert child.returncode == 0
        events = store.session(name).events()
        assert [str(event.seq) for event in events] == acknowledged[::2]
        assert [event.id for event in events] == acknowledged[1::2]
        assert len(events) == 180
    assert len(mine.events()) == 150
    assert {info.id: info.events for info in store.list()} == {"a": 180, "b": 180, "c": 150}


def test_processes_may_make_the_file_at_the_same_time(path: Path, python: Start) -> None:
    children = [python(CREATE) for _ in range(4)]
    for child in children:
        assert line_of(child) == "ready\n"
    for child in children:
        assert child.stdin
        child.stdin.write("\n")
        child.stdin.flush()
    made = {child.communicate()[0].strip() for child in children}
    with Store.open(path) as store:
        assert {info.id for info in store.list()} == made
    assert len(made) == 4


def test_a_forked_child_does_not_let_go_for_its_parent(python: Start) -> None:
    assert python(FORK).communicate()[0] == "False\n"


def _opened_twice(path: Path) -> None:
    Store.open(path).close()


def _read(path: Path) -> None:
    read_regular_file(path)


@pytest.mark.parametrize("look", [_opened_twice, _read])
def test_what_is_written_after_the_file_was_looked_at_is_seen_by_others(
    path: Path, python: Callable[..., subprocess.Popen[str]], look: Callable[[Path], None]
) -> None:
    """To close a descriptor of the file would take SQLite's locks away; then others remove the log that we write."""
    others = f"{START}Store.open(Path(sys.argv[1])).close()"
    with Store.open(path) as store:
        session = store.create([UserMessage("one")], id="s")
        for text in ("two", "three"):
            look(path)
            assert python(others).wait() == 0
            session.append(UserMessage(text))
        reader = python(
            f"{START}print(Store.open(Path(sys.argv[1])).session('s', write=False).events()[-1].body.content)"
        )
        assert reader.communicate()[0] == "three\n"


def test_no_descriptor_stays_open_when_the_last_store_is_closed(path: Path) -> None:
    def of_the_file() -> int:
        names = (f"/proc/self/fd/{each}" for each in os.listdir("/proc/self/fd"))
        return sum(os.path.realpath(name) == str(path.resolve()) for name in names)

    if not Path("/proc/self/fd").exists():
        pytest.skip("this system does not list descriptors")
    with Store.open(path):
        with Store.open(path):
            read_regular_file(path)
        assert of_the_file() > 1
    assert of_the_file() == 0
    read_regular_file(path)
    assert of_the_file() == 0
