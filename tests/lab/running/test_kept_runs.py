"""What was found out before is not found out again; what has changed is."""

from __future__ import annotations

import json
import pickle
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from workbench.config.paths import cache_dir
from workbench.lab.running import kept_runs
from workbench.lab.running.kept_runs import KeptRuns
from workbench.lab.running.tasks import LabPolicy, LabTask, TaskOutcome
from workbench.lab.running.workers import run_all
from workbench.log.events import AssistantMessage, UserMessage
from workbench.sources.options import Options
from workbench.sources.services import Services

POLICIES = (LabPolicy("recorded"), LabPolicy("layers"))


def talk(number: int) -> str:
    said = {"role": "user", "content": f"the port is {48000 + number}"}
    return json.dumps([said, {"role": "assistant", "content": f"{48000 + number} it is"}])


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    """Three transcripts."""
    made = [tmp_path / f"{number}.json" for number in range(3)]
    for number, path in enumerate(made):
        path.write_text(talk(number))
    return made


def tasks(paths: Sequence[Path], policies: tuple[LabPolicy, ...] = POLICIES) -> list[LabTask]:
    return [LabTask(str(path), policies, waste=True) for path in paths]


def replay(asked: Sequence[LabTask], *, fresh: bool = False, most: int | None = None) -> list[TaskOutcome]:
    with Services() as services, KeptRuns(services, fresh=fresh) as kept:
        outcomes = run_all(asked, jobs=1, kept=kept)
        found = [outcome for _, outcome in zip(range(len(asked) if most is None else most), outcomes, strict=False)]
        outcomes.close()  # type: ignore[attr-defined]
        return found


def test_a_second_run_finds_the_same_without_replaying(paths: list[Path]) -> None:
    first = replay(tasks(paths))
    second = replay(tasks(paths))
    assert [outcome.is_kept for outcome in first + second] == [False] * 3 + [True] * 3
    assert [outcome.runs for outcome in second] == [outcome.runs for outcome in first]
    assert not any(outcome.is_kept for outcome in replay(tasks(paths), fresh=True))


def test_an_interrupted_run_goes_on_where_it_was(paths: list[Path]) -> None:
    replay(tasks(paths), most=2)
    assert [outcome.is_kept for outcome in replay(tasks(paths))] == [True, True, False]


def test_only_what_has_changed_is_replayed(paths: list[Path], tmp_path: Path) -> None:
    replay(tasks(paths))
    paths[1].write_text(talk(9))
    moved = paths[2].rename(tmp_path / "moved.json")
    asked = tasks([paths[0], paths[1], moved])
    outcomes = replay(asked)
    assert [outcome.is_kept for outcome in outcomes] == [True, False, True]
    assert [outcome.runs[0].source for outcome in outcomes] == [task.source for task in asked]
    other = [task._replace(options=Options(window=50_000)) for task in asked]
    assert not any(outcome.is_kept for outcome in replay(other))
    assert not any(outcome.is_kept for outcome in replay([task._replace(waste=False) for task in asked]))


def test_a_policy_is_known_by_its_knobs_and_not_by_its_name(paths: list[Path]) -> None:
    replay(tasks(paths))
    (again,) = replay(tasks(paths[:1], (LabPolicy("layers", name="mine"),)))
    assert again.is_kept
    assert again.runs[0].runs[0].policy == "mine"
    (turned,) = replay(tasks(paths[:1], (LabPolicy("layers", ("masking.keep_last=1",)),)))
    assert not turned.is_kept


def test_of_some_policies_the_others_are_replayed_and_all_come_in_order(paths: list[Path]) -> None:
    replay(tasks(paths[:1]))
    wanted = tuple(map(LabPolicy, ("codex", "layers", "window", "recorded")))
    (mixed,) = replay(tasks(paths[:1], wanted))
    assert not mixed.is_kept
    assert [run.policy for run in mixed.runs[0].runs] == ["codex", "layers", "window", "recorded"]
    assert mixed.runs == replay(tasks(paths[:1], wanted), fresh=True)[0].runs


def test_all_conversations_of_a_file_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_text("".join(f'{{"messages": {talk(number)}}}\n' for number in (1, 2)))
    (first,), (second,) = replay(tasks([path])), replay(tasks([path]))
    assert second.is_kept
    assert second.runs == first.runs
    assert len(first.runs) == 2


