"""The short form of the bad day: a few tries of every attack. `run.py` has the long one."""

from __future__ import annotations

import pytest

pytest.importorskip("textual_serve")
pytest.importorskip("fcntl", reason="a system without kill -9")

from hostile import day
from hostile.tally import Tally

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("litellm")]
FEW = {
    "kills": 12,
    "databases": 24,
    "paths": 150,
    "projects": 3,
    "commands": 150,
    "repositories": 16,
    "serve": 60,
    "transcripts": 300,
}


@pytest.mark.parametrize("name", day.ATTACKS)
def test_nothing_gives_way(name: str) -> None:
    tally = day.attack(name, FEW[name])
    assert tally.tries >= FEW[name]
    assert tally.faults == []


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
    assert [line.split() for line in said.splitlines()][-1] == ["a", "weak", "spot", "3", "1", "of", "which", "one"]
    assert day.main(["--paths", "1"]) == 0
