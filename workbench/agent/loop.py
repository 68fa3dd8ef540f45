"""Runs a turn: requests to the model and the tool calls of its answers, until an answer has no more calls.

Every event is in the log before it is reported, and every request is rendered from the plan. The turn is one stream of
steps; the screen and the headless commands both read it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from msgspec import Struct

from workbench.agent import slots
from workbench.agent.calls import CallRunner, cancelled_result, lost_result
from workbench.agent.compaction_runner import BY_HAND, CompactionRunner, PlannedCompaction
from workbench.agent.hooks import Point
from workbench.agent.reply import DraftKeeper, ReplyInProgress
from workbench.agent.steps import (
    CompactionRunning,
    EventAppended,
    ModelSwitched,
    PartStreamed,
    RequestPlanned,
    TurnStep,
    WaitingToRetry,
)
from workbench.agent.turn_services import TurnServices
from workbench.compaction.compactor import Compactor
from workbench.compaction.progress import CompactionProgress
from workbench.compaction.selection import select_for
from workbench.compaction.triggers import ATTEMPTS
from workbench.compaction.values import CompactionDecision, CompactionRefused, SummaryDraft
from workbench.config.errors import WorkbenchError
from workbench.config.folders import work_folder
from workbench.context.plan import ContextPlan
from workbench.context.planner import Planner
from workbench.context.render import render_request
from workbench.context.setup import Setup, can_be_window
from workbench.log.events import Body, Content, Event, Failure, SlotContent, ToolCall, Usage, UserMessage
from workbench.log.ids import new_id
from workbench.log.learnt_windows import LearntWindow, window_setting
from workbench.log.session import Session
from workbench.models.failures import ELSEWHERE, ModelFailure
from workbench.models.gateway import Gateway
from workbench.models.retry import RetryWait, with_retries

Steps = AsyncGenerator[TurnStep, None]


class _ActiveModel(Struct):
    """The model that requests are sent to, with the planner of its context."""

    setup: Setup
    gateway: Gateway
    planner: Planner
    tried: int = 0
    """How many of the fallback models were tried; 0: this is the session's own model."""
    guessed: bool = False
    """Whether its window is a guess after a request that was too long; the guess holds for the rest of the turn."""


