"""Which tests reach a fault: markers in a copy of the code note which test runs.

A marker is a call before the statement that holds the fault. Code outside functions runs when it is imported, whatever
is tested; a fault there has a marker in every function of its file.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from support.code_mutants import CodeMutant

_MODULE = "reached_markers"
_NOTING = '''"""Notes which tests reach a marker."""

import os

_noted = set()


def note(*numbers):
    test = os.environ.get("PYTEST_CURRENT_TEST", "")
    for number in numbers:
        if (number, test) in _noted:
            continue
        _noted.add((number, test))
        try:
            file = os.open(os.path.join({folder!r}, str(os.getpid())), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.write(file, f"{{number}} {{test}}\\n".encode())
            os.close(file)
        except OSError:
            pass
'''
_FEW = 20
"""Tests of each of the nearest files that come before those of other files."""


class ReachedTests(NamedTuple):
    """What a run of the tests without any fault said."""

    tests: dict[str, list[str]]
    """By a fault's key, the tests that reach it."""
    seconds: dict[str, float]
    """Of the tests that passed."""
    asked: dict[str, list[str]]
    """By a folder of tests that has run, the keys of the faults that were marked."""

    def names(self) -> set[str]:
        """The tests that passed, without their cases."""
        return {each.partition("[")[0] for each in self.seconds}

    def lacks(self, fault: CodeMutant, folder: str) -> bool:
        """Whether nobody knows which tests of a folder reach a fault."""
        return fault.key not in self.asked.get(folder, ())

    def with_folder(self, folder: str, faults: Iterable[CodeMutant], notes: Path, output: str) -> ReachedTests:
        """With what a run of one more folder said."""
        marked = list(faults)
        new = read_notes(notes, marked, output)
        tests = {key: sorted({*self.tests.get(key, ()), *found}) for key, found in new.tests.items()}
        asked = sorted({*self.asked.get(folder, ()), *(each.key for each in marked)})
        return ReachedTests(self.tests | tests, self.seconds | new.seconds, self.asked | {folder: asked})

    def in_order(self, fault: CodeMutant, nearest: Collection[str]) -> list[str]:
        """A few of the nearest files, the cheapest of each other file, and then the next few of each."""
        places = dict[str, tuple[int, bool, float]]()
        found = dict[str, int]()
        for test in sorted(self.tests.get(fault.key, ()), key=self._cost):
            file = test.partition("::")[0]
            rank = found[file] = found.get(file, -1) + 1
            is_near = file in nearest
            places[test] = rank // _FEW if is_near else rank, not is_near, self._cost(test)
        return sorted(places, key=places.__getitem__)

    def within(self, tests: Iterable[str], seconds: float) -> list[str]:
        """As many of them as can run in that time. A test may be a whole file."""
        taken = list[str]()
        for test in tests:
            if (cost := self._cost(test)) <= seconds:
                taken.append(test)
                seconds -= cost
        return taken

    def longest(self, tests: Iterable[str]) -> float:
        """The seconds of the slowest test. A test may be a whole file."""
        asked = tuple(tests)
        return max((time for test, time in self.seconds.items() if test.startswith(asked)), default=0.0)

    def _cost(self, test: str) -> float:
        if "::" in test:
            return self.seconds.get(test, 0.0)
        return sum(seconds for each, seconds in self.seconds.items() if each.startswith(f"{test}::"))

    def save(self, file: Path) -> None:
        """Keep it for another run."""
        new = file.with_name(f"{file.name}.new")
        new.write_text(json.dumps(self._asdict(), indent=1), encoding="utf-8")
        new.replace(file)


def put_markers(project: Path, notes: Path, faults: Iterable[CodeMutant]) -> None:
    """Mark the faults in a copy of the project. Each process will note in a file of its own which tests reach them."""
    by_file: dict[str, dict[int, CodeMutant]] = {}
    for number, fault in enumerate(faults):
        by_file.setdefault(fault.file, {})[number] = fault
    for name, theirs in by_file.items():
        file = project / name
        file.write_bytes(marked_text(file.read_bytes(), theirs))
    notes.mkdir()
    (project / "workbench" / f"{_MODULE}.py").write_text(_NOTING.format(folder=str(notes)), encoding="utf-8")


