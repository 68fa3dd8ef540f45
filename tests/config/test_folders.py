"""The folder and its branch, read from git's own files as git writes them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from workbench.config.folders import WorkFolder, branch_of, shown_folder, work_folder


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def test_the_branch_is_what_git_says(repository: Path) -> None:
    assert branch_of(repository) == "main"
    git(repository, "switch", "-q", "-c", "feature/new-look")
    (repository / "deep" / "down").mkdir(parents=True)
    assert branch_of(repository / "deep" / "down") == "feature/new-look" == git(repository, "branch", "--show-current")


def test_a_branch_without_a_commit_has_a_name(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk")
    assert branch_of(tmp_path) == "trunk"


def test_without_a_branch_it_is_the_commit(repository: Path) -> None:
    git(repository, "checkout", "-q", "--detach")
    assert branch_of(repository) == git(repository, "rev-parse", "--short=7", "HEAD")


def test_a_worktree_and_a_submodule_have_branches_of_their_own(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    assert branch_of(tmp_path / "tree") == "other"
    git(repository, "submodule", "--quiet", "add", "-b", "main", str(repository), "part")
    git(repository / "part", "switch", "-q", "-c", "inner")
    assert (branch_of(repository / "part"), branch_of(repository)) == ("inner", "main")


def test_a_branch_that_git_keeps_in_a_reftable_is_not_known(tmp_path: Path) -> None:
    (tmp_path / ".git" / "reftable").mkdir(parents=True)
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/.invalid\n")
    assert branch_of(tmp_path) == ""


@pytest.mark.parametrize("content", ["", "gitdir: nowhere", "\0\xff", "gitdir:", "ref", "gitdir: \0"])
def test_what_is_no_repository_has_none(content: str, tmp_path: Path) -> None:
    (tmp_path / ".git").write_text(content, "utf-8")
    assert branch_of(tmp_path) == ""


def test_a_folder_is_shown_as_people_write_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    shown = [shown_folder(path) for path in ("/home/ann/proj", "/home/ann", "/home/anna/proj", "/srv")]
    assert shown == ["~/proj", "~", "/home/anna/proj", "/srv"]


def test_a_folder_that_is_gone_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert work_folder() == WorkFolder()
