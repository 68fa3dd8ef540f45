"""The faults that `tests/mutants.py` puts into the code are code, and it asks the tests that reach them."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from random import Random

import pytest

from support.code_mutants import PROJECT, NearestTests, listed_tests, mutants_of
from support.kept_fates import KeptFates
from support.project_copies import HANGS, ProjectCopy
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


def test_every_fault_has_a_key_of_its_own(tmp_path: Path) -> None:
    """Also where a line holds the same fault twice, or a file the same line."""
    file = tmp_path / "sample.py"
    file.write_text("size = 2 * 3 * 4\nsize = 2 * 3 * 4\n", encoding="utf-8")
    times = [each.key for each in mutants_of(file, tmp_path) if each.before == "*"]
    first = "sample.py: size = 2 * 3 * 4 [* -> +]"
    assert times == [first, f"{first} (2)", f"{first} (3)", f"{first} (4)"]


def test_code_with_a_fault_is_code_and_differs() -> None:
    files = sorted((PROJECT / "workbench").rglob("*.py"))
    for file in Random(1).sample(files, 10):
        text = file.read_bytes()
        for mutant in Random(1).sample(found := mutants_of(file), min(5, len(found))):
            changed = mutant.applied(text)
            assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text)), mutant


def test_the_nearest_tests_are_of_its_name_then_of_its_folder(tmp_path: Path) -> None:
    shutil.copytree(PROJECT / "tests" / "config", tmp_path / "tests" / "config")
    nearest = NearestTests(tmp_path / "tests")
    first, *more = nearest.of("workbench/config/text.py")
    assert first == "tests/config/test_text.py"
    room = {each.relative_to(PROJECT).as_posix() for each in (PROJECT / "tests" / "config").rglob("test_*.py")}
    assert {first, *more, *nearest.of_room("workbench/config/text.py")} == room


def test_the_tests_of_a_file_are_known_without_running_it() -> None:
    assert "tests/test_mutants.py::test_a_file_has_these_faults" in listed_tests("tests/test_mutants.py")
    assert "tests/log/test_store.py::TestRenaming::test_a_closed_session" in listed_tests("tests/log/test_store.py")


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
    for file in Random(2).sample(files, 10):
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
    more = reached.with_folder("tests", faults, tmp_path / "notes", "FAILED tests/x.py::test_large - why\n")
    assert (more.tests, more.lacks(faults[0], "tests"), more.lacks(faults[0], "tests/tui")) == (
        reached.tests,
        False,
        True,
    )
    more.save(tmp_path / "reached.json")
    assert load_reached(tmp_path / "reached.json") == more
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
    reached = ReachedTests({fault.key: [*far, *near]}, {"a.py::test_1": 2.0, "b.py::test_1": 1.0}, {})
    cheapest = ["a.py::test_2", "b.py::test_1"]
    assert reached.in_order(fault, ["near.py"]) == [*near[:20], *cheapest, *near[20:], "a.py::test_1"]
    assert reached.within(["a.py", "near.py", "b.py"], 2.5) == ["a.py", "near.py"]


def test_what_became_of_a_fault_counts_until_its_files_change(tmp_path: Path) -> None:
    for name in ("sample.py", "near.py", "far.py"):
        (tmp_path / name).write_text(SAMPLE, encoding="utf-8")
    noticed, survived, new, *_ = mutants_of(tmp_path / "sample.py", tmp_path)
    asked = ["far.py::test_1", "near.py::test_1"]
    fates = KeptFates(tmp_path / "fates")
    fates.add(tmp_path, noticed, asked, "noticed", "near.py::test_1")
    fates.add(tmp_path, survived, asked, "survived", "")

    def known() -> list[str]:
        found = [KeptFates(tmp_path / "fates").known(tmp_path, each, asked) for each in (noticed, survived)]
        return [each["fate"] for each in found if each]

    assert known() == ["noticed", "survived"]
    (tmp_path / "far.py").write_text("", encoding="utf-8")
    assert known() == ["noticed"]
    (tmp_path / "near.py").write_text("", encoding="utf-8")
    assert known() == []
    assert [fates.noticed_by(each) for each in (noticed, survived)] == [["near.py::test_1"], []]
    assert [fates.was_tried(each) for each in (noticed, survived, new)] == [True, True, False]
    fates.add(tmp_path, new, asked, "hangs", "")
    assert [fates.has_hung(each) for each in (noticed, survived, new)] == [False, False, True]


def test_tests_that_print_nothing_are_taken_for_stuck(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # pytest starts three times as fast
    monkeypatch.setenv("PYTEST_PLUGINS", "xdist.plugin,_hypothesis_pytestplugin")
    project, copy = tmp_path / "project", tmp_path / "copy"
    file = project / "workbench" / "sample.py"
    file.parent.mkdir(parents=True)
    (file.parent / "__init__.py").touch()
    file.write_text("IS_QUICK = True\n", encoding="utf-8")
    profile = "from hypothesis import settings\nsettings.register_profile('repeatable')\n"
    (project / "conftest.py").write_text(profile, encoding="utf-8")
    quick = "from time import sleep\nfrom workbench.sample import IS_QUICK\n"
    quick += "def test_it():\n    sleep(0 if IS_QUICK else 900)\n"
    (project / "test_sample.py").write_text(quick, encoding="utf-8")
    (project / "test_other.py").write_text("def test_it():\n    assert False\n", encoding="utf-8")
    trial = ProjectCopy(project, copy)
    (fault,) = mutants_of(file, project)
    assert trial.tried(fault, ["test_sample.py"], 3) == ("hangs", "")
    assert trial.tried(fault, ["test_other.py"], HANGS) == ("survived", "")


def test_what_the_list_names_exists() -> None:
    known = tomllib.loads((PROJECT / "tests" / "mutants.toml").read_text(encoding="utf-8"))
    for each in known["accepted"]:
        file = PROJECT / each["fault"].partition(":")[0]
        assert each["fault"] in {mutant.key for mutant in mutants_of(file)}, "the line has changed"
        assert each["why"]
