"""What the session model does, in the session's thread: what is said and decided, and what is looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from workbench.config.background import background, in_background
from workbench.config.errors import Refused
from workbench.log.events import Override, OverrideAction, Setting
from workbench.session import figures, opening
from workbench.session.continuing import Continuing
from workbench.session.current import CurrentSession
from workbench.session.drafting import SummaryDrafts
from workbench.session.going_on import what_changes
from workbench.session.observable import Notice, ObservableSession
from workbench.session.open_session import OpenSession
from workbench.session.questions import make_session
from workbench.session.time_travel import place_after
from workbench.session.tools import ToolSwitches
from workbench.session.undoing import Which, revert
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.views.values import Activity

T = TypeVar("T")

DRAFT_PAUSE = 0.15
"""Seconds without a key before a draft is counted."""


class SessionWorker:
    """What is open, and what is done with it."""

    def __init__(self, services: Services, options: Options, updates: ObservableSession, *, warm: bool) -> None:
        self._services = services
        self._options = options
        self._updates = updates
        self._current = CurrentSession(services, options, updates, self._recount, warm=warm)
        self._turns, self.compactions = self._current.turns, self._current.compactions
        self.drafts = SummaryDrafts(services, self._turns, self.compactions, self._current.publish)
        self.continuing = Continuing(services, options, self.compactions, self._current.get, self._current.exchange)
        self.tools = ToolSwitches(self._turns.free, self._turns.forget_approvals, self._current.writable, self._refill)
        self._draft = ""
        self._drafting = False
        self._uncounted = False
        """Whether the draft, or what it would be added to, has changed since it was counted."""
        self.held = 0
        """Jobs that wait for the user's answer."""

    @property
    def busy(self) -> bool:
        """Whether the model is at work, and not waiting for the user."""
        return self._turns.busy and not self._turns.waits_for_answer

    async def asked(self, question: Callable[[OpenSession], T]) -> T:
        """Something worked out from what is open; of what is still being read, as soon as it is there."""
        return question(await self._current.read())

    def count(self, text: str) -> int:
        """The tokens of a text, for any thread; 0 where nothing is open."""
        opened = self._current.opened
        return opened.setup.counter.count(text).tokens if opened is not None else 0

    # Which session

    async def begin(self, ref: str) -> None:
        """The first thing that is opened."""
        await self._current.begin(ref)

    async def open(self, ref: str) -> None:
        """A session or a file."""
        await self._current.open(ref)

    async def follow(self) -> None:
        """Switch the following of a file on or off."""
        self._current.follow()

    async def new(self) -> None:
        """An empty session."""
        await self._current.exchange(lambda: opening.new_session(self._services, self._options.for_any_session))

    async def fork(self, at: int | None, text: str | None = None) -> None:
        """A copy up to an event, and perhaps the first thing to say in it."""
        opened, options = self._current.get(), self._options.for_any_session
        await self._current.exchange(lambda: opening.fork(self._services, options, opened, at))
        if text is not None:
            self._turns.send(self._current.writable(), text)
        else:
            self._updates.tell(Notice(f"now in {self._current.get().name}; the other session is unchanged"))

    # Saying and deciding

    async def send(self, text: str) -> None:
        """Under a file, the user is asked first whether to make a session of it."""
        if self._turns.answered_by(text):
            return
        early = self._current.opening.locked()
        if early:
            self._current.early.append(text)
            self._updates.put(queue=tuple(self._current.early))
        async with self._current.opening:  # what is said meanwhile is for what is being opened
            if early and not self._no_longer_early(text):
                return
            opened = self._current.get()
        if opened.session is None:
            self.held += 1
            try:
                if not await self._may_make_session(opened, text):
                    return
            finally:
                self.held -= 1
            await self._go_on_in_a_copy(opened)
        if not self._turns.busy:  # a turn that cannot go on without an answer waits for it, and the message with it
            self.compactions.not_now()
        self._turns.send(self._current.writable(), text)

    async def _may_make_session(self, opened: OpenSession, text: str) -> bool:
        changes = ""
        if opened.recorded is not None:
            self._updates.put(activity=Activity("loading", "planning…"))
            try:
                changes = (await in_background(what_changes, self._services, self._options, opened)).words
            finally:
                self._updates.put(activity=Activity())
        asked = partial(make_session, name=opened.name, changes=changes, message=text)
        return await self._turns.ask(asked) == "yes"

    async def make_session(self) -> None:
        """Go on in a session that starts as a copy of the file that is open, at its next request."""
        await self._go_on_in_a_copy(self._current.get())
        self._current.come_home()

    async def _go_on_in_a_copy(self, opened: OpenSession) -> None:
        await self._current.exchange(lambda: opening.session_of(self._services, opened))

    async def withdraw(self, index: int, text: str) -> None:
        """A message that waits is not sent after all."""
        if not self._no_longer_early(text):
            self._turns.withdraw(index, text)

    def _no_longer_early(self, text: str) -> bool:
        """A message that waited for a plan no longer does; whether it did."""
        if text not in self._current.early:
            return False
        self._current.early.remove(text)
        self._updates.put(queue=tuple(self._current.early))
        return True

    async def answer(self, number: int, answer: str) -> None:
        """The answer to a question."""
        self._turns.answer(number, answer)

    async def interrupt(self) -> None:
        """Stop the turn, or else the compaction; where there is neither, come back from the past."""
        if not self._turns.interrupt() and not self.compactions.stop():
            self._current.come_home()

    async def stop_compacting(self) -> None:
        """Stop the compaction, and leave a turn alone."""
        if not self.compactions.stop():
            raise Refused("no compaction is running")

    async def retry(self) -> None:
        """Ask again."""
        why_not = self._turns.retry(self._current.writable())
        if why_not:
            raise Refused(why_not)

    async def decide(self, action: OverrideAction, first: int, last: int, joined: bool = False) -> None:
        """An override."""
        opened = self._current.writable()
        if not 1 <= first <= last <= len(opened.events):
            raise Refused(f"{first} to {last}: expected numbers from 1 to {len(opened.events)}, the smaller first")
        opened.append(Override(action, first, last, joined=joined))
        self._current.publish()

    async def revert(self, which: Which, seq: int | None = None) -> None:
        """Undo or redo."""
        said = revert(self._current.writable(), which, seq)
        self._current.come_home()
        self._current.publish()
        self._updates.tell(Notice(said))

    async def rename(self, title: str) -> None:
        """Another title."""
        opened = self._current.writable()
        opened.append(Setting("title", title))
        opened.name = title
        self._current.publish()

    async def switch(self, *, model: str = "", policy: str = "", knob: str = "") -> None:
        """Plan the same log under another setup; a turn that runs goes on under its own."""
        if self._turns.busy:
            self._updates.tell(Notice("from the next turn on"))
        async with self._turns.free:
            await self.compactions.finished()
            opened = self._current.get()
            asked = partial(opening.replan, self._services, self._options, opened, model, policy, knob)
            change = await asyncio.wrap_future(background(asked))
            opened.catch_up()
            change.planner.extend(opened.events[change.length :])
            opened.adopt(change.setup, change.policy, change.knobs, change.planner)
            opened.recorded = change.recorded
            opened.ask_for(model, policy, change.knobs)
            if opened.writable and opened.recorded is None:
                opened.append(*change.settings)
                opening.fill_slots(opened)
            elif opened.writable:  # a policy on what another agent recorded is only tried
                opened.append(*(each for each in change.settings if each.key != "policy"))
            self._current.travel.forget()
        place = self._current.travel.place(opened)
        if place is not None:
            await self._go(opened, place)
        self._current.publish()
        self._current.prepare_to_ask(opened)

    def _refill(self, opened: OpenSession) -> None:
        opening.fill_slots(opened)
        self._current.publish()

    # Looking

    async def count_draft(self, text: str) -> None:
        """Only the last of many drafts is counted, after a pause."""
        self._draft = text
        self._uncounted = True
        if self._drafting or self._current.opened is None:
            return
        self._drafting = True
        try:
            while self._uncounted:
                self._uncounted = False
                await asyncio.sleep(DRAFT_PAUSE if self._draft else 0)
                if not self._uncounted:
                    opened = self._current.get()
                    work = partial(figures.draft_cost, opened.setup, opened.plan, self._draft)
                    self._updates.put(draft_cost=await asyncio.wrap_future(background(work)))
        finally:
            self._drafting = False

    async def travel_to(self, place: int | None) -> None:
        """The context of a request, by its place among them; None: of now."""
        if place is None:
            self._current.come_home()
            return
        opened = self._current.get()
        if place != self._current.travel.place(opened):
            await self._go(opened, place)

    async def _go(self, opened: OpenSession, place: int) -> None:
        await self._current.travel.go(opened, place, self._current.show_past)

    async def walk(self, by: int, alone: bool) -> None:
        """From the request that was asked for last, whether or not it is shown yet: no step is lost."""
        opened = self._current.get()
        marks = opened.requests.marks
        here = self._current.travel.place(opened)
        place = place_after(marks, len(marks) if here is None else here, by, alone=alone)
        await self.travel_to(None if place == len(marks) else place)

    def _recount(self) -> None:
        if self._draft:
            self._current.start_side_task(self.count_draft(self._draft))

    async def close(self) -> None:
        """The end: what came is kept, connections are closed."""
        await self._current.close()
