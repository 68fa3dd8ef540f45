"""The short form of the bad day: a few tries of every attack. `run.py` has the long one."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
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
VOLUME = ("answers", "bodies", "doors", "tls", "cuts", "sockets", "slow", "homes")
"""Large bodies, many connections and long waits at the proxy, and folders of many files, which run where all cases do.
Small cases of the same rules are in tests/proxy: test_large_bodies, test_unpacking, test_token_server,
test_forward_proxy, test_resuming, test_websockets and test_server; and in tests/live/test_finder."""
TOGETHER = (
    pytest.param([name for name in day.ATTACKS if name not in VOLUME], id="small"),
    pytest.param(VOLUME, id="volume", marks=pytest.mark.wide),
)
"""Attacks that share a process: a process for each would mostly import what it needs."""


@pytest.mark.parametrize("names", TOGETHER)
def test_nothing_gives_way(names: Sequence[str]) -> None:
    # In processes of their own: some attacks fork, which is not safe where other tests have left threads.
    few = [word for name in names for word in (f"--{name}", str(FEW[name]))]
    ended = subprocess.run([sys.executable, RUN, *few], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "") or pytest.fail(ended.stdout + ended.stderr)
    tries = {name: int(count.replace(",", "")) for name, count in TRIES.findall(ended.stdout)}
    assert list(tries) == [name for name in day.ATTACKS if name in names]
    assert all(tries[name] >= FEW[name] for name in names)


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