class Agent:
    """Runs the turns of one session."""

    def __init__(self, session: Session, setup: Setup, services: TurnServices, planner: Planner | None = None) -> None:
        """`planner`: a planner of this setup that has the whole log already, to avoid planning it twice."""
        self._session = session
        self._services = services
        self._own = _ActiveModel(setup, services.gateway, planner or setup.planner(session.events(), live=True))
        self._active = self._own
        """The session's own model, or a fallback model for the rest of a turn."""
        self.compactions = CompactionRunner(self._compactor(setup), services.hooks, services.ask_first)
        self._calls = CallRunner(services, self._hook)
        self._call_ids = {event.body.call_id for event in self.planner.events if isinstance(event.body, ToolCall)}

    @property
    def plan(self) -> ContextPlan:
        """The plan of the next request: what the model would see now."""
        return self._active.planner.plan()

    @property
    def setup(self) -> Setup:
        """The session's own setup, with the window that the provider named, if any."""
        return self._own.setup

    @property
    def planner(self) -> Planner:
        """The session's own planner; it has the whole log."""
        return self._own.planner

    def append(self, *bodies: Body) -> tuple[Event, ...]:
        """Add events to the log, then to the plan."""
        events = self._session.append(*bodies)
        self._call_ids.update(body.call_id for body in bodies if isinstance(body, ToolCall))
        self._own.planner.extend(events)
        if self._active is not self._own:
            self._active.planner.extend(events)
        return events

    def _append(self, *bodies: Body) -> list[TurnStep]:
        """Add events to the log, then to the plan, and return the steps that report them."""
        return [EventAppended(event) for event in self.append(*bodies)]

    async def turn(self, content: Content | None) -> Steps:
        """Run one turn, from the user's message to the model's answer. Without a message, continue the log.

        Every call gets its result, even if the turn is interrupted or the program was killed in the turn before.
        """
        self._calls = CallRunner(self._services, self._hook)
        lost = map(lost_result, self.planner.open_calls())
        try:
            changed, problems = self._slots()
            notes = [Failure("instructions", problem) for problem in problems]
            messages = [] if content is None else [UserMessage(content)]
            if messages:
                self._session.used_in(work_folder())
            for step in self._append(*lost, *changed, *notes, *messages):
                yield step
            most = self._own.setup.loaded.policy.turn.max_iterations
            for iteration in range(1, most + 1):  # a request and the calls of its answer each time
                calls: list[ToolCall] = []
                async with aclosing(self._ask_model(iteration, calls)) as asking:
                    async for step in asking:
                        yield step
                if not calls:
                    return
                async with aclosing(self._run(calls)) as running:
                    async for step in running:
                        yield step
            reached = Failure("iterations", f"the turn reached its limit of {most} requests to the model")
            for step in self._append(reached):
                yield step
        finally:
            self._ask_own()
            self._append(*map(cancelled_result, self.planner.open_calls()))

    def _ask_own(self) -> None:
        """Return to the session's own model and its known window."""
        if self.compactions.compactor.setup is not self._own.setup:  # a window was guessed
            self.compactions.compactor = self._compactor(self._own.setup)
        self._active = self._own

    async def _run(self, calls: Sequence[ToolCall]) -> Steps:
        """Run the calls of one reply, and append their results."""
        async with aclosing(self._calls.run_calls(calls)) as running:
            async for body in running:
                for step in self._append(body):
                    yield step

    def _slots(self) -> tuple[list[SlotContent], list[str]]:
        """The slots (prompt, instructions, memory, tools) that have changed, and the problems with their files."""
        setup, toolbox = self._active.setup, self._services.toolbox
        tools = toolbox.definitions() if setup.calls_tools else []
        contents, problems = slots.current_slot_contents(toolbox.places.root, setup.loaded.policy.instructions, tools)
        return slots.slot_changes(self._active.planner.slots, contents), problems

    # Asking the model

    async def _ask_model(self, iteration: int, calls: list[ToolCall]) -> Steps:
        """Get one answer; its calls are added to `calls`.

        A request that is too long for the provider is made smaller, once. If a model cannot answer, the next fallback
        model is asked.
        """
        learnt = False
        while True:
            async with aclosing(self._make_room(turn_over=False, overflow=learnt)) as making:
                async for step in making:
                    yield step
            plan = self._active.planner.plan()
            yield RequestPlanned(plan, iteration)
            reply = ReplyInProgress(new_id(), self._active.setup.model, self._call_ids)
            problem = await self._objection(plan)
            if problem is None:
                async with aclosing(self._request(plan, reply, calls)) as asking:
                    async for step in asking:
                        yield step
                if reply.failure is None:
                    return
                kept = "" if reply.is_empty else " What came is kept and marked."
                problem = Failure(reply.failure.category, f"{reply.failure}{kept}")
                if problem.category == "context_too_long" and reply.is_empty and not learnt:
                    learnt = True
                    for step in self._learn(reply.failure, plan):
                        yield step
                    continue
            before = self._active
            for step in await self._turn_elsewhere(problem) if reply.is_empty else self._append(problem):
                yield step
            if self._active is before:
                return

    async def _objection(self, plan: ContextPlan) -> Failure | None:
        """Why a request is not sent at all: it does not fit, or a hook vetoes it."""
        if not plan.verdict.fits and self._active.guessed:
            why = "no smaller request can be made of this one; the next message has the whole window again"
            return Failure("context_too_long", why)
        if not plan.verdict.fits:
            advice = self._way_out(plan) if plan.verdict.status == "too_large" else ""
            return Failure("does_not_fit", plan.verdict.why + advice)
        vetoed = await self._hook("before_model", {"model": plan.model, "tokens": plan.totals.tokens})
        return None if vetoed is None else Failure("vetoed", f"a hook refused the request: {vetoed}")

    def _way_out(self, plan: ContextPlan) -> str:
        """Advice for a request that is too large. It names /compact only if there is something to compact."""
        setup = self.compactions.compactor.setup
        try:
            found = select_for(setup, plan, self.planner.events, "manual")
        except CompactionRefused:
            found = None
        helps = found is not None and (found.previous or any(item.in_request for item in found.items))
        return f"; {'/compact' if helps else 'a shorter message, or fewer instructions or tools,'} may make room"

    async def _request(self, plan: ContextPlan, reply: ReplyInProgress, calls: list[ToolCall]) -> Steps:
        """Send one request. Adds what arrives, or the failure, to `reply`, and a whole answer's calls to `calls`."""
        gateway, body, started = self._active.gateway, render_request(plan), time.monotonic()
        draft = DraftKeeper(self._session, reply)
        try:
            async with aclosing(with_retries(lambda: gateway.stream(body), self._services.schedule)) as stream:
                async for part in stream:
                    if isinstance(part, RetryWait):
                        yield WaitingToRetry(part)
                    else:
                        added = reply.add_part(part)
                        draft.note_growth()
                        yield PartStreamed(added, reply)
        except ModelFailure as failure:
            reply.failure = failure
        except (asyncio.CancelledError, GeneratorExit):
            self._keep(reply, "cancelled")
            raise
        finally:
            draft.close()
        if reply.failure is not None:
            for step in self._keep(reply, "broken"):
                yield step
            return
        calls.extend(reply.calls())
        usage = self._usage(reply, plan, started)
        for step in self._append(*reply.bodies(), usage, *self._outgrown(usage)):
            yield step
        await self._hook("after_model", {"model": plan.model, "text": reply.text, "calls": len(calls)})

    def _keep(self, reply: ReplyInProgress, cut_short: str) -> list[TurnStep]:
        """Append the part of an interrupted answer that arrived, marked as cut short."""
        return [] if reply.is_empty else self._append(*reply.bodies(cut_short))

    def _usage(self, reply: ReplyInProgress, plan: ContextPlan, started: float) -> Usage:
        completion = self._active.setup.counter.count(reply.text + reply.thinking).tokens
        upto = len(self._session)
        return reply.usage(plan.totals.tokens, completion, upto, time.monotonic() - started)

    def _learn(self, failure: ModelFailure, plan: ContextPlan) -> list[TurnStep]:
        """Plan within the limit in the provider's error from now on. If none is credible, guess one for this turn."""
        asked, taken = self._active, failure.window(plan.totals.tokens, plan.limits.window)
        setup = asked.setup.with_window(taken.tokens)
        planner = setup.planner(self.planner.events, live=True)
        message = f"context too long: {failure.detail}"
        if asked is self._own:
            self.compactions.compactor = self._compactor(setup)
        if not (taken.named and can_be_window(taken.tokens, plan, self.planner.events)):
            self._active = _ActiveModel(setup, asked.gateway, planner, asked.tried, guessed=True)
            return self._append(Failure(failure.category, f"{message} A smaller one is tried once."))
        asked.setup, asked.planner = setup, planner
        message += f" The window of {setup.model} counts as {taken.tokens:,} tokens from here on."
        return self._append(Failure(failure.category, message), window_setting(setup.model, LearntWindow(taken.tokens)))

    def _outgrown(self, usage: Usage) -> list[Body]:
        """Forget a learnt window if a larger request was answered. Returns the event that says so, or nothing."""
        asked = self._active
        size = usage.estimate if usage.prompt is None else usage.prompt
        if asked.guessed or asked.setup.info.window_source != "provider" or size <= asked.setup.info.window:
            return []
        asked.setup = asked.setup.with_window(0)
        asked.planner = asked.setup.planner(self.planner.events, live=True)
        self.compactions.compactor = self._compactor(self._own.setup)
        return [window_setting(asked.setup.model, LearntWindow(0))]

    async def _turn_elsewhere(self, problem: Failure) -> list[TurnStep]:
        """Switch to the next fallback model that can be prepared, if another one can help. Always logs the problem."""
        steps: list[TurnStep] = []
        models, asked = self._services.fallbacks.models, self._active
        helps = problem.category in ELSEWHERE or (problem.category == "does_not_fit" and asked.tried > 0)
        name = asked.setup.model
        for tried, model in enumerate(models[asked.tried :] if helps else (), asked.tried + 1):
            failure = Failure(problem.category, f"{name}: {problem.message} {model} is asked instead.")
            steps += [*self._append(failure), ModelSwitched(model, name, problem)]
            try:
                ready = await self._services.fallbacks.prepare_model(model)
            except WorkbenchError as error:
                name, problem = model, Failure("connection", str(error))
                continue
            planner = ready.setup.planner(self.planner.events, live=True)
            self._active = _ActiveModel(ready.setup, ready.gateway, planner, tried)
            return steps + self._append(*self._slots()[0])
        return steps + self._append(problem)

    async def _hook(self, point: Point, payload: dict[str, object]) -> str | None:
        """Run the hooks of a point; return the reason of a veto. A hook that fails is logged and skipped."""
        result = await self._services.hooks.run_hooks(point, payload)
        if result.problems:
            self._append(*(Failure("hook", str(problem)) for problem in result.problems))
        return result.vetoed

    # Compaction

    def _compactor(self, setup: Setup) -> Compactor:
        """The compactor of the session's own model, also while a fallback model is asked."""
        services = self._services
        gateway = services.summariser or services.gateway
        return Compactor(setup, gateway, schedule=services.schedule, catalogue=services.catalogue, live=True)

    async def settle(self) -> Steps:
        """Compact if that is due. Call this after each turn."""
        self.compactions.note_answer()
        async with aclosing(self._make_room(turn_over=True)) as making:
            async for step in making:
                yield step

    async def _make_room(self, *, turn_over: bool, overflow: bool = False) -> Steps:
        """Compact if that is due, at once or after asking; a request that is still too long gets another try."""
        runner, fits = self.compactions, self._active.planner.plan().verdict.fits
        if runner.busy.locked() and fits and not overflow:
            return  # a compaction is being made in the background, and this request need not wait for it
        async with runner.busy:
            for _ in range(ATTEMPTS):
                plan, events = self._active.planner.plan(), tuple(self._own.planner.events)
                decision = await runner.decide_now(plan, events, turn_over=turn_over, overflow=overflow)
                if decision.trigger is None or not await runner.is_agreed(decision):
                    return
                async with aclosing(self._compact_for(decision)) as making:
                    async for step in making:
                        yield step
                if len(self._own.planner.events) == len(events):
                    return  # there was nothing to compact
                overflow = False

    async def compact(self, planned: PlannedCompaction | None = None, *, digest: bool = False) -> Steps:
        """Compact now, without asking. If that is refused, the log gets a failure.

        `planned` is the compaction that the user agreed to. Raises Refused if the session has changed since then.
        """
        async with self.compactions.busy:
            self._check(planned)
            run = self.compactions.run_compaction(
                self._own.planner.events, "manual", BY_HAND, digest=digest, planned=planned, planner=self._own.planner
            )
            async with aclosing(self._compact(run)) as making:
                async for step in making:
                    yield step

    def _check(self, planned: PlannedCompaction | None) -> None:
        if planned is not None:
            planned.check_still_valid(self._own.planner.events, self.compactions.compactor)

    def _compact_for(self, decision: CompactionDecision) -> Steps:
        """Make the compaction that the triggers decided on."""
        assert decision.trigger is not None
        planner, (why, digest, urgent) = self._own.planner, (decision.why, decision.digest, decision.urgent)
        return self._compact(
            self.compactions.run_compaction(
                planner.events, decision.trigger, why, digest=digest, urgent=urgent, planner=planner
            )
        )

    async def _compact(self, run: AsyncGenerator[CompactionProgress | Body, None]) -> Steps:
        """Report the progress of a compaction, and append its events to the log."""
        async with aclosing(run) as making:
            async for made in making:
                if isinstance(made, CompactionProgress):
                    yield CompactionRunning(made)
                else:
                    for step in self._append(made):
                        yield step

    async def accept(self, planned: PlannedCompaction, draft: SummaryDraft) -> Steps:
        """Append a draft that the user has seen. Raises Refused if it is not allowed, or if the session has changed."""
        self._check(planned)
        async with aclosing(self.compactions.accept(planned, draft)) as accepting:
            async for body in accepting:
                for step in self._append(body):
                    yield step
