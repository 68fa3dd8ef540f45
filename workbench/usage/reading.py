"""Reads what agents on this machine recorded about their use; of files that are in the cache, only what is new."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from workbench.config.garbage import collector_paused
from workbench.config.system import start_copy, usable_cores
from workbench.config.values import replace
from workbench.live.stamps import FileStamp, stamp_of
from workbench.sources.services import Services
from workbench.traces.claude_sub_agent_files import claude_sub_agent_files
from workbench.usage.kept_usage import STORED_SESSION, KeptUsage, decoded_entry, encoded_entry
from workbench.usage.records import RequestUse, SessionUse, UsageEntry, UsageFile
from workbench.usage.session_files import is_read_quickly, read_usage
from workbench.usage.session_sums import SessionSums, SummedSession
from workbench.usage.summing import Summing
from workbench.usage.usage_table import UsageTable

if TYPE_CHECKING:
    from workbench.live.finder import AgentSession

_MUCH = 64 * 1024 * 1024
"""Bytes from which on a second process is worth its start."""


class SummedFile(msgspec.Struct, array_like=True, gc=False):
    """What a file reports. This is what one process hands to the other."""

    data: bytes
    """All of it, for the cache; empty if it cannot be kept."""
    sessions: list[SessionUse]
    """Without their requests, if `data` has them."""
    sums: list[SessionSums]
    fault: str = ""

    def summed_sessions(self) -> Iterator[SummedSession]:
        """The sessions with their sums."""
        for at, (used, sums) in enumerate(zip(self.sessions, self.sums, strict=True)):
            yield SummedSession(used, sums, partial(self._load_requests, at))

    def _load_requests(self, at: int) -> list[RequestUse]:
        return (decoded_entry(self.data).sessions if self.data else self.sessions)[at].requests


_ENCODER, _DECODER = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(list[SummedFile | None])


def read_all(services: Services, kept: KeptUsage, files: Sequence[UsageFile], *, has_store: bool) -> UsageTable:
    """What these files and our own store report."""
    with collector_paused():
        summing = Summing(services.catalogue)
        known = {file.path: kept.load_file(file.path) for file in files}
        missing = [file for file in files if not _is_known(known[file.path], file)]
        found = dict(zip(missing, _read_files(services, summing, missing, known), strict=True))
        sessions: list[SummedSession] = []
        broken: dict[str, str] = {}
        for file in files:
            entry = known[file.path]
            read = found[file] if file in found else summed_file(summing, entry) if entry is not None else None
            if read is not None:
                sessions += read.summed_sessions()
                kept.keep_file(file.path, read.data)
                if read.fault:
                    broken[file.path] = read.fault
        if has_store:
            sessions += summed_file(summing, UsageEntry(FileStamp(0, 0, 0), _stored(services, kept))).summed_sessions()
        table = summing.make_table(sessions)
        table.broken = broken
        return table


def summed_file(summing: Summing, entry: UsageEntry, data: bytes = b"") -> SummedFile:
    """What a file reports, with the sums. `data`: the same for the cache; then the requests are left out here."""
    sums = [summing.sum_requests(used, used.requests) for used in entry.sessions]
    sessions = [replace(used, requests=[]) for used in entry.sessions] if data else entry.sessions
    return SummedFile(data, sessions, sums, entry.fault)


def _read_files(
    services: Services, summing: Summing, files: Sequence[UsageFile], known: Mapping[str, UsageEntry | None]
) -> list[SummedFile | None]:
    """What each file reports; None if it cannot be read. Where there is much to read, two processes share it."""

    def session_at(ref: str) -> AgentSession | None:
        return services.agents.session_at(ref)  # the finder loads the readers of all formats: only if it is needed

    def read_one(file: UsageFile) -> SummedFile | None:
        entry = read_usage(file.path, file.agent, file.stamp, known[file.path], session_at)
        return None if entry is None else summed_file(summing, entry, b"" if entry.fault else encoded_entry(entry))

    mine, others = _halves(files)
    answer = start_copy(lambda: _ENCODER.encode([read_one(file) for file in others])) if others else None
    if answer is None:
        return [read_one(file) for file in files]
    found = {file.path: read_one(file) for file in mine}
    try:
        theirs = _DECODER.decode(answer())
    except msgspec.MsgspecError:
        theirs = [read_one(file) for file in others]
    found |= {file.path: read for file, read in zip(others, theirs, strict=True)}
    return [found[file.path] for file in files]


def _halves(files: Sequence[UsageFile]) -> tuple[list[UsageFile], list[UsageFile]]:
    """Two parts that take about the same time; the second is empty if one process is enough."""
    quick = [file for file in files if is_read_quickly(file.agent)]
    if usable_cores() < 2 or sum(file.stamp.size for file in quick) < _MUCH:
        return [*files], []
    quick.sort(key=lambda file: (file.agent, file.stamp.size))
    others = quick[::2]
    theirs = {*others}
    return [file for file in files if file not in theirs], others


def usage_of_file(services: Services, path: str) -> UsageTable:
    """What the sessions of one file used, with their sub-agents."""
    more = claude_sub_agent_files(path)
    files = [UsageFile(each, "", stamp) for each in (path, *more) if (stamp := stamp_of(each)) is not None]
    with KeptUsage() as kept:
        return read_all(services, kept, files, has_store=False)


def _is_known(entry: UsageEntry | None, file: UsageFile) -> bool:
    return entry is not None and entry.stamp == file.stamp


def _stored(services: Services, kept: KeptUsage) -> list[SessionUse]:
    from workbench.usage.stored_usage import read_stored_session  # late: a store is opened for it

    store = services.available_store()
    if store is None:
        return []
    found = []
    for info in store.list():
        stamp = FileStamp(0, info.events, info.updated)
        known = kept.load_file(f"{STORED_SESSION}{info.id}")
        if known is None or known.stamp != stamp:
            known = UsageEntry(stamp, [read_stored_session(store, info)])
            kept.keep_file(f"{STORED_SESSION}{info.id}", encoded_entry(known))
        found += known.sessions
    return found
