"""The compactions of a context: whether one is due, and making one with the caller's own function."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future, wait
from threading import Thread
from typing import Any, TypeVar

from workbench.agent.compaction_runner import BY_HAND, PlannedCompaction
from workbench.compaction.compactor import Compactor
from workbench.compaction.progress import ReportProgress, ignore_progress
from workbench.compaction.record import CompactionRecord, CompactionRecordReader
from workbench.compaction.summariser import run_with_progress
from workbench.compaction.triggers import decide_compaction
from workbench.compaction.values import CompactionDecision, CompactionPreview, Trigger
from workbench.context.plan import ContextPlan
from workbench.context.planner import Planner
from workbench.context.setup import Setup
from workbench.library.summaries import OWN_MODEL, CallersModel, CompactionResult, Summarise, result_of
from workbench.log.events import AssistantMessage, Compaction, Event, ToolCall, ToolResult, UserMessage

T = TypeVar("T")
_TALK = (UserMessage, AssistantMessage, ToolCall, ToolResult)

Accept = Callable[[PlannedCompaction, Compaction], None]
"""Appends the compaction to the log; raises Refused if the log has changed in a way that matters."""


class CompactionWatch:
    """Says whether a compaction of one context is due. It reads each event of the log once."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._reader = CompactionRecordReader()

    def record(self, events: Sequence[Event]) -> CompactionRecord:
        """What the log has about compactions. It only ever grows."""
        self._reader.read_events(events[self._reader.length :])
        return self._reader.record()

    def decision(self, plan: ContextPlan, events: Sequence[Event]) -> CompactionDecision:
        """What triggers, mode and brakes of the policy say now. The caller is the one to be asked."""
        said = (each.body for each in reversed(events) if isinstance(each.body, _TALK))
        turn_over = isinstance(next(said, None), AssistantMessage)
        policy = self._setup.loaded.policy.compaction
        return decide_compaction(plan, events, self.record(events), policy, headless=False, turn_over=turn_over)


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in a thread of its own, because the caller's may have a loop. Ctrl+C cancels it."""
    loop, made = asyncio.new_event_loop(), Future[T]()

    def run() -> None:
        try:
            made.set_result(loop.run_until_complete(task))
        except BaseException as error:
            made.set_exception(error)
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    task = loop.create_task(work)
    Thread(target=run, name="compaction", daemon=True).start()
    try:
        return made.result()
    except BaseException:
        if not made.done():
            loop.call_soon_threadsafe(task.cancel)
            wait([made])
        raise


async def compact_log(
    setup: Setup,
    events: tuple[Event, ...],
    planner: Planner,
    decision: CompactionDecision,
    summarise: Summarise | None,
    accept: Accept,
) -> CompactionResult:
    """Make one compaction: the one that is due, or one by hand. Raises CompactionRefused if none can be made."""
    model = None if summarise is None else CallersModel(summarise)
    compactor = Compactor(setup.summarised_by(OWN_MODEL), model)
    trigger: Trigger = "manual"
    why, digest = BY_HAND, model is None
    if decision.action != "none" and decision.trigger is not None:
        trigger, why, digest = decision.trigger, decision.why, digest or decision.digest

    def preview(tell: ReportProgress) -> CompactionPreview:
        return compactor.preview(events, trigger, why, digest=digest, planner=planner, progress=tell)

    made = await run_with_progress(preview, ignore_progress)
    draft = await compactor.draft(events, made, digest=digest)
    accept(PlannedCompaction(compactor, events, made), compactor.body(draft))
    return result_of(draft)
