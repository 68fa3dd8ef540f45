"""Compactions on the screen: made by themselves, asked about, made by hand. Lives in the session's thread.

A compaction goes on beside the turns; of two that would cover the same past, the agent makes one at a time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any

from workbench.agent.compacting import PlannedCompaction
from workbench.agent.loop import Agent, Steps
from workbench.agent.steps import Appended, Step, Summarising
from workbench.compaction.progress import Progress
from workbench.compaction.record import CATEGORY, CompactionEntry, details
from workbench.compaction.values import CompactionDecision
from workbench.config.background import background
from workbench.config.errors import Refused, WorkbenchError
from workbench.context.setup import Setup
from workbench.log.events import Compaction, Event, Failure
from workbench.session.observable import Notice, ObservableSession
from workbench.session.open_session import OpenSession
from workbench.session.questions import compact as question
from workbench.session.turns import Turns
from workbench.views.compaction_values import (
    CompactionOutcome,
    CompactionView,
    PastAudit,
    PastOffer,
    RunningCompaction,
    progress_text,
)
from workbench.views.compaction_view import FEW, CompactionInputs, LogFigures, audit_again, view
from workbench.views.values import Activity

PAUSE = 0.25
"""Seconds between two looks at a log that keeps growing."""
REST = 4
"""Or so many times as long as the last look took, if that is more."""
STOPPED = "stopped; nothing was changed"
BUSY = "a compaction is running already; Esc stops it"


class SessionCompactions:
    """Decides nothing itself: the agent does, or the user."""

    def __init__(
        self, updates: ObservableSession, turns: Turns, publish: Callable[[], None], come_home: Callable[[], None]
    ) -> None:
        """`publish` shows what is in the log by now; `come_home` leaves a past request for the next one."""
        self._updates = updates
        self.come_home = come_home
        self._turns = turns
        self._publish = publish
        self._opened: OpenSession | None = None
        self._figures = LogFigures()
        self._view: CompactionView | None = None
        self._view_of: tuple[int, Setup] | None = None
        """How long the log was that the view was made of, and its setup."""
        self._running: RunningCompaction | None = None
        self._asked = 0
        """The number of the question whether to compact; 0: it is not asked."""
        self._stale = False
        self._past: PastOffer | None = None
        """Of the past request that is looked at; None: now is."""
        self._look_back: Callable[[], PastOffer] | None = None
        """Works it out, where that is still to be done."""
        self._looking: asyncio.Task[None] | None = None
        self._settling: asyncio.Task[None] | None = None
        self._making: asyncio.Task[Any] | None = None
        """One that was asked for by hand."""
        turns.watcher = self

    # What the panel shows

    def show(self, opened: OpenSession) -> None:
        """The log has grown, or another one is open."""
        if opened is not self._opened:
            self._opened, self._figures, self._view, self._view_of = opened, LogFigures(), None, None
        self._stale = True
        self._start_looking()

    def look_back(self, past: PastOffer | None, work: Callable[[], PastOffer] | None = None) -> None:
        """A past request is looked at, and `work` works out what could have been compacted then; None: now is."""
        if past is not None or self._past is not None:
            self._past, self._look_back = past, work
            self._put()
        if work is not None:
            self._start_looking()

    def _start_looking(self) -> None:
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
            self._looking.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        """A task that is cancelled before its first step says nothing of its end itself."""
        if task is self._looking:
            self._looking = None
        if task is self._settling:
            self._settling = None
        self._updates.poke()

    async def _look(self) -> None:
        try:
            while (self._stale or self._look_back is not None) and self._opened is not None:
                begun = time.monotonic()
                if self._stale:
                    await self._look_at_now(self._opened)
                if self._look_back is not None:
                    await self._look_at_past(self._look_back)
                if self._stale:
                    await asyncio.sleep(max(PAUSE, REST * (time.monotonic() - begun)))
        except Exception as error:
            self._updates.tell(Notice(f"{type(error).__name__}: {error}", "error", "this should not happen"))
        finally:
            self._looking = None

    async def _look_at_now(self, opened: OpenSession) -> None:
        self._stale = False
        inputs = self._inputs(opened)
        made = await asyncio.wrap_future(background(partial(view, inputs)))
        if opened is self._opened:
            self._view, self._view_of = made, inputs.length_and_setup
            self._put()

    async def _look_at_past(self, work: Callable[[], PastOffer]) -> None:
        past, self._look_back = self._past, None
        made = await asyncio.wrap_future(background(work))
        if past is self._past:
            self._past = made
            self._put()

    def _inputs(self, opened: OpenSession) -> CompactionInputs:
        self._figures.catch_up(opened.events)
        setup = opened.agent.setup if opened.agent is not None else opened.setup
        growth, fixed = opened.ledger.growth, opened.why_read_only
        events = self._figures.events()
        planner = opened.agent.planner if opened.agent is not None else opened.planner
        inputs = CompactionInputs(
            opened.plan,
            setup,
            opened.policy,
            events,
            self._figures,
            growth,
            fixed,
            not self._turns.busy,
            opened.recorded,
            length=len(planner.events),
        )
        if self._view is not None and self._view_of == inputs.length_and_setup:
            return replace(inputs, selected=(self._view.nothing, self._view.would.removeprefix("summarise ")))
        if inputs.length <= FEW:
            return replace(inputs, planner=planner.at_this_moment(to_try=False))
        return inputs

    def _put(self) -> None:
        if self._view is not None:
            self._updates.put(compaction=replace(self._view, running=self._running, past=self._past))

    def progress(self, progress: Progress, *, draft: bool = False) -> None:
        since = self._running.since if self._running is not None else time.monotonic()
        self._running = RunningCompaction(progress, since, draft)
        self._put()
        if not draft:
            self._updates.put(activity=Activity("compacting", progress_text(progress)))

    def rest(self) -> None:
        """None is being made any more."""
        self._running = None
        self._put()
        if not self._turns.busy:
            self._updates.put(activity=Activity())

    # What goes on

    @property
    def busy(self) -> bool:
        """Whether one is being made, and not only asked about."""
        return self._making is not None or (self._settling is not None and not self._asked)

    @property
    def is_looking(self) -> bool:
        """Whether the panel's value is being made."""
        return self._looking is not None

    def stop(self) -> bool:
        """Stop the one that is being made; whether there was one."""
        task = self._making or (self._settling if not self._asked else None)
        if task is not None:
            task.cancel()
        return task is not None

    def not_now(self) -> None:
        """The user does something else: the question whether to compact, where it is open, is answered by that."""
        if self._asked:
            self._turns.questions.take_answer(self._asked, "no")

    async def finished(self) -> None:
        """Wait for the one that is being made."""
        self.not_now()
        tasks = [task for task in (self._settling, self._making) if task is not None]
        if tasks:
            await asyncio.wait(tasks)

    async def close(self) -> None:
        """Stop everything: the session is about to be closed."""
        tasks = [task for task in (self._settling, self._making, self._looking) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    # What turns tell

    def taken(self, step: Step) -> None:
        """A step of a turn, which compacts where it would not fit."""
        match step:
            case Summarising(progress):
                self.progress(progress)
            case Appended(event) if self._running is not None and self._making is None and self._settling is None:
                if _closes(event):
                    self._running = None
                    self._announce(event)

    def turn_ended(self) -> None:
        """One that the turn was making is over as well, whether it came to something or was stopped."""
        if self._running is not None and self._making is None and self._settling is None:
            self._running = None
            self._put()

    def turn_over(self, opened: OpenSession) -> None:
        """A turn has ended well: compact beside whatever follows, where that is due."""
        if opened.agent is not None and self._settling is None:
            self._settling = asyncio.create_task(self._settle(opened, opened.agent))
            self._settling.add_done_callback(self._over)

    async def _settle(self, opened: OpenSession, agent: Agent) -> None:
        try:
            for event in await self.run(opened, agent.settle()):
                self._announce(event)
        except WorkbenchError as error:
            self._updates.tell(Notice(str(error), "error", "compaction"))
        finally:
            self._settling = None
            self.rest()

    async def run(self, opened: OpenSession, steps: Steps) -> list[Event]:
        """Go through the steps of a compaction; what it came to: a compaction, or the failure of one."""
        found = []
        async with aclosing(steps):
            async for step in steps:
                match step:
                    case Summarising(progress):
                        self.progress(progress)
                    case Appended(event):
                        found += [event] if _closes(event) else []
                        opened.catch_up()
                        self._publish()
        return found

    def _announce(self, event: Event) -> None:
        if isinstance(event.body, Failure):
            self._updates.tell(Notice(f"not compacted: {event.body.message}", "warning", "compaction"))
        elif self._opened is not None:
            made = self.outcome(self._opened, event)
            facts = f", {made.kept:,} of {made.facts:,} facts kept" if made.facts else ""
            self._updates.tell(
                Notice(f"{made.before:,} → {made.after:,} tokens{facts}; F9 undoes it", title="compacted by itself")
            )

    async def ask_first(self, decision: CompactionDecision) -> bool:
        """Ask in place; no where the user turns to something else."""
        try:
            return await self._turns.questions.ask_user(lambda number: question(self._note(number), decision)) == "yes"
        finally:
            self._asked = 0

    def _note(self, number: int) -> int:
        self._asked = number
        return number

    # By hand

    def current(self) -> OpenSession:
        if self._opened is None:
            raise Refused("nothing is open yet")
        return self._opened

    def writable(self) -> OpenSession:
        opened = self.current()
        if not opened.writable:
            raise Refused(opened.why_read_only)
        return opened

    async def compact(self, digest: bool = False, planned: PlannedCompaction | None = None) -> CompactionOutcome:
        """Compact now, without asking again: what was agreed to, where it was; raises Refused if nothing came of it."""
        opened = self.writable()
        self.not_now()
        if self.busy:
            raise Refused(BUSY)
        self._making = asyncio.current_task()
        try:
            agent = await self._turns.agent(opened, to_ask=False)
            [event] = await self.run(opened, agent.compact(planned, digest=digest))
        except asyncio.CancelledError:
            raise Refused(STOPPED) from None
        finally:
            self._making = None
            self.rest()
        if isinstance(event.body, Failure):
            raise Refused(event.body.message)
        self.come_home()
        return self.outcome(opened, event)

    def outcome(self, opened: OpenSession, event: Event) -> CompactionOutcome:
        assert isinstance(event.body, Compaction)
        noted, limits = details(event.body.meta), opened.plan.limits
        after = opened.plan.size if noted.tokens_after is None else noted.tokens_after
        kept = noted.facts_kept or 0
        return CompactionOutcome(
            event.seq,
            event.body.summary,
            noted.tokens_before or after,
            after,
            limits.window,
            kept,
            kept + (noted.facts_lost or 0),
            noted.made_by or "",
            noted.ratio or 0.0,
            tuple(map(str, event.body.meta.get("problems") or ())),
        )

    async def audit_again(self, entry: CompactionEntry) -> PastAudit:
        """One compaction with its audit."""
        opened = self.current()
        work = partial(audit_again, opened.setup, tuple(opened.events), entry)
        return await asyncio.wrap_future(background(work))


def _closes(event: Event) -> bool:
    """Whether a compaction ends with it."""
    body = event.body
    return isinstance(body, Compaction) or (isinstance(body, Failure) and body.category == CATEGORY)
