"""Change one value of a preset, and a test of what it does fails."""

from __future__ import annotations

import pytest

from support.mutants import NEAREST, Mutant, Nearest, mutants, notices, values_of
from workbench.context.load import RECORDED, preset_names

FILES = [Nearest.read(file) for file in NEAREST]
NAMES = [name for name in preset_names() if name != RECORDED]
ITERATIONS = "only a turn shows it: tests/agent/test_loop.py has one that ends at its limit; here its value is all"
SURVIVORS = {
    ("workbench", "turn.max_iterations"): ITERATIONS,
    ("layers", "turn.max_iterations"): ITERATIONS,
    ("confirm", "compaction.selection"): "where a preset sets nothing to keep, every selection keeps nothing",
}
"""Changes that no test notices, with the reason."""


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_changed_value_is_noticed(name: str) -> None:
    mine = [mutant for mutant in mutants() if mutant.preset == name]
    alive = {(mutant.preset, mutant.knob) for mutant in mine if not notices(mutant, FILES)}
    assert alive == {key for key in SURVIVORS if key[0] == name}


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_changed_is_not_noticed(name: str) -> None:
    assert notices(Mutant(name, *values_of(name)[0]), FILES) == ""
