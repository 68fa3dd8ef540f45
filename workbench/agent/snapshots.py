"""States of the work tree, recorded before a tool writes, and brought back.

A snapshot is a commit on no branch: made with an index of its own, so that the user's index, work tree, stash and
branches stay as they are. A private ref under `refs/workbench/snapshots/` keeps git from collecting it; `git branch`
and `git tag` do not show it, `git log --all` does. Ignored files are not in it.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from workbench.agent.tools.output import Output
from workbench.agent.tools.process import run_process
from workbench.config.background import in_background
from workbench.config.errors import WorkbenchError
from workbench.config.tables import shown
from workbench.log.events import Snapshot

REFS = "refs/workbench/snapshots"
SECONDS = 20.0
_MOST_BYTES = 64 * 1024 * 1024
"""Of names that git prints."""
_IDENTITY = {
    "GIT_AUTHOR_NAME": "Workbench",
    "GIT_AUTHOR_EMAIL": "workbench@localhost",
    "GIT_COMMITTER_NAME": "Workbench",
    "GIT_COMMITTER_EMAIL": "workbench@localhost",
}
_ELSEWHERE = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "GIT_NAMESPACE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_WORK_TREE",
    }
)
"""Variables of a git that runs us (a hook, an alias), which would lead to another repository."""
_SETTINGS = (
    *("-c", "core.hooksPath=/dev/null"),  # writing an index runs a hook
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.safecrlf=false"),
    *("-c", "advice.addEmbeddedRepo=false"),
    *("-c", "gc.auto=0"),
)


class SnapshotFailed(WorkbenchError):
    """A snapshot could not be recorded or brought back."""


class Restored(NamedTuple):
    """What bringing back a snapshot did."""

    before: Snapshot
    """The state from before, with which it can be undone."""
    changed: tuple[str, ...]
    """Files that were put back."""
    created: tuple[str, ...]
    """Files that were not there at the time of the snapshot and still are."""
    removed: tuple[str, ...]
    """Such files that were removed, as asked."""
    blocked: tuple[str, ...]
    """Files that could not be put back, because a folder or file of another kind is in their place."""


class Difference(NamedTuple):
    """What bringing back a snapshot would do."""

    changed: tuple[str, ...]
    """Files that would be put back."""
    created: tuple[str, ...]
    """Files that were not there at the time of the snapshot."""
    blocked: tuple[str, ...]
    """Files that cannot be put back, because a folder or file of another kind is in their place."""


class _Change(NamedTuple):
    path: str
    is_new: bool


class _Git:
    """Git commands in one repository, with an index of their own and one time limit for all."""

    def __init__(self, folder: Path, index: Path, seconds: float) -> None:
        self.folder = folder
        self._index = index
        self._seconds = seconds
        self._deadline = asyncio.get_running_loop().time() + seconds

    async def __call__(self, *arguments: str, stdin: bytes = b"", own_index: bool = True) -> tuple[int, bytes, str]:
        """The exit status, what it printed, and its complaint in one line."""
        env = {key: value for key, value in os.environ.items() if key not in _ELSEWHERE}
        env |= _IDENTITY | {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
        if own_index:
            env["GIT_INDEX_FILE"] = str(self._index)
        output, errors = Output(_MOST_BYTES, 0), Output(4096, 0)
        ended = await run_process(
            ["git", "-C", str(self.folder), *_SETTINGS, *arguments],
            cwd=self.folder,
            seconds=max(self._deadline - asyncio.get_running_loop().time(), 0),
            output=output.add,
            errors=errors.add,
            stdin=stdin,
            env=env,
        )
        if ended.timed_out:
            raise SnapshotFailed(f"{self.folder}: git took longer than {self._seconds:g} s; no snapshot")
        if not output.is_whole:
            raise SnapshotFailed(f"{self.folder}: too many files for a snapshot")
        return ended.status, output.data, " ".join(errors.text().split())

    async def must(self, *arguments: str, stdin: bytes = b"") -> str:
        """What a command prints; raises SnapshotFailed when it fails."""
        status, output, complaint = await self(*arguments, stdin=stdin)
        if status != 0:
            raise SnapshotFailed(f"{self.folder}: git {arguments[0]} failed: {complaint or f'status {status}'}")
        return os.fsdecode(output)


async def take(root: Path, why: str = "", *, keep: bool = True, seconds: float = SECONDS) -> Snapshot | None:
    """Record the work tree that `root` lies in; None outside a repository. Raises SnapshotFailed, also for time.

    Without `keep` git may collect it soon: it is only to be looked at.
    """
    with tempfile.TemporaryDirectory(prefix="workbench-") as folder:
        git = _Git(Path(root), Path(folder) / "index", seconds)
        try:
            status, output, complaint = await git("rev-parse", "--show-toplevel", own_index=False)
        except (FileNotFoundError, NotADirectoryError):
            return None  # git is not installed, or the folder is gone
        if status != 0:
            if "not a git repository" in complaint or "must be run in a work tree" in complaint:
                return None
            raise SnapshotFailed(f"{root}: git rev-parse failed: {complaint}")
        git.folder = Path(os.fsdecode(output).removesuffix("\n"))
        taken = await _record(git, Path(folder), why)
        if keep:
            await git.must("update-ref", f"{REFS}/{taken.commit}", taken.commit)
        return taken


async def _record(git: _Git, folder: Path, why: str) -> Snapshot:
    status, output, _ = await git("rev-parse", "--git-path", "index", own_index=False)
    if status == 0:
        # With the times in the user's index git need not read files that did not change.
        own = git.folder / os.fsdecode(output).removesuffix("\n")
        with suppress(FileNotFoundError):
            await in_background(lambda: shutil.copyfile(own, folder / "index"))
    status, _, complaint = await git("add", "-A", "--ignore-errors", "--", ".")
    if status not in (0, 1):
        raise SnapshotFailed(f"{git.folder}: git add failed: {complaint}")
    if status == 1:  # some file could not be read; the others are in
        why = f"{why} (incomplete: {complaint[:200]})".strip()
    tree = (await git.must("write-tree")).strip()
    status, head, _ = await git("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
    parents = ("-p", os.fsdecode(head).strip()) if status == 0 else ()
    message = f"Workbench snapshot: {why or 'no reason given'}".encode(errors="replace")
    commit = (await git.must("commit-tree", *parents, tree, stdin=message)).strip()
    return Snapshot(commit, str(git.folder), why)


async def compare(snapshot: Snapshot, *, seconds: float = SECONDS) -> Difference:
    """What bringing a snapshot back would do. Nothing is changed and nothing kept."""
    now = await present(snapshot, "for comparison", keep=False, seconds=seconds)
    with tempfile.TemporaryDirectory(prefix="workbench-") as folder:
        git = _Git(Path(snapshot.root), Path(folder) / "index", seconds)
        return await _difference(git, snapshot, now)


async def restore(
    snapshot: Snapshot, before: Snapshot | None = None, *, remove_created: bool = False, seconds: float = SECONDS
) -> Restored:
    """Bring the files of a snapshot back. `before` is their state now, if that is recorded already.

    The index and branches stay. Files created since are listed, and removed only if asked. Ignored files are never
    touched.
    """
    before = before or await present(snapshot, f"before restoring {snapshot.commit[:12]}", seconds=seconds)
    try:
        return await _bring_back(snapshot, before, remove_created, seconds)
    except SnapshotFailed as error:
        raise SnapshotFailed(f"{error}; the state from before is kept as {before.commit}") from None


async def present(snapshot: Snapshot, why: str, *, keep: bool = True, seconds: float = SECONDS) -> Snapshot:
    """The state of a snapshot's repository now, recorded like one."""
    _check(snapshot)
    now = await take(Path(snapshot.root), why, keep=keep, seconds=seconds)
    if now is None:
        raise SnapshotFailed(f"{snapshot.root}: no longer a git repository")
    return now


