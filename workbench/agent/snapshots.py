"""Snapshots of the work tree, taken before a tool writes, and restored on request.

A snapshot is a commit on no branch, with the unchanged bytes of the files. It is made with its own index, so the user's
index, work tree, stash and branches do not change. A private ref under `refs/workbench/snapshots/` keeps git from
collecting it; `git branch` and `git tag` do not show it, `git log --all` does. It does not contain ignored files.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from workbench.agent.private_git import Git, Repository, SnapshotFailed, opened_repository
from workbench.config.background import in_background
from workbench.config.paths import data_dir
from workbench.config.tables import shown_value
from workbench.config.writing import copy_file
from workbench.log.events import Snapshot

REFS = "refs/workbench/snapshots"


class RestoredSnapshot(NamedTuple):
    """The result of restoring a snapshot."""

    before: Snapshot
    """The state before the restore, for an undo."""
    changed: tuple[str, ...]
    """Files that were restored."""
    created: tuple[str, ...]
    """Files that did not exist at the time of the snapshot and still exist now."""
    removed: tuple[str, ...]
    """Such files that were removed, as requested."""
    blocked: tuple[str, ...]
    """Files that could not be restored, because a folder or a file of another kind is in their place."""


class SnapshotDifference(NamedTuple):
    """What restoring a snapshot would do."""

    changed: tuple[str, ...]
    """Files that would be restored."""
    created: tuple[str, ...]
    """Files that did not exist at the time of the snapshot."""
    blocked: tuple[str, ...]
    """Files that cannot be restored, because a folder or a file of another kind is in their place."""


class _Change(NamedTuple):
    path: str
    is_new: bool


async def take_snapshot(root: Path, why: str = "", *, keep: bool = True) -> Snapshot | None:
    """Record the work tree that contains `root`; None outside a repository. Raises SnapshotFailed, also on a timeout.

    Without `keep`, git may collect the snapshot soon: it is only for a comparison.
    """
    async with opened_repository(root) as opened:
        if opened is None:
            return None
        git, found, folder = opened
        taken = await _record(git, found, folder, why)
        if keep:
            await git.output_of("update-ref", f"{REFS}/{time.time_ns():020}-{taken.commit}", taken.commit)
        return taken


async def _record(git: Git, found: Repository, folder: Path, why: str) -> Snapshot:
    index, kept_index = folder / "index", _kept_index(found)
    # The copy keeps the file's time: from it git knows which files may have changed just after they were read.
    with suppress(OSError):
        await in_background(copy_file, kept_index, index)
    was_kept = index.exists()
    try:
        tree, left_out = await _tree(git)
    except SnapshotFailed:
        if not was_kept:
            raise
        index.unlink(missing_ok=True)  # it is damaged, or git has collected objects that it names
        tree, left_out = await _tree(git)
    await _keep_index(git, index, kept_index)
    why = f"{why} (incomplete: {left_out[:200]})".strip() if left_out else why
    status, head, _ = await git("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
    parents = ("-p", os.fsdecode(head).strip()) if status == 0 else ()
    message = f"Workbench snapshot: {why or 'no reason given'}".encode(errors="replace")
    commit = (await git.output_of("commit-tree", *parents, tree, stdin=message, private=True)).strip()
    return Snapshot(commit, str(git.folder), why)


async def _tree(git: Git) -> tuple[str, str]:
    """The work tree as a git tree, and git's message about files that could not be read."""
    status, _, complaint = await git("add", "-A", "--ignore-errors", "--", ".", private=True)
    if status not in (0, 1):
        raise SnapshotFailed(f"{git.folder}: git add failed: {complaint}")
    return (await git.output_of("write-tree", private=True)).strip(), complaint if status == 1 else ""


def _kept_index(found: Repository) -> Path:
    """The index of the last snapshot: files that did not change since then need not be read. It is in our own data
    folder, where nobody can plant one."""
    return data_dir() / "snapshots" / f"{sha256(os.fsencode(found.own)).hexdigest()[:32]}.index"


async def _keep_index(git: Git, index: Path, place: Path) -> None:
    """Keep the index for the next snapshot, without nested repositories: git would look into those that it knows, and
    follow their settings."""
    listed = (await git.output_of("ls-files", "--stage", "-z", private=True)).split("\0")
    inside = "".join(f"{line.partition(chr(9))[2]}\0" for line in listed if line.startswith("160000 "))
    if inside:
        await git.output_of("update-index", "--force-remove", "-z", "--stdin", stdin=os.fsencode(inside), private=True)
    with suppress(OSError):
        await in_background(copy_file, index, place)


async def compare_snapshot(snapshot: Snapshot) -> SnapshotDifference:
    """What restoring a snapshot would do. Nothing is changed and nothing is kept."""
    now = await present_snapshot(snapshot, "for comparison", keep=False)
    async with opened_repository(Path(snapshot.root)) as opened:
        if opened is None:
            raise _gone(snapshot)
        return await _difference(opened[0], snapshot, now)


async def restore_snapshot(
    snapshot: Snapshot, before: Snapshot | None = None, *, remove_created: bool = False
) -> RestoredSnapshot:
    """Restore the files of a snapshot. `before` is their present state, if that is recorded already.

    The index and branches stay. Files created since then are listed, and removed only if requested. Ignored files are
    never touched.
    """
    before = before or await present_snapshot(snapshot, f"before restoring {snapshot.commit[:12]}")
    try:
        return await _bring_back(snapshot, before, remove_created)
    except SnapshotFailed as error:
        raise SnapshotFailed(f"{error}; the state from before is kept as {before.commit}") from None