def read_notes(notes: Path, faults: Iterable[CodeMutant], output: str) -> ReachedTests:
    """What the markers noted; `output` is what pytest printed, with the duration of each test."""
    keys = [each.key for each in faults]
    tests: dict[str, set[str]] = {key: set() for key in keys}
    for file in notes.iterdir():
        for line in file.read_text(encoding="utf-8", errors="replace").split("\n"):
            number, _, test = line.partition(" ")
            if number.isdigit() and (name := _test_name(test.rpartition(" (")[0])):
                tests[keys[int(number)]].add(name)
    seconds = dict[str, float]()
    for time, test in re.findall(r"^(\d+\.\d+)s (?:setup|call|teardown) +(\S.*)$", output, re.MULTILINE):
        name = _test_name(test)
        seconds[name] = seconds.get(name, 0.0) + float(time)
    for name in failed_tests(output):
        seconds.pop(name, None)
    return ReachedTests({key: sorted(found) for key, found in tests.items()}, seconds, {})


def failed_tests(output: str) -> list[str]:
    """The tests that failed, and the files that cannot be read, in what pytest printed."""
    found = re.findall(r"^(?:FAILED|ERROR) (\S+(?: .*\])?)", output, re.MULTILINE)
    return [_test_name(each.split(" - ")[0]) for each in found]


def load_reached(file: Path) -> ReachedTests:
    """What another run has kept."""
    return ReachedTests(**json.loads(file.read_text(encoding="utf-8")))


def _test_name(test: str) -> str:
    """Without the group that pytest-xdist adds."""
    return re.sub(r"@[^\]@]+$", "", test)


def marked_text(text: bytes, faults: Mapping[int, CodeMutant]) -> bytes:
    """The file with a marker for each fault."""
    tree = ast.parse(text)
    lines = text.split(b"\n")
    free = list(_free_statements(tree, lines))
    numbers: dict[int, list[int]] = {}
    for number, fault in faults.items():
        at = (fault.line, fault.start - text.rfind(b"\n", 0, fault.start) - 1)
        around = [each for each in free if (each.lineno, each.col_offset) <= at < _end(each)]
        for each in around[-1:] or _first_of_functions(tree, free):
            numbers.setdefault(_first_line(each), []).append(number)
    for line in sorted(numbers, reverse=True):
        here = lines[line - 1]
        indent = here[: len(here) - len(here.lstrip())].decode()
        arguments = ", ".join(map(str, numbers[line]))
        call = f'{indent}__import__("workbench.{_MODULE}", fromlist=["note"]).note({arguments})'
        lines.insert(line - 1, call.encode())
    return b"\n".join(lines)


def _free_statements(node: ast.AST, lines: list[bytes], is_inside: bool = False) -> Iterator[ast.stmt]:
    """The statements in functions before which a line can be put, outer ones first."""
    is_inside = is_inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    for child in ast.iter_child_nodes(node):
        if is_inside and isinstance(child, ast.stmt):
            line = lines[_first_line(child) - 1]
            is_first = not line[: child.col_offset].strip() and not line[child.col_offset :].startswith(b"elif")
            if is_first and not (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)):
                yield child
        yield from _free_statements(child, lines, is_inside)


def _first_of_functions(tree: ast.Module, free: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    known = set(free)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from [each for each in node.body if each in known][:1]


def _first_line(statement: ast.stmt) -> int:
    """Of a function or a class, with its decorators."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return min([statement.lineno, *(each.lineno for each in statement.decorator_list)])
    return statement.lineno


def _end(statement: ast.stmt) -> tuple[int, int]:
    assert statement.end_lineno is not None
    assert statement.end_col_offset is not None
    return statement.end_lineno, statement.end_col_offset
