"""The methods of the session model that run in the session's thread: messages, decisions, and what is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from workbench.config.background import in_background
from workbench.config.errors import Refused
from workbench.log.events import Override, OverrideAction, Setting
from workbench.session import figures, opening
from workbench.session.activity import ActivityFollower
from workbench.session.continuing import SessionContinuation
from workbench.session.current import CurrentSession
from workbench.session.drafting import SummaryDrafts
from workbench.session.message_place import MessagePlace
from workbench.session.observable import Notice, ObservableSession
from workbench.session.open_session import OpenSession
from workbench.session.time_travel import place_after
from workbench.session.tools import ToolSwitches
from workbench.session.undoing import Which, revert_change
from workbench.sources.options import Options
from workbench.sources.services import Services

T = TypeVar("T")

DRAFT_PAUSE = 0.15
"""Seconds without a keypress before a draft is counted."""

OPENED_MEANWHILE = "another session was opened meanwhile; the message that you edited is not in it"


class SessionWorker:
    """The open session, and every action on it."""

    def __init__(self, services: Services, options: Options, updates: ObservableSession, *, warm: bool) -> None:
        self._services = services
        self._options = options
        self._updates = updates
        self.current = CurrentSession(services, options, updates, self._recount, warm=warm)
        self.turns, self.compactions = self.current.turns, self.current.compactions
        self.questions = self.turns.questions
        self._place = self.turns.place = MessagePlace(services, options, updates, self.current)
        self.drafts = SummaryDrafts(services, self.turns, self.compactions, self.current.publish)
        self.continuing = SessionContinuation(
            services, options, self.compactions, self.current.require_open, self.current.exchange
        )
        self.tools = ToolSwitches(self.turns.free, self.turns.forget_approvals, self.current.writable, self._refill)
        self.activity = ActivityFollower(services, updates, self.current)
        self._draft = ""
        self._drafting = False
        self._uncounted = False
        """Whether the draft, or the request it would be added to, has changed since it was counted."""

    @property
    def held(self) -> int:
        """How many calls of the session model wait for an answer of the user."""
        return self._place.held

    @property
    def busy(self) -> bool:
        """Whether a turn runs and does not wait for the user."""
        return self.turns.busy and not self.questions.waits_for_answer

    async def run_with_session(self, question: Callable[[OpenSession], T]) -> T:
        """Call `question` with the open session, as soon as it is open, and return the result."""
        return question(await self.current.wait_until_open())

    def count(self, text: str) -> int:
        """The tokens of a text; 0 if nothing is open. Any thread may call it."""
        opened = self.current.opened
        return opened.setup.counter.count(text).tokens if opened is not None else 0

    # Which session

    async def follow(self) -> None:
        """Start or stop following the open file, which another agent writes."""
        self.current.outside.follow()

    async def toggle_pin(self) -> None:
        """Stay with this session, or follow the active one again."""
        self.activity.toggle_pin()

    async def new(self) -> None:
        """Open a new, empty session."""
        await self.current.exchange(lambda: opening.new_session(self._services, self._options.for_any_session))

    async def fork(self, at: int | None = None) -> None:
        """Open a copy of this session that ends with the event `at`; None: with the last event."""
        await self._go_on_in_a_fork(at)
        self._updates.show_notice(Notice(f"now in {self.current.require_open().name}; the other session is unchanged"))

    async def edit_and_resend(self, seq: int, text: str, within: str = "") -> None:
        """Send another text in place of a message, in a copy of the session that ends before it.

        `within`: the session of the message, as in `SessionState.opened`. Raises Refused if another one is open by now.
        """
        if within not in ("", self.current.require_open().identity):
            raise Refused(OPENED_MEANWHILE)
        await self._go_on_in_a_fork(seq - 1)
        await self.turns.send(text, self.current.writable())

    async def _go_on_in_a_fork(self, at: int | None) -> None:
        opened, options = self.current.require_open(), self._options.for_any_session
        await self.current.exchange(lambda: opening.open_fork(self._services, options, opened, at))

    # Deciding

    async def make_session(self) -> None:
        """Open a session that starts as a copy of the open file, and show its next request."""
        await self._place.make_session(self.current.require_open())
        self.current.return_to_next()

    async def interrupt(self) -> None:
        """Stop the turn and keep the partial answer, else stop the compaction, else leave the past request."""
        if not self.turns.interrupt() and not self.compactions.stop():
            self.current.return_to_next()

    async def stop_compacting(self) -> None:
        """Stop the compaction, but not a turn. Raises Refused if none runs."""
        if not self.compactions.stop():
            raise Refused("no compaction is running")

    async def retry(self) -> None:
        """Ask the model again."""
        self.turns.retry(self.current.writable())

    async def decide(self, action: OverrideAction, first: int, last: int, joined: bool = False) -> None:
        """Append an override of the user; `joined`: it is one decision with the override before it."""
        opened = self.current.writable()
        if not 1 <= first <= last <= len(opened.events):
            raise Refused(f"{first} to {last}: expected numbers from 1 to {len(opened.events)}, the smaller first")
        opened.append(Override(action, first, last, joined=joined))
        self.current.publish()

    async def revert(self, which: Which, seq: int | None = None) -> None:
        """Undo or redo the last change, or the one of an event; see `Which`."""
        effect = revert_change(self.current.writable(), which, seq)
        self.current.return_to_next()
        self.current.publish()
        self._updates.show_notice(Notice(effect))

    async def rename(self, title: str) -> None:
        """Give the session another title."""
        opened = self.current.writable()
        opened.append(Setting("title", title))
        opened.name = title
        self.current.publish()

    async def switch_model(self, name: str) -> None:
        """Use another model. Waits for the running turn."""
        await self._switch(model=name)

    async def switch_policy(self, ref: str) -> None:
        """Use another policy. Waits for the running turn."""
        await self._switch(policy=ref)

    async def set_knob(self, knob: str) -> None:
        """Set a knob of the policy for this session, in the form `masking.keep_last=3`. Waits for the running turn."""
        await self._switch(knob=knob)

    async def _switch(self, *, model: str = "", policy: str = "", knob: str = "") -> None:
        """Plan the same log under another setup. A running turn keeps its own, and is waited for."""
        if self.turns.busy:
            self._updates.show_notice(Notice("from the next turn on"))
        async with self.turns.free:
            await self.compactions.finished()
            opened = self.current.require_open()
            asked = (self._services, self._options, opened, model, policy, knob)
            change = await in_background(opening.replan_session, *asked)
            opened.catch_up()
            change.planner.extend(opened.events[change.length :])
            opened.adopt(change.setup, change.policy, change.knobs, change.planner)
            opened.recorded = change.recorded
            opened.ask_for(model, policy, change.knobs)
            if opened.writable and opened.recorded is None:
                opened.append(*change.settings)
                opening.fill_slots(opened)
            elif opened.writable:  # a policy on another agent's session is only tried and not logged
                opened.append(*(each for each in change.settings if each.key != "policy"))
            self.current.travel.forget()
        place = self.current.travel.place(opened)
        if place is not None:
            await self._go(opened, place)
        self.current.publish()
        self.current.prepare_to_ask(opened)

    def _refill(self, opened: OpenSession) -> None:
        opening.fill_slots(opened)
        self.current.publish()

    # Showing

    async def count_draft(self, text: str) -> None:
        """Count the text in the composer, after a pause. Of several calls only the last text is counted.

        While a session is still being read, nothing is counted. Once it is open, `_recount` counts.
        """
        self._draft = text
        self._uncounted = True
        if self._drafting:
            return
        self._drafting = True
        try:
            while self._uncounted:
                self._uncounted = False
                await asyncio.sleep(DRAFT_PAUSE if self._draft else 0)
                opened = self.current.ready
                if opened is not None and not self._uncounted:
                    cost = await in_background(figures.draft_cost, opened.setup, opened.plan, self._draft)
                    self._updates.change_state(draft_cost=cost)
        finally:
            self._drafting = False

    async def travel_to(self, place: int | None) -> None:
        """Show the context of a request, by its index; None: of the present."""
        if place is None:
            self.current.return_to_next()
            return
        opened = self.current.require_open()
        if place != self.current.travel.place(opened):
            await self._go(opened, place)

    async def _go(self, opened: OpenSession, place: int) -> None:
        await self.current.travel.show_request(opened, place, self.current.show_past)

    async def walk(self, by: int, alone: bool = False) -> None:
        """Show the request `by` steps away; `alone`: skip side requests and those of sub-agents.

        Steps are counted from the request that was asked for last, even if it is not shown yet, so no step is lost.
        """
        opened = self.current.require_open()
        marks = opened.requests.marks
        here = self.current.travel.place(opened)
        place = place_after(marks, len(marks) if here is None else here, by, alone=alone)
        await self.travel_to(None if place == len(marks) else place)

    def _recount(self) -> None:
        if self._draft:
            self.current.start_side_task(self.count_draft(self._draft))
