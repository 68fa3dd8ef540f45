"""The benchmarks run, and say what they promise to say. What they measure is not looked at here."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from math import isfinite
from pathlib import Path

import psutil
import pytest

from bench import harness, pace_samples, suite
from bench.children import environment
from bench.harness import TINY, Insistence, Rounds, Row, Yardstick, absolute, beside, faster, in_units, rounds
from bench.pace import end_samples, sample_anew, sampler, sampling_processes, with_pace, with_pace_of_two
from support.requirements import requirement
from support.waiting import GIVE_UP

KEYS = {"benchmark", "name", "ours", "unit", "peer", "peer_name", "ratio", "target", "moved", "middle", "ok"}

UNIT = Yardstick("unit", lambda: 1.0, waits=True)

LONG = {
    "corpus",
    "judge",
    "library",
    "ask",
    "proxy",
    "open_screen",
    "settle",
    "turn",
    "stream",
    "growth",
    "pausing",
    "screen",
    "chat",
    "inspector",
    "memory",
}
"""These load litellm or start a screen or a cluster, which takes seconds. CI runs their quick form, where a crash is a
failure."""


@requirement(
    "codex",
    "others",
    "lookup, normalising and truncating have targets in milliseconds, a session one in memory",
    decided="benchmarks measure them, mostly as ratios: milliseconds depend on the machine",
)
@pytest.mark.wide  # CI runs them all in their quick form
@pytest.mark.parametrize("name", sorted(suite.BENCHMARKS.keys() - LONG))
def test_a_benchmark_gives_rows_with_positive_figures(name: str) -> None:
    rows = list(suite.BENCHMARKS[name](TINY))
    assert len({row.name + row.peer_name for row in rows}) == len(rows) > 0
    for row in rows:
        for figure in (row.ours, row.peer, row.ratio):
            assert figure is None or (isfinite(figure) and figure > 0)
        assert (row.peer is None) == (row.ratio is None)
        assert row.target is None or row.ratio is not None, "a target is a multiple of something in the same run"
        assert len(suite.cells(row)) == len(suite.HEADER)
    assert any(row.target for row in rows)


def test_the_command_prints_a_table_and_writes_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(suite, "QUICK", TINY)
    file = tmp_path / "results.json"
    assert suite.main(["--quick", "--json", str(file), "normalise", "lookup"]) == 0
    found = json.loads(file.read_text("utf-8"))
    assert found.keys() == {*suite.conditions(), "load at the end", "scale", "seconds", "crashed", "results"}
    assert all(result.keys() == KEYS for result in found["results"])
    assert {result["benchmark"] for result in found["results"]} == {"normalise", "lookup"}
    printed = capsys.readouterr().out
    assert all(result["name"] in printed for result in found["results"])


def test_a_benchmark_that_crashes_fails_the_command_but_not_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def crash(scale: object) -> list[Row]:
        raise RuntimeError("out of luck")

    monkeypatch.setattr(suite, "QUICK", TINY)
    monkeypatch.setitem(suite.BENCHMARKS, "truncate", crash)
    file = tmp_path / "results.json"
    assert suite.main(["--quick", "--json", str(file), "truncate", "normalise"]) == 1
    found = json.loads(file.read_text("utf-8"))
    assert found["crashed"] == ["truncate"]
    assert found["results"]
    assert "out of luck" in capsys.readouterr().out


def test_an_unknown_name_is_a_wrong_call(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        suite.main(["apend"])
    assert ended.value.code == 2
    assert "apend" in capsys.readouterr().err


def test_targets_are_held_against_what_they_speak_of() -> None:
    found = Rounds({"ours": [3.0], "peer": [2.0]})
    assert beside("a", found, "ours", "peer", "b", 1.5).ok is True
    assert beside("a", found, "ours", "peer", "b", 1.4).ok is False
    assert faster("a", found, "peer", "ours", "b", 1.5).ok is True
    assert faster("a", found, "peer", "ours", "b", 1.6).ok is False
    assert in_units("a", Rounds({"ours": [3.0], "unit": [2.0]}, "unit"), "ours", 1.5).ok is True
    assert absolute("a", 1.0).ok is None


def test_where_the_yardstick_moved_there_is_no_verdict() -> None:
    steady = Rounds({"ours": [2.0] * 5, "unit": [0.9, 1.0, 1.0, 1.1, 9.0]}, "unit")
    moving = Rounds({"ours": [2.0] * 5, "unit": [0.7, 0.8, 1.0, 1.14, 1.2]}, "unit")
    assert in_units("a", steady, "ours", 3).ok is True
    assert in_units("a", moving, "ours", 3).ok is None
    assert suite.cells(in_units("a", moving, "ours", 3))[-1] == "unsure: yardstick moved 34%"


@pytest.mark.parametrize(("limit", "ok"), [(1.85, False), (1.95, None), (2.05, None), (2.15, True)])
def test_a_target_that_is_closer_than_the_yardstick_moved_gets_no_verdict(limit: float, ok: bool | None) -> None:
    ours, unit = [1.8, 2.0, 2.2], [0.9, 1.0, 1.1]  # it moved by 10 %: always 2 units, give or take 5 %
    row = in_units("a", Rounds({"ours": ours, "unit": unit}, "unit"), "ours", limit)
    assert row.ok is ok
    if ok is None:
        assert row.why_unsure == "close, and yardstick moved 10%"
    nine = Rounds({"ours": [*ours * 2, 2.0, 2.0, 2.0], "unit": [*unit * 2, 1.0, 1.0, 1.0]}, "unit")
    assert in_units("a", nine, "ours", limit).ok is (limit > 2), "nine rounds are not all off in the same direction"


@pytest.mark.parametrize(
    ("limit", "ok"), [(1.2, False), (1.29, False), (1.45, None), (1.55, None), (1.71, True), (1.9, True)]
)
def test_where_the_rounds_disagree_there_is_no_verdict(limit: float, ok: bool | None) -> None:
    found = Rounds({"ours": [1.0, 1.0, 1.4, 1.4, 1.5, 1.6, 1.6, 9.0, 9.0], "unit": [1.0] * 9}, "unit")
    row = in_units("a", found, "ours", limit)
    assert row.ok is ok
    assert faster("a", found, "unit", "ours", "b", limit).ok is (None if ok is None else not ok)
    assert (suite.cells(row)[-1] == "unsure: rounds on both sides") == (ok is None)


@pytest.mark.parametrize(
    ("ours", "rounds_taken", "ok"),
    [
        ([1.0, 1.1, 1.2], 3, True),
        ([1.6, 1.7, 1.8], 3, False),
        ([1.4, 1.6, 1.4, 1.4, 1.4, 1.4, 1.6, 1.4, 1.4], 9, True),  # of nine, the outermost four do not count
        ([1.4, 1.6] * 5, 9, None),
    ],
)
def test_where_there_is_no_verdict_more_rounds_are_taken(
    ours: list[float], rounds_taken: int, ok: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Insistence, "most", 3)
    figures = iter(ours)
    taken: list[float] = []

    def work() -> float:
        taken.append(next(figures))
        return taken[-1]

    found = rounds({"ours": work}, 3, warm_up=False, yardstick=UNIT, waits=["ours"])
    assert in_units("a", found, "ours", 1.5).ok is ok
    assert len(taken) == rounds_taken
    again = in_units("a", found, "ours", 1.5)
    assert (again.ok, len(taken)) == (ok, rounds_taken), "nothing is asked twice"


def test_what_the_works_leave_behind_grows_with_the_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Insistence, "most", 3)
    left: list[float] = []

    def work() -> float:
        left.append(1.4 if len(left) % 2 else 1.6)
        return 5.0

    found = rounds({"ours": work}, 2, warm_up=False, yardstick=UNIT, waits=["ours"])
    assert in_units("a", found.also("left", left), "left", 1.5).ok is None
    assert len(left) == 6
    assert in_units("a", found, "ours", 4.0).ok is False


def test_works_take_turns_and_the_first_round_is_to_warm_up() -> None:
    turns: list[str] = []
    figures = iter([100.0, 100.0, 1.0, 10.0, 3.0, 33.0, 2.0, 20.0])

    def work(name: str) -> float:
        turns.append(name)
        return next(figures)

    found = rounds({"a": lambda: work("a")}, 3, yardstick=Yardstick("b", lambda: work("b"), waits=True), waits=["a"])
    assert (found["a"], found["b"]) == (2.0, 20.0)
    assert found.ratio("b", "a") == 10.0
    assert turns == ["a", "b"] * 4


def test_a_figure_is_held_against_the_pace_of_the_machine_meanwhile() -> None:
    figures = {"ours": [3.0, 4.5, 3.0], "unit": [3.0, 2.0, 2.0]}
    row = in_units("a", Rounds(figures, "unit", paces={"ours": [2, 3, 2], "unit": [3, 2, 2]}), "ours", 2.0)
    assert (row.ours, row.ratio, row.middle, row.moved, row.ok) == (3.0, 1.5, (1.5, 1.5), 0.0, True)
    assert in_units("a", Rounds(figures, "unit"), "ours", 2.0).why_unsure == "yardstick moved 25%"


def test_what_a_work_leaves_behind_has_the_pace_of_that_work() -> None:
    found = Rounds({"ours": [1.0], "unit": [2.0]}, "unit", paces={"ours": [3.0], "unit": [4.0]})
    assert found.also("left", [6.0], "ours").ratio("left", "unit") == 4.0
    assert found.also("left", [6.0]).ratio("left", "unit") == 3.0


def test_works_are_held_against_their_own_paces_also_in_later_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Insistence, "most", 2)
    paces = itertools.count(1)
    monkeypatch.setattr(harness, "with_pace", lambda work: (work(), float(next(paces))))
    monkeypatch.setattr(harness, "with_pace_of_two", lambda work: (work(), 10.0))
    made: list[float] = []

    def work() -> float:
        made.append(float(len(made) + 1))
        return made[-1]

    works = {"ours": work, "both": lambda: 30.0}
    found = rounds(works, 1, yardstick=Yardstick("unit", lambda: 2.0), parallel=["both"])
    assert (found.ratio("ours", "unit"), found.ratio("both", "unit")) == ((2 / 3) / (2 / 4), 3 / (2 / 4))
    assert in_units("a", found, "ours", 4 / 3).ok is True
    assert len(made) == 2, "there was a verdict"


def test_the_pace_is_sampled_while_a_work_is_at_it_or_where_the_work_says() -> None:
    seen: list[float] = []

    def work() -> float:
        sampler().end()
        sample_anew()
        seen.append(sampler().so_far())
        end_samples()
        seen.append(sampler().end())
        return 5.0

    assert with_pace(work) == (5.0, seen[1])
    assert min(seen) > 0
    with pytest.raises(AssertionError, match="nothing is sampled"):
        sampler().so_far()
    assert with_pace_of_two(lambda: float(len(sampling_processes())))[0] in (1.0, 2.0)
    assert not sampling_processes()


def test_a_sample_is_taken_again_where_the_clock_stood_still(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([1.0, 1.0, 1.0, 1.5])
    monkeypatch.setattr("time.thread_time", lambda: next(times))
    assert pace_samples._sample("{}") == 2.0


def test_a_sampler_that_was_killed_is_replaced_for_the_next_work() -> None:
    def work() -> float:
        psutil.Process(sampler().id).kill()
        return 1.0

    with pytest.raises(BrokenPipeError):
        with_pace(work)
    assert with_pace(lambda: 2.0)[0] == 2.0


def test_the_sampler_ends_with_whoever_asks() -> None:
    code = "from bench.pace import *; s = sampler(); s.begin(); print(s.id, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as asking:
        assert asking.stdout is not None
        process = psutil.Process(int(asking.stdout.readline()))
        asking.kill()
    process.wait(GIVE_UP)


def test_a_work_that_fails_ends_the_sampling() -> None:
    def fail() -> float:
        raise RuntimeError("out of luck")

    with pytest.raises(RuntimeError, match="out of luck"):
        with_pace(fail)
    assert with_pace(lambda: 2.0)[0] == 2.0


def test_works_run_where_the_pace_is_sampled() -> None:
    sched_getaffinity = getattr(os, "sched_getaffinity", None)
    if sched_getaffinity is None:
        pytest.skip("this system does not tell where a process may run")
    before = sched_getaffinity(0)
    assert with_pace(lambda: float(len(sched_getaffinity(0))))[0] == 1.0
    assert sched_getaffinity(0) == before
