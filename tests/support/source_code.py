"""The program's source, parsed once for all checks that read it.

Such a check is marked with `parsed_once`: all of them run in one process of pytest-xdist.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "workbench"

parsed_once = pytest.mark.xdist_group("parsed")


@cache
def module_tree(path: Path) -> ast.Module:
    """A module of the program."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def module_nodes(path: Path) -> tuple[ast.AST, ...]:
    """All that is in it."""
    return tuple(ast.walk(module_tree(path)))
