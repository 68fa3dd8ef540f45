"""The registry of our own parts and of plug-ins, and the scan for installed packages."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest

from support.installed import install, installed
from workbench.config.errors import WrongCall
from workbench.config.plugin_entries import GROUPS, PREFIX, PluginEntry, all_entries, installed_entries
from workbench.config.plugins import PROBLEMS, PluginProblems, PluginRegistry


def whole_number(name: str, value: Any) -> int:
    if not isinstance(value, int):
        raise TypeError("expected a whole number")
    return value


def messages(distribution: str) -> list[str]:
    return [each.message for each in PROBLEMS.listed() if each.entry.distribution == distribution]


# The scan


def test_the_scan_finds_what_the_standard_library_finds(tmp_path: Path) -> None:
    entries = {"tools": {"a": "support.plugin_parts:fail", "b.c": "support.plugin_parts:leave"}, "stages": {"a": "x:y"}}
    with installed(tmp_path, entries, "Some_Package"):
        found = {(each.group, each.name, each.target) for each in all_entries() if each.distribution == "some-package"}
        known = {
            (each.group.removeprefix(PREFIX), each.name, each.value)
            for group in GROUPS
            for each in entry_points(group=f"{PREFIX}{group}")
            if each.value == "x:y" or "plugin_parts" in each.value
        }
        assert found == known != set()
        assert {each.version for each in all_entries() if each.distribution == "some-package"} == {"1.2"}


def test_of_two_versions_the_first_on_the_path_counts(tmp_path: Path) -> None:
    with installed(tmp_path / "new", {"tools": {"a": "x:new"}}, "twice"):
        sys.path.append(str(install(tmp_path / "old", {"tools": {"a": "x:old", "b": "x:old"}}, "Twice")))
        try:
            assert [each.target for each in installed_entries("tools") if each.distribution == "twice"] == ["x:new"]
        finally:
            sys.path.pop()


@pytest.mark.parametrize(
    "lines", ["", "[", "[workbench.tools]\nno equals", "[workbench.nothing]\na = b", "[other]\na = workbench.b", "\0"]
)
def test_a_strange_file_of_entry_points_has_none(tmp_path: Path, lines: str) -> None:
    home = tmp_path / "strange-1.dist-info"
    home.mkdir()
    (home / "entry_points.txt").write_text(lines)
    sys.path.insert(0, str(tmp_path))
    try:
        assert [each for each in all_entries() if each.distribution == "strange"] == []
    finally:
        sys.path.remove(str(tmp_path))


def test_starting_the_program_loads_no_plug_in_and_does_not_import_the_standard_scan(tmp_path: Path) -> None:
    (tmp_path / "noisy.py").write_text("raise SystemExit('loaded')\n")
    install(tmp_path, {group: {"noisy": "noisy:x"} for group in GROUPS}, "noisy")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from workbench.cli.main import main\n"
    code += "main(['tokens', '--model', 'gpt-4o']); print('importlib.metadata' in sys.modules, 'noisy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], input="hi", capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False False"
    assert done.stderr == ""


# The registry


def test_our_own_parts_pass_the_same_checks() -> None:
    registry = PluginRegistry("tools", whole_number)
    registry.register("one", 1)
    with pytest.raises(TypeError, match="expected a whole number"):
        registry.register("two", "2")
    with pytest.raises(ValueError, match="two tools are called one"):
        registry.register("one", 3)
    assert (registry.find_named("one"), dict(registry.own)) == (1, {"one": 1})


def test_one_that_is_broken_leaves_the_others(tmp_path: Path) -> None:
    targets = {
        "good": "support.plugin_parts:WRONG_TYPE",
        "one": "support.plugin_parts:WRONG_TYPE",
        "text": "support.plugin_parts:__doc__",
        "no-target": "support plugin",
        "gone": "no_such_module",
        "\x1b[1m": "support.plugin_parts:WRONG_TYPE",
    }
    registry = PluginRegistry("tools", whole_number)
    registry.register("one", 1)
    with installed(tmp_path, {"tools": targets}, "mixed"):
        assert dict(registry.plugins()) == {"good": 3}
        assert registry.find_named("one") == 1
        assert registry.find_named("gone") is None
        assert list(registry) == [1, 3]
    assert dict(registry.plugins()) == {}
    said = "\n".join(messages("mixed"))
    for words in ("own tools has this name", "whole number", "package.module:attribute", "no_such_module", "be shown"):
        assert words in said
    assert "\x1b" not in said


def test_a_name_that_two_packages_use_belongs_to_the_first(tmp_path: Path) -> None:
    registry = PluginRegistry("tools", whole_number)
    target = {"tools": {"same": "support.plugin_parts:WRONG_TYPE"}}
    with installed(tmp_path / "b", target, "later"), installed(tmp_path / "a", target, "earlier"):
        assert registry.entries()["same"].distribution == "earlier"
    assert messages("later") == ["ValueError: same: earlier has one of this name, too"]


def test_what_foreign_code_raises_ends_nothing(tmp_path: Path) -> None:
    registry = PluginRegistry("tools", whole_number)
    registry.register("ours", 1)
    with installed(tmp_path, {"tools": {"theirs": "support.plugin_parts:WRONG_TYPE"}}, "raising"):

        def raising(error: BaseException) -> Any:
            def act() -> int:
                raise error

            return act

        for error in (RuntimeError("x"), SystemExit(1), RecursionError()):
            assert registry.guarded("theirs", raising(error), -1) == -1
        with pytest.raises(WrongCall):
            registry.guarded("theirs", raising(WrongCall("for the user")), -1)
        with pytest.raises(KeyboardInterrupt):
            registry.guarded("theirs", raising(KeyboardInterrupt()), -1)
        with pytest.raises(RuntimeError):
            registry.guarded("ours", raising(RuntimeError("a mistake of ours")), -1)
    assert messages("raising") == ["raised RuntimeError: x", "raised SystemExit: 1", "raised RecursionError"]


def test_many_threads_load_a_plug_in_once(tmp_path: Path) -> None:
    loaded = []

    def check(name: str, value: Any) -> int:
        loaded.append(name)
        return whole_number(name, value)

    registry = PluginRegistry("tools", check)
    together, found = Barrier(8), []

    def load() -> None:
        together.wait()
        found.append(dict(registry.plugins()))

    with installed(tmp_path, {"tools": {"once": "support.plugin_parts:WRONG_TYPE"}}, "threads"):
        threads = [Thread(target=load) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (loaded, found) == (["once"], [{"once": 3}] * 8)


def test_a_problem_is_shown_once_and_listed_always() -> None:
    problems, entry = PluginProblems(), PluginEntry("tools", "a", "b:c", "d", "1")
    problems.note_problem(entry, "bad\n\x1b[1mthing")
    problems.note_problem(entry, "bad\n\x1b[1mthing")
    [line] = problems.unseen()
    assert line.startswith("plug-in a of d 1 (workbench.tools): bad ")
    assert "\x1b" not in line
    assert (problems.unseen(), len(problems.listed())) == ([], 1)
    for number in range(1_000):
        problems.note_problem(entry, f"failed at {number}")
    assert len(problems.unseen()) == 4, "one that fails again and again does not fill the screen"
