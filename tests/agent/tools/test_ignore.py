"""What a walk leaves out."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.agent.tools.walk import OutOfTime, walk_folder

NO_CONFIG = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def write(folder: Path, rules: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text(rules)


def seen(root: Path, start: str = ".") -> set[str]:
    """The files that a walk shows."""
    found = walk_folder(os.path.normpath(root / start), str(root), 64, time.monotonic() + 60)
    return {entry.path for entry in found if entry.is_file and not entry.path.endswith(".gitignore")}


def seen_by_git(root: Path) -> set[str]:
    """The files that git would add."""
    subprocess.run(["git", "init", "-q"], cwd=root, check=True, env={**os.environ, **NO_CONFIG})
    listed = ["git", "ls-files", "--others", "--exclude-standard", "-z"]
    out = subprocess.run(listed, cwd=root, check=True, capture_output=True, env={**os.environ, **NO_CONFIG}).stdout
    return {name for name in out.decode().split("\0") if name and not name.endswith(".gitignore")}


NAMES = ("a", "b", "ab", "a.c", "#a", "!b", "a b")
names = st.sampled_from(NAMES)
files = st.lists(st.lists(names, min_size=1, max_size=4).map("/".join), min_size=1, max_size=12)
part = st.sampled_from([*NAMES, "*", "**", "?", "a*", "*.c", "[ab]", "[!a]", r"\#a", r"\!b", "a**b"])
rule = st.builds(
    lambda before, parts, behind: before + "/".join(parts) + behind,
    st.sampled_from(["", "", "", "!", "/", "!/", "#", " "]),
    st.lists(part, min_size=1, max_size=3),
    st.sampled_from(["", "", "", "/", "/*", "/**", " "]),
)
rules = st.lists(rule, max_size=5).map("\n".join)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is the judge")
@given(files, rules, rules)
def test_a_walk_shows_the_files_that_git_would_add(paths: list[str], above: str, below: str) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        for path in paths:
            try:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text("")
            except OSError:
                continue  # a file stands where a folder would, or the reverse
        write(root, above)
        if not (root / "a").is_file():
            write(root / "a", below)
        assert seen(root) == seen_by_git(root)


def test_the_nearest_file_decides_also_for_a_walk_that_begins_below(tmp_path: Path) -> None:
    for name in ("x/y/keep.log", "x/y/drop.log", "x/drop.log", "x/y/deep/keep.log"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    write(tmp_path, "*.log")
    write(tmp_path / "x/y", "!keep.log")
    assert seen(tmp_path) == {"x/y/keep.log", "x/y/deep/keep.log"}
    assert seen(tmp_path, "x/y") == {"keep.log", "deep/keep.log"}
    assert seen(tmp_path, "x/y/deep") == {"keep.log"}


def test_a_folder_whose_name_begins_with_two_dots_is_below_the_root(tmp_path: Path) -> None:
    write(tmp_path, "*.log\n")
    write(tmp_path / "..data", "")
    (tmp_path / "..data/a.log").touch()
    assert seen(tmp_path, "..data") == set()


def test_a_mark_of_the_byte_order_belongs_to_no_rule(tmp_path: Path) -> None:
    write(tmp_path, "\ufeff*.log\n")
    (tmp_path / "a.log").touch()
    assert seen(tmp_path) == set()


def test_a_line_that_is_cut_off_is_no_rule(tmp_path: Path) -> None:
    write(tmp_path, "#" * (64 * 1024 - 3) + "\na*.log\n")
    for name in ("a", "ab.txt"):
        (tmp_path / name).touch()
    write(tmp_path / "below", "a\n" + "b\n" * (32 * 1024 - 1))
    (tmp_path / "below/a").touch()
    assert seen(tmp_path) == {"a", "ab.txt"}


def test_a_line_that_is_no_pattern_is_passed_over(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("")
    write(tmp_path, "[z-a]\n\\\n!\n///\n[\na\n")
    assert seen(tmp_path) == {"b"}


def test_a_hostile_file_takes_no_time(tmp_path: Path) -> None:
    (tmp_path / ("a" * 250)).write_text("")
    deep = tmp_path / "/".join("a" * 60)
    deep.mkdir(parents=True)
    (deep / "c").write_text("")
    write(tmp_path, "*a" * 40 + "b\n" + "**/a/" * 30 + "b\n*a*a*b\n**/a/**/a/**/a/**/b\n**/a*/**/*a/**/*b\n")
    started = time.monotonic()
    assert len(seen(tmp_path)) == 2
    assert time.monotonic() - started < 20, "otherwise it takes years"


def test_a_pipe_is_not_waited_for_and_time_runs_out(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".gitignore")
    (tmp_path / "a").write_text("")
    assert seen(tmp_path) == {"a"}
    with pytest.raises(OutOfTime):
        list(walk_folder(str(tmp_path), str(tmp_path), 64, time.monotonic() - 1))
