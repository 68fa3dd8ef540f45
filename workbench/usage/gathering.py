"""Finds all that agents on this machine recorded about their use, and answers from the cache if nothing changed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress

from workbench.config.distribution import installed_version, litellm_version
from workbench.config.garbage import collector_paused
from workbench.config.paths import STORE_FILE, data_dir
from workbench.live.homes import SUB_AGENT, session_files
from workbench.live.stamps import FileStamp, stamp_of
from workbench.sources.services import Services
from workbench.traces import format_names
from workbench.traces.claude_sub_agent_files import claude_sub_agent_files
from workbench.usage.kept_usage import KeptUsage
from workbench.usage.records import UsageFile
from workbench.usage.usage_table import UsageTable


def all_usage(services: Services, here: str) -> UsageTable:
    """What all agents on this machine used. `here`: the working folder."""
    files = [*usage_files(services, here)]
    stored = stamp_of(str(data_dir() / STORE_FILE))
    key = _answer_key(services, files, stored)
    with collector_paused(), KeptUsage() as kept:
        table = kept.load_table(key)
        if table is None:
            from workbench.usage.reading import read_all  # late: the readers take longer to import than a kept answer

            table = read_all(services, kept, files, has_store=stored is not None)
            kept.keep_table(key, table)
            kept.forget_files({*(file.path for file in files)})
    return table


def usage_files(services: Services, here: str) -> Iterator[UsageFile]:
    """All files of all agents, with those of sub-agents."""
    projects: dict[str, None] = {}
    for home, path in session_files(os.environ, here, services.agent_places):
        if home.is_here and os.path.islink(path):
            continue
        stamp = stamp_of(path)
        if stamp is not None:
            yield UsageFile(path, home.agent, stamp)
        if home.agent == format_names.CLAUDE_CODE:
            projects[os.path.dirname(path)] = None
    for folder in projects:
        for path in _claude_sub_agents(folder):
            stamp = stamp_of(path)
            if stamp is not None:
                yield UsageFile(path, format_names.CLAUDE_CODE, stamp)


def _claude_sub_agents(folder: str) -> Iterator[str]:
    """The files of sub-agents in a folder of sessions. Those of older versions are next to the sessions."""
    with suppress(OSError), os.scandir(folder) as entries:
        for each in entries:
            if each.name.startswith(SUB_AGENT) and each.name.endswith(".jsonl"):
                yield each.path
            elif each.is_dir():
                yield from claude_sub_agent_files(f"{each.path}.jsonl")


def _answer_key(services: Services, files: list[UsageFile], stored: FileStamp | None) -> bytes:
    """Everything that the table depends on: the files, the prices, the time zone and this program."""
    models = repr(services.settings.models)
    with_prices = (installed_version(), litellm_version(), models, time.tzname, os.environ.get("TZ"))
    # As it is: to load what makes a hash of it takes longer than to compare it.
    return repr((with_prices, sorted(files), stored)).encode("utf-8", "replace")
