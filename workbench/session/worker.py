"""What the session model does, in the session's thread.

What takes long (opening, planning from the beginning) runs in the background of that thread again, so that a turn goes
on meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from workbench.config.background import background, in_background
from workbench.config.errors import Refused, WorkbenchError
from workbench.config.folders import shown_folder, work_folder
from workbench.log.events import Event, Override, OverrideAction, Setting
from workbench.models.catalogue import is_built_in
from workbench.models.gateway import Gateway
from workbench.session import figures, opening
from workbench.session.compacting import SessionCompactions
from workbench.session.context_view import ContextView
from workbench.session.continuing import Continuing
from workbench.session.drafting import SummaryDrafts
from workbench.session.open_session import OpenSession
from workbench.session.options import Options
from workbench.session.questions import make_session
from workbench.session.services import Services
from workbench.session.time_travel import TimeTravel
from workbench.session.tools import ToolSwitches
from workbench.session.transcript import Entries, LogTranscript
from workbench.session.turns import Turns
from workbench.session.undoing import Which, revert
from workbench.session.updates import Notice, UpdateQueue
from workbench.session.values import Activity, Status, WelcomeLists
from workbench.session.welcome import listed_agents, listed_sessions, welcome_of

T = TypeVar("T")

DRAFT_PAUSE = 0.15
"""Seconds without a key before a draft is counted."""
LOOK = 1.0
"""Seconds between two looks at a session that another process writes."""


class SessionWorker:
    """What is open, and what is done with it."""

    def __init__(self, services: Services, options: Options, updates: UpdateQueue, *, warm: bool) -> None:
        self._services = services
        self._options = options
        self._updates = updates
        self._warm = warm
        self._turns = Turns(services, options, updates, self.publish)
        self.compactions = SessionCompactions(updates, self._turns, self.publish)
        self.drafts = SummaryDrafts(services, self._turns, self.compactions, self.publish)
        self.continuing = Continuing(services, options, self.compactions, self._current, self._exchange)
        self.tools = ToolSwitches(self._turns.free, self._turns.forget_approvals, self._writable, self._refill)
        self._opened: OpenSession | None = None
        self._glanced = False
        """Whether the screen shows the end of something that is not open yet."""
        self._early: list[str] = []
        """What was said before there was a plan for it; it waits for that."""
        self._lists = WelcomeLists()
        self._travel = TimeTravel(services, options)
        self._draft = ""
        self._drafting = False
        self._uncounted = False
        """Whether the draft, or what it would be added to, has changed since it was counted."""
        self.held = 0
        """Jobs that wait for the user's answer."""
        self._opening = asyncio.Lock()
        self._side_tasks: set[asyncio.Task[None]] = set()
        """What goes on until the end, or until something else is opened."""

    @property
    def busy(self) -> bool:
        """Whether the model is at work, and not waiting for the user."""
        return self._turns.busy and not self._turns.waits_for_answer

    def _current(self) -> OpenSession:
        if self._opened is None or self._glanced:
            raise Refused("it is still being read; try again in a moment")
        return self._opened

    def _writable(self) -> OpenSession:
        opened = self._current()
        if not opened.writable:
            raise Refused(opened.why_read_only)
        return opened

    async def asked(self, question: Callable[[OpenSession], T]) -> T:
        """Something worked out from what is open."""
        return question(self._current())

    def count(self, text: str) -> int:
        """The tokens of a text, for any thread; 0 where nothing is open."""
        opened = self._opened
        return opened.setup.counter.count(text).tokens if opened is not None else 0

    # Opening

    async def begin(self, ref: str) -> None:
        """The first thing that is opened; where that fails there is nothing to show, and the program ends."""
        self._updates.put(activity=Activity("loading", "reading…"))
        try:
            await self._open(lambda: opening.first(self._services, self._options, ref, self._glance))
        except WorkbenchError as error:
            self._updates.put(fatal=error)

    async def open(self, ref: str) -> None:
        """A session or a file."""
        options = self._options.for_any_session
        await self._exchange(lambda: opening.open_source(self._services, options, ref, self._glance))

    async def new(self) -> None:
        """An empty session."""
        await self._exchange(lambda: opening.new_session(self._services, self._options.for_any_session))

    async def fork(self, at: int | None, text: str | None = None) -> None:
        """A copy up to an event, and perhaps the first thing to say in it."""
        opened = self._current()
        await self._exchange(lambda: opening.fork(self._services, self._options.for_any_session, opened, at))
        if text is not None:
            self._turns.send(self._writable(), text)
        else:
            self._updates.tell(Notice(f"now in {self._current().name}; the other session is unchanged"))

    async def _exchange(self, make: Callable[[], OpenSession]) -> None:
        """Open something else in place of what is open."""
        if self._turns.busy or self.compactions.busy:
            raise Refused("the model is still working; Esc stops it")
        self._updates.put(activity=Activity("loading", "opening…"))
        try:
            await self._open(make)
        finally:
            self._updates.put(activity=Activity())

    async def _open(self, make: Callable[[], OpenSession]) -> None:
        async with self._opening:
            try:
                made = await asyncio.wrap_future(background(make))
            except WorkbenchError:
                self._show_again()
                raise
            async with self._turns.free:
                self._stop_side_tasks()
                await self.compactions.close()
                self._put_away()
                self._opened = made
                self._lists = WelcomeLists()
                self._travel.home()
            last = made.recorded.newest if made.recorded is not None else None
            found: list[ContextView] = []
            if last is not None:
                await self._travel.go(made, last, found.append)
            self._glanced = False
            self._updates.put(live=None, question=None, queue=tuple(self._early), activity=Activity())
            self.publish()
            if found:
                self._updates.put(shown=found[-1])
        self._prepare_to_ask(made)
        if made.session is not None and not made.entries.has_talk:
            self._start_side_task(self._look_for_sessions(made))
        if made.session is not None and not made.writable:
            self._start_side_task(self._watch(made))

    def _glance(self, name: str, events: list[Event]) -> None:
        """Show the end of what is being opened; told in the background, while the rest is read and planned."""
        self._glanced = True
        self._updates.put(
            title=name,
            transcript=LogTranscript(Entries(events), None),
            live=None,
            shown=None,
            status=Status(ready="loading"),
            welcome=None,
        )

    def _show_again(self) -> None:
        """What was being opened cannot be: what is open stays."""
        if self._glanced:
            self._glanced = False
            self.publish()

    def _start_side_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._side_tasks.add(task)
        task.add_done_callback(self._side_tasks.discard)

    def _stop_side_tasks(self) -> None:
        for task in self._side_tasks:
            task.cancel()

    def _put_away(self) -> None:
        """Close what is open. A session of ours in which nothing was said goes again."""
        opened, self._opened = self._opened, None
        if opened is None or opened.session is None:
            return
        opened.session.close()
        if opened.ours and not opened.said:
            with suppress(WorkbenchError):
                self._services.store.delete(opened.session.id)

    def _prepare_to_ask(self, opened: OpenSession) -> None:
        """What takes its time before the first request: the key store, and litellm where the model needs it."""
        self._start_side_task(self._look_for_key(opened))
        if self._warm and not is_built_in(opened.setup.model):
            self._start_side_task(Gateway().warm())

    async def _look_for_key(self, opened: OpenSession) -> None:
        """The system's key store may take its time, so nobody waits for it."""
        if self._services.settings.api_base(opened.setup.model):
            return  # a server of the user's own may need none
        key = await asyncio.wrap_future(background(partial(self._services.routes.key, opened.setup.model)))
        if opened.lacks_key != (key.origin == "none"):
            opened.lacks_key = key.origin == "none"
            self.publish()

    async def _look_for_sessions(self, opened: OpenSession) -> None:
        """What the welcome lists: this folder's sessions are there at once, other agents' have to be looked for."""
        own = await in_background(listed_sessions, self._services, opened)
        self._lists = WelcomeLists(own)
        self.publish()
        agents = await in_background(listed_agents, self._services)
        self._lists = WelcomeLists(own, agents, searching=False)
        self.publish()

    async def _watch(self, opened: OpenSession) -> None:
        """Follow a session that another process writes, and take over when it is free."""
        assert opened.session is not None
        while not opened.writable:
            await asyncio.sleep(LOOK)
            with suppress(WorkbenchError):
                took_over = opened.session.take_over()
                changed = opened.refresh()
                if took_over:
                    self._updates.tell(Notice("the other process has ended; you can write here now"))
                if changed or took_over:
                    self.publish()

    # Saying and deciding

    async def send(self, text: str) -> None:
        """Under a file, the user is asked first whether to make a session of it."""
        if self._turns.answered_by(text):
            return
        early = self._opening.locked()
        if early:
            self._early.append(text)
            self._updates.put(queue=tuple(self._early))
        async with self._opening:  # what is said meanwhile is for what is being opened
            if early and not self._no_longer_early(text):
                return
            opened = self._current()
        if opened.session is None:
            self.held += 1
            try:
                answer = await self._turns.ask(partial(make_session, name=opened.name))
            finally:
                self.held -= 1
            if answer != "yes":
                return
            await self._go_on_in_a_copy(opened)
        if not self._turns.busy:  # a turn that cannot go on without an answer waits for it, and the message with it
            self.compactions.not_now()
        self._turns.send(self._writable(), text)

    async def make_session(self) -> None:
        """Go on in a session that starts as a copy of the file that is open, at its next request."""
        await self._go_on_in_a_copy(self._current())
        self._come_home()

    async def _go_on_in_a_copy(self, opened: OpenSession) -> None:
        await self._exchange(lambda: opening.session_of(self._services, self._options.for_any_session, opened))

    async def withdraw(self, index: int, text: str) -> None:
        """A message that waits is not sent after all."""
        if not self._no_longer_early(text):
            self._turns.withdraw(index, text)

    def _no_longer_early(self, text: str) -> bool:
        """A message that waited for a plan no longer does; whether it did."""
        if text not in self._early:
            return False
        self._early.remove(text)
        self._updates.put(queue=tuple(self._early))
        return True

    async def answer(self, number: int, answer: str) -> None:
        """The answer to a question."""
        self._turns.answer(number, answer)

    async def interrupt(self) -> None:
        """Stop the turn, or else the compaction; where there is neither, come back from the past."""
        if not self._turns.interrupt() and not self.compactions.stop():
            self._come_home()

    async def stop_compacting(self) -> None:
        """Stop the compaction, and leave a turn alone."""
        if not self.compactions.stop():
            raise Refused("no compaction is running")

    async def retry(self) -> None:
        """Ask again."""
        why_not = self._turns.retry(self._writable())
        if why_not:
            raise Refused(why_not)

    async def decide(self, action: OverrideAction, first: int, last: int, joined: bool = False) -> None:
        """An override."""
        opened = self._writable()
        if not 1 <= first <= last <= len(opened.events):
            raise Refused(f"{first} to {last}: expected numbers from 1 to {len(opened.events)}, the smaller first")
        opened.append(Override(action, first, last, joined=joined))
        self.publish()

    async def revert(self, which: Which, seq: int | None = None) -> None:
        """Undo or redo."""
        said = revert(self._writable(), which, seq)
        self.publish()
        self._updates.tell(Notice(said))

    async def rename(self, title: str) -> None:
        """Another title."""
        opened = self._writable()
        opened.append(Setting("title", title))
        opened.name = title
        self.publish()

    async def switch(self, *, model: str = "", policy: str = "", knob: str = "") -> None:
        """Plan the same log under another setup; a turn that runs goes on under its own."""
        if self._turns.busy:
            self._updates.tell(Notice("from the next turn on"))
        async with self._turns.free:
            await self.compactions.finished()
            opened = self._current()
            asked = partial(opening.replan, self._services, self._options, opened, model, policy, knob)
            change = await asyncio.wrap_future(background(asked))
            opened.catch_up()
            change.planner.extend(opened.events[change.length :])
            opened.adopt(change.setup, change.policy, change.knobs, change.planner)
            if opened.writable and opened.recorded is None:
                opened.append(*change.settings)
                opening.fill_slots(opened)
            elif opened.writable:  # a policy on what another agent recorded is only tried
                opened.append(*(each for each in change.settings if each.key != "policy"))
            self._travel.forget()
        place = self._travel.place(opened)
        if place is not None:
            await self._go(opened, place)
        self.publish()
        self._prepare_to_ask(opened)

    def _refill(self, opened: OpenSession) -> None:
        opening.fill_slots(opened)
        self.publish()

    # Looking

    async def count_draft(self, text: str) -> None:
        """Only the last of many drafts is counted, after a pause."""
        self._draft = text
        self._uncounted = True
        if self._drafting or self._opened is None:
            return
        self._drafting = True
        try:
            while self._uncounted:
                self._uncounted = False
                await asyncio.sleep(DRAFT_PAUSE if self._draft else 0)
                if not self._uncounted:
                    opened = self._current()
                    work = partial(figures.draft_cost, opened.setup, opened.plan, self._draft)
                    self._updates.put(draft_cost=await asyncio.wrap_future(background(work)))
        finally:
            self._drafting = False

    async def travel_to(self, place: int | None) -> None:
        """The context of a request, by its place among them; None: of now."""
        if place is None:
            self._come_home()
            return
        await self._go(self._current(), place)

    async def _go(self, opened: OpenSession, place: int) -> None:
        await self._travel.go(opened, place, lambda shown: self._updates.put(shown=shown))

    def _come_home(self) -> None:
        if self._travel.place(self._current()) is not None:
            self._travel.home()
            self.publish()

    def publish(self) -> None:
        """Show what is in the log by now. While the past is looked at, the inspector stays there."""
        opened = self._opened
        if opened is None or self._glanced:
            return
        shown = opened.shown()
        here = work_folder()
        self._updates.put(
            title=opened.name,
            folder=_folder(opened, here.path),
            branch=here.branch,
            welcome=welcome_of(opened, self._lists, self._services.settings.model),
            transcript=opened.transcript(shown.plan),
            status=figures.status(opened, shown.plan),
            read_only=opened.why_read_only,
            refusal="" if opened.session is None else opened.why_read_only,
        )
        if self._travel.place(opened) is None:
            self._updates.put(shown=shown)
        self.compactions.show(opened)
        if self._draft:
            self._start_side_task(self.count_draft(self._draft))

    async def close(self) -> None:
        """The end: what came is kept, connections are closed."""
        self._stop_side_tasks()
        await self.compactions.close()
        await self._turns.close()
        self._put_away()


def _folder(opened: OpenSession, here: str) -> str:
    """Where tools work, and where the session was begun if that is another folder; a file belongs to none."""
    if opened.session is None:
        return ""
    origin = opened.session.folder
    other = f", begun in {shown_folder(origin)}" if origin and origin != here else ""
    return shown_folder(here) + other
