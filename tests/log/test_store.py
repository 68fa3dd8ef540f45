"""All sessions: made, listed, found, renamed, forked, deleted, exported and imported."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.config.errors import Refused, WrongCall
from workbench.log.errors import BadEvent, NotFound
from workbench.log.events import Body, Setting, ToolResult, UserMessage
from workbench.log.session import Session
from workbench.log.store import Store

BIG = "a long text " * 1000


def stored_texts(store: Store) -> int:
    with store._database.read_transaction() as db:
        return len(db.execute("SELECT 1 FROM texts").fetchall())


def bodies(session: Session) -> list[Body]:
    return [event.body for event in session.events()]


def test_a_new_session_is_ours_to_write(store: Store) -> None:
    session = store.create([UserMessage("hi")], title="first steps")
    assert session.writable
    assert session.title == "first steps"
    assert bodies(session) == [Setting("title", "first steps"), UserMessage("hi")]


def test_sessions_are_found_by_a_text_in_one_of_their_first_events(store: Store) -> None:
    said = [UserMessage("one"), UserMessage('two: "ö" 100%'), UserMessage("three")]
    first, second, other = (store.create(each) for each in (said, said, said[:1]))
    assert [info.id for info in store.holding("100%", 10, 2)] == [second.id, first.id]
    assert [info.id for info in store.holding("100%", 2, 2)] == [second.id]
    assert [info.id for info in store.holding("one", 1, 1)] == [other.id]
    assert store.holding("three", 10, 2) == []


def test_without_a_title_no_event_is_made_for_it(store: Store) -> None:
    assert len(store.create()) == 0


def test_events_keep_the_times_that_they_are_given_and_the_others_are_made_now(store: Store) -> None:
    then = 1_790_000_000_000
    with store.create([UserMessage("a"), UserMessage("b")], title="t", times=[then, 0]) as session:
        session.append(UserMessage("c"), UserMessage("d"), times=[then + 1])
        times = [event.at for event in session.events()]
    assert [at if at <= then + 1 else "now" for at in times] == ["now", then, "now", then + 1, "now"]


def test_a_session_can_have_a_chosen_id_but_only_one(store: Store) -> None:
    assert store.create(id="mine").id == "mine"
    with pytest.raises(WrongCall, match="there is a session mine already"):
        store.create(id="mine")
    store.create(id="closed").close()
    with pytest.raises(WrongCall, match="there is a session closed already"):
        store.create(id="closed")
    assert store.session("closed").writable


@pytest.mark.parametrize("bad", ["", "../up", "a b", "a/b", "x" * 65, "é", "a\n"])
def test_an_id_that_could_not_name_a_file_is_refused(store: Store, bad: str) -> None:
    with pytest.raises(WrongCall, match="cannot be a session's id"):
        store.create(id=bad)


class TestFinding:
    """By id, by the beginning of an id, by title."""

    @pytest.fixture(autouse=True)
    def _sessions(self, store: Store) -> None:
        for name, title in [
            ("abc1", "Fix the parser"),
            ("abd2", "Fix the lexer"),
            ("x*y", ""),
            ("twin1", "t"),
            ("twin2", "t"),
        ]:
            store.create(title=title, id=name.replace("*", "_")).close()

    @pytest.mark.parametrize(
        ("ref", "found"),
        [("abc1", "abc1"), ("abc", "abc1"), ("x", "x_y"), ("Fix the lexer", "abd2")],
    )
    def test_one_is_found(self, store: Store, ref: str, found: str) -> None:
        assert store.session(ref).id == store.info(ref).id == found

    @pytest.mark.parametrize("ref", ["ab", "t", "twin"])
    def test_several_are_named(self, store: Store, ref: str) -> None:
        with pytest.raises(NotFound, match="not one session but several: "):
            store.session(ref)

    def test_none_is_told_with_what_is_close(self, store: Store) -> None:
        with pytest.raises(
            NotFound, match=r"^there is no session 'fix the parsr'; close to it: abc1 \(Fix the parser\)"
        ):
            store.session("fix the parsr")

    @pytest.mark.parametrize("ref", ["", "*", "?", "[", "%", "_", "'", "\ud800", "zzzzzz", "a" * 5000])
    def test_nothing_typed_is_read_as_a_pattern(self, store: Store, ref: str) -> None:
        with pytest.raises(NotFound, match="there is no session"):
            store.session(ref)


class TestListing:
    """The sessions, newest first, without reading events."""

    def test_the_last_changed_comes_first(self, store: Store) -> None:
        first, second = store.create(title="one"), store.create(title="two")
        assert [info.id for info in store.list()] == [second.id, first.id]
        with store._database.write_transaction() as db:  # the clock need not move between two appends
            db.execute("UPDATE sessions SET updated = updated - 10")
        first.append(UserMessage("x"))
        assert [info.id for info in store.list()] == [first.id, second.id]
        assert [info.id for info in store.list(limit=1)] == [first.id]

    def test_it_says_this(self, store: Store) -> None:
        session = store.create([Setting("model", "gpt-5"), UserMessage("x")], title="one")
        (info,) = store.list()
        assert info[:2] == (session.id, "one")
        assert (info.events, info.model, info.forked_from) == (3, "gpt-5", None)
        assert info.created <= info.updated

    def test_a_query_is_part_of_the_title_or_the_start_of_the_id(self, store: Store) -> None:
        store.create(title="100% done", id="aa")
        store.create(title="Parser", id="bb_c")
        assert [info.id for info in store.list(query="PARS")] == ["bb_c"]
        assert [info.id for info in store.list(query="bb_")] == ["bb_c"]
        assert [info.id for info in store.list(query="0%")] == ["aa"]
        assert store.list(query="%") == store.list(query="100%")
        assert store.list(query="\\") == store.list(query="b_b") == store.list(query="\ud800") == []


class TestRenaming:
    """A title is an event."""

    def test_a_closed_session(self, store: Store) -> None:
        store.create(id="s").close()
        store.rename("s", "new")
        assert store.info("s").title == "new"
        assert bodies(store.session("s")) == [Setting("title", "new")]

    def test_one_that_is_open_here(self, store: Store) -> None:
        sessions = [store.create(id=name) for name in "rst"]
        for session in sessions:
            store.rename(session.id, f"new {session.id}")
        assert [session.title for session in sessions] == ["new r", "new s", "new t"]
        assert [len(session) for session in sessions] == [1, 1, 1]

    def test_one_that_is_open_elsewhere_is_refused(self, store: Store, path: Path) -> None:
        session = store.create(id="s")
        with Store.open(path) as other, pytest.raises(Refused, match="is open in process"):
            other.rename("s", "new")
        assert bodies(session) == []


class TestForking:
    """A copy up to an event."""

    @given(data=st.data())
    def test_a_fork_is_a_prefix_and_then_goes_its_own_way(
        self, data: st.DataObject, body: st.SearchStrategy[Body], shared: Store
    ) -> None:
        origin = shared.create(data.draw(st.lists(body, max_size=6)))
        before = origin.events()
        at = data.draw(st.none() | st.integers(0, len(before)))
        last = len(before) if at is None else at
        fork = shared.fork(origin.id, at)
        assert fork.events() == before[:last]
        assert fork.forked_from == shared.info(fork.id).forked_from == (origin.id, last)
        (new,) = fork.append(UserMessage("elsewhere"))
        assert new.seq == last + 1
        assert origin.events() == before
        assert [*shared.export_events(fork.id)][:last] == [*shared.export_events(origin.id)][:last]

    def test_it_has_the_title_and_model_of_that_time(self, store: Store) -> None:
        origin = store.create([Setting("model", "m1"), Setting("title", "late")], title="early")
        assert store.fork(origin.id, 2).title == "early"
        assert store.fork(origin.id).title == "late"
        assert store.fork(origin.id, 0).title == ""
        assert {info.model for info in store.list()} == {"m1", ""}

    @pytest.mark.parametrize("at", [-1, 3])
    def test_only_at_an_event_that_is_there(self, store: Store, at: int) -> None:
        store.create([UserMessage("x")] * 2, id="s")
        with pytest.raises(WrongCall, match="expected 0 to 2"):
            store.fork("s", at)

    def test_the_origin_may_go(self, store: Store) -> None:
        origin = store.create([ToolResult("c", BIG)])
        fork = store.fork(origin.id)
        assert stored_texts(store) == 1
        origin.close()
        store.delete(origin.id)
        assert bodies(fork) == [ToolResult("c", BIG)]
        assert store.info(fork.id).forked_from == (origin.id, 1)


class TestDeleting:
    """As a whole, or not at all."""

    def test_everything_goes(self, store: Store, path: Path) -> None:
        session = store.create([UserMessage("a needle"), ToolResult("c", BIG)], title="t")
        session.close()
        store.delete(session.id)
        assert store.list() == []
        assert store.search("needle") == []
        assert stored_texts(store) == 0
        assert [*(path.parent / "locks").iterdir()] == []
        with pytest.raises(NotFound):
            store.session(session.id)

    def test_others_keep_what_they_share(self, store: Store) -> None:
        one = store.create([ToolResult("c", BIG), UserMessage(BIG + "own")])
        other = store.create([ToolResult("c", BIG)] * 2)
        assert stored_texts(store) == 2
        one.close()
        store.delete(one.id)
        assert stored_texts(store) == 1
        assert bodies(other) == [ToolResult("c", BIG)] * 2

    def test_not_while_it_is_written(self, store: Store) -> None:
        session = store.create([UserMessage("x")], title="mine")
        with pytest.raises(Refused, match=r"^Session mine is open in process \d+ .*; close it there first\.$"):
            store.delete(session.id)
        assert bodies(session)[1] == UserMessage("x")
        session.close()
        store.delete(session.id)

    def test_only_by_its_whole_id(self, store: Store) -> None:
        store.create(id="abc", title="t").close()
        for ref in ("ab", "t", "", "\ud800"):
            with pytest.raises(NotFound, match="expected a whole id"):
                store.delete(ref)
        assert len(store.list()) == 1


class TestExportAndImport:
    """The same log, byte for byte."""

    @given(data=st.data())
    def test_there_and_back(
        self, data: st.DataObject, body: st.SearchStrategy[Body], shared: Store, elsewhere: Store
    ) -> None:
        session = shared.create(data.draw(st.lists(body, min_size=1, max_size=6)))
        lines = [*shared.export_events(session.id)]
        copy = elsewhere.import_events((line + "\n" for line in lines), "events.jsonl")
        assert [*elsewhere.export_events(copy.id)] == lines
        assert copy.events() == session.events()
        assert (copy.title, copy.model) == (session.title, session.model)
        assert copy.append(UserMessage("on"))[0].seq == len(lines) + 1

    def test_a_long_session_comes_out_whole(self, store: Store) -> None:
        session = store.create(UserMessage(str(n)) for n in range(2_500))
        lines = [*store.export_events(session.id)]
        assert [line.split('"content":')[1] for line in lines] == [f'"{n}"}}' for n in range(2_500)]

    def test_lines_in_another_layout_are_made_canonical(self, store: Store) -> None:
        line = '{ "seq": 1, "v": 1, "id": "a", "kind": "user", "at": 5, "name": "", "content": "\\u00e9" }'
        session = store.import_events(["\n", line + "\r\n", "  "], "f")
        assert [*store.export_events(session.id)] == ['{"v":1,"seq":1,"id":"a","at":5,"kind":"user","content":"é"}']

    @pytest.mark.parametrize(
        ("lines", "expected"),
        [
            (["{"], "events.jsonl, line 1: expected one JSON object"),
            (["", '{"seq":1}'], "events.jsonl, line 2: expected an event with the key 'v'"),
            (["ok 1", "ok 3"], "events.jsonl, line 2: expected `seq` 2, found 3"),
            (["ok 2"], "events.jsonl, line 1: expected `seq` 1, found 2"),
            (["ok 1", "twin 2"], "events.jsonl, line 2: expected an `id` of its own, found 'i1' again"),
            ([], "events.jsonl: expected at least one event"),
        ],
    )
    def test_all_or_nothing_and_the_place_is_named(self, store: Store, lines: list[str], expected: str) -> None:
        def made(line: str) -> str:
            word, _, seq = line.partition(" ")
            name = {"ok": f"i{seq}", "twin": "i1"}.get(word)
            return f'{{"v":1,"seq":{seq},"id":"{name}","at":0,"kind":"user","content":""}}' if name else line

        with pytest.raises(BadEvent) as told:
            store.import_events([made(line) for line in lines], "events.jsonl")
        assert str(told.value).startswith(expected)
        assert store.list() == []

    def test_bytes_that_are_no_text_are_told(self, store: Store, tmp_path: Path) -> None:
        file = tmp_path / "f.jsonl"
        file.write_bytes(b"\xff\xfe\n")
        with file.open(encoding="utf-8") as lines, pytest.raises(BadEvent, match=r"f\.jsonl: expected UTF-8"):
            store.import_events(lines, "f.jsonl")
