"""Finds and reads everything that agents on this machine recorded about their use."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from typing import NamedTuple

from workbench.config.distribution import installed_version, litellm_version
from workbench.config.paths import data_dir
from workbench.live.homes import SUB_AGENT, session_files
from workbench.live.stamps import FileStamp, stamp_of
from workbench.log.store import FILE_NAME
from workbench.sources.services import Services
from workbench.traces import claude_code
from workbench.traces.claude_sub_agents import claude_sub_agent_files
from workbench.usage.kept_usage import KeptUsage
from workbench.usage.records import SessionUse
from workbench.usage.session_files import UsageEntry, read_usage
from workbench.usage.stored_usage import read_stored_session
from workbench.usage.usage_table import UsageTable, make_table


class UsageFile(NamedTuple):
    """A file that may have reports, and the agent it is of, if that is known from its place."""

    path: str
    agent: str
    stamp: FileStamp


def all_usage(services: Services, here: str) -> UsageTable:
    """What all agents on this machine used. `here`: the working folder."""
    files = [*usage_files(services, here)]
    stamp = stamp_of(str(data_dir() / FILE_NAME))
    with KeptUsage() as kept:
        key = _answer_key(services, files, stamp)
        table = kept.load_table(key)
        if table is None:
            sessions = [each for file in files for each in _sessions(services, kept, file)]
            if stamp is not None:
                sessions += _stored(services, kept)
            table = make_table(sessions, services.catalogue)
            kept.keep_table(key, table)
            kept.forget_files({*(file.path for file in files)})
    return table


def usage_of_file(services: Services, path: str) -> UsageTable:
    """What the sessions of one file used, with their sub-agents."""
    more = claude_sub_agent_files(path)
    files = [UsageFile(each, "", stamp) for each in (path, *more) if (stamp := stamp_of(each)) is not None]
    with KeptUsage() as kept:
        sessions = [each for file in files for each in _sessions(services, kept, file)]
    return make_table(sessions, services.catalogue)


def usage_files(services: Services, here: str) -> Iterator[UsageFile]:
    """All files of all agents, with those of sub-agents."""
    projects: dict[str, None] = {}
    for home, path in session_files(os.environ, here, services.agent_places):
        if home.is_here and os.path.islink(path):
            continue
        stamp = stamp_of(path)
        if stamp is not None:
            yield UsageFile(path, home.agent, stamp)
        if home.agent == claude_code.NAME:
            projects[os.path.dirname(path)] = None
    for folder in projects:
        for path in _claude_sub_agents(folder):
            stamp = stamp_of(path)
            if stamp is not None:
                yield UsageFile(path, claude_code.NAME, stamp)


def _claude_sub_agents(folder: str) -> Iterator[str]:
    """The files of sub-agents in a folder of sessions. Those of older versions are next to the sessions."""
    with suppress(OSError), os.scandir(folder) as entries:
        for each in entries:
            if each.name.startswith(SUB_AGENT) and each.name.endswith(".jsonl"):
                yield each.path
            elif each.is_dir():
                yield from claude_sub_agent_files(f"{each.path}.jsonl")


def _sessions(services: Services, kept: KeptUsage, file: UsageFile) -> list[SessionUse]:
    known = kept.load_file(file.path)
    if known is not None and known.stamp == file.stamp:
        return known.sessions
    read = read_usage(file.path, file.agent, file.stamp, known, services.agents.session_at)
    if read is None:
        return []
    kept.keep_file(file.path, read)
    return read.sessions


def _stored(services: Services, kept: KeptUsage) -> list[SessionUse]:
    store = services.count_store()
    if store is None:
        return []
    found = []
    for info in store.list():
        stamp = FileStamp(0, info.events, info.updated)
        known = kept.load_file(f"session {info.id}")
        if known is None or known.stamp != stamp:
            known = UsageEntry(stamp, [read_stored_session(store, info)])
            kept.keep_file(f"session {info.id}", known)
        found += known.sessions
    return found


def _answer_key(services: Services, files: list[UsageFile], stored: FileStamp | None) -> bytes:
    """Everything that the table depends on: the files, the prices, the time zone and this program."""
    models = repr(services.settings.models)
    with_prices = (installed_version(), litellm_version(), models, time.tzname, os.environ.get("TZ"))
    return sha256(repr((with_prices, sorted(files), stored)).encode("utf-8", "replace")).digest()
