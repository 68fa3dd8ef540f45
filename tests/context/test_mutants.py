"""Change one value of a preset, and a test of what it does fails."""

from __future__ import annotations

import pytest

from support.mutants import NEAREST, Mutant, Nearest, mutants, notices, values_of
from workbench.context.load import preset_names
from workbench.context.policy_names import RECORDED

NAMES = [name for name in preset_names() if name != RECORDED]
FEW_NAMES = [name if name == "confirm" else pytest.param(name, marks=pytest.mark.wide) for name in NAMES]
"""One of them, and the others where all cases run: this tests the tests, which notice the change themselves."""
ITERATIONS = "only a turn shows it: tests/agent/test_loop.py has one that ends at its limit; here its value is all"
SURVIVORS = {
    ("workbench", "turn.max_iterations"): ITERATIONS,
    ("layers", "turn.max_iterations"): ITERATIONS,
    ("confirm", "compaction.selection"): "where a preset sets nothing to keep, every selection keeps nothing",
}
"""Changes that no test notices, with the reason."""


@pytest.fixture(scope="module")
def files() -> list[Nearest]:
    return [Nearest.read(file) for file in NEAREST]


@pytest.mark.long
@pytest.mark.parametrize("name", FEW_NAMES)
def test_a_changed_value_is_noticed(name: str, files: list[Nearest]) -> None:
    mine = [mutant for mutant in mutants() if mutant.preset == name]
    alive = {(mutant.preset, mutant.knob) for mutant in mine if not notices(mutant, files)}
    assert alive == {key for key in SURVIVORS if key[0] == name}


@pytest.mark.parametrize("name", FEW_NAMES)
def test_what_is_not_changed_is_not_noticed(name: str, files: list[Nearest]) -> None:
    assert notices(Mutant(name, *values_of(name)[0]), files) == ""
