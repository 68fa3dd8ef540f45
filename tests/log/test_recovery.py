"""Out of a damaged file comes what can be read, under its old numbers, and nothing that was not there."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.config.folders import WorkFolder
from workbench.log.drafts import Draft
from workbench.log.errors import StoreError
from workbench.log.events import AssistantMessage, Body, Event, Failure, ToolResult, UserMessage
from workbench.log.pages import OLDER, PAGE
from workbench.log.recovery import LOST_TEXT, RecoveredSession, recover_store
from workbench.log.store import Store

SESSIONS: dict[str, list[Body]] = {
    "one": [UserMessage("hello"), AssistantMessage("hi 測試 🙂")],
    "many": [UserMessage(f"message {at} " * 20) for at in range(120)],
    "large": [ToolResult(f"c{at}", f"line {at}\n" * 2_000) for at in range(12)],
}


@pytest.fixture(scope="module", params=[PAGE, OLDER])
def sound(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A store of three sessions, one of them made by a fork; with pages as they are today, and as they were."""
    path = tmp_path_factory.mktemp("sound") / "workbench.db"
    if request.param == OLDER:
        with closing(sqlite3.connect(path)) as db:
            db.execute(f"PRAGMA page_size = {OLDER}")
            db.execute("PRAGMA journal_mode = WAL")
    with Store.open(path) as store:
        for name, bodies in SESSIONS.items():
            store.create(bodies, id=name, title=f"title of {name}", folder=WorkFolder("/w", "main")).close()
        store.fork("one").close()
    return path


def content(path: Path) -> dict[str, list[Event]]:
    with Store.open(path) as store:
        return {info.id: store.session(info.id, write=False).events() for info in store.list()}


def listing(path: Path) -> list[tuple[object, ...]]:
    with Store.open(path) as store:
        return [tuple(info) for info in store.list()]


