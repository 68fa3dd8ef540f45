"""A monkey at the keyboard, the mouse and the edge of the window. `monkey.py` says how to let it play for longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.monkey import play

SEEDS = range(3)
STEPS = 60


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
async def test_nothing_a_monkey_does_goes_wrong(seed: int, project: Path, expected_faults: list[BaseException]) -> None:
    (project / "note.txt").write_text("the milk is in the fridge\n")
    run = await play(seed, STEPS)
    assert run.is_well, run.told()
    assert run.steps >= STEPS
