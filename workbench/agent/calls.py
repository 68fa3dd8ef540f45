"""The tool calls of one answer: approved, run at the same time if that is safe, each with its result."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from time import monotonic

from workbench.agent import snapshots
from workbench.agent.hooks import Point
from workbench.agent.private_git import SnapshotFailed
from workbench.agent.tools.base import ToolContext
from workbench.agent.turn_services import TurnServices
from workbench.config.variables import without_known_keys
from workbench.context.stages.normalise import NO_RESULT
from workbench.log.events import Body, Failure, ToolCall, ToolResult

CANCELLED = "[cancelled by the user before it returned]"


class CallRunner:
    """Runs the calls of one turn. It yields the results as bodies of events; the caller appends them to the log."""

    def __init__(
        self, services: TurnServices, hook: Callable[[Point, dict[str, object]], Awaitable[str | None]]
    ) -> None:
        self._services = services
        self._hook = hook
        self._snapshot_due = True

    async def run_calls(self, calls: Sequence[ToolCall]) -> AsyncGenerator[Body, None]:
        """Run the calls: reading calls at the same time, others one by one.

        If the run is interrupted, the caller must give each call without a result a `cancelled_result`.
        """
        toolbox = self._services.toolbox
        together = all(toolbox.kind(call.tool) == "read" for call in calls)
        for wave in [calls] if together else [[call] for call in calls]:
            refused = await asyncio.gather(*map(self._refused, wave))
            if not any(refused):
                for body in await self._before_writing(wave):
                    yield body
            tasks = [asyncio.ensure_future(self._run(*each)) for each in zip(wave, refused, strict=True)]
            try:
                for task in asyncio.as_completed(tasks):
                    yield await task
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _before_writing(self, calls: Sequence[ToolCall]) -> list[Body]:
        """Take a snapshot of the work tree before the first tool of the turn that may change it."""
        toolbox = self._services.toolbox
        if not self._snapshot_due or all(toolbox.kind(call.tool) == "read" for call in calls):
            return []
        self._snapshot_due = False
        try:
            taken = await snapshots.take_snapshot(toolbox.places.root, f"before {calls[0].tool} ran")
        except SnapshotFailed as error:
            return [Failure("snapshot", str(error))]
        return [taken] if taken else []

    async def _refused(self, call: ToolCall) -> ToolResult | None:
        """The result of a call that a hook or the user refuses; None if it may run."""
        services = self._services
        asked = services.toolbox.call(call.tool, call.arguments)
        vetoed = await self._hook("before_tool", {"tool": call.tool, "arguments": call.arguments})
        if vetoed is not None:
            return ToolResult(call.call_id, f"refused by a hook: {vetoed}", call.tool, True)
        if not await services.approvals.approve(asked, services.ask):
            why = services.approvals.refusal(asked, asked=services.ask is not None)
            return ToolResult(call.call_id, why, call.tool, True)
        return None

    async def _run(self, call: ToolCall, refused: ToolResult | None) -> ToolResult:
        if refused is not None:
            return refused
        services = self._services
        asked = services.toolbox.call(call.tool, call.arguments)
        context = ToolContext(call.call_id, self._report(call), shell=not services.approvals.runs_plain(asked))
        started = monotonic()
        outcome = await services.toolbox.run_tool(call.tool, call.arguments, context)
        took = round((monotonic() - started) * 1000)
        text = without_known_keys(outcome.text)
        await self._hook("after_tool", {"tool": call.tool, "result": text, "is_error": outcome.is_error})
        return ToolResult(call.call_id, text, call.tool, outcome.is_error, took)

    def _report(self, call: ToolCall) -> Callable[[str], None] | None:
        """A function that reports a command's output as it arrives; None if nobody wants it."""
        report = self._services.report
        return None if report is None else lambda text: report(call.call_id, without_known_keys(text))


def cancelled_result(call: ToolCall) -> ToolResult:
    """The result of a call that was interrupted."""
    return ToolResult(call.call_id, CANCELLED, call.tool, True)


def lost_result(call: ToolCall) -> ToolResult:
    """The result of a call that was running, or about to run, when the program was killed."""
    return ToolResult(call.call_id, NO_RESULT, call.tool, True)
