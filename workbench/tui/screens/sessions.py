"""The sessions: find them by title or text, preview, open, rename, fork and delete them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from typing import ClassVar, NamedTuple

from textual import work
from textual.binding import Binding, BindingType
from textual.content import Content

from workbench.config.errors import WorkbenchError, WrongCall
from workbench.config.folders import shown_folder, work_folder
from workbench.config.text import age, percent, printable, when, without_surrogates
from workbench.live.finder import AgentSession, window_of
from workbench.log.events import AssistantMessage, Event, ToolCall, ToolResult, UserMessage, text_of
from workbench.log.search import Hit
from workbench.log.session import SessionInfo
from workbench.log.store import Store
from workbench.sources.all_agents import all_agents
from workbench.sources.services import Services
from workbench.sources.source import paths_like, recorded_by
from workbench.tui.screens.text_blocks import join_blocks, name_value_rows, paragraph
from workbench.tui.widgets.cells import one_line
from workbench.tui.widgets.columns import Column, Row
from workbench.tui.widgets.dialogs import ConfirmDialog
from workbench.tui.widgets.finder import MOST, Finder, FinderResult
from workbench.tui.widgets.input_line import has_words
from workbench.tui.widgets.main_screen_api import MainScreenApi
from workbench.tui.widgets.text_dialog import TextDialog

LAST = 60
"""The number of events at the end that the preview reads."""
MESSAGES = 12
"""The most messages in the preview."""
LONG, SHORT = 400, 80
"""The most characters of a message, and of a tool call or result."""
AROUND = 6
"""Events to show before and after a match."""
HITS = 100
TRANSCRIPT = "A transcript of another agent is shown as it was recorded; the file stays as it is."


class SessionChoice(NamedTuple):
    """The chosen session; an empty id means a new one."""

    id: str
    seq: int | None = None
    """The event that matched the search."""


class SessionsScreen(Finder[SessionChoice]):
    """All sessions, the last changed first; below them those of other agents."""

    NAME = "sessions"
    PLACEHOLDER = "a part of the title, words that were said, or the path of a file"
    EMPTY = "No session has this in its title, nor in what was said, and no file is called so."
    COLUMNS = (
        Column("title"),
        Column("folder", 22, least=62),
        Column("age", 6, right=True, least=30),
        Column("events", 7, right=True, least=74),
        Column("model", 18, least=96),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "open", id="sessions.open", priority=True),
        Binding("tab", "scope", "this folder or all", id="sessions.scope", priority=True),
        Binding("ctrl+n", "new", "new", id="sessions.new", priority=True),
        Binding("ctrl+r", "rename", "rename", id="sessions.rename", priority=True),
        Binding("ctrl+f", "fork", "fork", id="sessions.fork", priority=True),
        Binding("ctrl+d", "delete", "delete", id="sessions.delete", priority=True),
    ]

    def __init__(self, host: MainScreenApi, opened: str) -> None:
        """`opened`: the id of the open session."""
        super().__init__(host)
        self._store = host.services.store
        self._open = opened
        self._here = work_folder().path
        self._only_here: bool | None = None
        """Whether to hide sessions of other folders; None: hide them if this folder has sessions."""
        self._infos: dict[str, SessionInfo] = {}
        self._hits: dict[str, Hit] = {}
        self._files: list[str] = []
        """Files and folders that match the typed path."""
        self._agents: dict[str, AgentSession] | None = None
        """Other agents' sessions by reference; None: the search is still running."""
        self._at_work: frozenset[str] = frozenset()
        """The paths of running sessions."""
        self._passed: dict[str, str] = {}
        """For sessions recorded by the proxy: the agent."""

    def on_mount(self) -> None:
        """Search other agents' sessions in the background."""
        self._find_agents()

    @work
    async def _find_agents(self) -> None:
        found, self._at_work = await self.host.in_background(partial(_agents, self.host.services, self._here))
        self._agents = {each.ref: each for each in found}
        self.refill()

    async def search_rows(self, text: str) -> FinderResult:
        """Find sessions by title first, then by text."""
        if self._only_here is None:
            any_here = partial(self._store.list, 1, folder=self._here)
            self._only_here = bool(self._here and await self.host.in_background(any_here))
        folder = self._here if self._only_here else ""
        infos, hits = await self.host.in_background(partial(_found, self._store, text.strip(), folder))
        self._infos, self._hits = infos, hits
        first = await self.host.in_background(partial(self._store.first_events, [*infos]))
        self._passed = {name: recorded_by(event) for name, event in first.items()}
        self.box.border_subtitle = one_line(f"of {shown_folder(self._here)}" if self._only_here else "of all folders")
        rows = [self._row(info) for info in infos.values() if info.id not in hits]
        rows += [self._hit_row(hit, infos[hit.session_id]) for hit in hits.values()]
        rows = [*rows, *self._agent_rows(text, folder)][:MOST]
        self._files = await self.host.in_background(partial(paths_like, text.strip()))
        rows = [*map(_file_row, self._files), *rows]
        note = f"the {MOST} that were changed last; type to find the others" if len(rows) >= MOST else ""
        if not rows and self._only_here:
            note = "none of this folder; Tab looks in all folders"
        elif not rows and not text.strip():
            note = "There is no session yet: Ctrl+N begins one. A path opens a file."
        if self._agents is None:
            note = note or "looking for other agents' sessions…"
        return FinderResult(rows, note)

    def action_scope(self) -> None:
        """Switch between this folder's sessions and all."""
        self._only_here = not self._only_here and bool(self._here)
        self.refill()

    def _row(self, info: SessionInfo) -> Row:
        name = printable(info.title) or info.id
        whose = self._passed.get(info.id, "")
        title = Content.assemble((f"{printable(whose)}: " if whose else "", "$accent"), name)
        now = "open" if info.id == self._open else "running" if info.id in self._at_work else ""
        return Row(info.id, (_marked(title, now), *self._facts(info)))

    def _facts(self, info: SessionInfo) -> tuple[str, ...]:
        return info.place or "–", age(info.updated), f"{info.events:,}", info.model or "–"

    def _agent_rows(self, text: str, folder: str) -> Iterator[Row]:
        """Rows of other agents' sessions whose title, agent or folder contain the words."""
        for ref, each in (self._agents or {}).items():
            known = f"{each.agent} {each.title} {each.folder}"
            if (not folder or each.folder == folder) and has_words(known, text):
                title = Content.assemble((f"{each.agent}: ", "$accent"), printable(each.title))
                facts = (printable(shown_folder(each.folder)) or "–", age(each.modified), "–", each.model or "–")
                yield Row(ref, (_marked(title, "running" if each.path in self._at_work else ""), *facts))

    def _hit_row(self, hit: Hit, info: SessionInfo) -> Row:
        title = Content.assemble("  ", printable(info.title) or info.id, (f"  {printable(hit.snippet)}", "$quiet"))
        return Row(info.id, (title, *self._facts(info)))

    async def row_details(self, value: str) -> Content:
        """The facts of a session, and its last messages, or those around the match."""
        if value in self._files:
            about = "Enter goes into this folder." if value.endswith(os.sep) else f"Enter opens this file. {TRANSCRIPT}"
            return join_blocks(Content.styled(printable(value), "bold"), paragraph(about))
        if value not in self._infos:
            return self._agent_details(value)
        info, hit = self._infos[value], self._hits.get(value)
        events = await self.host.in_background(partial(_events, self._store, info, hit))
        forked = f"{info.forked_from[0]}, event {info.forked_from[1]:,}" if info.forked_from else ""
        facts = name_value_rows(
            [
                ("id", info.id),
                ("agent", f"{self._passed[value]}, recorded by the proxy" if self._passed.get(value) else ""),
                ("folder", info.place),
                ("model", info.model or "none yet"),
                ("events", f"{info.events:,}"),
                ("changed", when(info.updated)),
                ("made", when(info.created)),
                ("forked from", forked),
            ],
            self.wide,
        )
        title = Content.styled(printable(info.title) or "without a title", "bold")
        return join_blocks(title, facts, *_messages(events, hit.seq if hit else None))

    def _agent_details(self, value: str) -> Content:
        each = (self._agents or {})[value]
        facts = [
            ("agent", f"{each.agent}, running" if each.path in self._at_work else each.agent),
            ("folder", printable(shown_folder(each.folder))),
            ("model", printable(each.model)),
            ("tokens", _reported(each, self.host.services)),
            ("changed", when(each.modified)),
            ("file", printable(each.path)),
        ]
        about = "Enter shows it as it was recorded; the file stays as it is."
        return join_blocks(
            Content.styled(printable(each.title), "bold"), name_value_rows(facts, self.wide), paragraph(about)
        )

    def choose_row(self, value: str) -> None:
        """Open the session or file; for a folder, list its contents."""
        if value in self._files and value.endswith(os.sep):
            self.field.value = value
            self.field.cursor_position = len(value)
            return
        hit = self._hits.get(value)
        self.dismiss(SessionChoice(value, hit.seq if hit else None))

    def action_new(self) -> None:
        self.dismiss(SessionChoice(""))

    # Changing

    def _ours(self, done: str) -> SessionInfo | None:
        """The marked session, if it is our own; otherwise None, with a warning."""
        if self.marked is not None and self.marked not in self._infos:
            self.warning = f"Another agent's session cannot be {done} here."
        return self._infos.get(self.marked or "")

    def action_rename(self) -> None:
        if (info := self._ours("renamed")) is not None:
            self._rename(info.id, info.title)

    @work(description="rename")
    async def _rename(self, value: str, title: str) -> None:
        asked = TextDialog("rename", title, "The session's title.", _check_title)
        wanted = await self.app.push_screen_wait(asked)
        if wanted is None or wanted.strip() == title:
            return
        if value == self._open:
            # The open session's planner must see every event, so the model appends this one.
            await self.host.model.rename(wanted.strip())
            self.refill()
        else:
            await self._change(partial(self._store.rename, value, wanted.strip()), "renamed")

    def action_fork(self) -> None:
        if (info := self._ours("forked")) is not None:
            self._fork(info.id)

    @work(description="fork")
    async def _fork(self, value: str) -> None:
        await self._change(partial(_fork, self._store, value), "forked: the copy is the first of the list")

    def action_delete(self) -> None:
        """Delete the marked session, after asking."""
        if self.marked == self._open:
            self.warning = "This session is open; open another one before it can be deleted."
        elif (info := self._ours("deleted")) is not None:
            self._delete(info)

    @work(description="delete")
    async def _delete(self, info: SessionInfo) -> None:
        what = f"Delete {printable(info.title) or info.id} with its {info.events:,} events? This cannot be undone."
        if await self.app.push_screen_wait(ConfirmDialog("delete", what, "delete it", "keep it")):
            await self._change(partial(self._store.delete, info.id), "deleted")

    async def _change(self, work: partial[None], done: str) -> None:
        try:
            await self.host.in_background(work)
        except WorkbenchError as error:
            self.warning = str(error)
            return
        self.warning = done
        self.refill()


