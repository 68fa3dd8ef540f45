"""One session: what was appended is there, in order, and only one may append."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.requirements import requirement
from workbench.config.errors import WorkbenchError
from workbench.log.codec import settle_event
from workbench.log.errors import BadEvent, NotFound, ReadOnly, StoreError
from workbench.log.events import Body, Content, Event, Setting, UserMessage
from workbench.log.session import Session
from workbench.log.store import Store


def numbered(count: int) -> list[UserMessage]:
    return [UserMessage(f"number {n}") for n in range(1, count + 1)]


def texts(events: Iterable[Event]) -> list[Content]:
    return [event.body.content for event in events if isinstance(event.body, UserMessage)]


@given(data=st.data())
def test_what_was_appended_reads_back_the_same_here_and_elsewhere(
    data: st.DataObject, body: st.SearchStrategy[Body], shared: Store
) -> None:
    batches = data.draw(st.lists(st.lists(body, max_size=4), max_size=4))
    with shared.create() as session:
        appended = [event for batch in batches for event in session.append(*batch)]
        assert session.events() == appended
        assert [event.seq for event in appended] == list(range(1, len(appended) + 1))
        assert len({event.id for event in appended}) == len(appended)
        assert len(session) == len(appended)
    with Store.open(shared._database.path) as again:
        assert again.session(session.id).events() == appended
        assert again.info(session.id).events == len(appended)


@given(st.integers(-3, 13), st.none() | st.integers(-3, 13), st.integers(-3, 13))
def test_any_page_is_a_slice_of_the_whole(ten: Session, after: int, upto: int | None, n: int) -> None:
    whole = ten.events()
    assert ten.events(after, upto) == [e for e in whole if after < e.seq <= (10 if upto is None else upto)]
    assert ten.last(n) == (whole[-n:] if n > 0 else [])


@pytest.fixture(scope="module")
def ten(shared: Store) -> Iterator[Session]:
    with shared.create(numbered(10)) as session:
        yield session


def test_an_event_is_found_by_number_and_by_id(ten: Session) -> None:
    third = ten.events()[2]
    assert ten.event(3) == ten.event(third.id) == third
    for missing in (0, 11, -1, 2**80, "nothing"):
        with pytest.raises(NotFound, match="has no event"):
            ten.event(missing)


def test_a_page_beyond_all_numbers_is_empty(ten: Session) -> None:
    assert ten.events(2**80) == []
    assert len(ten.events(-(2**80), 2**80)) == 10


@requirement(
    "layers",
    "log",
    "memory and stored state are bounded by the number of messages held",
    decided="the log keeps everything on disk; to read or append costs the same at any length",
)
def test_what_is_done_with_a_session_costs_the_same_at_any_length(store: Store) -> None:
    work: list[int] = []  # steps of SQLite's machine; no clock, so no noise

    def step() -> int:
        work.append(1)
        return 0

    store._database._db.set_progress_handler(step, 1)

    def steps(name: str) -> int:
        work.clear()
        session = store.session(name)
        session.last(50)
        session.events(after=20, upto=60)
        session.event(70)
        session.refresh()
        session.append(UserMessage("one more"))
        store.list()
        return len(work)

    short, long = store.create(numbered(100)).id, store.create(numbered(4_000)).id
    assert steps(short) > 500
    assert steps(long) <= 1.01 * steps(short)


def test_appending_nothing_is_nothing(store: Store) -> None:
    session = store.create()
    assert session.append() == ()
    assert len(session) == 0
    assert session  # an empty session is there nevertheless


def test_one_bad_body_and_nothing_of_the_batch_is_kept(store: Store) -> None:
    session = store.create(numbered(1))
    with pytest.raises(BadEvent):
        session.append(UserMessage("fine"), Setting("x", object()))
    assert texts(session.events()) == ["number 1"]
    assert session.append(UserMessage("next"))[0].seq == 2


def test_a_lone_surrogate_does_not_break_a_session(store: Store) -> None:
    session = store.create()
    (event,) = session.append(UserMessage("half \ud83c of a character"))
    assert event.body == UserMessage("half \ufffd of a character")
    assert session.events() == [event]


def test_title_and_model_follow_their_settings(store: Store) -> None:
    session = store.create(title="first")
    session.append(Setting("title", "second"), Setting("model", "m1"), Setting("model", "m2"))
    assert (session.title, session.model) == ("second", "m2")
    info = store.info(session.id)
    assert (info.title, info.model, info.events) == ("second", "m2", 4)
    session.append(Setting("title", {"not": "a text"}))
    assert session.title == store.info(session.id).title == ""


class TestTwoViews:
    """Two views of one session in one process."""

    def test_the_second_may_only_read_and_says_why(self, store: Store) -> None:
        first = store.create(numbered(2), title="mine")
        second = store.session(first.id)
        assert first.writable
        assert first.why_read_only == ""
        assert not second.writable
        assert second.why_read_only.startswith("Session mine is open in process ")
        assert second.why_read_only.endswith("; it is read-only for all others until that one ends.")
        assert second.events() == first.events()
        with pytest.raises(ReadOnly, match="Session mine is open in process") as told:
            second.append(UserMessage("x"))
        assert told.value.exit_code == 3

    def test_a_reader_sees_what_is_new_with_refresh_and_only_then(self, store: Store) -> None:
        writer = store.create(numbered(2))
        reader = store.session(writer.id)
        new = writer.append(UserMessage("three"), Setting("title", "later"))
        assert len(reader) == len(reader.events()) == len(reader.last(9)) == 2
        assert reader.refresh() == list(new)
        assert reader.title == "later"
        assert len(reader.events()) == len(reader) == 4
        assert reader.refresh() == []

    def test_the_reader_takes_over_when_the_writer_closes(self, store: Store) -> None:
        writer = store.create(numbered(1))
        reader = store.session(writer.id)
        writer.append(UserMessage("two"))
        assert not reader.take_over()
        writer.close()
        assert reader.take_over()
        assert reader.why_read_only == ""
        assert not writer.writable
        with pytest.raises(ReadOnly, match="was closed"):
            writer.append(UserMessage("x"))

    def test_nothing_is_lost_when_one_appends_before_looking(self, store: Store) -> None:
        writer = store.create(numbered(1))
        reader = store.session(writer.id)
        writer.append(UserMessage("two"))
        writer.close()
        reader.take_over()
        (mine,) = reader.append(UserMessage("three"))
        assert mine.seq == 3
        assert texts(reader.refresh()) == ["two", "three"]

    def test_a_forgotten_session_lets_go(self, store: Store) -> None:
        session = store.create(id="forgotten")
        del session
        assert store.session("forgotten").writable

    def test_one_opened_for_reading_does_not_keep_others_from_writing(self, store: Store) -> None:
        store.create(id="s").close()
        reader = store.session("s", write=False)
        assert not reader.writable
        assert reader.why_read_only == "Session s was opened for reading only."
        assert store.session("s").writable

    def test_a_reader_knows_whether_somebody_writes(self, store: Store) -> None:
        writer = store.create()
        reader = store.session(writer.id, write=False)
        assert reader.is_written
        assert writer.is_written
        writer.close()
        assert not reader.is_written

    def test_a_view_of_a_deleted_session_says_so(self, store: Store) -> None:
        session = store.create(numbered(2))
        reader = store.session(session.id)
        session.close()
        store.delete(session.id)
        store.create(numbered(3))
        with pytest.raises(StoreError, match="deleted meanwhile"):
            reader.events()
        with pytest.raises(NotFound, match="deleted meanwhile"):
            reader.refresh()


def test_without_a_place_for_locks_a_session_can_still_be_read(store: Store, path: Path) -> None:
    store.create(numbered(1), id="s").close()
    locks = path.parent / "locks"
    locks.rmdir()
    locks.write_text("in the way")
    session = store.session("s")
    assert not session.writable
    assert str(locks) in session.why_read_only
    assert texts(session.events()) == ["number 1"]
    with pytest.raises(WorkbenchError, match="locks"):
        store.create()


@requirement("codex", "log", "several threads may use a session's context at once")
def test_threads_may_share_a_session(store: Store) -> None:
    session = store.create()
    failures: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for n in range(25):
                session.append(UserMessage(f"{name} {n}"), UserMessage("x" * 5000))
                assert len(session.events()) >= n
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert [event.seq for event in session.events()] == list(range(1, 151))


def test_a_damaged_row_is_told_in_one_line(store: Store) -> None:
    session = store.create(numbered(2))
    with session._database.write_transaction() as db:
        db.execute("UPDATE events SET data = '{' WHERE seq = 2")
    with pytest.raises(StoreError, match="damaged"):
        session.events()


@given(data=st.data())
def test_an_appended_event_is_settled(data: st.DataObject, body: st.SearchStrategy[Body], shared: Store) -> None:
    with shared.create() as session:
        for event in session.append(*data.draw(st.lists(body, max_size=3))):
            assert settle_event(event)[0] == event
