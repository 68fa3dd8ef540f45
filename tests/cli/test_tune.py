"""`workbench tune`, as it is called, on sessions with a fact that is needed long after it was read."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest

from support.port_sessions import write_port_session
from workbench.cli.main import main
from workbench.context.load import describe_policy, load_policy
from workbench.lab.tuning.tune_corpus import TuneCorpus, TuneSession

pytestmark = pytest.mark.xdist_group("optuna")


def session(path: Path, port: int, results: int = 9) -> Path:
    """A session of many long results."""
    return write_port_session(path, port, results, 400)


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    folder.mkdir()
    for number in range(5):
        session(folder / f"{number}.json", 48213 + number)
    return folder


KNOBS = (
    *("--knob", "masking.keep_first=0,1", "--knob", "masking.keep_last=0..5"),
    *("--set", "masking.batch_tokens=0", "--set", "masking.scope=session"),
)
FEW = ("--model", "gpt-4o", "--jobs", "1", "--budget", "16", *KNOBS)


def tune(*call: object) -> int:
    return main(["tune", *map(str, call)])


def told(capsys: pytest.CaptureFixture[str], *call: object) -> dict[str, Any]:
    assert tune(*call, "--json") == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_masking_too_much_is_punished_and_masking_what_nobody_needs_is_not(
    sessions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = told(capsys, sessions, "--objective", "cost + 50*misses", *FEW)
    chosen = {
        row.name: row.value for row in describe_policy(load_policy("workbench", sets=found["best"]["set"], env={}))
    }
    assert chosen["masking.keep_first"] == 1
    assert found["best"]["figures"]["misses"] == 0
    assert found["best"]["figures"]["cost"] < min(each["figures"]["cost"] for each in found["presets"])
    blind = told(capsys, sessions, "--objective", "tokens", *FEW)
    assert blind["best"]["figures"]["misses"] == len(blind["training"]["sources"])
    assert blind["best"]["figures"]["tokens"] < found["best"]["figures"]["tokens"]


def test_the_usual_objective_is_less_cost_without_more_misses_than_the_base(
    sessions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = told(capsys, sessions, *FEW)
    assert found["objective"] == "cost subject to misses no worse than the base"
    assert found["weigh"] == "sessions"
    base = next(each["figures"] for each in found["presets"] if each["policy"] == found["base"])
    best = found["best"]["figures"]
    assert best["missed_requests"] <= base["missed_requests"]
    assert best["cost"] < base["cost"]
    assert any(each["best"] for each in found["front"]["policies"])
    assert tune(sessions, *FEW) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "for the smallest cost subject to misses no worse than the base." in shown
    assert "Sessions weigh alike" in shown
    assert "95 % interval over sessions" in shown


def test_a_long_file_decides_only_where_sessions_weigh_by_tokens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the long file masking saves most; in the short ones it loses the port."""
    for number in range(4):
        session(tmp_path / f"{number}.json", 48213 + number)
    plain = session(tmp_path / "long.json", 5, results=60)
    plain.write_text(plain.read_text().replace("It is 5.", "It is done."))
    knobs = ("--knob", "masking.keep_last=1,30", "--set", "masking.keep_first=0", *KNOBS[4:])
    call = (tmp_path, "--hold-out", "0", "--model", "gpt-4o", "--jobs", "1", "--budget", "12", *knobs)
    goal = ("--objective", "tokens + 85_000*misses")
    alike, by_tokens = told(capsys, *call, *goal), told(capsys, *call, *goal, "--weigh", "tokens")
    assert alike["best"]["figures"]["misses"] == 0
    assert by_tokens["best"]["figures"]["misses"] == 4


