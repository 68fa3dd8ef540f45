"""Public functions have names of their own, so that a search for one finds it and nothing else."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import workbench

ROOT = Path(workbench.__file__).parent
OWN_NAMES: tuple[str, ...] = (
    # One folder per line. Folders join when they are clean, and never leave.
    "compaction",
    "config",
    "context",
    "live",
    "log",
    "sources",
    "traces",
)
PROTOCOLS = frozenset({"read", "recognises", "recognises_tables", "sessions"})
"""Each reader of a format has these: see `traces/formats`."""
OF_BODIES = frozenset({"answer_of", "is_body"})
"""Of readers of request bodies, which become objects in `wire/`."""


def public_functions(folder: str) -> dict[str, list[str]]:
    """By name: the modules below a folder that define it."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
                found[node.name].append(path.relative_to(ROOT).as_posix())
    return found


def test_no_two_modules_have_a_public_function_of_the_same_name() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for folder in OWN_NAMES:
        for name, modules in public_functions(folder).items():
            found[name] += modules
    allowed = PROTOCOLS | OF_BODIES
    assert {name: modules for name, modules in found.items() if len(modules) > 1 and name not in allowed} == {}
