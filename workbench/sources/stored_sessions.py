"""Sessions of this program's store that passed no proxy, listed like those of agents.

Programs that use the library with a store write them, and so do `workbench ask` and other screens.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from workbench.config.paths import data_dir
from workbench.live.finder import AgentSession
from workbench.live.processes import program_running
from workbench.log.learnt_windows import learnt_window
from workbench.log.lock import FOLDER, locked_names
from workbench.log.session import SessionInfo
from workbench.log.store import Store
from workbench.sources.services import Services
from workbench.sources.source import recorded_by

OWN = "Workbench"
"""The agent of a session that nobody writes now: which program did is not known any more."""
RECENT = 50
"""Sessions of a folder to list, the last changed first."""
MOST = 500
"""Sessions to search for those that are being written, the last changed first."""


def stored_sessions(services: Services, here: str) -> list[AgentSession]:
    """The sessions of a folder, the last changed first."""
    store = services.available_store()
    return [] if store is None else _listed(store, store.list(RECENT, folder=here), _writers())


def written_sessions(services: Services) -> list[AgentSession]:
    """The sessions that other processes are writing now, in all folders."""
    writers = _writers()
    store = services.available_store() if writers else None
    if store is None:
        return []
    return _listed(store, [info for info in store.list(MOST) if info.id in writers], writers)


def chosen_window(store: Store, session: AgentSession) -> int:
    """The window that a session was given; 0: none, so that its model's counts."""
    found = learnt_window(store.events_of_kinds(session.path, ["setting"]), session.model)
    return 0 if found is None else found.tokens


def _writers() -> dict[str, int]:
    """The processes that write sessions now, without this one, by the session's id."""
    return {name: pid for name, pid in locked_names(data_dir() / FOLDER).items() if pid != os.getpid()}


def _listed(store: Store, infos: Iterable[SessionInfo], writers: Mapping[str, int]) -> list[AgentSession]:
    found = {info.id: info for info in infos}
    first = store.first_events([*found])
    own = (info for name, info in found.items() if not recorded_by(first.get(name)))
    return [
        AgentSession(
            (program_running(writers[info.id]) if info.id in writers else "") or OWN,
            info.id,
            info.folder,
            info.title,
            info.model,
            info.updated,
            own=True,
        )
        for info in own
    ]
