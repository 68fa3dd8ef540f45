"""Keeps finished replays, so that an interrupted run continues where it stopped and a second run is quick.

The key of a replay is everything that it depends on: the contents of the source, the policy's knobs (not its name), the
model and the window that were asked for, the user's models, and the code of this program. Replays are kept in the cache
folder. When it is full, those that were not used for longest are removed.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import file_digest, sha256
from typing import NamedTuple, Self

import msgspec

from workbench.config.cache_files import open_cache
from workbench.config.distribution import installed_version
from workbench.config.errors import WorkbenchError
from workbench.config.file_limits import largest_file
from workbench.config.foreign_files import TooLargeFile, is_regular_file, open_regular_file, size_of
from workbench.config.paths import cache_dir
from workbench.config.values import replace
from workbench.context.load import load_policy
from workbench.context.policy_names import RECORDED
from workbench.lab.running.code_stamp import content_hashes
from workbench.lab.running.fetching import is_url
from workbench.lab.running.source_reader import source_stamp
from workbench.lab.running.tasks import LabPolicy, LabTask, conversation_name
from workbench.lab.values import SourceRun
from workbench.sources.services import Services
from workbench.traces.references import split_ref

FILE = "lab.db"
MOST = 256 * 1024 * 1024
"""How many bytes are kept."""
_CHECK = 16
"""Bytes of the checksum in front of each replay."""
_SCHEMA = "CREATE TABLE runs (key BLOB PRIMARY KEY, used INTEGER, data BLOB) WITHOUT ROWID"

Found = tuple[SourceRun, ...]
"""The conversations of a source under one policy."""


class KnownTask(NamedTuple):
    """A task, and its results that were kept."""

    task: LabTask
    keys: tuple[bytes, ...] = ()
    """One per policy; empty where the source cannot be kept."""
    names: tuple[str, ...] = ()
    """The names of the policies in the results."""
    known: tuple[Found | None, ...] = ()

    @property
    def rest(self) -> LabTask | None:
        """The task without the policies that are known; None where all are."""
        if not self.keys:
            return self.task
        left = [each for each, known in zip(self.task.policies, self.known, strict=True) if known is None]
        return self.task._replace(policies=tuple(left)) if left else None

    def merged(self, runs: Sequence[SourceRun]) -> Found:
        """All policies in order: the known runs together with those of the rest."""
        if not self.keys or all(each is None for each in self.known):
            return tuple(runs)
        templates = runs or next(each for each in self.known if each is not None)
        found = []
        for at, template in enumerate(templates):
            fresh = iter(runs[at].runs if runs else ())
            made = [next(fresh) if each is None else each[at].runs[0] for each in self.known]
            named = tuple(replace(run, policy=name) for run, name in zip(made, self.names, strict=True))
            found.append(
                template._replace(source=conversation_name(self.task.source, at + 1, len(templates)), runs=named)
            )
        return tuple(found)


class KeptRuns:
    """The kept replays. Where nothing can be written, nothing is kept, and that is no error."""

    def __init__(self, services: Services, *, fresh: bool = False) -> None:
        """`fresh`: do not use what was kept."""
        self._services = services
        self._fresh = fresh
        self._used: list[bytes] = []
        self._policies: dict[tuple[LabPolicy, tuple[str, ...]], tuple[str, str]] = {}
        """By policy: its knobs and its name."""
        self._contents: dict[tuple[str, Hashable], str] = {}
        """By file: a hash of its contents."""
        self._decoder = msgspec.msgpack.Decoder(Found)
        self._db = open_cache(cache_dir() / FILE, (_SCHEMA,))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._db is not None:
            with suppress(sqlite3.Error):
                now = time.time_ns()
                self._db.executemany("UPDATE runs SET used = ? WHERE key = ?", ((now, key) for key in self._used))
                self._shrink()
            self._db.close()

    def find_known(self, task: LabTask) -> KnownTask:
        """The task with its results that were kept."""
        names, keys = self._keys(task)
        return KnownTask(task, tuple(keys), tuple(names), tuple(map(self._load, keys)))

    def work_left(self, task: LabTask, again: int = 0) -> int:
        """About how many bytes are left to replay, counted per policy. `again`: how many more policies will come."""
        left = self.policies_left(task)
        return self._services.source_bytes(task.source) * (left + again) if left else 0

    def policies_left(self, task: LabTask) -> int:
        """How many policies are left to replay."""
        keys = [] if self._fresh else self._keys(task)[1]
        return len(task.policies) - sum(map(self._has, keys))

    def _keys(self, task: LabTask) -> tuple[list[str], list[bytes]]:
        """The names of the policies and their keys; empty where nothing can be kept."""
        stamp = self.content_stamp(task)
        if self._db is None or not stamp:
            return [], []
        asked = task.options
        names, keys = [], []
        for each in task.policies:
            if (each, asked.knobs) not in self._policies:
                self._policies[each, asked.knobs] = self._resolved(each, asked.knobs)
            knobs, name = self._policies[each, asked.knobs]
            how = (task.waste, task.summarise)
            made_from = (self._surroundings, stamp, knobs, asked.model, asked.window, asked.reserve, *how)
            keys.append(sha256(repr(made_from).encode()).digest())
            names.append(each.name or name)
        return names, keys

    def keep_runs(self, task: KnownTask, runs: Sequence[SourceRun]) -> None:
        """Keep the runs of the policies that were not known."""
        left = [key for key, known in zip(task.keys, task.known, strict=True) if known is None]
        for at, key in enumerate(left):
            found = tuple(each._replace(source="", runs=(each.runs[at],)) for each in runs)
            if any(made.problem for each in found for made in each.runs[0].compactions):
                continue  # the model may succeed next time
            # Half a surrogate pair and a number of 65 bits cannot be encoded.
            with suppress(sqlite3.Error, UnicodeEncodeError, OverflowError):
                assert self._db is not None
                data = msgspec.msgpack.encode(found)
                data = _check(data) + data
                self._db.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?)", (key, time.time_ns(), data))

    def content_stamp(self, task: LabTask) -> str:
        """A text that changes when the contents of the source change; empty where it is not known."""
        quick = source_stamp(task, self._services)
        path, number = split_ref(os.path.join(task.folder, task.source))
        if quick is None or is_url(task.source) or not os.path.isfile(path):
            return "" if quick is None else str(quick)
        if (path, quick) not in self._contents:  # by contents: the same file may be copied, or written again unchanged
            with suppress(OSError):
                self._contents[path, quick] = _contents(path)
        return f"{number}: {self._contents[path, quick]}" if (path, quick) in self._contents else ""

    def _has(self, key: bytes) -> bool:
        with suppress(sqlite3.Error):
            assert self._db is not None
            return self._db.execute("SELECT 1 FROM runs WHERE key = ?", (key,)).fetchone() is not None
        return False

    def _load(self, key: bytes) -> Found | None:
        if self._fresh or self._db is None:
            return None
        with suppress(sqlite3.Error, msgspec.MsgspecError, RecursionError):
            row = self._db.execute("SELECT data FROM runs WHERE key = ?", (key,)).fetchone()
            data = row[0] if row is not None else None
            if isinstance(data, bytes) and _check(data[_CHECK:]) == data[:_CHECK]:
                found = self._decoder.decode(data[_CHECK:])
                if all(len(each.runs) == 1 for each in found):
                    self._used.append(key)
                    return found
        return None

    def _shrink(self) -> None:
        assert self._db is not None
        size = self._db.execute("SELECT COALESCE(SUM(LENGTH(data)), 0) FROM runs").fetchone()[0]
        if size <= MOST:
            return
        going: list[tuple[bytes]] = []
        for key, length in self._db.execute("SELECT key, LENGTH(data) FROM runs ORDER BY used"):
            if size <= MOST * 3 // 4:
                break
            size -= length
            going.append((key,))
        self._db.executemany("DELETE FROM runs WHERE key = ?", going)

    # What a replay depends on

    def _resolved(self, policy: LabPolicy, knobs: Iterable[str]) -> tuple[str, str]:
        if policy.ref == RECORDED:
            return RECORDED, RECORDED
        with suppress(WorkbenchError):  # the replay reports what is wrong
            loaded = load_policy(policy.ref, sets=(*knobs, *policy.knobs)).policy
            return repr(replace(loaded, name="", description="")), loaded.name
        return repr(policy), policy.ref

    @cached_property
    def _surroundings(self) -> str:
        """The part of the key that is the same for all tasks: the code, the table of models, and the user's models."""
        settings = self._services.settings
        return repr((installed_version(), content_hashes(), settings.model, settings.models))


def _check(data: bytes) -> bytes:
    """A checksum. Without it, figures that a disk has damaged would look like any others."""
    return sha256(data).digest()[:_CHECK]


def _contents(path: str) -> str:
    """A hash of a file. The log of a database belongs to its contents."""
    found = []
    limit = largest_file()
    for each in (path, f"{path}-wal"):
        if is_regular_file(each):
            with open_regular_file(each) as file:
                if size_of(file) > limit:
                    raise TooLargeFile(limit, size_of(file))
                found.append(file_digest(file, "sha256").hexdigest())
    return " ".join(found)
