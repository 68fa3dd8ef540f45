"""Patterns for paths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.agent.tools.globs import Glob, glob_matches


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.py", ["a.py", "x/y/a.py"], ["a.pyc", "py"]),
        ("src/*.py", ["src/a.py"], ["src/x/a.py", "a.py", "lib/src/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/x/y/a.py"], ["a.py"]),
        ("src/**", ["src/a", "src/x/a"], ["src", "srcs/a"]),
        ("**/x", ["x", "a/b/x"], ["xy"]),
        ("./src/", ["src"], ["src/a"]),
        ("*.{c,h}", ["a.c", "x/a.h"], ["a.ch"]),
        ("{a,b}/{c,d}", ["a/c", "b/d"], ["a/b"]),
        ("[ab]?", ["ax", "by"], ["cx", "a"]),
    ],
)
def test_a_glob_matches_names_or_paths(pattern: str, yes: list[str], no: list[str]) -> None:
    glob = Glob(pattern)
    assert [path for path in yes if not glob(path)] == []
    assert [path for path in no if glob(path)] == []


def test_too_many_alternatives_stand_for_themselves() -> None:
    assert not Glob("{a,b}" * 10)("a" * 10)


names = st.text("ab", min_size=1, max_size=3)


@given(st.lists(names, min_size=1, max_size=5))
def test_a_path_matches_itself_and_two_stars(path: list[str]) -> None:
    assert glob_matches(path, path)
    assert glob_matches(["**"], path)
    assert glob_matches(["**", path[-1]], path)
    assert not glob_matches(path, [*path, "c"])


def test_many_stars_take_no_time() -> None:
    assert not Glob("*a" * 40 + "b")("a" * 250)
    assert not glob_matches(["**"] * 100 + ["b"], ["a"] * 200)
