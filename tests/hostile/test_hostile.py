"""The short form of the bad day: a few tries of every attack. `run.py` has the long one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("textual_serve")
pytest.importorskip("fcntl", reason="a system without kill -9")

from hostile import day
from hostile.tally import Tally

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("hostile")]
RUN = Path(__file__).with_name("run.py")
TRIES = re.compile(r"^(\S+): ([\d,]+) tries in", re.MULTILINE)
FEW = {
    "kills": 9,
    "results": 8,
    "undo": 20,
    "lab": 16,
    "databases": 10,
    "paths": 60,
    "projects": 1,
    "commands": 60,
    "patterns": 5,
    "repositories": 8,
    "files": 4,
    "homes": 200,
    "watching": 5,
    "clocks": 3,
    "approvals": 12,
    "read-only": 10,
    "replays": 30,
    "answers": 3,
    "scripts": 12,
    "serve": 30,
    "bodies": 4,
    "doors": 150,
    "tls": 75,
    "cuts": 1,
    "sockets": 20,
    "slow": 10,
    "screens": 8,
    "transcripts": 100,
}
QUICK = (
    "paths",
    "projects",
    "commands",
    "patterns",
    "watching",
    "clocks",
    "approvals",
    "replays",
    "serve",
    "transcripts",
)
"""Those that start no process of ours and wait for nothing: they run in the test's. The others run where all cases do.

Small cases of their rules are in the folders of what they attack: of kills in tests/log and
tests/cli/test_recover_kills, of full disks in tests/cli/test_result_files, of the proxy in tests/proxy, of files in
tests/config/test_foreign_files and tests/live/test_finder, of screens in tests/tui.
"""
SLOW = [name for name in day.ATTACKS if name not in QUICK]


@pytest.mark.parametrize("name", QUICK)
def test_nothing_gives_way(name: str) -> None:
    tally = day.attack(name, FEW[name])
    assert not tally.faults
    assert tally.tries >= FEW[name]


@pytest.mark.wide
def test_nothing_gives_way_to_what_takes_long() -> None:
    # In a process of its own: some attacks fork, which is not safe where other tests have left threads.
    few = [word for name in SLOW for word in (f"--{name}", str(FEW[name]))]
    ended = subprocess.run([sys.executable, RUN, *few], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "") or pytest.fail(ended.stdout + ended.stderr)
    tries = {name: int(count.replace(",", "")) for name, count in TRIES.findall(ended.stdout)}
    assert list(tries) == SLOW
    assert all(tries[name] >= FEW[name] for name in SLOW)


def test_the_table_tells_faults_and_they_are_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def weak(tries: int, *_: object) -> Tally:
        found = Tally("a weak spot", told="of which one")
        for number in range(tries):
            with found.watching(f"try {number}"):
                assert number != 1, "it gave way"
        return found

    monkeypatch.setitem(day.ATTACKS, "paths", (weak, 9, ""))
    assert day.main(["--paths", "3"]) == 1
    said = capsys.readouterr().out
    assert "try 1: AssertionError: it gave way" in said
    assert said.splitlines()[-1].split() == ["a", "weak", "spot", "3", "2", "1", "of", "which", "one"]
    assert day.main(["--paths", "1"]) == 0
