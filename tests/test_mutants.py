"""The faults that `tests/mutants.py` puts into the code are code, and it asks the tests that are nearest."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from random import Random
from typing import Any

import pytest

from support.code_mutants import PROJECT, NearestTests, mutants_of

pytestmark = pytest.mark.xdist_group("mutants")
KNOWN: dict[str, Any] = tomllib.loads((PROJECT / "tests" / "mutants.toml").read_text(encoding="utf-8"))

SAMPLE = '''"""Says 1."""

MOST: int = 3


def first(values: list[int], least: int = 0) -> int | None:
    """The first of them, 1 at least."""
    for value in values:
        if value < least or not value:
            continue
        if bool(value):
            print(value)
            return max(value, MOST) + 1
    return None
'''


@pytest.fixture(scope="module")
def nearest() -> NearestTests:
    """Which tests are near. It reads all of them."""
    return NearestTests(further=KNOWN["tests"])


def test_a_file_has_these_faults(tmp_path: Path) -> None:
    file = tmp_path / "sample.py"
    file.write_text(SAMPLE, encoding="utf-8")
    assert [(each.line, each.before, each.after) for each in mutants_of(file, tmp_path)] == [
        (3, "3", "4"),
        (6, "0", "1"),
        (9, "<", "<="),
        (9, "or", "and"),
        (9, "not ", ""),
        (10, "continue", "break"),
        (11, "bool(value)", "not (bool(value))"),
        (12, "print(value)", "None"),
        (13, "max", "min"),
        (13, "+", "-"),
        (13, "1", "2"),
    ]


def test_code_with_a_fault_is_code_and_differs() -> None:
    files = sorted((PROJECT / "workbench").rglob("*.py"))
    for file in Random(1).sample(files, 60):
        text = file.read_bytes()
        for mutant in Random(1).sample(found := mutants_of(file), min(5, len(found))):
            changed = mutant.applied(text)
            assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text)), mutant


def test_the_nearest_tests_are_of_its_name_then_of_its_folder(nearest: NearestTests) -> None:
    first, *_ = nearest.of("workbench/config/text.py")
    assert first == PROJECT / "tests" / "config" / "test_text.py"
    assert nearest.of("workbench/config/text_of_no_file.py") == sorted(
        (PROJECT / "tests" / "config").rglob("test_*.py")
    )


def test_tests_beyond_the_nearest_are_those_of_its_room_and_those_that_import_it(nearest: NearestTests) -> None:
    near, beyond = set(nearest.of("workbench/wire/chat.py")), nearest.beyond("workbench/wire/chat.py")
    assert not near & set(beyond)
    assert near | set(beyond) >= set((PROJECT / "tests" / "wire").rglob("test_*.py"))
    assert not any(each.is_relative_to(PROJECT / "tests" / "tui") for each in beyond)


def test_what_the_list_names_exists(nearest: NearestTests) -> None:
    for file, tests in KNOWN["tests"].items():
        assert [name for name in (file, *tests) if not (PROJECT / name).is_file()] == []
        assert set(tests) <= {str(each.relative_to(PROJECT)) for each in nearest.of(file)}
    accepted = KNOWN.get("accepted", [])
    files = {each["fault"].partition(":")[0] for each in accepted}
    faults = {mutant.key for file in files for mutant in mutants_of(PROJECT / file)}
    for each in accepted:
        assert each["fault"] in faults, "the line has changed"
        assert each["why"]