def test_further_seeds_say_whether_they_end_at_the_same_policy(
    sessions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = told(capsys, sessions, *FEW, "--seed", 4, "--seeds", 3)
    seeds = found["seeds"]
    assert [each["seed"] for each in seeds["searches"]] == [4, 5, 6]
    ends = [(each["policy"], each["set"]) for each in seeds["searches"]]
    assert seeds["same_policy"] == ends.count((found["best"]["policy"], found["best"]["set"])) >= 1
    assert seeds["same_policy"] <= seeds["same_knobs"] <= 3
    alone = told(capsys, sessions, *FEW, "--seed", 5)["best"]
    assert (alone["policy"], alone["set"]) == ends[1]


class Counting(SimpleHTTPRequestHandler):
    """Serves a folder, and notes every file that is asked for."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        super().do_GET()

    def log_message(self, *_: object) -> None:
        """Not on standard error."""


@pytest.fixture
def served(sessions: Path) -> Iterator[list[str]]:
    """The addresses of the sessions."""
    Counting.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Counting, directory=sessions)) as server:
        Thread(target=server.serve_forever).start()
        yield [f"http://127.0.0.1:{server.server_port}/{path.name}" for path in sorted(sessions.iterdir())]
        server.shutdown()


@pytest.mark.parametrize("how", [(), pytest.param(("--cluster", "local"), marks=pytest.mark.wide)])
def test_each_process_reads_a_session_once_however_many_policies_are_tried(
    served: list[str], how: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    alone = told(capsys, *served, *FEW)
    Counting.asked.clear()
    assert told(capsys, *served, *FEW, "--jobs", 2, "--fresh", *how) == alone
    times = Counter(Counting.asked)
    assert len(times) == 5
    assert max(times.values()) <= 1 + 2  # whoever looks whether it is a folder, and two processes


def test_the_parts_are_stable_and_the_chosen_one_is_tried_on_what_it_never_saw(
    sessions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = told(capsys, sessions, *FEW)
    seen, unseen = (set(found[part]["sources"]) for part in ("training", "held_out"))
    assert seen
    assert unseen
    assert not seen & unseen
    assert len(seen | unseen) == 5
    mine, *others = found["compared"]
    assert mine["policy"] == "this policy"
    assert mine["held_out"]["requests"] == found["held_out"]["requests"] == 10 * len(unseen)
    assert {each["policy"] for each in others} >= {"workbench", "recorded"}
    again = told(capsys, *sorted(sessions.iterdir(), reverse=True), *FEW)
    assert {*again["held_out"]["sources"]} == unseen
    assert again["best"]["knobs"] == found["best"]["knobs"]
    assert again["front"] == found["front"]
    presets = [each["value"] for each in found["presets"]]
    assert found["best"]["value"] <= min(presets)


def test_the_file_is_a_policy_that_says_where_it_is_from(
    sessions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert tune(sessions, "--output", "mine.toml", *FEW) == 0
    shown = capsys.readouterr().out
    assert "Written: mine.toml" in shown
    assert "workbench (base)" in shown
    assert "never saw" in shown
    text = (tmp_path / "mine.toml").read_text()
    comment = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))
    for part in (
        "cost subject to misses no",
        "seed 0",
        "never saw",
        "searched on",
        "workbench (base)",
        "recorded",
        "requests",
    ):
        assert part in comment
    assert str(tmp_path) not in text
    table = tomllib.loads(text)
    assert table["extends"] == "workbench"
    loaded = {row.name: row.value for row in describe_policy(load_policy("mine.toml", env={}))}
    base = {row.name: row.value for row in describe_policy(load_policy("workbench", env={}))}
    differs = {name for name, value in loaded.items() if value != base[name]}
    assert differs == {f"{section}.{key}" for section in ("masking",) for key in table[section]}
    assert main(["lab", str(sessions / "0.json"), "--policy", "mine.toml", "--model", "gpt-4o", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["policies"][0]["misses"] == 0
    assert tune(sessions, "--output", "mine.toml", *FEW) == 3
    assert "already exists" in capsys.readouterr().err
    assert tune(sessions, "--output", "mine.toml", "--force", *FEW) == 0


def test_the_file_does_what_its_comment_says(
    sessions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "mine.toml"
    found = told(capsys, sessions, "--objective", "cost +\n 50*misses", "--window", 9000, "-o", own, *FEW)
    assert "# All sessions are counted as gpt-4o, in a window of 9,000 tokens.\n" in own.read_text()
    for part in ("training", "held_out"):
        call = ["lab", *found[part]["sources"], "--policy", str(own), "--model", "gpt-4o", "--window", "9000", "--json"]
        assert main([*call, "--jobs", "1"]) == 0
        again = json.loads(capsys.readouterr().out)["policies"][0]
        claimed = found["compared"][0][part]
        assert {name: again[name] for name in claimed} == claimed | {"cost": pytest.approx(claimed["cost"])}


def test_what_was_found_is_printed_where_it_cannot_be_written(
    sessions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, real = tmp_path / "folder", TuneCorpus.measure_sessions
    folder.mkdir()

    def measure(*given: Any) -> Any:
        shutil.rmtree(folder, ignore_errors=True)
        return real(*given)

    monkeypatch.setattr(TuneCorpus, "measure_sessions", measure)
    assert tune(sessions, "-o", folder / "mine.toml", *FEW) == 1
    shown = capsys.readouterr()
    assert "mine.toml: cannot be written: No such file or directory" in shown.err
    assert "\nextends = " in shown.out


def test_ctrl_c_after_the_search_keeps_the_best(
    sessions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = TuneCorpus.measure_sessions

    def measure(corpus: TuneCorpus, workers: Any, part: Sequence[TuneSession], *more: Any) -> Any:
        if len(part) == 2:  # of five that are held out
            raise KeyboardInterrupt
        return real(corpus, workers, part, *more)

    monkeypatch.setattr(TuneCorpus, "measure_sessions", measure)
    assert tune(sessions, "-o", tmp_path / "kept.toml", *FEW) == 130
    assert "not tried on the sessions that it never saw" in capsys.readouterr().err
    assert "# Nothing was held out" in (tmp_path / "kept.toml").read_text()


def test_a_file_of_ones_own_as_base_does_not_need_to_be_there_later(
    sessions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "own.toml"
    own.write_text('extends = "layers"\n[masking]\nmin_tokens = 7\n')
    found = told(capsys, sessions, "--policy", own, *FEW)
    assert found["best"]["extends"] in ("layers", "workbench", "codex", "sliding", "window", "confirm")
    if found["best"]["policy"] == str(own):
        assert found["best"]["knobs"]["masking.min_tokens"] == 7
    assert str(tmp_path) not in found["file"]


def test_one_session_cannot_be_split_and_the_file_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune(session(tmp_path / "a.json", 48213), *FEW) == 0
    shown = capsys.readouterr()
    assert "cannot be split" in shown.err
    assert "# Nothing was held out" in shown.out
    assert "never saw" not in shown.out


def test_the_same_session_twice_is_never_on_both_sides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twice = [session(tmp_path / name, 48213) for name in ("a.json", "b.json")]
    found = told(capsys, *twice, session(tmp_path / "c.json", 5555), *FEW)
    sides = [{Path(name).name for name in found[part]["sources"]} for part in ("training", "held_out")]
    assert sorted(sides, key=len) == [{"c.json"}, {"a.json", "b.json"}]


def test_without_prices_cost_is_told_apart_and_tokens_do(sessions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = [each if each != "gpt-4o" else "nobody/knows" for each in FEW]
    assert tune(sessions, *few) == 2
    assert "no price is known" in (error := capsys.readouterr().err)
    assert "tokens" in error
    found = told(capsys, sessions, "--objective", "tokens + 9999*misses", *few)
    assert found["front"]["spent"] == "tokens"
    assert found["best"]["figures"]["misses"] == 0


def test_a_broken_file_is_named_and_the_rest_is_searched(sessions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = sessions.parent / "broken.jsonl"
    broken.write_text('{"role": "us')
    assert tune(sessions, broken, "--json", *FEW) == 0
    shown = capsys.readouterr()
    assert "broken.jsonl" in shown.err
    found = json.loads(shown.out)
    assert [Path(each["source"]).name for each in found["failed"]] == ["broken.jsonl"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("--objective", "cost + mises"), "did you mean misses"),
        (("--objective", ""), "expected arithmetic"),
        (("--objective", "__import__('os')"), "expected numbers"),
        (("--hold-out", "1"), "--hold-out"),
        (("--knob", "masking.keep_lost=1..2"), "did you mean"),
        (("--policy", "recorded"), "a policy to begin from"),
        (("--output", "nowhere/at/all.toml"), "no folder"),
        (("--output", "codex.toml"), "name of a preset"),
        (("--output", "."), "is a folder"),
    ],
)
def test_a_wrong_call_is_one_line_before_anything_is_read(
    call: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tune("not-there.json", *call) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_without_the_extra_one_is_told_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr("workbench.lab.tuning.search.find_spec", lambda name: None if name == "optuna" else real(name))
    assert tune("not-there.json") == 2
    assert "pip install 'context-workbench[tune]'" in capsys.readouterr().err


@pytest.mark.long
def test_ctrl_c_keeps_the_best_so_far(sessions: Path, tmp_path: Path) -> None:
    """The terminal's progress tells when the search has begun."""
    output = tmp_path / "kept.toml"
    ours, theirs = os.openpty()
    call = [sys.executable, "-m", "workbench", "tune", sessions, "-o", output, "--model", "gpt-4o", "--jobs", "2"]
    call += ["--budget", "100000", "--cluster", "none"]
    with subprocess.Popen([str(each) for each in call], stdout=subprocess.PIPE, stderr=theirs, text=True) as process:
        os.close(theirs)
        try:
            seen = b""
            while not re.search(rb" left, \d+ policies tried", seen):
                seen += os.read(ours, 4096)
            process.send_signal(signal.SIGINT)
            assert process.stdout is not None
            shown = process.stdout.read()
            assert process.wait() == 130
            seen += os.read(ours, 4096)
        finally:
            process.kill()
    os.close(ours)
    assert b"interrupted: the best of the " in seen
    assert "that none beats" in shown
    assert load_policy(str(output), env={}).policy.name == "kept"
