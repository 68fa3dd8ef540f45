"""`workbench snapshots` and `workbench restore`, over a real repository."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from support.calls import Call
from workbench.agent import snapshots
from workbench.log.events import Snapshot, UserMessage
from workbench.log.store import Store


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    folder = tmp_path / "repo"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / "a.txt").write_text("old")
    return folder


def taken(folder: Path, why: str) -> Snapshot:
    found = asyncio.run(snapshots.take_snapshot(folder, why))
    assert found is not None
    return found


@pytest.fixture
def session(repo: Path) -> str:
    """Two snapshots, as events 2 and 3; since then a file was changed and one created."""
    with Store.open() as store, store.create() as made:
        made.append(UserMessage("go"), taken(repo, "before write_file"))
        (repo / "a.txt").write_text("newer")
        made.append(taken(repo, "before run_command"))
        (repo / "a.txt").write_text("newest")
        (repo / "b.txt").write_text("created")
        return made.id


def test_they_are_listed_with_their_reasons(call: Call, session: str, repo: Path) -> None:
    found = call("snapshots", session, "--json").json["snapshots"]
    assert [(each["seq"], each["why"], each["root"], each["kept"]) for each in found] == [
        (2, "before write_file", str(repo), True),
        (3, "before run_command", str(repo), True),
    ]
    assert "before run_command" in call("snapshots", session).out


def test_the_latest_comes_back_and_can_be_taken_back(call: Call, session: str, repo: Path) -> None:
    outcome = call("restore", session, "--yes")
    assert outcome.code == 0
    assert "to be put back: 1\n  a.txt\n" in outcome.out
    assert "created since" in outcome.out
    assert ((repo / "a.txt").read_text(), (repo / "b.txt").read_text()) == ("newer", "created")
    [*_, last] = call("snapshots", session, "--json").json["snapshots"]
    assert last["why"].startswith("before restoring ")
    assert f"`workbench restore {session} {last['seq']}`" in outcome.out
    call("restore", session, "--yes")
    assert (repo / "a.txt").read_text() == "newest"


def test_one_is_chosen_by_its_event_and_created_files_go_if_asked(call: Call, session: str, repo: Path) -> None:
    found = call("restore", session, "2", "--remove-created", "--yes", "--json").json
    assert (found["snapshot"], found["changed"], found["removed"], found["restored"]) == (2, ["a.txt"], ["b.txt"], True)
    assert (repo / "a.txt").read_text() == "old"
    assert not (repo / "b.txt").exists()
    call("restore", session, str(found["undo"]), "--yes")
    assert ((repo / "a.txt").read_text(), (repo / "b.txt").read_text()) == ("newest", "created")


def test_nothing_happens_without_a_yes(call: Call, session: str, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = call("snapshots", session, "--json").json
    refused = call("restore", session)
    assert refused.code == 3
    assert "confirm with --yes" in refused.err
    looked = call("restore", session, "--json").json
    assert (looked["changed"], looked["created"], looked["restored"]) == (["a.txt"], ["b.txt"], False)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda: "n")
    assert call("restore", session).code == 3
    assert (repo / "a.txt").read_text() == "newest"
    assert call("snapshots", session, "--json").json == before
    monkeypatch.setattr("builtins.input", lambda: "y")
    assert call("restore", session).code == 0
    assert (repo / "a.txt").read_text() == "newer"


def test_where_nothing_differs_nothing_is_done(call: Call, session: str, repo: Path) -> None:
    (repo / "a.txt").write_text("newer")
    (repo / "b.txt").unlink()
    assert "nothing to put back" in call("restore", session, "--yes").out
    assert call("restore", session, "--yes", "--json").json["restored"] is False
    assert len(call("snapshots", session, "--json").json["snapshots"]) == 2


def test_old_ones_are_let_go_and_said_to_be_gone(call: Call, session: str, repo: Path) -> None:
    found = call("snapshots", session, "--keep", "1", "--json").json
    assert found["let_go"] == 1
    assert sum(each["kept"] for each in found["snapshots"]) == 1
    assert "git has it no more" in call("snapshots", session).out
    assert "released" not in call("snapshots", session, "--keep", "1").out


def test_a_repository_that_is_gone_stops_nothing(call: Call, session: str, repo: Path) -> None:
    gone = [Snapshot("0" * 40, str(repo.with_name(name)), "before write_file") for name in ("a repo", "z repo")]
    with Store.open() as store, store.session(session) as written:
        written.append(*gone)
    found = call("snapshots", session, "--keep", "1", "--json").json
    assert found["let_go"] == 1
    assert [each["kept"] for each in found["snapshots"]] == [False, True, False, False]


def test_a_session_that_is_written_elsewhere_is_left_alone(call: Call, session: str, repo: Path) -> None:
    with Store.open() as store, store.session(session):
        outcome = call("restore", session, "--yes")
    assert outcome.code == 3
    assert "read-only" in outcome.err
    assert (repo / "a.txt").read_text() == "newest"


def test_what_is_no_snapshot_is_said(call: Call, session: str) -> None:
    assert "is no snapshot; expected one of 2, 3" in call("restore", session, "1").err
    with Store.open() as store, store.create(title="empty"):
        pass
    assert call("snapshots", "empty").out.startswith("no snapshots")
    assert "has no snapshots" in call("restore", "empty").err
