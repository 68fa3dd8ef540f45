"""Presets with one value changed, and the tests that should notice.

A test is called as a function, in this process: one that needs fixtures is left out. The modules are run again for each
mutant, because some of them load a preset when they are imported.
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple
from unittest.mock import patch

import workbench
from support.requirements import TESTS
from workbench.context import load
from workbench.context.knobs import find_knob, flatten_table
from workbench.context.policy_names import RECORDED

FOLDER = Path(workbench.__file__).parent / "policies"
NEAREST = (
    "context/test_preset_rows.py",
    "context/test_preset_codex.py",
    "context/test_preset_layers.py",
    "context/test_preset_documents.py",
    "context/test_disagreements.py",
    "compaction/test_selection.py",
    "compaction/test_decisions.py",
)
"""The files whose tests are asked, the quickest to notice first."""
OTHER_WORDS = {
    ("truncation.strategy", ""): "tail",
    ("masking.scope", "turn"): "session",
    ("masking.scope", "session"): "turn",
    ("history.mode", "whole"): "fit",
    ("history.mode", "fit"): "whole",
    ("compaction.mode", "auto"): "manual",
    ("compaction.mode", ""): "auto",
    ("compaction.headless_mode", ""): "off",
    ("compaction.measure", "plan"): "reported",
    ("compaction.measure", ""): "plan",
    ("compaction.selection", "everything"): "turns",
    ("compaction.selection", ""): "everything",
    ("compaction.place", "end"): "start",
    ("compaction.prompt", "workbench"): "codex",
    ("compaction.prompt", ""): "workbench",
}
"""What a word is changed to, by knob and word; without a word: whatever it is."""


class Mutant(NamedTuple):
    """One value of a preset, changed."""

    preset: str
    knob: str
    value: Any

    def __str__(self) -> str:
        return f"{self.preset}: {self.knob} = {self.value!r}"


def mutants() -> Iterator[Mutant]:
    """Every value of every preset, each changed once."""
    for name in load.preset_names():
        if name == RECORDED:
            continue
        for knob, value in values_of(name):
            yield Mutant(name, knob, _changed(knob, value))


def values_of(name: str) -> list[tuple[str, Any]]:
    """What the file of a preset sets."""
    table = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    table.pop("description")
    return list(flatten_table(table))


def _changed(knob: str, value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if knob in ("truncation.head_lines", "truncation.tail_lines"):
        return value // 2
    if isinstance(value, int):
        return value * 3 + 700 if value > 100 else value + 3 if value else 3_000
    if isinstance(value, float):
        return round(value / 2, 4)
    if isinstance(value, list):
        return value[1:]
    return OTHER_WORDS.get((knob, value)) or OTHER_WORDS.get((knob, "")) or f"{value} otherwise"


@dataclass(frozen=True, slots=True)
class Nearest:
    """A file of tests, ready to be run many times."""

    path: Path
    code: CodeType

    @classmethod
    def read(cls, file: str) -> Nearest:
        """The file below `tests/`."""
        path = TESTS / file
        return cls(path, compile(path.read_text(encoding="utf-8"), str(path), "exec"))

    def cases(self, preset: str) -> Iterator[Callable[[], object]]:
        """The tests that speak of a preset, each with its parameters."""
        module = ModuleType(self.path.stem)
        module.__file__ = str(self.path)
        exec(self.code, module.__dict__)
        for name, test in list(vars(module).items()):
            if name.startswith("test_") and not inspect.iscoroutinefunction(test) and preset in _speaks(test):
                yield from _with_parameters(test)


def _speaks(test: Any) -> str:
    """Its marks, with the parameters, and its source."""
    marks = [mark.args for mark in getattr(test, "pytestmark", ())]
    return f"{marks} {inspect.getsource(test)}"


def _with_parameters(test: Any) -> Iterator[Callable[[], object]]:
    """The test with each set of its parameters; nothing where it needs more than them."""
    marks = [mark for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
    sets = [(_names(mark.args[0]), list(mark.args[1])) for mark in marks]
    if set(inspect.signature(test).parameters) != {name for names, _ in sets for name in names}:
        return
    for chosen in product(*(values for _, values in sets)):
        given: dict[str, Any] = {}
        for (names, _), value in zip(sets, chosen, strict=True):
            values = value.values if hasattr(value, "marks") else value if len(names) > 1 else (value,)
            given |= zip(names, values, strict=True)
        yield partial(test, **given)


def _names(said: str | Sequence[str]) -> list[str]:
    return [name.strip() for name in (said.split(",") if isinstance(said, str) else said)]


def notices(mutant: Mutant, files: Sequence[Nearest]) -> str:
    """The first test that fails with a mutant; empty where all of them pass."""
    source = load._preset(mutant.preset)
    [layer] = source.layers
    values = {**layer.values, mutant.knob: find_knob(mutant.knob).check_value(mutant.value)}
    changed = source._replace(layers=[layer._replace(values=values)])

    def preset(name: str) -> load._Source:
        return changed if name == mutant.preset else original(name)

    original = load._preset
    with patch.object(load, "_preset", preset):
        for file in files:
            for case in file.cases(mutant.preset):
                try:
                    case()
                except Exception as error:
                    return f"{file.path.stem}: {getattr(case, 'func', case).__name__}: {type(error).__name__}"
    return ""
