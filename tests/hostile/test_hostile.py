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

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("litellm")]
RUN = Path(__file__).with_name("run.py")
FEW = {
    "kills": 21,
    "results": 16,
    "undo": 20,
    "lab": 32,
    "databases": 24,
    "paths": 150,
    "projects": 3,
    "commands": 150,
    "patterns": 12,
    "repositories": 16,
    "files": 8,
    "homes": 1_500,
    "watching": 10,
    "clocks": 6,
    "approvals": 30,
    "read-only": 30,
    "replays": 60,
    "answers": 6,
    "scripts": 30,
    "serve": 60,
    "bodies": 8,
    "doors": 300,
    "cuts": 2,
    "sockets": 45,
    "slow": 20,
    "screens": 50,
    "transcripts": 300,
}


@pytest.mark.parametrize("name", day.ATTACKS)
def test_nothing_gives_way(name: str) -> None:
    # In a process of its own: some attacks fork, which is not safe where other tests have left threads.
    ended = subprocess.run([sys.executable, RUN, f"--{name}", str(FEW[name])], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "") or pytest.fail(ended.stdout + ended.stderr)
    tries = re.search(r"^\S+: ([\d,]+) tries in", ended.stdout, re.MULTILINE)
    assert tries is not None
    assert int(tries[1].replace(",", "")) >= FEW[name]


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
