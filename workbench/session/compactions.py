"""Compactions on the screen: automatic, after a question, or by hand. Runs in the session's thread.

A compaction may run while turns run. If two would cover the same events, the agent makes one at a time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing, suppress
from typing import Any

from workbench.agent.compaction_runner import PlannedCompaction
from workbench.agent.loop import Agent, Steps
from workbench.agent.steps import CompactionRunning, EventAppended, TurnStep
from workbench.compaction.progress import CompactionProgress
from workbench.compaction.record import CATEGORY, CompactionEntry, read_details
from workbench.compaction.values import CompactionDecision
from workbench.config.background import in_background
from workbench.config.errors import Refused, WorkbenchError
from workbench.config.values import replace
from workbench.context.setup import Setup
from workbench.log.events import Compaction, Event, Failure
from workbench.session.observable import Notice, ObservableSession
from workbench.session.open_session import OpenSession
from workbench.session.questions import question_to_compact
from workbench.session.turns import Turns
from workbench.views.compaction_values import (
    CompactionOutcome,
    CompactionView,
    PastAudit,
    PastOffer,
    RunningCompaction,
    progress_text,
)
from workbench.views.compaction_view import FEW, CompactionInputs, LogFigures, audit_again, compaction_panel_view
from workbench.views.values import Activity

PAUSE = 0.25
"""Seconds between two updates of the panel while the log keeps growing."""
REST = 4
"""The pause is also at least this many times as long as the last update took."""
STOPPED = "stopped; nothing was changed"
BUSY = "a compaction is running already; Esc stops it"


class SessionCompactions:
    """Runs compactions and fills the compaction panel. Decides nothing itself: the agent or the user does."""

    def __init__(
        self, updates: ObservableSession, turns: Turns, publish: Callable[[], None], return_to_next: Callable[[], None]
    ) -> None:
        """`publish` shows the current log. `return_to_next` goes from a past request back to the next one."""
        self._updates = updates
        self.return_to_next = return_to_next
        self._turns = turns
        self._publish = publish
        self._opened: OpenSession | None = None
        self._figures = LogFigures()
        self._view: CompactionView | None = None
        self._view_of: tuple[int, Setup] | None = None
        """The length of the log that the view was made from, and its setup."""
        self._running: RunningCompaction | None = None
        self._question_number = 0
        """The number of the open question whether to compact; 0: none is open."""
        self._stale = False
        self._past: PastOffer | None = None
        """For the past request on the screen; None: the screen shows the present."""
        self._past_work: Callable[[], PastOffer] | None = None
        """Computes `_past` in full; None: that is done, or not needed."""
        self._past_asked = asyncio.Event()
        """Set when there is such work: it does not wait for the pause between two updates."""
        self._updating: asyncio.Task[None] | None = None
        self._settling: asyncio.Task[None] | None = None
        self._making: asyncio.Task[Any] | None = None
        """The compaction that the user started."""
        turns.watcher = self

    # What the panel shows

    def show(self, opened: OpenSession) -> None:
        """Update the panel: the log has grown, or another session is open."""
        if opened is not self._opened:
            self._begin(opened)
        self._stale = True
        self._start_updating()

    def show_nothing(self) -> None:
        """Empty the panel, until `show` is called for what is being opened."""
        self._begin(None)
        self._past = self._past_work = None
        self._updates.change_state(compaction=None)

    def _begin(self, opened: OpenSession | None) -> None:
        self._opened, self._figures, self._view, self._view_of = opened, LogFigures(), None, None

    def show_past_offer(self, past: PastOffer | None, work: Callable[[], PastOffer] | None = None) -> None:
        """Show what could have been compacted at a past request, which `work` computes; None: show the present."""
        if past is not None or self._past is not None:
            self._past, self._past_work = past, work
            self._put()
        if work is not None:
            self._past_asked.set()
            self._start_updating()

    def _start_updating(self) -> None:
        if self._updating is None:
            self._updating = asyncio.create_task(self._update_panel())
            self._updating.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        """Clear a task that has ended. A task cancelled before its first step never runs its own `finally`."""
        if task is self._updating:
            self._updating = None
        if task is self._settling:
            self._settling = None
        self._updates.call_updated()

    async def _update_panel(self) -> None:
        try:
            while (self._stale or self._past_work is not None) and self._opened is not None:
                begun = time.monotonic()
                if self._stale:
                    await self._update_view(self._opened)
                if self._past_work is not None:
                    await self._update_past(self._past_work)
                if self._stale:
                    await self._rest(max(PAUSE, REST * (time.monotonic() - begun)))
        except Exception as error:
            self._updates.show_notice(Notice(f"{type(error).__name__}: {error}", "error", "this should not happen"))
        finally:
            self._updating = None

    async def _rest(self, seconds: float) -> None:
        """Pause between two updates. Past requests that are asked for meanwhile do not wait for it."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self._past_work is not None:
                await self._update_past(self._past_work)
                continue
            self._past_asked.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._past_asked.wait(), left)

    async def _update_view(self, opened: OpenSession) -> None:
        self._stale = False
        inputs = self._inputs(opened)
        made = await in_background(compaction_panel_view, inputs)
        if opened is self._opened:
            self._view, self._view_of = made, inputs.length_and_setup
            self._put()

    async def _update_past(self, work: Callable[[], PastOffer]) -> None:
        past, self._past_work = self._past, None
        made = await in_background(work)
        if past is self._past:
            self._past = made
            self._put()

    def _inputs(self, opened: OpenSession) -> CompactionInputs:
        self._figures.catch_up(opened.events)
        setup = opened.agent.setup if opened.agent is not None else opened.setup
        events = self._figures.events()
        planner = opened.agent.planner if opened.agent is not None else opened.planner
        inputs = CompactionInputs(
            plan=opened.plan,
            setup=setup,
            policy=opened.policy,
            events=events,
            figures=self._figures,
            growth=opened.ledger.growth,
            why_read_only=opened.why_read_only,
            turn_over=not self._turns.busy,
            recorded=opened.recorded,
            length=len(planner.events),
        )
        if self._view is not None and self._view_of == inputs.length_and_setup:
            return replace(inputs, selected=(self._view.nothing, self._view.would))
        if inputs.length <= FEW:
            return replace(inputs, planner=planner.at_this_moment(to_try=False))
        return inputs

    def _put(self) -> None:
        if self._view is not None:
            self._updates.change_state(compaction=replace(self._view, running=self._running, past=self._past))

    def show_progress(self, progress: CompactionProgress, *, draft: bool = False) -> None:
        since = self._running.since if self._running is not None else time.monotonic()
        self._running = RunningCompaction(progress, since, draft)
        self._put()
        if not draft:
            self._updates.change_state(activity=Activity("compacting", progress_text(progress)))

    def show_idle(self) -> None:
        """Show that no compaction runs any more."""
        self._running = None
        self._put()
        if not self._turns.busy:
            self._updates.change_state(activity=Activity())

    # Running compactions

    @property
    def busy(self) -> bool:
        """Whether a compaction runs. A question whether to make one does not count."""
        return self._making is not None or (self._settling is not None and not self._question_number)

    @property
    def is_updating(self) -> bool:
        """Whether the panel's value is being computed."""
        return self._updating is not None

    def stop(self) -> bool:
        """Stop the running compaction. Return whether there was one."""
        task = self._making or (self._settling if not self._question_number else None)
        if task is not None:
            task.cancel()
        return task is not None

    def decline_question(self) -> None:
        """Answer an open question whether to compact with no, because the user does something else."""
        if self._question_number:
            self._turns.questions.take_answer(self._question_number, "no")

    async def finished(self) -> None:
        """Wait until no compaction runs."""
        self.decline_question()
        tasks = [task for task in (self._settling, self._making) if task is not None]
        if tasks:
            await asyncio.wait(tasks)

    async def close(self) -> None:
        """Stop everything: the session is about to be closed."""
        tasks = [task for task in (self._settling, self._making, self._updating) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    # Called by turns

    def step_taken(self, step: TurnStep) -> None:
        """Show the progress of a compaction that a turn makes because its request would not fit."""
        match step:
            case CompactionRunning(progress):
                self.show_progress(progress)
            case EventAppended(event) if self._running is not None and self._making is None and self._settling is None:
                if _closes(event):
                    self._running = None
                    self._announce(event)

    def hide_turn_progress(self) -> None:
        """End the display of a compaction that the turn made, whether it succeeded or was stopped."""
        if self._running is not None and self._making is None and self._settling is None:
            self._running = None
            self._put()

    def compact_if_due(self, opened: OpenSession) -> None:
        """A turn has ended without a failure: compact if that is due, while the next turn may already run."""
        if opened.agent is not None and self._settling is None:
            self._settling = asyncio.create_task(self._settle(opened, opened.agent))
            self._settling.add_done_callback(self._over)

    async def _settle(self, opened: OpenSession, agent: Agent) -> None:
        try:
            for event in await self.run_steps(opened, agent.settle()):
                self._announce(event)
        except WorkbenchError as error:
            self._updates.show_notice(Notice(str(error), "error", "compaction"))
        finally:
            self._settling = None
            self.show_idle()

    async def run_steps(self, opened: OpenSession, steps: Steps) -> list[Event]:
        """Run the steps of a compaction. Return its last events: a compaction, or the failure of one."""
        found = []
        async with aclosing(steps):
            async for step in steps:
                match step:
                    case CompactionRunning(progress):
                        self.show_progress(progress)
                    case EventAppended(event):
                        found += [event] if _closes(event) else []
                        opened.catch_up()
                        self._publish()
        return found

    def _announce(self, event: Event) -> None:
        if isinstance(event.body, Failure):
            self._updates.show_notice(Notice(f"not compacted: {event.body.message}", "warning", "compaction"))
        elif self._opened is not None:
            made = self.outcome(self._opened, event)
            facts = f", {made.kept:,} of {made.facts:,} facts kept" if made.facts else ""
            self._updates.show_notice(
                Notice(f"{made.before:,} → {made.after:,} tokens{facts}; F9 undoes it", title="compacted by itself")
            )

    async def ask_first(self, decision: CompactionDecision) -> bool:
        """Ask the user in the chat whether to compact. The answer is no if the user does something else."""
        try:
            asked = self._turns.questions.ask_user(
                lambda number: question_to_compact(self._remember_question(number), decision)
            )
            return await asked == "yes"
        finally:
            self._question_number = 0

    def _remember_question(self, number: int) -> int:
        self._question_number = number
        return number

    # By hand

    def current(self) -> OpenSession:
        """The open session. Raises Refused if there is none."""
        if self._opened is None:
            raise Refused("nothing is open yet")
        return self._opened

    def writable(self) -> OpenSession:
        """The open session, after this program has become its writer."""
        opened = self.current()
        opened.begin_writing()
        return opened

    async def compact(self, digest: bool = False, planned: PlannedCompaction | None = None) -> CompactionOutcome:
        """Compact now, without a question. Raises Refused if it fails or is stopped.

        `planned`: the compaction that the user has agreed to.
        """
        opened = self.writable()
        self.decline_question()
        if self.busy:
            raise Refused(BUSY)
        self._making = asyncio.current_task()
        try:
            agent = await self._turns.agent(opened, to_ask=False)
            [event] = await self.run_steps(opened, agent.compact(planned, digest=digest))
        except asyncio.CancelledError:
            raise Refused(STOPPED) from None
        finally:
            self._making = None
            self.show_idle()
        if isinstance(event.body, Failure):
            raise Refused(event.body.message)
        self.return_to_next()
        return self.outcome(opened, event)

    def outcome(self, opened: OpenSession, event: Event) -> CompactionOutcome:
        assert isinstance(event.body, Compaction)
        noted, limits = read_details(event.body.meta), opened.plan.limits
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
        """Compare one past compaction with its originals again, and return that audit."""
        opened = self.current()
        return await in_background(audit_again, opened.setup, tuple(opened.events), entry)


def _closes(event: Event) -> bool:
    """Whether a compaction ends with this event."""
    body = event.body
    return isinstance(body, Compaction) or (isinstance(body, Failure) and body.category == CATEGORY)