def test_a_session_is_replayed_again_when_it_has_grown(services: Services) -> None:
    with services.store.create() as session:
        session.append(UserMessage("the port?"), AssistantMessage("48213"))
        asked = [LabTask(session.id, POLICIES)]
        assert [replay(asked)[0].is_kept for _ in range(2)] == [False, True]
        session.append(UserMessage("and now?"), AssistantMessage("the same"))
        assert not replay(asked)[0].is_kept


def test_what_cannot_be_read_is_tried_every_time(paths: list[Path]) -> None:
    paths[0].write_text("[")
    assert [replay(tasks(paths[:1]))[0].is_kept for _ in range(2)] == [False, False]


def test_those_that_were_not_used_for_longest_go_first(paths: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    replay(tasks(paths[:2]))
    replay(tasks(paths[:1]))
    size = (cache_dir() / kept_runs.FILE).stat().st_size
    with Services() as services, KeptRuns(services) as kept:
        assert kept._db is not None
        (whole,) = kept._db.execute("SELECT SUM(LENGTH(data)) FROM runs").fetchone()
        monkeypatch.setattr(kept_runs, "MOST", whole - 1)
    assert size > 0
    assert [outcome.is_kept for outcome in replay(tasks(paths[:2]))] == [True, False]


def test_a_file_that_is_no_database_or_a_broken_one_is_made_anew(paths: list[Path]) -> None:
    file = cache_dir() / kept_runs.FILE
    cache_dir().mkdir()
    file.write_text("no database at all" * 100)
    assert [outcome.is_kept for _ in range(2) for outcome in replay(tasks(paths[:1]))] == [False, True]
    file.write_bytes(file.read_bytes()[:5_000])
    assert [outcome.is_kept for _ in range(2) for outcome in replay(tasks(paths[:1]))] == [False, True]


def test_what_was_kept_and_is_not_as_it_was_is_replayed(paths: list[Path]) -> None:
    (first,) = replay(tasks(paths[:1]))
    file = cache_dir() / kept_runs.FILE
    tokens = first.runs[0].runs[0].tokens
    assert 0 < tokens < 127
    with sqlite3.connect(file) as db:
        for key, data in db.execute("SELECT key, data FROM runs").fetchall():
            changed = bytes(byte + 1 if byte == tokens else byte for byte in data)
            assert changed != data
            db.execute("UPDATE runs SET data = ? WHERE key = ?", (changed, key))
    (again,) = replay(tasks(paths[:1]))
    assert not again.is_kept
    assert again.runs == first.runs


def test_where_nothing_can_be_kept_everything_is_replayed(paths: list[Path]) -> None:
    cache_dir().write_text("in the way")
    assert [outcome.is_kept for _ in range(2) for outcome in replay(tasks(paths[:1]))] == [False, False]


ENDLESS = (
    "CREATE VIEW runs AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) "
    "SELECT n AS key, n AS used, '' AS data FROM r"
)


@pytest.mark.parametrize("schema", [ENDLESS, "CREATE TABLE runs (key, used, data)", "CREATE TABLE other (x)"])
def test_a_database_that_another_made_is_not_asked(paths: list[Path], schema: str) -> None:
    path = cache_dir() / kept_runs.FILE
    path.parent.mkdir(parents=True)
    with sqlite3.connect(path) as db:
        db.execute(schema)
    db.close()
    assert [outcome.error for outcome in replay(tasks(paths))] == [""] * 3
    assert all(outcome.is_kept for outcome in replay(tasks(paths)))


@pytest.mark.parametrize("wrong", [None, 7, "text", b"", b"x" * 40])
def test_what_is_no_result_is_replayed(paths: list[Path], wrong: object) -> None:
    first = replay(tasks(paths))
    with sqlite3.connect(cache_dir() / kept_runs.FILE) as db:
        db.execute("UPDATE runs SET data = ?", (wrong,))
    db.close()
    second = replay(tasks(paths))
    assert not any(outcome.is_kept for outcome in second)
    assert [outcome.runs for outcome in second] == [outcome.runs for outcome in first]


def test_results_are_kept_as_figures(paths: list[Path]) -> None:
    """A pickle would run what somebody else put there."""
    replay(tasks(paths))
    with sqlite3.connect(cache_dir() / kept_runs.FILE) as db:
        kept = [data for (data,) in db.execute("SELECT data FROM runs")]
    db.close()
    assert kept
    assert all(data[16:17] != b"\x80" for data in kept)
    for data in kept:
        with pytest.raises(pickle.UnpicklingError):
            pickle.loads(data[16:])
