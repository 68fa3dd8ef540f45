"""The folder the user works in: how it is shown, and which git branch is checked out."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from workbench.config.foreign_files import open_regular_file
from workbench.config.text import without_surrogates

_MOST = 4096
"""Bytes to read of `.git` and `HEAD`; each is one line."""
_HASH = re.compile(r"[0-9a-f]{40,64}")
_ELSEWHERE = ".invalid"
"""What `HEAD` names in a repository that has its branches in a reftable."""
_SHORT = 7
"""Letters of a commit to show where no branch is checked out."""


class WorkFolder(NamedTuple):
    """A folder, and what is checked out in it."""

    path: str = ""
    """Empty for a session made from a file."""
    branch: str = ""
    """A short commit where no branch is checked out; empty without git."""

    @property
    def storable(self) -> WorkFolder:
        """As a store has it: a path that is not UTF-8 has lone surrogates, which no database takes."""
        return WorkFolder(*map(without_surrogates, self))


def work_folder() -> WorkFolder:
    """The folder the program was started in; an empty value where that folder is gone."""
    try:
        path = os.getcwd()
    except OSError:
        return WorkFolder()
    return WorkFolder(path, branch_of(Path(path)))


def shown_folder(path: str) -> str:
    """A folder as people write it: `~/proj`."""
    home = os.path.expanduser("~").rstrip(os.sep)
    if home and (path == home or path.startswith(home + os.sep)):
        return "~" + path[len(home) :]
    return path


def branch_of(folder: Path) -> str:
    """The branch, read from git's own files: a git process would take longer than the first frame may."""
    root = _repository(folder)
    return "" if root is None else _head(root / ".git")


def project_root(folder: str) -> str:
    """The root of the repository around a folder; the folder itself outside of any."""
    return str(_repository(Path(folder)) or folder)


def _repository(folder: Path) -> Path | None:
    return next((each for each in (folder, *folder.parents) if os.path.lexists(each / ".git")), None)


def _head(git: Path) -> str:
    try:
        if git.is_file():  # a worktree or a submodule: the file has the path of the git folder
            found = re.match(r"gitdir: (.+)", _read_start(git))
            git = git.parent / found[1].strip() if found else git
        head = _read_start(git / "HEAD").strip()
    except (OSError, ValueError):
        return ""
    if head.startswith("ref:"):
        branch = head[4:].strip().removeprefix("refs/heads/")
        return "" if branch == _ELSEWHERE else branch
    return head[:_SHORT] if _HASH.fullmatch(head) else ""


def _read_start(path: Path) -> str:
    with open_regular_file(path) as file:
        return file.read(_MOST).decode("utf-8", "replace")