def recovered(damaged: Path, tmp_path: Path) -> tuple[dict[str, list[Event]], list[RecoveredSession]]:
    target = tmp_path / "new" / "workbench.db"
    target.parent.mkdir(exist_ok=True)
    target.unlink(missing_ok=True)
    said = recover_store(damaged, target)
    with closing(sqlite3.connect(target)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    return content(target), said


def test_of_a_file_that_is_sound_nothing_is_missing(sound: Path, tmp_path: Path) -> None:
    found, said = recovered(sound, tmp_path)
    assert found == content(sound)
    assert listing(tmp_path / "new" / "workbench.db") == listing(sound)
    assert [(each.lost, each.lost_texts) for each in said] == [(0, 0)] * 4
    assert [each.title for each in said][:3] == [f"title of {name}" for name in SESSIONS]


def test_in_place_of_a_lost_first_event_stands_that_it_is_lost(tmp_path: Path) -> None:
    damaged = tmp_path / "workbench.db"
    with Store.open(damaged) as store:
        store.create([UserMessage("first"), AssistantMessage("second")], id="short").close()
    _, second = content(damaged)["short"]
    damaged.write_bytes(damaged.read_bytes().replace(b'"content":"first"', b'"content":"first!'))
    first, left = recovered(damaged, tmp_path)[0]["short"]
    assert isinstance(first.body, Failure)
    assert left == second


def page_size(data: bytes) -> int:
    return int.from_bytes(data[16:18], "big")


def test_a_new_store_has_larger_pages_than_older_ones(sound: Path, tmp_path: Path) -> None:
    recovered(sound, tmp_path)
    assert page_size((tmp_path / "new" / "workbench.db").read_bytes()) == PAGE


def header(data: bytes) -> bytes:
    return random.Random(1).randbytes(100) + data[100:]


def first_page(data: bytes) -> bytes:
    size = page_size(data)
    return b"\xaa" * size + data[size:]


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def middle_of_a_page(data: bytes) -> bytes:
    return data[: len(data) // 2 + 1234]


def every_fifth_page(data: bytes) -> bytes:
    size = page_size(data)
    pages = [data[at : at + size] for at in range(0, len(data), size)]
    return b"".join(b"\xff" * size if at % 5 == 3 else page for at, page in enumerate(pages))


@pytest.mark.parametrize("harm", [header, first_page, half, middle_of_a_page, every_fifth_page])
def test_damage_costs_what_it_hit_and_no_more(harm: Callable[[bytes], bytes], sound: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "workbench.db"
    damaged.write_bytes(harm(sound.read_bytes()))
    before = damaged.read_bytes()
    with pytest.raises(StoreError, match=r"^[^\n]*`workbench sessions recover`[^\n]*$"):
        content(damaged)
    damaged.write_bytes(before)  # SQLite may have touched it; recovering does not
    for beside in ("-wal", "-shm"):
        damaged.with_name(damaged.name + beside).unlink(missing_ok=True)
    found, said = recovered(damaged, tmp_path)
    assert damaged.read_bytes() == before
    whole = content(sound)
    if harm in (header, first_page):
        assert found == whole
    check(found, said, whole)
    assert sum(each.events for each in said) > 0


def check(found: dict[str, list[Event]], said: list[RecoveredSession], whole: dict[str, list[Event]]) -> None:
    """What is there is as it was, under its number, or says that it is lost; and the figures are those."""
    by_first = {events[0].id: events for events in whole.values() if events}
    for each in said:
        events = found[each.id]
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        origin = whole.get(each.id) or next((by_first[event.id] for event in events if event.id in by_first), [])
        assert origin
        lost = lost_texts = 0
        for event in events:
            if isinstance(event.body, Failure):
                lost += 1
            elif event != origin[event.seq - 1]:
                assert LOST_TEXT in str(event.body)
                lost_texts += 1
        assert len(events) - lost == each.events
        assert each.lost >= lost
        assert each.lost_texts == lost_texts


@given(
    st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=600)), min_size=1, max_size=6), st.floats(0, 1)
)
def test_whatever_is_overwritten_and_cut_off(
    tmp_path_factory: pytest.TempPathFactory, sound: Path, harms: list[tuple[float, bytes]], cut: float
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    data = bytearray(sound.read_bytes())
    for place, rubbish in harms:
        at = int(place * (len(data) - len(rubbish)))
        data[at : at + len(rubbish)] = rubbish
    damaged = folder / "workbench.db"
    damaged.write_bytes(data[: int(len(data) * max(cut, 0.2))])
    found, said = recovered(damaged, folder)
    assert {each.id for each in said} == found.keys()
    for each in said:
        events = found[each.id]
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert each.events == sum(not isinstance(event.body, Failure) for event in events)
    shutil.rmtree(folder)


class TestWriteAheadLog:
    """What was not yet in the file itself."""

    @pytest.fixture
    def killed(self, tmp_path: Path) -> Path:
        """A file whose writer was killed: some of it is in its log alone."""
        path = tmp_path / "live" / "workbench.db"
        copy = tmp_path / "killed" / "workbench.db"
        copy.parent.mkdir()
        with Store.open(path) as store:
            session = store.create([UserMessage("before")], id="s")
            with store._database.lock:
                store._database._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            session.append(UserMessage("after"))
            session.keep_draft(Draft("r", "m", "", "as far as"))
            for ending in ("", "-wal"):
                shutil.copy(path.with_name(path.name + ending), copy.with_name(copy.name + ending))
        return copy

    BEFORE, AFTER = UserMessage("before"), UserMessage("after")
    CUT = AssistantMessage("as far as", "r", "", "killed", "m")

    def bodies(self, damaged: Path, tmp_path: Path) -> list[Body]:
        found, _ = recovered(damaged, tmp_path)
        return [event.body for event in found["s"]]

    def test_it_is_read_too(self, killed: Path, tmp_path: Path) -> None:
        assert self.bodies(killed, tmp_path) == [self.BEFORE, self.AFTER, self.CUT]

    def test_without_it_the_file_is_as_it_was_before(self, killed: Path, tmp_path: Path) -> None:
        killed.with_name("workbench.db-wal").unlink()
        assert self.bodies(killed, tmp_path) == [self.BEFORE]

    def test_without_the_file_it_has_what_it_has(self, killed: Path, tmp_path: Path) -> None:
        killed.write_bytes(b"")
        with pytest.raises(StoreError, match="is empty, but not its write-ahead log; `workbench sessions recover`"):
            Store.open(killed)
        assert self.AFTER in self.bodies(killed, tmp_path)

    def test_a_log_that_is_rubbish_does_no_harm(self, killed: Path, tmp_path: Path) -> None:
        killed.with_name("workbench.db-wal").write_bytes(random.Random(2).randbytes(9_000))
        assert self.bodies(killed, tmp_path) == [self.BEFORE]


def test_what_was_deleted_stays_deleted(tmp_path: Path) -> None:
    path = tmp_path / "workbench.db"
    with Store.open(path) as store:
        with store._database.lock:
            store._database._db.execute("PRAGMA secure_delete = OFF")
        store.create([UserMessage("secret " * 300)] * 40, id="gone").close()
        store.create([UserMessage("stays")], id="s").close()
        store.delete("gone")
    assert b"secret" in path.read_bytes()
    found, _ = recovered(path, tmp_path)
    assert list(found) == ["s"]
