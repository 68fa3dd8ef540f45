"""Decides whether a compaction of a session is due, and makes it in three steps.

`plan` computes the preview that the user or the policy agrees to. `draft` runs the hooks that may refuse the compaction
and has the summary written. `accept` yields the event for the log, then runs the hooks that follow. A turn takes all
three steps with `run_compaction`. The screen and the command line let the user look at the result and edit it between
the steps. Either way, the compaction that is made is the one that was previewed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import NamedTuple

from workbench.agent.hooks import Hooks
from workbench.compaction.compactor import Compactor
from workbench.compaction.progress import CompactionProgress, ReportProgress, ignore_progress
from workbench.compaction.record import CATEGORY, read_record
from workbench.compaction.summariser import run_with_progress
from workbench.compaction.triggers import decide_compaction
from workbench.compaction.values import CompactionDecision, CompactionPreview, CompactionRefused, SummaryDraft, Trigger
from workbench.config.background import in_background
from workbench.config.errors import Refused
from workbench.context.plan import ContextPlan
from workbench.context.planner import Planner
from workbench.log.events import Body, Compaction, Event, Failure, Override, Revert

BY_HAND = "by hand"
CHANGED = (
    "the session has changed since the preview: another compaction, an undo, an override or another policy; "
    "preview it again"
)
AskFirst = Callable[[CompactionDecision], Awaitable[bool]]
"""Asks the user whether to compact now; the decision has the question and its figures."""
LONG = 20_000
"""From this many events on, the log is examined in a thread, so that the screen does not freeze."""


class PlannedCompaction(NamedTuple):
    """A compaction that was previewed but not made yet."""

    compactor: Compactor
    events: tuple[Event, ...]
    """The log that it was computed from."""
    preview: CompactionPreview

    def check_still_valid(self, events: Sequence[Event], compactor: Compactor) -> None:
        """Raise Refused if the session has changed so that the preview no longer holds. New messages do not matter."""
        since = events[len(self.events) :]
        changed = any(isinstance(event.body, Compaction | Revert | Override) for event in since)
        if changed or compactor is not self.compactor:
            raise Refused(CHANGED)


class CompactionRunner:
    """Decides on the compactions of one session and makes them. The caller appends the resulting events to the log."""

    def __init__(self, compactor: Compactor, hooks: Hooks, ask: AskFirst | None = None) -> None:
        """`ask` is None if no user can be asked. Then the policy's `headless_mode` applies."""
        self.compactor = compactor
        self.busy = asyncio.Lock()
        """Held while a compaction is decided on and made: two must never cover the same part of the log."""
        self._hooks = hooks
        self._ask = ask
        self._declined = False
        """Whether the user said no. Until the turn is over, the question is asked again only if it is urgent."""
        self._idle = False
        """Whether there was nothing to compact. Until the turn is over, only an overflow is asked about again."""

    def note_answer(self) -> None:
        """Call this when the model has answered the user: a compaction may then be tried, or asked about, again."""
        self._declined = self._idle = False

    async def decide_now(
        self, plan: ContextPlan, events: Sequence[Event], *, turn_over: bool, overflow: bool = False
    ) -> CompactionDecision:
        """Decide whether to compact now: see `compaction/triggers`.

        `turn_over`: the model has answered the user. `overflow`: the provider found the request too long.
        """
        policy = self.compactor.setup.loaded.policy.compaction

        def decide() -> CompactionDecision:
            headless = self._ask is None
            return decide_compaction(
                plan, events, read_record(events), policy, headless=headless, turn_over=turn_over, overflow=overflow
            )

        return decide() if len(events) < LONG else await in_background(decide)

    async def is_agreed(self, decision: CompactionDecision) -> bool:
        """Whether to make the compaction that was decided on. Asks the user if the decision says so."""
        if decision.action == "compact":
            return True
        if decision.action == "none" or self._ask is None:
            return False
        if (self._declined and not decision.urgent) or (self._idle and decision.trigger != "overflow"):
            return False
        self._declined = not await self._ask(decision)
        return not self._declined

    async def plan(
        self,
        events: Sequence[Event],
        trigger: Trigger = "manual",
        why: str = BY_HAND,
        *,
        digest: bool = False,
        planner: Planner | None = None,
        report: ReportProgress = ignore_progress,
    ) -> PlannedCompaction:
        """Compute what a compaction would do now. Raises CompactionRefused if there is nothing to compact.

        `digest`: summarise without a model. `planner`: a planner of the compactor's setup that has these events
        already, so that they are not planned again.
        """
        compactor, log = self.compactor, tuple(events)  # a copy: the log may grow meanwhile
        now = planner.at_this_moment() if planner is not None else None

        def work(report: ReportProgress) -> CompactionPreview:
            return compactor.preview(log, trigger, why, digest=digest, planner=now, progress=report)

        made = await run_with_progress(work, report)
        return PlannedCompaction(compactor, log, made)

    async def draft(
        self, planned: PlannedCompaction, *, digest: bool = False, report: ReportProgress = ignore_progress
    ) -> tuple[list[Failure], SummaryDraft]:
        """Have the summary written. Return the failures of the hooks that ran before it, and the summary.

        Raises CompactionRefused, also if a hook vetoes the compaction.
        """
        noted = await self._before(planned.preview)
        made = await planned.compactor.draft(planned.events, planned.preview, digest=digest, progress=report)
        return noted, made

    async def accept(self, planned: PlannedCompaction, draft: SummaryDraft) -> AsyncGenerator[Body, None]:
        """Yield the events to append: the compaction, then the failures of the hooks that follow it.

        These hooks run only when the next event is requested: the caller has appended the compaction by then.
        Raises CompactionRefused for a draft that must not be accepted.
        """
        yield planned.compactor.body(draft)
        for problem in await self._after(draft):
            yield problem

    async def run_compaction(
        self,
        events: Sequence[Event],
        trigger: Trigger,
        why: str,
        *,
        digest: bool = False,
        urgent: bool = True,
        planned: PlannedCompaction | None = None,
        planner: Planner | None = None,
    ) -> AsyncGenerator[CompactionProgress | Body, None]:
        """Make one compaction. Yield its progress, then the events to append: the compaction, or why there is none.

        `planned`: the compaction that was agreed to; without it, one is planned here. A cancelled run leaves nothing
        behind. A failure is yielded and not raised, because the session continues without the compaction. "Nothing to
        compact" is a failure only if the user asked for the compaction, or if a request that is too long cannot be
        sent without it (`urgent`).
        """
        progress_queue: asyncio.Queue[CompactionProgress | None] = asyncio.Queue()

        async def make() -> tuple[PlannedCompaction, list[Failure], SummaryDraft]:
            report = progress_queue.put_nowait
            report(CompactionProgress("selecting"))
            wanted = planned or await self.plan(events, trigger, why, digest=digest, planner=planner, report=report)
            return wanted, *await self.draft(wanted, digest=digest, report=report)

        making = asyncio.create_task(make())
        making.add_done_callback(lambda _: progress_queue.put_nowait(None))
        try:
            while (progress := await progress_queue.get()) is not None:
                yield progress
            wanted, noted, draft = await making
            for problem in noted:
                yield problem
            async with aclosing(self.accept(wanted, draft)) as accepting:
                async for body in accepting:
                    yield body
        except CompactionRefused as refused:
            self._idle = refused.kind == "nothing"
            if not self._idle or trigger == "manual" or (trigger == "overflow" and urgent):
                yield failure_of(refused)
        finally:
            making.cancel()
            await asyncio.wait([making])

    # The hooks

    async def _before(self, preview: CompactionPreview) -> list[Failure]:
        """Run the hooks that may veto. Raises CompactionRefused for a veto; returns the failures of broken hooks."""
        payload = {"trigger": preview.trigger, "why": preview.why, "tokens": preview.tokens_before}
        result = await self._hooks.run_hooks("before_compact", payload)
        if result.vetoed is not None:
            raise CompactionRefused("vetoed", f"a hook refused the compaction: {result.vetoed}")
        return [Failure("hook", str(problem)) for problem in result.problems]

    async def _after(self, draft: SummaryDraft) -> list[Failure]:
        """Run the hooks that follow a compaction that is in the log. Returns the failures of broken hooks."""
        payload = {"trigger": draft.preview.trigger, "summary": draft.summary, "freed": draft.freed}
        result = await self._hooks.run_hooks("after_compact", payload)
        return [Failure("hook", str(problem)) for problem in result.problems]


def failure_of(refused: CompactionRefused) -> Failure:
    """The event that says why a compaction was not made."""
    return Failure(CATEGORY, f"{refused.kind}: {refused}")
