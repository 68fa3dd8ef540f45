"""No path, however it is written and whatever links it goes through, leads out of the project."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.agent.tools.base import ToolFailure
from workbench.agent.tools.places import AllowedFolders

NAMES = ("a", "b", "loop", "out", "up", "in")
steps = st.lists(st.sampled_from([*NAMES, "..", ".", "", "secret"]), max_size=8).map("/".join)
targets = st.lists(st.sampled_from([*NAMES, "..", "."]), min_size=1, max_size=4).map("/".join)


@given(steps, st.booleans(), st.dictionaries(st.sampled_from(NAMES), targets | st.just("/"), max_size=5))
def test_what_is_opened_always_lies_inside(path: str, absolute: bool, links: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as top:
        root = Path(os.path.realpath(top)) / "project"
        (root / "a" / "b").mkdir(parents=True)
        (root.parent / "secret").write_text("secret")
        for name, target in {"out": "..", "loop": "loop", **links}.items():
            if not os.path.lexists(root / name):
                os.symlink(target, root / name)
        try:
            found = AllowedFolders(root).resolve_path(f"{root}/{path}" if absolute else path)
        except ToolFailure:
            return
        assert found == root or root in found.parents
        # The name is final: no link is left in it that the system would follow elsewhere.
        assert os.path.realpath(found) == str(found)


def test_a_link_behind_a_link_in_a_circle_is_followed_too(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (tmp_path / "secret").write_text("secret")
    os.symlink("loop", root / "loop")
    os.symlink("..", root / "out")
    with pytest.raises(ToolFailure, match="outside the project"):
        AllowedFolders(root).resolve_path("loop/../out/secret")


def test_a_refusal_says_where_the_project_is(tmp_path: Path) -> None:
    with pytest.raises(ToolFailure) as failure:
        AllowedFolders(tmp_path).resolve_path("../other")
    assert str(failure.value) == (
        f"path: ../other lies outside the project {tmp_path}; only paths inside it are allowed"
    )


def test_a_neighbour_with_the_same_beginning_is_outside(tmp_path: Path) -> None:
    (tmp_path / "project-2").mkdir()
    with pytest.raises(ToolFailure):
        AllowedFolders(tmp_path / "project").resolve_path(str(tmp_path / "project-2"))


def test_an_allowed_folder_is_inside_and_is_called_by_its_whole_path(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    places = AllowedFolders(tmp_path / "project", [tmp_path / "other"])
    found = places.resolve_path("../other/x.txt")
    assert found == tmp_path / "other" / "x.txt"
    assert places.name(found) == str(tmp_path / "other" / "x.txt")
    assert places.name(places.resolve_path("a/./b")) == "a/b"


def test_the_home_folder_is_meant_by_its_sign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    places = AllowedFolders(tmp_path)
    assert places.resolve_path("~/x") == tmp_path / "x"
    assert places.resolve_path("~x") == tmp_path / "~x"


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000 + "\0"])
def test_what_can_be_no_path_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(ToolFailure, match="expected the path of a file"):
        AllowedFolders(tmp_path).resolve_path(path)


@pytest.mark.parametrize("path", [".git/config", "a/.GIT/hooks/pre-commit", ".git", "."])
def test_neither_the_repository_itself_nor_the_root_is_written(tmp_path: Path, path: str) -> None:
    places = AllowedFolders(tmp_path)
    assert places.resolve_path(path)
    with pytest.raises(ToolFailure):
        places.find_writable(path)
    assert places.find_writable(".gitignore") == tmp_path / ".gitignore"
