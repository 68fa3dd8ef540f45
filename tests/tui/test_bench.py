"""The bench reads a source once and plans it under any policy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.config.errors import WorkbenchError
from workbench.context.load import preset_names
from workbench.log.events import Setting, UserMessage
from workbench.traces.desk import Desk
from workbench.tui.background import background
from workbench.tui.bench import Bench, newest_session

BenchOf = Callable[..., Bench]


def test_the_policy_asked_for_comes_first_and_each_once(bench_of: BenchOf, talk: Path) -> None:
    bench = bench_of(talk, policy="codex")
    bench.read()
    assert bench.policies[0] == "codex"
    assert sorted(bench.policies) == sorted(preset_names())


def test_a_policy_file_is_kept_beside_the_presets(bench_of: BenchOf, talk: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('extends = "layers"\n', "utf-8")
    bench = bench_of(talk, policy=str(own))
    bench.read()
    assert bench.policies == (str(own), *preset_names())
    assert bench.plan(str(own)).plan.policy == "own"


def test_the_same_log_under_another_policy(bench_of: BenchOf, talk: Path) -> None:
    bench = bench_of(talk, window=2_000, model="gpt-4o", set=["truncation.max_tokens=100"])
    whole, cut = bench.plan("confirm"), bench.plan("layers")
    assert (whole.plan.policy, cut.plan.policy) == ("confirm", "layers")
    assert "truncated" in [row.state for row in cut.plan.rows]
    assert "truncated" not in [row.state for row in whole.plan.rows]
    assert cut.plan.limits.window == 2_000
    assert cut.events == len(list(cut.plan.rows))


def test_a_session_is_called_by_its_title(bench_of: BenchOf, desk: Desk) -> None:
    session = desk.store.create([Setting("policy", "window"), UserMessage("hello")], title="A talk")
    bench = bench_of(session.id[:8])
    bench.read()
    assert bench.name == f"A talk ({session.id})"
    assert bench.policies[0] == "window"
    assert bench.weight > 0


def test_the_newest_session_is_the_one_that_changed_last(desk: Desk) -> None:
    assert newest_session(desk) == ""
    first = desk.store.create([UserMessage("one")])
    desk.store.create([UserMessage("two")])
    first.append(UserMessage("three"))
    assert newest_session(desk) == desk.store.list(limit=1)[0].id


@pytest.mark.parametrize(
    ("ref", "options", "complaint"),
    [
        ("nowhere.json", {}, "nowhere.json: no such file"),
        ("talk.json", {"policy": "nope"}, "no policy named 'nope'"),
        ("talk.json", {"set": ["masking.nope=3"]}, "masking.nope"),
        ("talk.json#2", {}, "expected a conversation from 1 to 1, got 2"),
    ],
)
def test_mistakes_are_told_when_it_is_read(
    bench_of: BenchOf,
    talk: Path,
    monkeypatch: pytest.MonkeyPatch,
    ref: str,
    options: dict[str, object],
    complaint: str,
) -> None:
    monkeypatch.chdir(talk.parent)
    with pytest.raises(WorkbenchError, match=complaint.replace("'", ".")):
        bench_of(ref, **options).read()


def test_what_is_not_there_weighs_nothing(bench_of: BenchOf, talk: Path) -> None:
    assert bench_of("nowhere").weight == 0
    assert bench_of(talk).weight == talk.stat().st_size


def test_background_work_gives_its_result_or_its_error() -> None:
    assert background(lambda: 6 * 7).result(timeout=30) == 42
    with pytest.raises(ZeroDivisionError):
        background(lambda: 1 / 0).result(timeout=30)
