"""Runs git safely in a repository that anybody may have made. Its settings may name programs: filters, hooks and more.

Commands that read or write files see the repository's objects, but not its settings and attributes. Only commands that
look something up, such as paths, see its own settings; they run none of these programs.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from workbench.agent.tools.guarded_start import GIT_SETTINGS, GIT_VARIABLES, KEPT_VARIABLES, path_outside
from workbench.agent.tools.output import OutputEnds
from workbench.agent.tools.process import run_process
from workbench.config.errors import WorkbenchError
from workbench.config.variables import selected_variables
from workbench.config.writing import copy_file

_MOST_BYTES = 64 * 1024 * 1024
"""How many bytes a command may print at most. Most of its output is the names of files."""
_FIXED = {
    "GIT_AUTHOR_NAME": "Workbench",
    "GIT_AUTHOR_EMAIL": "workbench@localhost",
    "GIT_COMMITTER_NAME": "Workbench",
    "GIT_COMMITTER_EMAIL": "workbench@localhost",
    **GIT_VARIABLES,
    "LC_ALL": "C",
}
"""Environment variables of every command."""
_SETTINGS = (
    *GIT_SETTINGS,
    *("-c", "core.autocrlf=false"),
    *("-c", "core.attributesFile=/dev/null"),
    *("-c", "advice.addEmbeddedRepo=false"),
    *("-c", "gc.auto=0"),
)
SECONDS = 20.0
"""The time limit for all commands of a snapshot together."""
_ATTRIBUTES = "* -text -eol -crlf -ident -filter !working-tree-encoding\n"
"""Overrides every attribute of the repository: no filter runs, and bytes stay unchanged."""
_PLATFORM = r"^core\.(filemode|symlinks|ignorecase|precomposeunicode)$"
"""The settings of the repository that are kept: they say what the file system can do."""
_NO_WORK_TREE = ("not a git repository", "must be run in a work tree", "cannot use bare repository")
"""Git's messages outside of a repository, and in one without a work tree."""


class SnapshotFailed(WorkbenchError):
    """A snapshot could not be taken or restored."""


class Repository(NamedTuple):
    """Where git keeps the data of a work tree."""

    own: Path
    """The folder with its index; for a linked work tree, a folder inside `common`."""
    common: Path
    """The folder with its objects, which all linked work trees share."""
    hash_name: str
    """The hash function for the names of its objects: sha1 or sha256."""


class Git:
    """Git commands in one repository, with one time limit for all of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._deadline = asyncio.get_running_loop().time() + SECONDS
        self._private: dict[str, str] = {}
        """Environment variables for commands that must not see the repository's settings: see `hide_settings`."""

    async def __call__(self, *arguments: str, stdin: bytes = b"", private: bool = False) -> tuple[int, bytes, str]:
        """Run a command. Return its exit status, its output, and its error output in one line.

        `private`: hide the repository's settings from it, after `hide_settings`. Raises SnapshotFailed if it takes too
        long or prints too much.
        """
        output, errors = OutputEnds(_MOST_BYTES, 0), OutputEnds(4096, 0)
        ended = await run_process(
            ["git", "-C", str(self.folder), *_SETTINGS, *arguments],
            cwd=self.folder,
            seconds=max(self._deadline - asyncio.get_running_loop().time(), 0),
            output=output.add_bytes,
            errors=errors.add_bytes,
            stdin=stdin,
            env={
                **selected_variables(KEPT_VARIABLES),
                "PATH": path_outside([self.folder]),
                **_FIXED,
                **(self._private if private else {}),
            },
        )
        if ended.timed_out:
            raise SnapshotFailed(f"{self.folder}: git took longer than {SECONDS:g} s; no snapshot")
        if not output.is_whole:
            raise SnapshotFailed(f"{self.folder}: too many files for a snapshot")
        return ended.status, output.data, " ".join(errors.text().split())

    async def output_of(self, *arguments: str, stdin: bytes = b"", private: bool = False) -> str:
        """The output of a command; raises SnapshotFailed if it fails."""
        status, output, complaint = await self(*arguments, stdin=stdin, private=private)
        if status != 0:
            raise SnapshotFailed(f"{self.folder}: git {arguments[0]} failed: {complaint or f'status {status}'}")
        return os.fsdecode(output)

    async def find_repository(self) -> Repository | None:
        """Find the repository that contains the folder and use its top folder from now on. None if there is none."""
        wanted = ("--show-toplevel", "--absolute-git-dir", "--git-common-dir", "--show-object-format")
        try:
            status, output, complaint = await self("rev-parse", *wanted)
        except (FileNotFoundError, NotADirectoryError):
            return None  # git is not installed, or the folder is gone
        if status != 0:
            if any(words in complaint for words in _NO_WORK_TREE):
                return None
            raise SnapshotFailed(f"{self.folder}: git rev-parse failed: {complaint}")
        lines = os.fsdecode(output).removesuffix("\n").split("\n")
        if len(lines) != len(wanted):
            raise SnapshotFailed(f"{self.folder}: expected a path without line breaks; no snapshot")
        top, own, common, hash_name = lines
        if not os.path.lexists(os.path.join(top, ".git")):
            return None  # the repository's settings say that its work tree is elsewhere
        common = os.path.join(self.folder, common)
        self.folder = Path(top)
        return Repository(Path(own), Path(common), hash_name)

    async def hide_settings(self, found: Repository, folder: Path) -> None:
        """Set up a folder that private commands use instead of the repository's own: the same objects, few settings."""
        for name in ("refs", "info", "objects"):
            (folder / name).mkdir()
        _, output, _ = await self("config", "--type=bool", "--get-regexp", _PLATFORM)
        platform = [line.partition(" ")[::2] for line in os.fsdecode(output).splitlines()]
        version, extension = (1, "[extensions]\nobjectFormat = sha256\n") if found.hash_name == "sha256" else (0, "")
        lines = "".join(f"{name.removeprefix('core.')} = {value}\n" for name, value in platform)
        (folder / "HEAD").write_text("ref: refs/heads/none\n")
        (folder / "config").write_text(f"[core]\nrepositoryFormatVersion = {version}\nbare = false\n{lines}{extension}")
        (folder / "info" / "attributes").write_text(_ATTRIBUTES)
        with suppress(OSError):
            copy_file(found.common / "info" / "exclude", folder / "info" / "exclude")
        self._private = {
            "GIT_DIR": str(folder),
            "GIT_WORK_TREE": str(self.folder),
            "GIT_OBJECT_DIRECTORY": str(found.common / "objects"),
        }


@asynccontextmanager
async def opened_repository(root: Path) -> AsyncIterator[tuple[Git, Repository, Path] | None]:
    """Yield git for the repository that contains `root`, the repository, and the folder that replaces its own.

    Yields None outside a repository.
    """
    with tempfile.TemporaryDirectory(prefix="workbench-") as folder:
        git = Git(Path(root))
        found = await git.find_repository()
        if found is not None:
            await git.hide_settings(found, Path(folder))
        yield None if found is None else (git, found, Path(folder))
