"""Full-text search: finds words, never trips over what is typed, and forgets what is deleted."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.waiting import GIVE_UP
from workbench.config.folders import WorkFolder
from workbench.log import database, migrations, search
from workbench.log.codec import SEARCH_VERSION, encode_event
from workbench.log.errors import StoreError
from workbench.log.events import Body, Event, Reasoning, ToolCall, ToolResult, UserMessage
from workbench.log.store import Store


def terms(store: Store) -> list[str]:
    """All words of the index."""
    with store._database.write_transaction() as db:
        found = terms_of(db)
        db.execute("INSERT INTO words(words) VALUES('integrity-check')")
    return found


def terms_of(db: sqlite3.Connection) -> list[str]:
    db.execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab('main', 'words', 'row')")
    found = [row[0] for row in db.execute("SELECT term FROM vocabulary")]
    db.execute("DROP TABLE temp.vocabulary")
    return found


def delete_all(store: Store) -> None:
    for info in store.list():
        store.delete(info.id)


@pytest.fixture(scope="module")
def library(elsewhere: Store) -> Store:
    elsewhere.create(
        [
            UserMessage("Where is the Café in Zürich?"),
            ToolCall("c", "run_command", '{"command":"grep needle"}'),
            ToolResult("c", "hay " * 2000 + "needle " + "straw " * 2000),
            UserMessage("東京の天気はどうですか"),
        ],
        title="travel",
        id="one",
    )
    elsewhere.create([Reasoning("another needle")], id="two")
    return elsewhere


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("needle", [("two", 1), ("one", 4), ("one", 3)]),
        ("NEEDLE", [("two", 1), ("one", 4), ("one", 3)]),
        ("need", [("two", 1), ("one", 4), ("one", 3)]),
        ("need hay", []),
        ("hay needle", [("one", 4)]),
        ("cafe zurich", [("one", 2)]),
        ("run_command", [("one", 3)]),
        ("天気", [("one", 5)]),
        ("気東", []),
        ("travel", [("one", 1)]),
        ("nowhere", []),
        ("", []),
        ("  ", []),
    ],
)
def test_an_event_is_found_by_all_its_words_newest_first(
    library: Store, text: str, found: list[tuple[str, int]]
) -> None:
    assert [(hit.session_id, hit.seq) for hit in library.search(text)] == found


def test_one_session_can_be_searched_alone(library: Store) -> None:
    assert [hit.seq for hit in library.search("needle", session="two")] == [1]
    assert [hit.seq for hit in library.search("needle", session="one", limit=1)] == [4]


def test_a_hit_says_where_it_is_and_shows_the_place(library: Store) -> None:
    hit = library.search("straw", session="one")[0]
    assert (hit.title, hit.seq, hit.id) == ("travel", 4, library.session("one").event(4).id)
    assert hit.snippet.startswith("…")
    assert hit.snippet.endswith("…")
    assert "hay needle straw" in hit.snippet
    assert "\n" not in hit.snippet
    assert "hay needle straw" in library.search('"needle," straw?', session="one")[0].snippet
    assert library.search("zurich")[0].snippet == "Where is the Café in Zürich?"


@given(st.text(st.characters(), max_size=15) | st.text('"*^:(){}+-ANDORNEAR \0\ud800', max_size=12))
@example('"')
@example("NEAR(")
@example("text : x")
@example("\0needle")
def test_nothing_typed_is_an_error(library: Store, text: str) -> None:
    for hit in library.search(text):
        assert hit.snippet


@given(st.text(min_size=1, max_size=30).filter(lambda text: text.strip()))
def test_an_event_is_found_by_its_own_text(shared: Store, text: str) -> None:
    delete_all(shared)
    with shared.create([UserMessage(text)]) as session:
        assert terms(shared) == [] or [hit.session_id for hit in shared.search(text)] == [session.id]


@given(data=st.data())
def test_nothing_stays_in_the_index_when_all_is_deleted(
    data: st.DataObject, body: st.SearchStrategy[Body], shared: Store
) -> None:
    with shared.create(data.draw(st.lists(body, max_size=4))) as session:
        shared.fork(session.id).close()
    shared.search("so that it is indexed")
    delete_all(shared)
    assert terms(shared) == []


STEPS = st.lists(
    st.tuples(st.sampled_from(["create", "append", "fork", "delete", "search"]), st.sampled_from("abc")), max_size=25
)


@pytest.mark.parametrize(("batch", "characters"), [(1, 100), (3, 100), (100, 4), (100, 100)])
@given(steps=STEPS)
def test_whenever_it_is_searched_all_events_are_found_and_no_deleted_ones(
    batch: int, characters: int, steps: list[tuple[str, str]], shared: Store
) -> None:
    delete_all(shared)
    there: list[tuple[str, int, str]] = []

    def check(word: str) -> None:
        hits = shared.search(word)
        assert len(hits) == len({(hit.session_id, hit.seq) for hit in hits})
        assert {(hit.session_id, hit.seq) for hit in hits} == {(name, seq) for name, seq, said in there if said == word}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_BATCH", batch)
        patch.setattr(search, "_BATCH_TEXT", characters)
        for step, word in steps:
            name = there[-1][0] if there else ""
            if step == "search":
                check(word)
            elif step == "create" or not there:
                with shared.create([UserMessage(word), UserMessage("d")]) as made:
                    there += [(made.id, 1, word), (made.id, 2, "d")]
            elif step == "append":
                with shared.session(name) as known:
                    [event] = known.append(UserMessage(word))
                there.append((name, event.seq, word))
            elif step == "fork":
                with shared.fork(name) as made:
                    there += [(made.id, seq, said) for origin, seq, said in [*there] if origin == name]
            else:
                shared.delete(name)
                there = [each for each in there if each[0] != name]
        for word in "abcd":
            check(word)
    delete_all(shared)
    assert terms(shared) == []


def test_nothing_is_indexed_before_somebody_searches(store: Store) -> None:
    store.create([UserMessage("needle")]).close()
    assert terms(store) == []
    assert len(store.search("needle")) == 1
    assert terms(store) == ["needle"]


def test_an_event_indexed_by_an_older_program_is_found_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.parent.mkdir()
    with monkeypatch.context() as patch, closing(sqlite3.connect(path, isolation_level=None)) as db:
        patch.setattr(migrations, "STEPS", migrations.STEPS[:3])
        migrations.migrate(db)
        db.execute(
            "INSERT INTO sessions(key, id, title, model, created, updated, events) VALUES(1, 's', '', '', 1, 2, 1)"
        )
        line = encode_event(Event(1, "e", 1, UserMessage("an old needle")))
        db.execute("INSERT INTO events VALUES(1, 1, 1, 'e', ?)", (line,))
        db.execute("INSERT INTO words(rowid, text) VALUES(1, 'an old needle')")
        db.execute("INSERT INTO facts VALUES('search', ?)", (SEARCH_VERSION,))
    with Store.open(path) as store:
        with store.session("s") as session:
            session.append(UserMessage("a new needle"))
        assert [hit.seq for hit in store.search("needle")] == [2, 1]
        store.delete("s")
        assert terms(store) == []


@pytest.mark.parametrize("data", ["'{'", "X'00'", "CAST(X'ff' || data AS TEXT)", "char(1) || hex(zeroblob(32))"])
def test_a_damaged_event_hides_no_other(store: Store, data: str) -> None:
    store.create([UserMessage("a needle"), UserMessage("x"), UserMessage("another needle")]).close()
    with store._database.write_transaction() as db:
        db.execute(f"UPDATE events SET data = {data} WHERE seq = 2")
    assert [hit.seq for hit in store.search("needle")] == [3, 1]


def test_a_mark_that_is_no_number_is_damage(store: Store) -> None:
    store.create([UserMessage("a needle")]).close()
    with store._database.write_transaction() as db:
        db.execute("UPDATE facts SET value = 'x' WHERE name = 'indexed'")
    with pytest.raises(StoreError, match="damaged"):
        store.search("needle")


def test_long_events_are_indexed_in_shorter_transactions(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_BATCH_TEXT", 100)
    store.create([UserMessage("needle " * 10)] * 4).close()
    statements: list[str] = []
    store._database._db.set_trace_callback(statements.append)
    assert len(store.search("needle")) == 4
    assert statements.count("BEGIN IMMEDIATE") == 2


def test_a_search_does_not_wait_until_another_process_has_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", GIVE_UP)
    with Store.open(path) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
        store.create([UserMessage("an old needle")]).close()
        assert len(store.search("needle")) == 1
        store.create([UserMessage("a new needle")]).close()
        other.execute("BEGIN IMMEDIATE")
        assert len(store.search("needle")) == 2
        assert "new" not in terms_of(other)
        other.execute("ROLLBACK")
        assert len(store.search("needle")) == 2
        assert "new" in terms_of(other)


def test_others_can_write_between_the_parts_of_an_index(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_BATCH", 2)
    store.create([UserMessage("needle")] * 7).close()
    pauses: list[float] = []
    with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as other:

        def write_meanwhile(seconds: float) -> None:
            pauses.append(seconds)
            other.execute("UPDATE sessions SET updated = updated + 1")

        monkeypatch.setattr(search, "sleep", write_meanwhile)
        assert len(store.search("needle")) == 7
        assert len(pauses) == 3
        assert min(pauses) > 0
        assert len(store.search("needle")) == 7
        assert len(pauses) == 3


def test_a_search_inside_a_transaction_sees_it_and_leaves_nothing_when_it_fails(store: Store) -> None:
    store.create([UserMessage("an old needle")]).close()
    with pytest.raises(KeyError), store.in_one_transaction():  # noqa: PT012 - the search is what may fail
        store.create([UserMessage("a new needle")]).close()
        assert len(store.search("needle")) == 2
        raise KeyError
    assert terms(store) == []
    assert len(store.search("needle")) == 1


def test_indexing_that_fails_inside_a_transaction_leaves_each_event_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    store.create([UserMessage("a needle")]).close()
    with monkeypatch.context() as patch, store.in_one_transaction():
        patch.setattr(search, "_set_fact", fails)
        assert len(store.search("needle")) == 1
    assert terms(store) == []
    assert len(store.search("needle")) == 1


def test_keys_are_free_again_after_an_older_program_deleted_their_events(store: Store, path: Path) -> None:
    store.create([UserMessage("an old needle"), UserMessage("x")]).close()
    assert len(store.search("needle")) == 1
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA foreign_keys = ON")
        other.execute("INSERT INTO words(words, rowid, text) VALUES('delete', 1, 'an old needle'), ('delete', 2, 'x')")
        other.execute("DELETE FROM sessions")
    store.create([UserMessage("a new needle")], id="new").close()
    assert [hit.session_id for hit in store.search("needle")] == ["new"]
    store.delete("new")
    assert terms(store) == []


def test_events_that_cannot_be_indexed_are_found_while_no_file_can_grow(
    python: Callable[..., subprocess.Popen[str]], store: Store
) -> None:
    """As on a full disk, where the folder for temporary files is on the same."""
    store.create([UserMessage(f"needle {number:x} " + "straw " * 50) for number in range(20_000)]).close()
    code = """
