"""The sessions: found by title or by what was said in them, looked into, opened, renamed, forked and deleted."""

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
from workbench.config.text import age, percent, printable, when
from workbench.live.finder import AgentSession, window_of
from workbench.log.events import AssistantMessage, Event, ToolCall, ToolResult, UserMessage, text_of
from workbench.log.search import Hit
from workbench.log.session import SessionInfo
from workbench.log.store import Store
from workbench.sources.all_agents import all_agents
from workbench.sources.services import Services
from workbench.sources.source import paths_like, recorded_by
from workbench.tui.screens.text_blocks import blocks, pairs, paragraph
from workbench.tui.widgets.cells import one_line
from workbench.tui.widgets.columns import Column, Row
from workbench.tui.widgets.dialogs import ConfirmDialog
from workbench.tui.widgets.finder import MOST, Finder, FinderResult
from workbench.tui.widgets.host import Host
from workbench.tui.widgets.text_dialog import TextDialog

LAST = 60
"""Events from the end that the preview looks at."""
SAID = 12
"""Messages that it shows of them."""
LONG, SHORT = 400, 80
"""Characters of each message, and of what tools were given and gave."""
AROUND = 6
"""Events before and behind one that was found by its words."""
HITS = 100
TRANSCRIPT = "A transcript of another agent is shown as it was recorded; the file stays as it is."


class SessionChoice(NamedTuple):
    """What was chosen; an empty id means a new session."""

    id: str
    seq: int | None = None
    """The event that was found by its words."""


