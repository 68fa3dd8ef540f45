"""A monkey at the keyboard, the mouse and the edge of the window. `monkey.py` says how to let it play for longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.monkey import play
from tui.monkey_worlds import WORLDS, furnish

SEEDS = range(len(WORLDS))
STEPS = 60


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
async def test_nothing_a_monkey_does_goes_wrong(seed: int, project: Path, expected_faults: list[BaseException]) -> None:
    furnish(project)
    run = await play(seed, STEPS)
    assert run.is_well, run.told()
    assert run.steps >= STEPS