def _check(snapshot: Snapshot) -> None:
    """A log may come from elsewhere: what is no name of a commit could be an option of git."""
    if not re.fullmatch(r"[0-9a-f]{40,64}", snapshot.commit):
        raise SnapshotFailed(f"{snapshot.root}: expected the name of a commit, got {shown(snapshot.commit)}")


async def _difference(git: _Git, snapshot: Snapshot, now: Snapshot) -> Difference:
    _check(snapshot)
    await git.must("cat-file", "-e", f"{snapshot.commit}^{{commit}}")
    changes = await _changes(git, snapshot.commit, now.commit)
    old = [change.path for change in changes if not change.is_new]
    blocked = tuple(path for path in old if _is_blocked(Path(snapshot.root), path))
    changed = tuple(path for path in old if path not in set(blocked))
    return Difference(changed, tuple(change.path for change in changes if change.is_new), blocked)


async def _bring_back(snapshot: Snapshot, before: Snapshot, remove_created: bool, seconds: float) -> Restored:
    root = Path(snapshot.root)
    with tempfile.TemporaryDirectory(prefix="workbench-") as folder:
        git = _Git(root, Path(folder) / "index", seconds)
        found = await _difference(git, snapshot, before)
        removed = await in_background(_remove, root, found.created) if remove_created else []
        if removed:  # what was in the way may be gone now
            found = await _difference(git, snapshot, before)
        if found.changed:
            await git.must("read-tree", snapshot.commit)
            names = b"".join(os.fsencode(path) + b"\0" for path in found.changed)
            await git.must("checkout-index", "--force", "-z", "--stdin", stdin=names)
    left = tuple(path for path in found.created if path not in set(removed))
    return Restored(before, found.changed, left, tuple(removed), found.blocked)


