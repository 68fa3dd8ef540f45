"""States of the work tree, recorded before a tool writes, and brought back.

A snapshot is a commit on no branch, with the bytes of the files as they are: made with an index of its own, so that the
user's index, work tree, stash and branches stay as they are. A private ref under `refs/workbench/snapshots/` keeps git
from collecting it; `git branch` and `git tag` do not show it, `git log --all` does. Ignored files are not in it.
"""

from __future__ import annotations

import os
import re
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
SECONDS = 20.0


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


async def take(root: Path, why: str = "", *, keep: bool = True, seconds: float = SECONDS) -> Snapshot | None:
    """Record the work tree that `root` lies in; None outside a repository. Raises SnapshotFailed, also for time.

    Without `keep` git may collect it soon: it is only to be looked at.
    """
    async with opened_repository(root, seconds) as opened:
        if opened is None:
            return None
        git, found, folder = opened
        taken = await _record(git, found, folder, why)
        if keep:
            await git.must("update-ref", f"{REFS}/{taken.commit}", taken.commit)
        return taken


async def _record(git: Git, found: Repository, folder: Path, why: str) -> Snapshot:
    index, kept_index = folder / "index", _kept_index(found)
    # With its time: by that git knows which files may have changed in the moment after they were read.
    with suppress(OSError):
        await in_background(copy_file, kept_index, index)
    was_kept = index.exists()
    try:
        tree, left_out = await _tree(git)
    except SnapshotFailed:
        if not was_kept:
            raise
        index.unlink(missing_ok=True)  # it is damaged, or git has collected what it names
        tree, left_out = await _tree(git)
    await _keep_index(git, index, kept_index)
    why = f"{why} (incomplete: {left_out[:200]})".strip() if left_out else why
    status, head, _ = await git("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
    parents = ("-p", os.fsdecode(head).strip()) if status == 0 else ()
    message = f"Workbench snapshot: {why or 'no reason given'}".encode(errors="replace")
    commit = (await git.must("commit-tree", *parents, tree, stdin=message, private=True)).strip()
    return Snapshot(commit, str(git.folder), why)


async def _tree(git: Git) -> tuple[str, str]:
    """The work tree as git names it, and what git says of files that could not be read."""
    status, _, complaint = await git("add", "-A", "--ignore-errors", "--", ".", private=True)
    if status not in (0, 1):
        raise SnapshotFailed(f"{git.folder}: git add failed: {complaint}")
    return (await git.must("write-tree", private=True)).strip(), complaint if status == 1 else ""


def _kept_index(found: Repository) -> Path:
    """The index of the last snapshot: files that did not change since need not be read. It lies with our own data,
    where nobody can put one for us to find."""
    return data_dir() / "snapshots" / f"{sha256(os.fsencode(found.own)).hexdigest()[:32]}.index"


async def _keep_index(git: Git, index: Path, place: Path) -> None:
    """Keep the index for the next snapshot, without repositories inside: git would look into those that it knows, and
    follow their settings."""
    listed = (await git.must("ls-files", "--stage", "-z", private=True)).split("\0")
    inside = "".join(f"{line.partition(chr(9))[2]}\0" for line in listed if line.startswith("160000 "))
    if inside:
        await git.must("update-index", "--force-remove", "-z", "--stdin", stdin=os.fsencode(inside), private=True)
    with suppress(OSError):
        await in_background(copy_file, index, place)


async def compare(snapshot: Snapshot, *, seconds: float = SECONDS) -> Difference:
    """What bringing a snapshot back would do. Nothing is changed and nothing kept."""
    now = await present(snapshot, "for comparison", keep=False, seconds=seconds)
    async with opened_repository(Path(snapshot.root), seconds) as opened:
        if opened is None:
            raise _gone(snapshot)
        return await _difference(opened[0], snapshot, now)


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
        raise _gone(snapshot)
    return now


def _gone(snapshot: Snapshot) -> SnapshotFailed:
    return SnapshotFailed(f"{snapshot.root}: no longer a git repository")


def _check(snapshot: Snapshot) -> None:
    """A log may come from elsewhere: what is no name of a commit could be an option of git."""
    if not re.fullmatch(r"[0-9a-f]{40,64}", snapshot.commit):
        raise SnapshotFailed(f"{snapshot.root}: expected the name of a commit, got {shown_value(snapshot.commit)}")


async def _difference(git: Git, snapshot: Snapshot, now: Snapshot) -> Difference:
    _check(snapshot)
    await git.must("cat-file", "-e", f"{snapshot.commit}^{{commit}}", private=True)
    changes = await _changes(git, snapshot.commit, now.commit)
    old = [change.path for change in changes if not change.is_new]
    blocked = tuple(path for path in old if _is_blocked(Path(snapshot.root), path))
    changed = tuple(path for path in old if path not in set(blocked))
    return Difference(changed, tuple(change.path for change in changes if change.is_new), blocked)


async def _bring_back(snapshot: Snapshot, before: Snapshot, remove_created: bool, seconds: float) -> Restored:
    root = Path(snapshot.root)
    async with opened_repository(root, seconds) as opened:
        if opened is None:
            raise _gone(snapshot)
        git = opened[0]
        found = await _difference(git, snapshot, before)
        removed = await in_background(_remove, root, found.created) if remove_created else []
        if removed:  # what was in the way may be gone now
            found = await _difference(git, snapshot, before)
        if found.changed:
            await git.must("read-tree", snapshot.commit, private=True)
            names = b"".join(os.fsencode(path) + b"\0" for path in found.changed)
            await git.must("checkout-index", "--force", "-z", "--stdin", stdin=names, private=True)
    left = tuple(path for path in found.created if path not in set(removed))
    return Restored(before, found.changed, left, tuple(removed), found.blocked)


async def _changes(git: Git, old: str, new: str) -> list[_Change]:
    """What differs from one commit to another. Repositories inside the repository are left alone."""
    listed = await git.must("diff-tree", "-r", "-z", "--raw", "--no-renames", old, new, private=True)
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
    try:
        status, output, _ = await Git(root, seconds)("for-each-ref", "--format=%(objectname)", REFS)
    except (FileNotFoundError, NotADirectoryError):
        return frozenset()
    return frozenset(os.fsdecode(output).split()) if status == 0 else frozenset()


async def prune(root: Path, keep: int, *, seconds: float = SECONDS) -> int:
    """Let go of all but the newest `keep` snapshots of a repository; how many. Git collects them in its own time."""
    git = Git(root, seconds)
    names = (await git.must("for-each-ref", "--sort=-committerdate", "--format=%(refname)", REFS)).split()
    old = names[keep:]
    await git.must("update-ref", "--stdin", stdin="".join(f"delete {name}\n" for name in old).encode())
    return len(old)
