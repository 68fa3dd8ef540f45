"""One turn: plan, request, stream, tool calls, results, until the model has answered.

Every step is an event in the log before anyone is told of it, and every request is rendered from the plan. The turn is
one stream of steps; the screen and the headless commands are two readers of it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from workbench.agent import slots, snapshots
from workbench.agent.answer import Answer
from workbench.agent.approvals import Approvals, Ask
from workbench.agent.hooks import Hooks, Point
from workbench.agent.steps import Appended, Planned, Step, Streamed, Waiting
from workbench.agent.tools.base import ToolContext
from workbench.agent.tools.registry import Toolbox
from workbench.context.plan import ContextPlan
from workbench.context.render import request
from workbench.context.setup import Setup
from workbench.log.events import Body, Content, Failure, Setting, ToolCall, ToolResult, UserMessage
from workbench.log.ids import new_id
from workbench.log.session import Session
from workbench.models.failures import ModelFailure
from workbench.models.gateway import Gateway, Patience
from workbench.models.parts import Part
from workbench.models.retry import Schedule, Wait, with_retries

CANCELLED = "[cancelled by the user before it returned]"
Steps = AsyncGenerator[Step, None]


@dataclass(frozen=True, slots=True)
class Means:
    """What a turn works with beside the session and its setup."""

    gateway: Gateway
    toolbox: Toolbox
    approvals: Approvals
    ask: Ask | None = None
    """Asks the user; None where nobody can be asked, and then only what is allowed beforehand is done."""
    hooks: Hooks = field(default_factory=Hooks)
    patience: Patience = field(default_factory=Patience)
    schedule: Schedule = field(default_factory=Schedule)


class Agent:
    """Runs the turns of one session."""

    def __init__(self, session: Session, setup: Setup, means: Means) -> None:
        self._session = session
        self._setup = setup
        self._means = means
        self._planner = setup.planner(session.events(), live=True)
        self._snapshot_due = True

    @property
    def plan(self) -> ContextPlan:
        """What the model would see now."""
        return self._planner.plan()

    def _append(self, *bodies: Body) -> list[Step]:
        """Write to the log, then to the plan, then tell."""
        events = self._session.append(*bodies)
        self._planner.extend(events)
        return [Appended(event) for event in events]

    async def turn(self, content: Content) -> Steps:
        """One turn, from the user's message to the model's answer."""
        policy = self._setup.loaded.policy
        places = self._means.toolbox.places
        contents, problems = slots.wanted(places.root, policy.instructions, self._means.toolbox.definitions())
        notes = [Failure("instructions", problem) for problem in problems]
        changed = slots.changes(self._planner.slots, contents)
        for step in self._append(*changed, *notes, UserMessage(content)):
            yield step
        self._snapshot_due = True
        for iteration in range(1, policy.turn.max_iterations + 1):
            calls: list[ToolCall] = []
            async with aclosing(self._ask_model(iteration, calls)) as asking:
                async for step in asking:
                    yield step
            if not calls:
                return
            async with aclosing(self._run_calls(calls)) as running:
                async for step in running:
                    yield step
        most = policy.turn.max_iterations
        for step in self._append(Failure("iterations", f"the turn reached its limit of {most} requests to the model")):
            yield step

    # Asking the model

    async def _ask_model(self, iteration: int, calls: list[ToolCall]) -> Steps:
        """One request; the calls of the answer go into `calls`. A limit that the provider names is learnt, once."""
        for attempt in (1, 2):
            plan = self._planner.plan()
            yield Planned(plan, iteration)
            if not plan.verdict.fits:
                for step in self._append(Failure("does_not_fit", plan.verdict.why)):
                    yield step
                return
            vetoed = await self._hook("before_model", {"model": self._setup.model, "tokens": plan.totals.tokens})
            if vetoed is not None:
                for step in self._append(Failure("vetoed", f"a hook refused the request: {vetoed}")):
                    yield step
                return
            answer = Answer(new_id(), self._setup.model)
            failure: ModelFailure | None = None
            started = time.monotonic()
            try:
                async with aclosing(self._stream(plan)) as stream:
                    async for part in stream:
                        if isinstance(part, Wait):
                            yield Waiting(part)
                        else:
                            answer.add(part)
                            yield Streamed(part)
            except ModelFailure as error:
                failure = error
            except (asyncio.CancelledError, GeneratorExit):
                self._keep(answer, "cancelled")
                raise
            if failure is None:
                calls.extend(answer.calls())
                for step in self._append(*answer.bodies(), self._usage(answer, plan, started)):
                    yield step
                await self._hook("after_model", {"model": self._setup.model, "text": answer.text, "calls": len(calls)})
                return
            for step in self._keep(answer, "broken"):
                yield step
            if failure.category == "context_too_long" and answer.is_empty and attempt == 1:
                for step in self._learn(failure, plan):
                    yield step
                continue
            for step in self._append(Failure(failure.category, str(failure))):
                yield step
            return

    def _stream(self, plan: ContextPlan) -> AsyncGenerator[Part | Wait, None]:
        body = request(plan)
        means = self._means
        return with_retries(lambda: means.gateway.stream(body, patience=means.patience), means.schedule)

    def _keep(self, answer: Answer, finish: str) -> list[Step]:
        """What came of an answer that was cut short is kept, and marked."""
        return [] if answer.is_empty else self._append(*answer.bodies(finish))

    def _usage(self, answer: Answer, plan: ContextPlan, started: float) -> Body:
        completion = self._setup.counter.count(answer.text + answer.thinking).tokens
        upto = len(self._session)
        return answer.usage(plan.totals.tokens, completion, upto, time.monotonic() - started)

    def _learn(self, failure: ModelFailure, plan: ContextPlan) -> list[Step]:
        """The provider's limit corrects the catalogue for this session; without a figure, a tenth less is tried."""
        limits = self._setup.limits
        window = failure.limit or int((plan.totals.tokens + limits.reserve + limits.margin) * 0.9)
        self._setup = replace(self._setup, limits=replace(limits, window=window, window_source="provider"))
        said = self._append(Failure(failure.category, str(failure)), Setting("window", window))
        self._planner = self._setup.planner(self._session.events(), live=True)
        return said

    async def _hook(self, point: Point, payload: dict[str, object]) -> str | None:
        """Run the hooks of a point; the reason of a veto comes back. One that fails is noted in the log and skipped."""
        result = await self._means.hooks.run(point, payload)
        if result.problems:
            self._append(*(Failure("hook", str(problem)) for problem in result.problems))
        return result.vetoed

    # Running tools

    async def _run_calls(self, calls: Sequence[ToolCall]) -> Steps:
        """Run the calls of one answer: reading ones at the same time, others one by one. Every call gets its result."""
        toolbox = self._means.toolbox
        together = all(toolbox.kind(call.tool) == "read" for call in calls)
        waves = [calls] if together else [[call] for call in calls]
        open_calls = {call.call_id: call for call in calls}
        try:
            for wave in waves:
                for step in await self._before_writing(wave):
                    yield step
                tasks = [asyncio.ensure_future(self._run(call)) for call in wave]
                try:
                    for task in asyncio.as_completed(tasks):
                        result = await task
                        open_calls.pop(result.call_id)
                        for step in self._append(result):
                            yield step
                finally:
                    for task in tasks:
                        task.cancel()
                    await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            if open_calls:
                self._append(*(ToolResult(call.call_id, CANCELLED, call.tool, True) for call in open_calls.values()))

    async def _before_writing(self, calls: Sequence[ToolCall]) -> list[Step]:
        """A snapshot of the work tree before the first tool of the turn that may change it."""
        toolbox = self._means.toolbox
        if not self._snapshot_due or all(toolbox.kind(call.tool) == "read" for call in calls):
            return []
        self._snapshot_due = False
        try:
            taken = await snapshots.take(toolbox.places.root, f"before {calls[0].tool}")
        except snapshots.SnapshotFailed as error:
            return self._append(Failure("snapshot", str(error)))
        return self._append(taken) if taken else []

    async def _run(self, call: ToolCall) -> ToolResult:
        means = self._means
        asked = means.toolbox.call(call.tool, call.arguments)
        vetoed = await self._hook("before_tool", {"tool": call.tool, "arguments": call.arguments})
        if vetoed is not None:
            return ToolResult(call.call_id, f"refused by a hook: {vetoed}", call.tool, True)
        if not await means.approvals.approve(asked, means.ask):
            why = means.approvals.refusal(asked, asked=means.ask is not None)
            return ToolResult(call.call_id, why, call.tool, True)
        outcome = await means.toolbox.run(call.tool, call.arguments, ToolContext(call.call_id))
        await self._hook("after_tool", {"tool": call.tool, "result": outcome.text, "is_error": outcome.is_error})
        return ToolResult(call.call_id, outcome.text, call.tool, outcome.is_error)
