"""The sessions of other agents on this machine, the last changed first."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock

from msgspec import Struct

from workbench.config.errors import WorkbenchError, WrongCall
from workbench.config.folders import project_root
from workbench.config.foreign_files import is_regular_file, open_regular_file, size_of
from workbench.config.values import replace
from workbench.live.heads import TITLE, read_head
from workbench.live.homes import ANY, session_files
from workbench.live.known_agents import AgentHome
from workbench.live.reports import LastReport, report_in
from workbench.live.stamps import FileStamp, stamp_of
from workbench.models.catalogue import Catalogue
from workbench.models.windows import window_seen
from workbench.traces import aider, codex, codex_sub_agents, llm, opencode
from workbench.traces.references import split_ref
from workbench.traces.tables import Tables, object_in, open_tables

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_DATED = re.compile(r"session-[\dT-]+-(?=[0-9a-f]{8}$)")
"""The part of a Gemini CLI file name before the id."""
MOST = 1_000
"""Files to read, the last changed first."""
MOST_COUNTED = 256 * 1024 * 1024
"""The largest history in which chats are counted, in bytes; of a larger one the first chat is used."""


class AgentSession(Struct, frozen=True):
    """A session of another agent, as far as it is known without reading the whole file."""

    agent: str
    path: str
    """A file, or a conversation of one that holds many, as in `opencode.db#2`."""
    folder: str
    """Where that agent worked; empty where the file does not say."""
    title: str
    """The agent's own, else the first message of the user."""
    model: str
    modified: int
    """Milliseconds since 1970."""
    report: LastReport | None = None
    """On its last request; None where the file has none at its end."""
    key: str = ""
    """The agent's own id, if the file's name does not have it."""
    passed: bool = False
    """Whether it passed the proxy. Then `path` is the id of our own session, which has the requests themselves."""
    own: bool = False
    """Whether it is a session of this program's store that passed no proxy. Then `path` is its id, too."""
    is_sub_agent: bool = False
    """Whether it belongs to another session. Then it is opened with that one, or by its path."""

    @property
    def id(self) -> str:
        """The agent's own id, or the name of the file."""
        if self.key or self.is_stored:
            return self.key or self.path
        known = _UUID.findall(self.path)
        return known[-1] if known else _DATED.sub("", Path(self.path).stem)

    @property
    def ref(self) -> str:
        """The reference that opens it: for a file with sub-agents, the session itself."""
        return self.path if self.is_stored or split_ref(self.path)[1] is not None else f"{self.path}#1"

    @property
    def is_stored(self) -> bool:
        """Whether it is in this program's store, and not in a file of its agent."""
        return self.passed or self.own

    def is_in(self, folder: str) -> bool:
        """Whether that agent worked in this folder."""
        return bool(self.folder and folder) and os.path.realpath(self.folder) == os.path.realpath(folder)


def window_of(session: AgentSession, catalogue: Catalogue, compacted_at: int = 0) -> int | None:
    """The window of its model: from the agent, else from the catalogue; None if neither knows it.

    `compacted_at`: the size at which the agent compacted by itself, which shows that it uses a smaller window.
    """
    if session.report is None:
        return None
    if session.report.window or not session.model:
        return session.report.window or None
    known = catalogue.find_model(session.model)
    if known.window_source in ("fallback", "guess"):
        return None
    return window_seen(session.model, known.window, session.report.prompt, compacted_at)


