"""Reads sources and keeps them in memory, for runs that replay the same ones many times. Each worker has a reader."""

from __future__ import annotations

import os
from collections.abc import Hashable
from contextlib import nullcontext
from typing import NamedTuple

from workbench.config.errors import WorkbenchError
from workbench.lab.replay.lab_source import LabSource
from workbench.lab.running.fetching import is_url, local_copy, remote_stamp
from workbench.lab.running.tasks import LabTask
from workbench.sources.services import Services
from workbench.sources.source import names_file
from workbench.traces.references import split_ref

MOST = 256 * 1024 * 1024
"""The most bytes of memory that a worker uses for this."""
SHARE = 8
"""All workers of a machine together use at most this fraction (1/8) of its memory."""
_BY_BYTE = 2
_BY_EVENT = 600
"""The memory for a source that is ready to be replayed: per byte of the file, and per event."""


class _Read(NamedTuple):
    stamp: Hashable
    sources: list[LabSource]
    size: int


class SourceReader:
    """Reads the sources of tasks, and keeps them while the same run goes on."""

    def __init__(self, services: Services, most: int = MOST) -> None:
        self._services = services
        self._most = most
        self._run = ""
        self._kept: dict[Hashable, _Read] = {}

    def read_sources(self, task: LabTask, run: str = "") -> list[LabSource]:
        """All conversations of a source. `run`: an id, if the same run will ask for its sources again.

        When memory is full, the sources that were read first stay. A run takes its sources in the same order each
        time, so those used last would be dropped just before their turn.
        """
        if run != self._run:
            self._run, self._kept = run, {}
        stamp = source_stamp(task, self._services) if run else None
        key = task.source, task.folder, task.options, task.summarise
        known = self._kept.pop(key, None)
        if known is None or known.stamp != stamp:
            known = self._fresh(task, stamp)
        if stamp is not None and known.size + sum(each.size for each in self._kept.values()) <= self._most:
            self._kept[key] = known
        return known.sources

    def close(self) -> None:
        """Drop all sources and close the services."""
        self._kept.clear()
        self._services.__exit__()

    def _fresh(self, task: LabTask, stamp: Hashable) -> _Read:
        path = os.path.join(task.folder, task.source)
        ref = path if names_file(path) else task.source
        with local_copy(task.source) if is_url(task.source) else nullcontext(ref) as here:
            found = self._services.sources(here)
            size = _BY_BYTE * self._services.source_bytes(here) + _BY_EVENT * sum(
                len(source.events) for source in found
            )
        made = [LabSource(self._services, task.options, source, summarise=task.summarise) for source in found]
        return _Read(stamp, made, size)


def memory_share(workers: int) -> int:
    """How many bytes each of this many workers on this machine may use."""
    import psutil  # late: only needed to start workers

    return min(MOST, psutil.virtual_memory().total // SHARE // workers)


def source_stamp(task: LabTask, services: Services) -> Hashable:
    """A value that changes when a source does, without reading the source; None where it is not known."""
    try:
        if is_url(task.source):
            return task.source, remote_stamp(task.source)
        path, _ = split_ref(os.path.join(task.folder, task.source))
        if os.path.isfile(path):  # the log of a database belongs to it
            return tuple(_file_stamp(each) for each in (path, f"{path}-wal") if os.path.isfile(each))
        if not os.path.exists(path):
            info = services.store.info(task.source)
            return info.id, info.events
    except (OSError, WorkbenchError, ValueError):
        pass
    return None


def _file_stamp(path: str) -> tuple[int, int, int]:
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns, found.st_ino