def _marked(title: Content, now: str) -> Content:
    """A title with the word for its current state, if any."""
    return Content.assemble(("● ", "$success"), title, (f"  {now}", "$quiet")) if now else Content.assemble("  ", title)


def _agents(services: Services, here: str) -> tuple[list[AgentSession], frozenset[str]]:
    """Other agents' sessions with messages, and the paths of running ones, including our own."""
    found = all_agents(services, here)
    return [each for each in found.sessions if each.title and not each.passed], found.running


def _reported(session: AgentSession, services: Services) -> str:
    """How full the window was at the last request."""
    if session.report is None:
        return ""
    window = window_of(session, services.catalogue)
    of = f" of {window:,} ({percent(session.report.prompt / window)})" if window else ""
    return f"{session.report.prompt:,}{of} in its last request"


def _file_row(path: str) -> Row:
    is_folder = path.endswith(os.sep)
    name = printable(os.path.basename(path.rstrip(os.sep))) + (os.sep if is_folder else "")
    return Row(path, (Content.assemble("  ", (name, "$accent")), "a folder" if is_folder else "a file", "", "", ""))


def _check_title(text: str) -> None:
    if not text.strip():
        raise WrongCall("expected a title")


def _fork(store: Store, ref: str) -> None:
    with store.fork(ref):
        pass