import resource, sys
from pathlib import Path
from workbench.log.store import Store
with Store.open(Path(sys.argv[1])) as store:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    print(len(store.search("needle", limit=100_000)))
"""
    assert python(code).communicate()[0] == "20000\n"


def test_a_fork_is_searched_as_well(store: Store) -> None:
    session = store.create([UserMessage("a needle")])
    fork = store.fork(session.id)
    assert {hit.session_id for hit in store.search("needle")} == {session.id, fork.id}


def test_only_the_beginning_of_a_huge_text_is_indexed(store: Store) -> None:
    store.create([UserMessage("first " + "x " * search.INDEXED + "last")])
    assert len(store.search("first")) == 1
    assert store.search("last") == []


def test_an_index_of_another_version_is_built_anew(store: Store, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = store.create([UserMessage("old words"), ToolResult("c", "large words " * 1000)])
    store.close()
    monkeypatch.setattr(search, "search_text", lambda body: "new")
    monkeypatch.setattr(search, "SEARCH_VERSION", SEARCH_VERSION + 1)
    with Store.open(path) as again:
        assert again.search("words") == []
        assert len(again.search("new")) == 2
        again.delete(session.id)
        assert terms(again) == []


def test_what_was_said_in_a_folder_is_told_and_one_long_session_hides_no_other(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "LOOKED_AT", 8)
    store.create([UserMessage("before")], folder=WorkFolder("/here"))
    store.create([UserMessage("elsewhere")], folder=WorkFolder("/there"))
    store.create([UserMessage("of no folder")])
    store.create(
        [UserMessage(f"long {number}") for number in range(10)]
        + [Reasoning('{"kind":"user"}'), UserMessage("large " * 10_000)],
        folder=WorkFolder("/here"),
    )
    said = [str(each.content)[:6] for each in store.user_messages("/here")]
    assert said == ["large ", "long 9", "long 8", "before"]