async def present_snapshot(snapshot: Snapshot, why: str, *, keep: bool = True) -> Snapshot:
    """The present state of a snapshot's repository, recorded as a snapshot."""
    _check(snapshot)
    now = await take_snapshot(Path(snapshot.root), why, keep=keep)
    if now is None:
        raise _gone(snapshot)
    return now


def _gone(snapshot: Snapshot) -> SnapshotFailed:
    return SnapshotFailed(f"{snapshot.root}: git finds no repository here any more, or is not installed")


def _check(snapshot: Snapshot) -> None:
    """Raise SnapshotFailed unless this is the name of a commit: a log may come from elsewhere, and other text could be
    an option of git."""
    if not re.fullmatch(r"[0-9a-f]{40,64}", snapshot.commit):
        raise SnapshotFailed(f"{snapshot.root}: expected the name of a commit, got {shown_value(snapshot.commit)}")


async def _difference(git: Git, snapshot: Snapshot, now: Snapshot) -> SnapshotDifference:
    _check(snapshot)
    await git.output_of("cat-file", "-e", f"{snapshot.commit}^{{commit}}", private=True)
    changes = await _changes(git, snapshot.commit, now.commit)
    old = [change.path for change in changes if not change.is_new]
    blocked = tuple(path for path in old if _is_blocked(Path(snapshot.root), path))
    changed = tuple(path for path in old if path not in set(blocked))
    return SnapshotDifference(changed, tuple(change.path for change in changes if change.is_new), blocked)


async def _bring_back(snapshot: Snapshot, before: Snapshot, remove_created: bool) -> RestoredSnapshot:
    root = Path(snapshot.root)
    async with opened_repository(root) as opened:
        if opened is None:
            raise _gone(snapshot)
        git = opened[0]
        found = await _difference(git, snapshot, before)
        removed = await in_background(_remove, root, found.created) if remove_created else []
        if removed:  # what was in the way may be gone now
            found = await _difference(git, snapshot, before)
        if found.changed:
            await git.output_of("read-tree", snapshot.commit, private=True)
            names = b"".join(os.fsencode(path) + b"\0" for path in found.changed)
            await git.output_of("checkout-index", "--force", "-z", "--stdin", stdin=names, private=True)
    left = tuple(path for path in found.created if path not in set(removed))
    return RestoredSnapshot(before, found.changed, left, tuple(removed), found.blocked)


async def _changes(git: Git, old: str, new: str) -> list[_Change]:
    """The differences between two commits. Nested repositories are left alone."""
    listed = await git.output_of("diff-tree", "-r", "-z", "--raw", "--no-renames", old, new, private=True)
    fields = listed.split("\0")
    found = []
    for about, path in zip(fields[0::2], fields[1::2], strict=False):
        old_mode, new_mode, _, _, letter = about.removeprefix(":").split(" ")
        if "160000" not in (old_mode, new_mode):
            found.append(_Change(path, letter == "A"))
    return found


def _remove(root: Path, paths: Sequence[str]) -> list[str]:
    """Remove files, and the folders that become empty."""
    removed = []
    for path in paths:
        with suppress(OSError):
            os.unlink(root / path)
            removed.append(path)
            for folder in (root / path).parents:
                if folder == root:
                    break
                os.rmdir(folder)  # fails if the folder is not empty
    return removed


def _is_blocked(root: Path, path: str) -> bool:
    """Whether git would have to remove something else to restore a file: a folder, or a file where a folder must be."""
    place = root / path
    if place.is_dir() and not place.is_symlink():
        return True
    for folder in place.parents:
        if folder == root:
            return False
        if os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir()):
            return True
    return False


async def kept_snapshots(root: Path) -> frozenset[str]:
    """The commits of the snapshots that a repository still has; none if the repository is gone."""
    return frozenset(commit for _, commit in await _newest_refs(Git(root)))


async def prune_snapshots(root: Path, keep: int) -> int:
    """Release all but the newest `keep` snapshots of a repository and return how many; 0 if the repository is gone.

    Git collects them later.
    """
    git = Git(root)
    refs = await _newest_refs(git)
    commits = list(dict.fromkeys(commit for _, commit in refs))
    old = frozenset(commits[keep:])
    if old:
        orders = "".join(f"delete {name}\n" for name, commit in refs if commit in old)
        await git.output_of("update-ref", "--stdin", stdin=orders.encode())
    return len(old)


async def _newest_refs(git: Git) -> list[tuple[str, str]]:
    """The refs of the snapshots, the newest first, with their commits; none if the repository is gone.

    A commit has its time in whole seconds; within a second the nanoseconds in the name of the ref decide.
    """
    order = ("--sort=-refname", "--sort=-committerdate")
    try:
        status, output, _ = await git("for-each-ref", *order, "--format=%(refname) %(objectname)", REFS)
    except (FileNotFoundError, NotADirectoryError):
        return []  # git is not installed, or the folder is gone
    pairs = (line.split(" ") for line in os.fsdecode(output).splitlines())
    return [(name, commit) for name, commit in pairs] if status == 0 else []