class SessionsScreen(Finder[SessionChoice]):
    """All sessions, the last changed first; below them those of other agents on this machine."""

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

    def __init__(self, host: Host, opened: str) -> None:
        """`opened`: the session that is open behind this screen."""
        super().__init__(host)
        self._store = host.services.store
        self._open = opened
        self._here = work_folder().path
        self._only_here: bool | None = None
        """Whether other folders' sessions are left out; None: not where this one has none."""
        self._infos: dict[str, SessionInfo] = {}
        self._hits: dict[str, Hit] = {}
        self._files: list[str] = []
        """Files and folders that what was typed may mean."""
        self._agents: dict[str, AgentSession] | None = None
        """Other agents' sessions by what opens them; None: they are still looked for."""
        self._at_work: frozenset[str] = frozenset()
        """The paths of those that run."""
        self._passed: dict[str, str] = {}
        """By session that was recorded by the proxy: whose it is."""

    def on_mount(self) -> None:
        """What lies in other agents' homes comes when it was found."""
        self._look_around()

    @work
    async def _look_around(self) -> None:
        found, self._at_work = await self.host.in_background(partial(_agents, self.host.services, self._here))
        self._agents = {each.ref: each for each in found}
        self.refill()

    async def find(self, text: str) -> FinderResult:
        """By title first, then by what was said."""
        if self._only_here is None:
            self._only_here = bool(self._here and await self.host.in_background(self._any_here))
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

    def _any_here(self) -> bool:
        return bool(self._store.list(1, folder=self._here))

    def action_scope(self) -> None:
        """This folder's sessions, or all."""
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
        """By words of title, agent and folder."""
        words = text.lower().split()
        for ref, each in (self._agents or {}).items():
            known = f"{each.agent} {each.title} {each.folder}".lower()
            if (not folder or each.folder == folder) and all(word in known for word in words):
                title = Content.assemble((f"{each.agent}: ", "$accent"), printable(each.title))
                facts = (printable(shown_folder(each.folder)) or "–", age(each.modified), "–", each.model or "–")
                yield Row(ref, (_marked(title, "running" if each.path in self._at_work else ""), *facts))

    def _hit_row(self, hit: Hit, info: SessionInfo) -> Row:
        said = Content.assemble("  ", printable(info.title) or info.id, (f"  {printable(hit.snippet)}", "$quiet"))
        return Row(info.id, (said, *self._facts(info)))

    async def tell(self, value: str) -> Content:
        """What the log says of it, and the last things said, or those around what was found."""
        if value in self._files:
            about = "Enter goes into this folder." if value.endswith(os.sep) else f"Enter opens this file. {TRANSCRIPT}"
            return blocks(Content.styled(printable(value), "bold"), paragraph(about))
        if value not in self._infos:
            return self._told_of_agent(value)
        info, hit = self._infos[value], self._hits.get(value)
        events = await self.host.in_background(partial(_events, self._store, info, hit))
        forked = f"{info.forked_from[0]}, event {info.forked_from[1]:,}" if info.forked_from else ""
        facts = pairs(
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
        return blocks(title, facts, *_said(events, hit.seq if hit else None))

    def _told_of_agent(self, value: str) -> Content:
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
        return blocks(Content.styled(printable(each.title), "bold"), pairs(facts, self.wide), paragraph(about))

    def take(self, value: str) -> None:
        """Open it; of a folder, list what is in it."""
        if value in self._files and value.endswith(os.sep):
            self.field.value = value
            self.field.cursor_position = len(value)
            return
        hit = self._hits.get(value)
        self.dismiss(SessionChoice(value, hit.seq if hit else None))

    def action_new(self) -> None:
        """Begin an empty one."""
        self.dismiss(SessionChoice(""))

    # Changing one

    def _ours(self, done: str) -> SessionInfo | None:
        """The marked one, where it is a session of this program; it is told where it is another's."""
        if self.marked is not None and self.marked not in self._infos:
            self.said = f"Another agent's session cannot be {done} here."
        return self._infos.get(self.marked or "")

    def action_rename(self) -> None:
        """Give it another title."""
        if (info := self._ours("renamed")) is not None:
            self._rename(info.id, info.title)

    @work
    async def _rename(self, value: str, title: str) -> None:
        asked = TextDialog("rename", title, "The session's title.", _check_title)
        wanted = await self.app.push_screen_wait(asked)
        if wanted is None or wanted.strip() == title:
            return
        if value == self._open:
            # Its planner must hear of every event, so the model appends this one.
            await self.host.model.rename(wanted.strip())
            self.refill()
        else:
            await self._change(partial(self._store.rename, value, wanted.strip()), "renamed")

    def action_fork(self) -> None:
        """Copy the marked one as a whole."""
        if (info := self._ours("forked")) is not None:
            self._fork(info.id)

    @work
    async def _fork(self, value: str) -> None:
        await self._change(partial(_fork, self._store, value), "forked: the copy is the first of the list")

    def action_delete(self) -> None:
        """For good, so it is asked first."""
        if self.marked == self._open:
            self.said = "This session is open; open another one before it can be deleted."
        elif (info := self._ours("deleted")) is not None:
            self._delete(info)

    @work
    async def _delete(self, info: SessionInfo) -> None:
        what = f"Delete {printable(info.title) or info.id} with its {info.events:,} events? This cannot be undone."
        if await self.app.push_screen_wait(ConfirmDialog("delete", what, "delete it", "keep it")):
            await self._change(partial(self._store.delete, info.id), "deleted")

    async def _change(self, work: partial[None], done: str) -> None:
        try:
            await self.host.in_background(work)
        except WorkbenchError as error:
            self.said = str(error)
            return
        self.said = done
        self.refill()


def _marked(title: Content, now: str) -> Content:
    """With what goes on in it now, if anything does."""
    return Content.assemble(("● ", "$success"), title, (f"  {now}", "$quiet")) if now else Content.assemble("  ", title)


def _agents(services: Services, here: str) -> tuple[list[AgentSession], frozenset[str]]:
    """Those in which something was said, and the paths of those that run, our own among them."""
    found = all_agents(services, here)
    return [each for each in found.sessions if each.title and not each.passed], found.running


def _reported(session: AgentSession, services: Services) -> str:
    """How full its window was at the last request."""
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
    """The sessions that match by title, and those that do by their words, with the newest such event of each."""
    infos = {info.id: info for info in store.list(MOST, text, folder)}
    hits: dict[str, Hit] = {}
    for hit in store.search(text, limit=HITS) if text else ():
        if hit.session_id not in infos:
            info = store.info(hit.session_id)
            if not folder or info.folder == folder:
                infos[hit.session_id], hits[hit.session_id] = info, hit
    return infos, hits


def _events(store: Store, info: SessionInfo, hit: Hit | None) -> list[Event]:
    with store.session(info.id, write=False) as session:
        return session.events(hit.seq - AROUND, hit.seq + AROUND) if hit else session.last(LAST)


def _said(events: Sequence[Event], found: int | None) -> Iterator[Content]:
    """The messages among some events; the one that was found is marked."""
    spoken = [(event, *_who(event)) for event in events]
    shown = [each for each in spoken if each[2].strip()]
    for event, who, text in shown if found else shown[-SAID:]:
        most = LONG if who in ("you", "ai") else SHORT
        cut = text[:most] + ("…" if len(text) > most else "")
        mark = ("▸ ", "$accent") if event.seq == found else ("", "")
        yield Content.assemble(mark, (f"{who}  ", "bold"), printable(cut))


def _who(event: Event) -> tuple[str, str]:
    """Who said it, and what; nothing for what nobody said."""
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