def _found(store: Store, text: str, folder: str) -> tuple[dict[str, SessionInfo], dict[str, Hit]]:
    """The sessions that match by title, and those that match by text, each with its newest matching event."""
    infos = {info.id: info for info in store.list(MOST, text, folder)}
    hits: dict[str, Hit] = {}
    for hit in store.search(text, limit=HITS) if text else ():
        if hit.session_id not in infos:
            info = store.info(hit.session_id)
            if not folder or info.folder == without_surrogates(folder):
                infos[hit.session_id], hits[hit.session_id] = info, hit
    return infos, hits


def _events(store: Store, info: SessionInfo, hit: Hit | None) -> list[Event]:
    with store.session(info.id, write=False) as session:
        return session.events(hit.seq - AROUND, hit.seq + AROUND) if hit else session.last(LAST)


def _messages(events: Sequence[Event], found: int | None) -> Iterator[Content]:
    """The messages among some events; the match is marked."""
    messages = [(event, *_who(event)) for event in events]
    shown = [each for each in messages if each[2].strip()]
    for event, who, text in shown if found else shown[-MESSAGES:]:
        most = LONG if who in ("you", "ai") else SHORT
        cut = text[:most] + ("…" if len(text) > most else "")
        mark = ("▸ ", "$accent") if event.seq == found else ("", "")
        yield Content.assemble(mark, (f"{printable(who)}  ", "bold"), printable(cut))


def _who(event: Event) -> tuple[str, str]:
    """The speaker and the text of an event; empty for an event without text."""
    match event.body:
        case UserMessage(content=content):
            return "you", text_of(content)
        case AssistantMessage(content=content):
            return "ai", text_of(content)
        case ToolCall(tool=tool, arguments=arguments):
            return f"{tool}()", arguments
        case ToolResult(tool=tool, content=content):
            return tool or "tool", text_of(content)
    return "", ""