class AgentSessionFinder:
    """Looks for sessions. Keeps what it read of a file until the file changes. Threads may share it."""

    def __init__(self, environ: Mapping[str, str] = os.environ, more: Sequence[str] = ()) -> None:
        """`more`: the user's own places, homes of agents or patterns of files."""
        self._environ = environ
        self._more = more
        self._known: dict[str, tuple[FileStamp, tuple[AgentSession, ...]]] = {}
        self._lock = Lock()

    def find_sessions(
        self, here: str = "", most: int = MOST, wanted: Callable[[AgentHome, FileStamp], bool] | None = None
    ) -> list[AgentSession]:
        """The sessions of all agents, without files that cannot be read or are not `wanted`.

        `here`: the working folder.
        """
        files = []
        root = project_root(here) if here else ""
        for home, path in session_files(self._environ, here, self._more):
            stamp = stamp_of(path)
            if stamp is None or (home.is_here and os.path.islink(path) and not is_regular_file(path, inside=root)):
                continue
            if wanted is None or wanted(home, stamp):
                files.append((stamp.changed, path, home, stamp))
        files.sort(key=lambda each: each[:2], reverse=True)
        with self._lock:
            found = [each for _, path, home, stamp in files[:most] for each in self._sessions(home, path, stamp)]
        sessions = (each for each in found if not each.is_sub_agent)
        return sorted(sessions, key=lambda each: each.modified, reverse=True)[:most]

    def session_at(self, ref: str) -> AgentSession | None:
        """The session that a reference opens, of any agent; None if there is none."""
        path, _ = split_ref(ref)
        stamp = stamp_of(path)
        with self._lock:
            found = self._sessions(ANY, path, stamp) if stamp is not None else ()
        return next((each for each in found if ref in (each.path, each.ref)), None)

    def _sessions(self, home: AgentHome, path: str, stamp: FileStamp) -> tuple[AgentSession, ...]:
        known = self._known.get(path)
        if known is None or known[0] != stamp:
            try:
                read = (*_of_database(path),) if path.endswith(".db") else (_of_file(home, path, stamp),)
            except (OSError, WorkbenchError):
                read = ()
            known = self._known[path] = (stamp, read)
        return known[1]


def _of_file(home: AgentHome, path: str, stamp: FileStamp) -> AgentSession:
    head = read_head(path, home.agent, home.folder_file)
    if head.agent == aider.NAME:  # all chats of a folder are in one file; the last one is meant
        path = f"{path}#{_last_chat(path)}"
    folder = head.folder or (os.path.dirname(path) if home.is_here else "")
    changed = stamp.changed // 1_000_000
    found = AgentSession(head.agent, path, folder, head.title, head.model, changed, head.report)
    if head.agent == codex.NAME and codex_sub_agents.started_by(
        codex_sub_agents.sub_agents_header(path, os.path.dirname(path) or ".")
    ):
        return replace(found, is_sub_agent=True)
    return found


def _last_chat(path: str) -> int:
    """The number of the last chat in a history of aider; raises WrongCall where it has none."""
    with open_regular_file(path) as file:
        chats = aider.count_chats(file) if size_of(file) <= MOST_COUNTED else 1
    if not chats:
        raise WrongCall(f"{path}: expected a history of aider with a chat in it")
    return chats


def _of_database(path: str) -> Iterator[AgentSession]:
    """The sessions of a database, numbered as its reader numbers them."""
    tables = open_tables(path, Path(path))
    if tables.has_table("session", "id", "time_created"):  # a view of that name might never end
        yield from _of_opencode(path, tables)
    elif llm.recognises_tables(tables):
        yield from _of_llm(path, tables)


def _of_llm(path: str, tables: Tables) -> Iterator[AgentSession]:
    for number, last in enumerate(llm.last_requests(tables), 1):
        report = LastReport(last.prompt, last.cached, last.completion, model=last.model) if last.prompt else None
        yield AgentSession(
            llm.NAME, f"{path}#{number}", "", last.title[:TITLE], last.model, last.at, report, key=last.id
        )


def _of_opencode(path: str, tables: Tables) -> Iterator[AgentSession]:
    """Without those of sub-agents."""
    rows = tables.rows("SELECT * FROM session ORDER BY time_created, id")
    for number, row in enumerate(rows, 1):
        if row.get("parent_id"):
            continue
        texts = {key: str(row.get(key) or "") for key in ("directory", "title", "model")}
        model = str(object_in(row, "model").get("id") or "")
        changed = row.get("time_updated")
        modified = changed if isinstance(changed, int) else 0
        report = report_in([opencode.last_answer(tables, row["id"])]) if tables.has_table("message", "data") else None
        yield AgentSession(
            opencode.NAME,
            f"{path}#{number}",
            texts["directory"],
            texts["title"][:TITLE],
            model or (report.model if report is not None else ""),
            modified,
            report,
            str(row["id"]),
        )
