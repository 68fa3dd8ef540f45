"""Patterns that are compiled at their first use."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pkgutil import walk_packages

import pytest

import workbench
from workbench.config.patterns import late_pattern


def test_it_finds_what_a_compiled_pattern_finds() -> None:
    late, plain = late_pattern(r"(?P<word>a\w+)", re.IGNORECASE), re.compile(r"(?P<word>a\w+)", re.IGNORECASE)
    text = "An apple, and a bun"
    for _ in range(2):
        assert late.findall(text) == plain.findall(text) == ["An", "apple", "and"]
        assert late.sub("x", text) == plain.sub("x", text)
    assert (late.pattern, late.flags, late.groupindex) == (plain.pattern, plain.flags, plain.groupindex)


def test_it_is_compiled_at_its_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    compile_now = re.compile

    def compiled(pattern: str, flags: int) -> re.Pattern[str]:
        asked.append(pattern)
        return compile_now(pattern, flags)

    monkeypatch.setattr(re, "compile", compiled)
    late = late_pattern("never seen before")
    assert not asked
    assert late.search is late.search
    assert asked == ["never seen before"]


def test_every_late_pattern_of_the_program_can_be_compiled() -> None:
    for module in walk_packages(workbench.__path__, "workbench."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    late = [
        value
        for name, module in list(sys.modules.items())
        if name.startswith("workbench.")
        for held in vars(module).values()
        for value in (held.values() if isinstance(held, dict) else (held,))
        if isinstance(value, type(late_pattern("")))
    ]
    assert len(late) > 50
    for pattern in late:
        assert pattern.pattern is not None
