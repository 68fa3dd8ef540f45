"""The faults that `tests/mutants.py` puts into the code are code, and it asks the tests that reach them."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from random import Random

from support.code_mutants import PROJECT, NearestTests, mutants_of
from support.reached_tests import ReachedTests, load_reached, marked_text, put_markers, read_notes

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
    for file in Random(1).sample(files, 25):
        text = file.read_bytes()
        for mutant in Random(1).sample(found := mutants_of(file), min(5, len(found))):
            changed = mutant.applied(text)
            assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text)), mutant


def test_the_nearest_tests_are_of_its_name_then_of_its_folder() -> None:
    nearest = NearestTests()
    first, *more = nearest.of("workbench/config/text.py")
    assert first == "tests/config/test_text.py"
    room = {each.relative_to(PROJECT).as_posix() for each in (PROJECT / "tests" / "config").rglob("test_*.py")}
    assert {first, *more, *nearest.of_room("workbench/config/text.py")} == room


def test_a_marker_is_put_before_the_statement_of_a_fault(tmp_path: Path) -> None:
    """The rest of the file stays as it is, and of a fault outside functions there is one in each function."""
    file = tmp_path / "sample.py"
    file.write_text(SAMPLE, encoding="utf-8")
    faults = dict(enumerate(mutants_of(file, tmp_path)))
    before, numbers = list[str](), list[str]()
    for line in marked_text(file.read_bytes(), faults).decode().splitlines():
        if (found := line.partition(".note(")[2]) != "":
            numbers.append(found.rstrip(")"))
        elif len(before) < len(numbers):
            before.append(line.strip())
    assert list(zip(numbers, before, strict=True)) == [
        ("0, 1", "for value in values:"),
        ("2, 3, 4", "if value < least or not value:"),
        ("5", "continue"),
        ("6", "if bool(value):"),
        ("7", "print(value)"),
        ("8, 9, 10", "return max(value, MOST) + 1"),
    ]


def test_any_file_with_markers_is_the_same_code() -> None:
    files = sorted((PROJECT / "workbench").rglob("*.py"))
    for file in Random(2).sample(files, 25):
        text = file.read_bytes()
        marked = marked_text(text, dict(enumerate(mutants_of(file))))
        ast.parse(marked)
        lines = [line for line in marked.split(b"\n") if b"reached_markers" not in line]
        assert b"\n".join(lines) == text, file


def test_markers_note_the_test_that_reaches_them(tmp_path: Path) -> None:
    file = tmp_path / "workbench" / "sample.py"
    file.parent.mkdir()
    (file.parent / "__init__.py").touch()
    file.write_text(SAMPLE, encoding="utf-8")
    faults = mutants_of(file, tmp_path)
    put_markers(tmp_path, tmp_path / "notes", faults)
    for test, values in (("test_empty", "[]"), ("test_small[a b]@litellm", "[-1]"), ("test_large", "[3]")):
        program = f"from workbench.sample import first; first({values}); first({values})"
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTEST_CURRENT_TEST": f"tests/x.py::{test} (call)"}
        subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, check=True)
    reached = read_notes(tmp_path / "notes", faults, "0.20s call     tests/x.py::test_small[a b]@litellm\n")
    reached.save(tmp_path / "reached.json")
    assert load_reached(tmp_path / "reached.json") == reached
    names = {each.line: reached.in_order(each, ["tests/x.py"]) for each in faults}
    assert names[3] == ["tests/x.py::test_empty", "tests/x.py::test_large", "tests/x.py::test_small[a b]"]
    assert names[10] == ["tests/x.py::test_small[a b]"]
    assert names[12] == names[13] == ["tests/x.py::test_large"]


def test_a_few_of_the_nearest_tests_are_asked_first_and_then_the_cheapest_of_each_file(tmp_path: Path) -> None:
    file = tmp_path / "sample.py"
    file.write_text(SAMPLE, encoding="utf-8")
    fault, *_ = mutants_of(file, tmp_path)
    near = [f"near.py::test_{number:02}" for number in range(30)]
    far = ["a.py::test_1", "a.py::test_2", "b.py::test_1"]
    reached = ReachedTests({fault.key: [*far, *near]}, {"a.py::test_1": 2.0, "b.py::test_1": 1.0})
    cheapest = ["a.py::test_2", "b.py::test_1"]
    assert reached.in_order(fault, ["near.py"]) == [*near[:20], *cheapest, *near[20:], "a.py::test_1"]
    assert reached.within(["a.py", "near.py", "b.py"], 2.5) == ["a.py", "near.py"]


def test_what_the_list_names_exists() -> None:
    known = tomllib.loads((PROJECT / "tests" / "mutants.toml").read_text(encoding="utf-8"))
    for each in known["accepted"]:
        file = PROJECT / each["fault"].partition(":")[0]
        assert each["fault"] in {mutant.key for mutant in mutants_of(file)}, "the line has changed"
        assert each["why"]
