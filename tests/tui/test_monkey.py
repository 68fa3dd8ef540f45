"""A monkey at the keyboard, the mouse and the edge of the window. `monkey.py` says how to let it play for longer.

What a step meets depends on how quick the machine is. Timing decides no test, so a fault counts here if it comes again
with the same steps; one that does not is told as a warning, to be found with `monkey.py` and held by a test of its own.
"""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tui.monkey import MonkeyRun, play
from tui.monkey_worlds import WORLDS, furnish

SEEDS = range(len(WORLDS))
STEPS = 20


class SeenOnce(UserWarning):
    """A fault that did not come again."""


async def that_comes_again(playing: Callable[[], Awaitable[MonkeyRun]]) -> MonkeyRun:
    """A run, and where it finds something another one."""
    run = await playing()
    if not run.is_well:
        warnings.warn(SeenOnce(run.told()), stacklevel=1)
        run = await playing()
    return run


@pytest.mark.long
@pytest.mark.parametrize("steps", [STEPS, pytest.param(3 * STEPS, marks=pytest.mark.wide)])
@pytest.mark.parametrize("seed", SEEDS)
async def test_nothing_a_monkey_does_goes_wrong(
    seed: int, steps: int, project: Path, expected_faults: list[BaseException]
) -> None:
    furnish(project)
    run = await that_comes_again(lambda: play(seed, steps))
    assert run.is_well, run.told()
    assert run.steps >= steps


async def runs(*each: MonkeyRun) -> AsyncIterator[MonkeyRun]:
    """One after the other."""
    for run in each:
        yield run


@pytest.mark.parametrize("second", [MonkeyRun(1), MonkeyRun(1, ended="it ended")])
async def test_a_fault_counts_if_it_comes_again_and_is_told_in_any_case(second: MonkeyRun) -> None:
    playing = runs(MonkeyRun(1, faults=[KeyError("a place")]), second)
    with pytest.warns(SeenOnce, match="KeyError: 'a place'"):
        assert await that_comes_again(playing.__anext__) is second


async def test_a_run_that_is_well_is_not_done_again() -> None:
    well = MonkeyRun(1)
    assert await that_comes_again(runs(well).__anext__) is well