async def _changes(git: _Git, old: str, new: str) -> list[_Change]:
    """What differs from one commit to another. Repositories inside the repository are left alone."""
    listed = await git.must("diff-tree", "-r", "-z", "--raw", "--no-renames", old, new)
    fields = listed.split("\0")
    found = []
    for about, path in zip(fields[0::2], fields[1::2], strict=False):
        old_mode, new_mode, _, _, letter = about.removeprefix(":").split(" ")
        if "160000" not in (old_mode, new_mode):
            found.append(_Change(path, letter == "A"))
    return found


def _remove(root: Path, paths: Sequence[str]) -> list[str]:
    """Remove files, and the folders that are empty then."""
    removed = []
    for path in paths:
        with suppress(OSError):
            os.unlink(root / path)
            removed.append(path)
            for folder in (root / path).parents:
                if folder == root:
                    break
                os.rmdir(folder)  # fails where something is left in it
    return removed


def _is_blocked(root: Path, path: str) -> bool:
    """Whether git would have to remove something else to put a file back: a folder, or a file where one must be."""
    place = root / path
    if place.is_dir() and not place.is_symlink():
        return True
    for folder in place.parents:
        if folder == root:
            return False
        if os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir()):
            return True
    return False


async def kept(root: Path, *, seconds: float = SECONDS) -> frozenset[str]:
    """The commits of the snapshots that a repository still has; none where it is gone."""
    with tempfile.TemporaryDirectory(prefix="workbench-") as folder:
        git = _Git(root, Path(folder) / "index", seconds)
        try:
            status, output, _ = await git("for-each-ref", "--format=%(objectname)", REFS)
        except (FileNotFoundError, NotADirectoryError):
            return frozenset()
    return frozenset(os.fsdecode(output).split()) if status == 0 else frozenset()


async def prune(root: Path, keep: int, *, seconds: float = SECONDS) -> int:
    """Let go of all but the newest `keep` snapshots of a repository; how many. Git collects them in its own time."""
    with tempfile.TemporaryDirectory(prefix="workbench-") as folder:
        git = _Git(root, Path(folder) / "index", seconds)
        names = (await git.must("for-each-ref", "--sort=-committerdate", "--format=%(refname)", REFS)).split()
        old = names[keep:]
        await git.must("update-ref", "--stdin", stdin="".join(f"delete {name}\n" for name in old).encode())
    return len(old)
