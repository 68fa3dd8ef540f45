"""A store that this user may read but not write."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import workbench
from support.calls import Call
from workbench.library.stored_logs import is_store
from workbench.log.errors import ReadOnly, StoreError
from workbench.log.events import UserMessage
from workbench.log.store import Store
from workbench.models import encoders  # noqa: F401 - read while this user may still read what is installed

NOBODY = 65534


@pytest.fixture
def theirs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where somebody else's store is to lie; not below pytest's own folder, which is private."""
    with tempfile.TemporaryDirectory() as top:
        Path(top).chmod(0o755)
        path = Path(top) / "data" / "workbench.db"
        monkeypatch.setenv("WORKBENCH_DATA_DIR", str(path.parent))
        try:
            yield path
        finally:
            if os.getuid() == 0:
                os.seteuid(0)
            path.parent.chmod(0o755)


def give_away(path: Path) -> None:
    """From now on it can be read and not written. Root may write anything, so it becomes somebody else."""
    for file in path.parent.iterdir():
        file.chmod(0o444 if file.is_file() else 0o700)
    path.parent.chmod(0o555)
    if os.getuid() == 0:
        os.seteuid(NOBODY)


def test_it_is_listed_searched_and_read(theirs: Path) -> None:
    with Store.open(theirs) as store:
        store.create([UserMessage("hello there")], id="s", title="theirs").close()
    give_away(theirs)
    before = theirs.read_bytes()
    with Store.open(theirs) as store:
        assert [(info.id, info.title, info.events) for info in store.list()] == [("s", "theirs", 2)]
        assert [hit.seq for hit in store.search("hello")] == [2]
        session = store.session("s")
        assert session.events()[-1].body == UserMessage("hello there")
        assert not session.is_written
        assert session.refresh() == []
        with pytest.raises(ReadOnly, match=r"^Session theirs is read-only: .* can be read but not written\.$"):
            session.append(UserMessage("mine"))
        store.counts.save_counts([("o200k", b"x", 1, True)])
        assert store.counts.load_count("o200k", b"x") is None
        with pytest.raises(StoreError, match="can be read but not written"):
            store.create()
    assert [file.name for file in theirs.parent.iterdir() if file.is_file()] == ["workbench.db"]
    assert theirs.read_bytes() == before


def test_the_library_opens_it(theirs: Path) -> None:
    path = theirs.with_name("runs.db")
    with workbench.Context(store=path) as context:
        context.add("hello there")
        with workbench.open(path) as session:
            assert session.plan().items[0].text == "hello there", "also while it is still being made"
    assert is_store(path)
    assert [file.name for file in path.parent.iterdir() if file.is_file()] == ["runs.db"]
    give_away(path)
    with workbench.open(path) as session:
        assert session.plan().items[0].text == "hello there"


def test_while_its_owner_writes_it_what_is_in_its_log_is_read_too(theirs: Path) -> None:
    with Store.open(theirs) as owner:
        owner.create([UserMessage("hello there")], id="s").close()
        give_away(theirs)
        with Store.open(theirs) as store:
            assert store.session("s").events()[-1].body == UserMessage("hello there")


def test_a_log_that_cannot_be_read_without_writing_is_told(theirs: Path) -> None:
    with Store.open(theirs) as owner:
        owner.create([UserMessage("hello there")], id="s").close()
        kept = theirs.with_name("workbench.db-wal").read_bytes()
    theirs.with_name("workbench.db-wal").write_bytes(kept)
    give_away(theirs)
    with pytest.raises(StoreError, match=r"workbench\.db: its last changes are in workbench\.db-wal, which "):
        Store.open(theirs)


def test_the_commands_that_only_look_work(theirs: Path, call: Call, transcript: Path) -> None:
    made = call("import", transcript, "--json").json["sessions"][0]["id"]
    whole = call("plan", made).out
    give_away(theirs)
    assert [each["id"] for each in call("sessions", "--json").json["sessions"]] == [made]
    assert call("plan", made).out == whole
    assert call("export", made).code == 0
    renamed = call("sessions", "rename", made, "mine")
    assert renamed.code == 3
    assert renamed.err.startswith("workbench: Session session.json is read-only: ")
    for refused in (call("sessions", "fork", made), call("sessions", "delete", made, "--yes")):
        assert (refused.code, refused.err) == (1, f"workbench: {theirs} can be read but not written\n")
