"""The paths that tools may use: in the project and other allowed folders. Links are resolved before the check."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from unicodedata import category

from workbench.agent.tools.base import ToolFailure

_MOST_ROUNDS = 40
"""How often `_real` resolves the links of a path at most."""


class AllowedFolders:
    """The project's root, and further folders that are allowed."""

    def __init__(self, root: Path, extra_roots: Iterable[Path] = ()) -> None:
        self.root = Path(os.path.realpath(root))
        self.roots = (self.root, *(Path(os.path.realpath(extra)) for extra in extra_roots))

    def resolve_path(self, text: str) -> Path:
        """The real path for a path that a model wrote. Raises ToolFailure if it is outside the allowed folders."""
        try:
            path = Path(_real(os.path.join(self.root, os.path.expanduser(text) if text[:2] in ("~", "~/") else text)))
        except (OSError, ValueError):
            raise ToolFailure(f"path: expected the path of a file or folder, got {text[:80]!r}") from None
        if not any(path.is_relative_to(root) for root in self.roots):
            raise ToolFailure(
                f"path: {text[:200]} lies outside the project {self.root}; only paths inside it are allowed"
            )
        return path

    def find_writable(self, text: str) -> Path:
        """Like `resolve_path`, for a file to write. Refuses files in a `.git` folder, because git may run them."""
        path = self.resolve_path(text)
        root = next(root for root in self.roots if path.is_relative_to(root))
        parts = path.relative_to(root).parts
        folders = [(root.joinpath(*parts[:depth]), name) for depth, name in enumerate(parts)]
        if any(_is_named_git(name) or _is_repository(folder, name) for folder, name in folders):
            raise ToolFailure(f"path: {text} belongs to git itself; use git commands instead")
        if path in self.roots:
            raise ToolFailure(f"path: expected a file, got the folder {text}")
        return path

    def name(self, path: Path) -> str:
        """The path's name for the model and for approvals: relative to the project's root, or absolute outside it."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.as_posix()


def _is_named_git(name: str) -> bool:
    """Whether a name means `.git` on some file system: some ignore case, and some ignore characters without width."""
    return "".join(letter for letter in name if category(letter) != "Cf").casefold() == ".git"


def _is_repository(folder: Path, new: str) -> bool:
    """Whether git would use a folder like `.git`, whatever its name, if it also had a file or folder named `new`."""

    def has(name: str) -> bool:
        return new.casefold() == name.casefold() or os.path.lexists(folder / name)

    return has("HEAD") and (has("commondir") or (has("objects") and has("refs")))


def _real(path: str) -> str:
    """Resolve all links of a path.

    `os.path.realpath` stops at a link that points to itself and keeps the rest of the path literally. The rest may
    still have links, so it is called again until nothing changes.
    """
    for _ in range(_MOST_ROUNDS):
        real = os.path.realpath(path)
        if real == path:
            return real
        path = real
    raise OSError("links without end")
