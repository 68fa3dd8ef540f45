"""Textual describes each worker by its arguments. Written out, a long session's plan has megabytes."""

from __future__ import annotations

import ast
from pathlib import Path

import workbench

ROOT = Path(workbench.__file__).parent
SOURCES = sorted((ROOT / "tui").rglob("*.py"))


def workers(source: str) -> list[tuple[str, bool, bool]]:
    """Name of each worker, whether it has arguments, and whether its decorator has a description; an empty one
    does not count."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for decorator in node.decorator_list:
                called = decorator.func if isinstance(decorator, ast.Call) else decorator
                if isinstance(called, ast.Name) and called.id == "work":
                    given = decorator.keywords if isinstance(decorator, ast.Call) else []
                    described = [ast.literal_eval(each.value) for each in given if each.arg == "description"]
                    found.append((node.name, len(node.args.args) > 1, any(described)))
    return found


def test_a_worker_with_arguments_has_a_description_without_them() -> None:
    found = {path: workers(path.read_text("utf-8")) for path in SOURCES}
    assert sum(map(len, found.values())) > 50
    assert [
        f"{path.relative_to(ROOT)}: {name}"
        for path, each in found.items()
        for name, has_arguments, is_described in each
        if has_arguments and not is_described
    ] == []
