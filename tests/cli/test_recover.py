"""`workbench sessions recover`: a damaged store is usable again, and its file is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.calls import Call
from workbench.log.events import UserMessage
from workbench.log.store import Store

PAGE = 4096


@pytest.fixture
def damaged() -> Path:
    """The user's own store, of which the first page and one with events were overwritten."""
    with Store.open() as store:
        store.create([UserMessage(f"number {at} " * 50) for at in range(100)], id="s", title="tests").close()
        path = store._database.path
    data = bytearray(path.read_bytes())
    for at in (0, data.index(b"number 50 ") // PAGE * PAGE):
        data[at : at + PAGE] = b"\xaa" * PAGE
    path.write_bytes(data)
    return path


def test_a_damaged_store_says_what_to_do_and_that_helps(damaged: Path, call: Call) -> None:
    before = damaged.read_bytes()
    refused = call("sessions")
    assert refused.code == 1
    assert refused.err.count("\n") == 1
    assert "`workbench sessions recover` keeps a copy of it and gets out what can be read" in refused.err

    said = call("sessions", "recover")
    assert said.code == 0, said.err
    assert "recovered 1 session with " in said.out
    [copy] = damaged.parent.glob("workbench.db.damaged-*")
    assert f"the damaged file is kept: {copy}" in said.out
    assert copy.read_bytes() == before
    [info] = call("sessions", "--json").json["sessions"]
    assert (info["id"], info["title"]) == ("s", "tests")
    assert call("plan", "s").code in (0, 3)
    assert call("sessions", "rename", "s", "mended").code == 0


def test_its_json_counts_what_was_lost(damaged: Path, call: Call) -> None:
    said = call("sessions", "recover", "--json").json
    assert (said["store"], Path(said["copy"]).name[:20]) == (str(damaged), "workbench.db.damaged")
    assert said["events"] + said["lost"] == 101
    assert said["lost"] > 0
    assert said["sessions"] == [
        {"id": "s", "title": "tests", "events": said["events"], "lost": said["lost"], "lost_texts": 0}
    ]
    again = call("sessions", "recover", "--json").json  # what is sound comes out as it is, and the copies are two
    assert again["events"] + again["lost"] == 101
    assert len(list(damaged.parent.glob("workbench.db.damaged-*"))) == 2


def test_elsewhere_it_changes_nothing_but_the_new_file(damaged: Path, call: Call, tmp_path: Path) -> None:
    before = damaged.read_bytes()
    files = sorted(damaged.parent.iterdir())
    target = tmp_path / "mended.db"
    assert call("sessions", "recover", damaged, "-o", target).code == 0
    assert (damaged.read_bytes(), sorted(damaged.parent.iterdir())) == (before, files)
    with Store.open(target) as store:
        assert [info.id for info in store.list()] == ["s"]
    assert call("sessions", "recover", damaged, "-o", target).err.endswith("expected a new name\n")


def test_what_cannot_be_recovered_is_left_as_it_is(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "data" / "workbench.db"
    assert call("sessions", "recover").err == f"workbench: {path}: no such file\n"
    path.parent.mkdir()
    path.write_bytes(b"\xaa" * 10_000)
    said = call("sessions", "recover")
    assert (said.code, said.err) == (1, f"workbench: {path}: nothing in it can be read; it was left as it is\n")
    assert [file.name for file in path.parent.iterdir()] == ["workbench.db"]
    assert path.read_bytes() == b"\xaa" * 10_000


def test_not_while_a_session_is_open(call: Call) -> None:
    with Store.open() as store, store.create([UserMessage("x")], id="s"):
        said = call("sessions", "recover")
    assert said.code == 3
    assert "session s is open in process" in said.err
