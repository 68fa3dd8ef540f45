"""Small faults put into the code, one at a time, and the tests that are nearest to the place.

The fault is put into the text of the file, so that everything around it stays as it is.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).resolve().parent.parent
PROJECT = TESTS.parent
_COMPARED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
_CALCULATED: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
}
_OTHER_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}


class CodeMutant(NamedTuple):
    """One place of a file, written differently."""

    file: str
    """Below the project, as `workbench/log/store.py`."""
    line: int
    start: int
    """Where in the text, in bytes."""
    before: str
    after: str
    source: str
    """The line as it is."""
    number: int = 1
    """Among the same faults in the same words, on this line or another."""

    @property
    def key(self) -> str:
        """Names it also when the file has grown above it."""
        which = f" ({self.number})" if self.number > 1 else ""
        return f"{self.file}: {self.source.strip()} [{self.before} -> {self.after}]{which}"

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.before} -> {self.after} in: {self.source.strip()[:90]}"

    def applied(self, text: bytes) -> bytes:
        """The file with the fault."""
        old = self.before.encode()
        assert text[self.start : self.start + len(old)] == old, f"the file has changed: {self}"
        return text[: self.start] + self.after.encode() + text[self.start + len(old) :]


def mutants_of(file: Path, project: Path = PROJECT) -> list[CodeMutant]:
    """Every small fault that a file can have, from its beginning to its end."""
    found = _Finder(file.read_bytes(), file.relative_to(project).as_posix()).find()
    seen = Counter[str]()
    numbered = list[CodeMutant]()
    for each in sorted(set(found), key=lambda each: (each.start, each.after)):
        seen[each.key] += 1
        numbered.append(each._replace(number=seen[each.key]))
    return numbered


class _Finder:
    def __init__(self, text: bytes, file: str) -> None:
        self._text = text
        self._file = file
        self._lines = text.split(b"\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)

    def find(self) -> Iterator[CodeMutant]:
        yield from self._below(ast.parse(self._text))

    def _below(self, node: ast.AST) -> Iterator[CodeMutant]:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return  # never runs
        if isinstance(node, ast.AnnAssign):  # what a type is does not count
            if node.value is not None:
                yield from self._below(node.value)
            return
        yield from self._of(node)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "bases", "type_params"):
                continue
            if name == "keywords" and isinstance(node, ast.ClassDef):  # how its class is made, like a decorator
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not _is_docstring(child):
                    yield from self._below(child)

    def _of(self, node: ast.AST) -> Iterator[CodeMutant]:
        match node:
            case ast.Compare(left, [operator], [right]) if type(operator) in _COMPARED:
                yield from self._between(left, right, *_COMPARED[type(operator)])
            case ast.BoolOp(operator, values):
                words = ("and", "or") if isinstance(operator, ast.And) else ("or", "and")
                if len(values) == 2:  # with more, one changed word would bind otherwise
                    yield from self._between(values[0], values[1], *words)
            case ast.BinOp(left, operator, right) if type(operator) in _CALCULATED and not _is_text(left, right):
                yield from self._between(left, right, *_CALCULATED[type(operator)])
            case ast.UnaryOp(ast.Not()):
                yield from self._at(node, "not ", "")
            case ast.Constant(bool() as value):
                yield from self._at(node, str(value), str(not value))
            case ast.Constant(int() as number):
                yield from self._at(node, self._written(node), str(number + 1))
            case ast.Call(ast.Name(name) as called) if name in _OTHER_NAMES:
                yield from self._at(called, name, _OTHER_NAMES[name])
            case ast.Break():
                yield from self._at(node, "break", "continue")
            case ast.Continue():
                yield from self._at(node, "continue", "break")
            case ast.If(test) | ast.IfExp(test=test) if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp):
                written = self._written(test)
                if "\n" not in written:
                    yield from self._at(test, written, f"not ({written})")
            case ast.Expr(ast.Call() as call) if call.lineno == call.end_lineno:
                yield from self._at(call, self._written(call), "None")

    def _written(self, node: ast.expr) -> str:
        """The text of a node. The one of `ast` splits the whole file each time."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        end = self._offset(node.end_lineno, node.end_col_offset)
        return self._text[self._offset(node.lineno, node.col_offset) : end].decode()

    def _offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column

    def _at(self, node: ast.expr | ast.stmt, before: str, after: str) -> Iterator[CodeMutant]:
        start = self._offset(node.lineno, node.col_offset)
        if before and self._text[start:].startswith(before.encode()):
            yield self._made(start, node.lineno, before, after)

    def _between(self, left: ast.expr, right: ast.expr, before: str, after: str) -> Iterator[CodeMutant]:
        assert left.end_lineno is not None
        assert left.end_col_offset is not None
        first = self._offset(left.end_lineno, left.end_col_offset)
        last = self._offset(right.lineno, right.col_offset)
        at = self._text.find(f" {before} ".encode(), first, last)
        if at >= 0:
            yield self._made(at + 1, self._text.count(b"\n", 0, at) + 1, before, after)

    def _made(self, start: int, line: int, before: str, after: str) -> CodeMutant:
        return CodeMutant(self._file, line, start, before, after, self._lines[line - 1].decode())


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_text(*nodes: ast.expr) -> bool:
    """Texts are not subtracted: Python itself would notice."""
    return any(isinstance(node, ast.JoinedStr | ast.List | ast.Tuple) or _is_string(node) for node in nodes)


def _is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


class NearestTests:
    """Which files of tests use a module, the nearest first."""

    def __init__(self, tests: Path = TESTS) -> None:
        self._uses = {file: _imported(file) for file in sorted(tests.rglob("test_*.py"))}
        self._tests = tests

    def of(self, file: str) -> list[str]:
        """Those of its name and those of its room that import it; if there are none, others that do."""
        path = Path(file)
        module, room = ".".join(path.with_suffix("").parts), path.parts[1]
        named = [each for each in self._uses if each.stem == f"test_{path.stem}" and room in each.parts]
        using = [each for each, modules in self._uses.items() if module in modules]
        near = [each for each in using if room in each.parts]
        return self._names(dict.fromkeys([*named, *near]) or using)

    def of_room(self, file: str) -> list[str]:
        """The others of its room."""
        room, near = self._tests / Path(file).parts[1], self.of(file)
        theirs = self._names(each for each in self._uses if room in each.parents)
        return [each for each in theirs if each not in near]

    def _names(self, files: Iterable[Path]) -> list[str]:
        return [each.relative_to(self._tests.parent).as_posix() for each in files]


@cache
def listed_tests(file: str) -> list[str]:
    """The tests of a file, without their cases; none if it is gone."""
    found, path = list[str](), PROJECT / file
    for node in ast.parse(path.read_bytes() if path.exists() else b"").body:
        for each in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name.startswith("test"):
                found.append("::".join([file, *([node.name] if isinstance(node, ast.ClassDef) else []), each.name]))
    return found


def _imported(file: Path) -> set[str]:
    """The modules that a file imports, by name."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Import):
            found.update(each.name for each in node.names)
    return found
