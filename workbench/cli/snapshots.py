"""`workbench snapshots` and `workbench restore`: states of the work tree before tools changed it."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from workbench.agent import snapshots
from workbench.agent.snapshots import RestoredSnapshot, SnapshotDifference
from workbench.cli.asking import require_confirmation
from workbench.config.errors import WrongCall
from workbench.config.text import print_json, printable, table, when
from workbench.log.errors import ReadOnly
from workbench.log.events import Event, Snapshot
from workbench.log.session import Session
from workbench.sources.services import Services

SHOWN = 20
"""The most files to name of each kind; the rest is counted."""


Taken = tuple[Event, Snapshot]
"""The event of a snapshot, and its body."""


def _taken(events: Iterable[Event]) -> list[Taken]:
    return [(event, event.body) for event in events if isinstance(event.body, Snapshot)]


def run_snapshot_list(options: argparse.Namespace) -> int:
    """List the snapshots of a session, and which of them git still has; with `--keep`, remove old ones first."""
    with Services() as services, services.store.session(options.session, write=False) as session:
        found = _taken(session.events())
    roots = sorted({snapshot.root for _, snapshot in found})
    released = asyncio.run(_prune(roots, options.keep)) if options.keep is not None else 0
    existing = asyncio.run(_kept(roots))
    if options.json:
        print_json({"snapshots": [_as_json(each, existing) for each in found], "let_go": released})
        return 0
    if released:
        print(f"released {released:,}")
    if not found:
        print("no snapshots: one is recorded before a tool first changes files of a git repository in a turn")
        return 0
    rows = [
        (
            str(event.seq),
            when(event.at),
            printable(snapshot.why) or "–",
            printable(snapshot.root),
            "" if snapshot.commit in existing else "git has it no more",
        )
        for event, snapshot in found
    ]
    print("\n".join(table(("seq", "when", "why", "folder", ""), rows, frozenset({0}))))
    return 0


async def _prune(roots: Sequence[str], keep: int) -> int:
    return sum([await snapshots.prune_snapshots(Path(root), keep) for root in roots])


async def _kept(roots: Sequence[str]) -> frozenset[str]:
    return frozenset().union(*[await snapshots.kept_snapshots(Path(root)) for root in roots])


def _as_json(taken: Taken, existing: frozenset[str]) -> dict[str, Any]:
    event, snapshot = taken
    return {
        "seq": event.seq,
        "at": event.at,
        "why": snapshot.why,
        "root": snapshot.root,
        "commit": snapshot.commit,
        "kept": snapshot.commit in existing,
    }


def run_restore(options: argparse.Namespace) -> int:
    """Bring a snapshot back, after showing what would change and asking."""
    with Services() as services, services.store.session(options.session) as session:
        event, snapshot = _chosen(session, options.seq)
        found = asyncio.run(snapshots.compare_snapshot(snapshot))
        if options.json and not options.yes:
            print_json(_result(event, snapshot, found))
            return 0
        if not options.json:
            _print_difference(event, snapshot, found, options.remove_created)
        if not found.changed and not (found.created and options.remove_created):
            if options.json:
                print_json(_result(event, snapshot, found))
            return 0
        if not options.yes:
            declined = "nothing was restored"
            require_confirmation("Restore?", declined=declined, unasked=f"{declined}: confirm with --yes")
        if not session.writable:  # the snapshot to go back to has to be in the log before any file changes
            raise ReadOnly(session.why_read_only)
        done, back = asyncio.run(_restore(session, snapshot, options.remove_created))
    if options.json:
        print_json({**_result(event, snapshot, done), "removed": done.removed, "restored": True, "undo": back})
    else:
        removed = f", removed: {len(done.removed):,}" if done.removed else ""
        print(f"files put back: {len(done.changed):,}{removed}")
        print(f"the state from before is event {back}: `workbench restore {session.id} {back}` brings it back")
    return 0


def _chosen(session: Session, seq: int | None) -> Taken:
    found = _taken(session.events())
    if not found:
        raise WrongCall(f"session {session.id} has no snapshots")
    if seq is None:
        return found[-1]
    for event, snapshot in found:
        if event.seq == seq:
            return event, snapshot
    some = ", ".join(str(event.seq) for event, _ in found[-10:])
    raise WrongCall(f"event {seq} of session {session.id} is no snapshot; expected one of {some}")


async def _restore(session: Session, snapshot: Snapshot, remove_created: bool) -> tuple[RestoredSnapshot, int]:
    """Restore; returns what was done, and the event with which it can be undone."""
    before = await snapshots.present_snapshot(snapshot, f"before restoring {snapshot.commit[:12]}")
    [event] = session.append(before)
    return await snapshots.restore_snapshot(snapshot, before, remove_created=remove_created), event.seq


def _result(event: Event, snapshot: Snapshot, found: SnapshotDifference | RestoredSnapshot) -> dict[str, Any]:
    return {
        "snapshot": event.seq,
        "root": snapshot.root,
        "changed": found.changed,
        "created": found.created,
        "blocked": found.blocked,
        "removed": (),
        "restored": False,
        "undo": None,
    }


def _print_difference(event: Event, snapshot: Snapshot, found: SnapshotDifference, remove_created: bool) -> None:
    why = f", {printable(snapshot.why)}" if snapshot.why else ""
    print(f"event {event.seq}, {when(event.at)}{why}, in {printable(snapshot.root)}")
    fate = "to be removed" if remove_created else "created since; kept, unless --remove-created"
    for title, paths in (("to be put back", found.changed), (fate, found.created), ("in the way", found.blocked)):
        if paths:
            print(f"{title}: {len(paths):,}")
            for path in paths[:SHOWN]:
                print(f"  {printable(path)}")
            if len(paths) > SHOWN:
                print(f"  and {len(paths) - SHOWN:,} more")
    if not found.changed and not (found.created and remove_created):
        print("nothing to put back")
