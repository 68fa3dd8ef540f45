"""The file: private, migrated step by step, and every failure told in one line."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from support.logs import number
from support.requirements import requirement
from support.talk import planned, preset, summary_of, turns
from workbench.config.errors import WorkbenchError
from workbench.config.system import lock_file
from workbench.log import lock, migrations, session_lookup
from workbench.log.codec import encode_event
from workbench.log.errors import StoreError
from workbench.log.events import UserMessage
from workbench.log.store import Store

FORMAT = len(migrations.STEPS)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def columns(path: Path, table: str) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        return [row[1] for row in db.execute(f"PRAGMA table_info({table})")]


def told(path: Path) -> str:
    """The one line that opening ends with."""
    with pytest.raises(StoreError) as error:
        Store.open(path)
    message = str(error.value)
    assert "\n" not in message
    assert str(path) in message
    return message


class TestPrivacy:
    """Others on the machine see nothing."""

    @pytest.fixture(autouse=True)
    def _open_handed(self) -> Iterator[None]:
        before = os.umask(0)
        yield
        os.umask(before)

    def test_folder_and_files_are_for_the_owner_alone(self, path: Path) -> None:
        with Store.open(path) as store:
            session = store.create([UserMessage("x")])
            assert mode(path.parent) == mode(path.parent / "locks") == 0o700
            files = [file for file in path.parent.rglob("*") if file.is_file()]
            assert {file.name for file in files} == {
                "workbench.db",
                "workbench.db-wal",
                "workbench.db-shm",
                f"{session.id}.lock",
            }
            assert {mode(file) for file in files} == {0o600}

    def test_a_file_that_stood_open_is_closed_to_others(self, path: Path) -> None:
        Store.open(path).close()
        path.chmod(0o644)
        Store.open(path).close()
        assert mode(path) == 0o600

    def test_what_is_no_database_keeps_its_rights(self, tmp_path: Path) -> None:
        text, folder = tmp_path / "notes.db", tmp_path / "folder"
        text.write_text("hello")
        text.chmod(0o644)
        folder.mkdir(0o755)
        for path in (text, folder):
            before = mode(path)
            assert told(path)
            assert mode(path) == before


def test_the_store_lies_in_the_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WORKBENCH_DATA_DIR", str(tmp_path / "here"))
    Store.open().close()
    assert (tmp_path / "here" / "workbench.db").exists()


def test_every_commit_reaches_the_disk(store: Store) -> None:
    with store._database.read_transaction() as db:
        assert db.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert db.execute("PRAGMA synchronous").fetchone()[0] == 2  # FULL
        assert db.execute("PRAGMA foreign_keys").fetchone()[0] == 1


def test_closing_twice_does_no_harm_and_then_nothing_works(store: Store) -> None:
    session = store.create()
    store.close()
    store.close()
    assert not session.writable
    with pytest.raises(StoreError, match="closed"):
        store.list()
    with pytest.raises(StoreError, match="closed"):
        store.counts.load_count("o200k", b"")


class TestMigrations:
    """A file of an older program is brought up to date; one of a newer program is left alone."""

    @pytest.fixture
    def old(self, path: Path) -> Path:
        """A file of today's format, with a session in it."""
        with Store.open(path) as store:
            store.create([UserMessage("kept")], id="s")
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("PRAGMA user_version").fetchone()[0] == FORMAT
        return path

    def add(self, monkeypatch: pytest.MonkeyPatch, *steps: Callable[[sqlite3.Connection], object]) -> None:
        monkeypatch.setattr(migrations, "STEPS", [*migrations.STEPS, *steps])

    @requirement("codex", "others", "sessions from before go on working")
    @pytest.mark.parametrize("steps", range(1, FORMAT))
    def test_a_session_of_an_older_program_goes_on_and_can_be_compacted(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, steps: int
    ) -> None:
        path.parent.mkdir()
        log = number(turns(4, 100))
        with monkeypatch.context() as patch, closing(sqlite3.connect(path, isolation_level=None)) as db:
            patch.setattr(migrations, "STEPS", migrations.STEPS[:steps])
            migrations.migrate(db)
            columns = "key, id, title, model, created, updated, events"
            db.execute(f"INSERT INTO sessions({columns}) VALUES(1, 'old', 'bread', '', 1, 2, ?)", [len(log)])
            for event in log:
                row = (event.seq, event.id, encode_event(event))
                db.execute("INSERT INTO events(session, seq, id, data) VALUES(1, ?, ?, ?)", row)
        policy = preset("confirm")
        with Store.open(path) as store, store.session("old") as session:
            assert session.events() == log
            session.append(UserMessage("and now?"))
            plan = planned([event.body for event in session.events()], policy)
            assert [row.original for row in plan.items if row.role == "user"][-1] == "and now?"
            session.append(summary_of(policy, 1, len(log), "bread was baked"))
        with Store.open(path) as store:
            after = planned([event.body for event in store.session("old").events()], policy)
        assert [row.text for row in after.items if row.in_request][-1] == "and now?"
        assert any("bread was baked" in (row.text or "") for row in after.items)

    def test_new_steps_run_once_and_in_order(self, old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.add(
            monkeypatch,
            lambda db: db.execute("ALTER TABLE sessions ADD COLUMN colour TEXT"),
            lambda db: db.execute("ALTER TABLE sessions RENAME COLUMN colour TO hue"),
        )
        for _ in range(2):
            with Store.open(old) as store:
                assert store.session("s").events()[0].body == UserMessage("kept")
            assert columns(old, "sessions")[-1] == "hue"

    def test_sessions_from_before_folders_belong_to_none(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path.parent.mkdir()
        with monkeypatch.context() as patch, closing(sqlite3.connect(path, isolation_level=None)) as db:
            patch.setattr(migrations, "STEPS", migrations.STEPS[:2])
            migrations.migrate(db)
            db.execute("INSERT INTO sessions VALUES(1, 'old', 'bread', '', 1, 2, 0, NULL, NULL)")
            migrations.view_older(db)  # where nothing can be written
            assert [info[1:3] for info in session_lookup.query_sessions(db, None, "", "")] == [("bread", 1)]
        with Store.open(path) as store:
            assert [(info.title, info.folder, info.branch) for info in store.list()] == [("bread", "", "")]

    def test_a_step_that_fails_leaves_the_file_as_it_was(self, old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def fails(db: sqlite3.Connection) -> None:
            db.execute("ALTER TABLE sessions ADD COLUMN colour TEXT")
            db.execute("ALTER TABLE nowhere ADD COLUMN colour TEXT")

        with monkeypatch.context() as patch:
            self.add(patch, fails)
            assert "no such table" in told(old)
        assert "colour" not in columns(old, "sessions")
        with Store.open(old) as store:
            assert len(store.session("s")) == 1

    def test_a_file_of_a_newer_program_is_not_touched(self, old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as patch:
            self.add(patch, lambda db: db.execute("CREATE TABLE newer(x)"))
            Store.open(old).close()
        before = old.read_bytes()
        message = told(old)
        assert message.endswith(
            f"was written by a newer Workbench (format {FORMAT + 1}, this one reads up to {FORMAT})"
        )
        assert old.read_bytes() == before
        assert [file.name for file in old.parent.iterdir() if file.is_file()] == ["workbench.db"]

    def test_a_newer_format_is_seen_before_it_has_reached_the_file_itself(
        self, old: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patch:
            self.add(patch, lambda db: db.execute("CREATE TABLE newer(x)"))
            newer = Store.open(old)  # its step is in the write-ahead log alone
        assert "newer Workbench" in told(old)
        newer.close()


class TestFilesThatAreNotOurs:
    """They are refused and left as they are."""

    def test_no_database(self, path: Path) -> None:
        path.parent.mkdir()
        path.write_text("notes " * 100)
        assert "is not a Workbench database; if it was one, `workbench sessions recover`" in told(path)
        assert path.read_text() == "notes " * 100

    @pytest.mark.parametrize("application", [0, 77])
    def test_a_database_of_another_program(self, path: Path, application: int) -> None:
        path.parent.mkdir()
        with closing(sqlite3.connect(path)) as db:
            db.execute("CREATE TABLE theirs(x)")
            db.execute(f"PRAGMA application_id = {application}")
        before = path.read_bytes()
        assert told(path).endswith("is not a Workbench database")
        assert path.read_bytes() == before

    def test_a_damaged_one(self, path: Path) -> None:
        with Store.open(path) as store:
            store.create([UserMessage("x" * 3000)] * 100)
        data = path.read_bytes()
        path.write_bytes(data[:4096] + b"\xaa" * (len(data) - 4096))
        assert "the database is damaged; `workbench sessions recover` keeps a copy" in told(path)

    def test_a_folder_in_its_place(self, path: Path) -> None:
        path.mkdir(parents=True)
        assert "expected a file, this is a folder" in told(path)

    def test_a_file_where_the_folder_should_be(self, path: Path) -> None:
        path.parent.write_text("")
        with pytest.raises(StoreError, match="data"):
            Store.open(path)


class TestWhenTheDiskFails:
    """One clear line, nothing half written, and the session goes on when there is room again."""

    def test_a_full_disk(self, store: Store) -> None:
        session = store.create([UserMessage("before")])
        with store._database.read_transaction() as db:
            pages = db.execute("PRAGMA page_count").fetchone()[0]
        store._database._db.execute(f"PRAGMA max_page_count = {pages + 1}")
        with pytest.raises(StoreError, match="the disk is full; nothing was written"):
            session.append(UserMessage("y"), UserMessage("x" * 100_000))
        assert len(session) == len(session.events()) == 1
        store._database._db.execute("PRAGMA max_page_count = 1000000")
        assert session.append(UserMessage("after"))[0].seq == 2

    def test_a_file_that_may_not_be_written(self, store: Store) -> None:
        session = store.create()
        store._database._db.execute("PRAGMA query_only = ON")
        with pytest.raises(StoreError, match="no permission to write"):
            session.append(UserMessage("x"))

    def test_a_writer_that_never_ends(self, store: Store, path: Path) -> None:
        session = store.create()
        store._database._db.execute("PRAGMA busy_timeout = 0")
        with (
            Store.open(path) as other,
            other._database.write_transaction(),
            pytest.raises(WorkbenchError, match="busy"),
        ):
            session.append(UserMessage("x"))
        assert session.append(UserMessage("y"))[0].seq == 1

    def test_an_exception_in_the_middle_takes_everything_back(self, store: Store) -> None:
        def interrupted() -> None:
            with store._database.write_transaction() as db:
                db.execute("INSERT INTO facts VALUES('x', 1)")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        with store._database.read_transaction() as db:
            assert db.execute("SELECT * FROM facts WHERE name = 'x'").fetchall() == []


class TestLock:
    """The lock file."""

    def test_it_says_who_and_since_when(self, tmp_path: Path) -> None:
        one, two = lock.WriterLock(tmp_path / "x.lock"), lock.WriterLock(tmp_path / "x.lock")
        assert one.acquire()
        assert one.acquire()  # having it already is no obstacle
        assert not two.acquire()
        assert two.holder().startswith(f"process {os.getpid()} (since ")
        one.release()
        one.release()
        assert two.acquire()
        assert not one.held

    @pytest.mark.parametrize(
        ("content", "holder"),
        [("", "another process"), ("rubbish", "another process"), ("1 1e99", "another process")],
    )
    def test_a_file_that_says_nothing(self, tmp_path: Path, content: str, holder: str) -> None:
        (tmp_path / "x.lock").write_text(content)
        assert lock.WriterLock(tmp_path / "x.lock").holder() == holder

    def test_an_old_lock_shows_its_date(self, tmp_path: Path) -> None:
        (tmp_path / "x.lock").write_text("12 86400")
        assert lock.WriterLock(tmp_path / "x.lock").holder().startswith("process 12 (since 1970-01-0")

    def test_a_file_removed_between_opening_and_locking_is_no_lock(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "x.lock"
        calls = list[int]()

        def removed_once(file: int, *, shared: bool = False) -> bool:
            if not calls:
                path.unlink()
            calls.append(file)
            return lock_file(file, shared=shared)

        monkeypatch.setattr(lock, "lock_file", removed_once)
        mine = lock.WriterLock(path)
        assert mine.acquire()
        assert len(calls) == 2
        assert not lock.WriterLock(path).acquire()
