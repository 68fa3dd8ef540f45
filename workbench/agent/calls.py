"""The tool calls of one answer: approved, run at the same time where that is safe, each with its result."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol

from workbench.agent import snapshots
from workbench.agent.approvals import Approvals, Ask
from workbench.agent.hooks import Point
from workbench.agent.tools.base import ToolContext
from workbench.agent.tools.registry import Toolbox
from workbench.log.events import Body, Failure, ToolCall, ToolResult

CANCELLED = "[cancelled by the user before it returned]"


class CallServices(Protocol):
    """What calls work with."""

    @property
    def toolbox(self) -> Toolbox: ...

    @property
    def approvals(self) -> Approvals: ...

    @property
    def ask(self) -> Ask | None: ...

    @property
    def report(self) -> Callable[[str, str], None] | None: ...


class Calls:
    """Runs the calls of one turn. What they give is told as bodies, for whoever holds the log to append."""

    def __init__(
        self, services: CallServices, hook: Callable[[Point, dict[str, object]], Awaitable[str | None]]
    ) -> None:
        self._services = services
        self._hook = hook
        self._snapshot_due = True

    async def run(self, calls: Sequence[ToolCall], left: dict[str, ToolCall]) -> AsyncGenerator[Body, None]:
        """Run the calls: reading ones at the same time, others one by one.

        `left` holds those without a result, for whoever is interrupted to give them one.
        """
        toolbox = self._services.toolbox
        left.update((call.call_id, call) for call in calls)
        together = all(toolbox.kind(call.tool) == "read" for call in calls)
        for wave in [calls] if together else [[call] for call in calls]:
            for body in await self._before_writing(wave):
                yield body
            tasks = [asyncio.ensure_future(self._run(call)) for call in wave]
            try:
                for task in asyncio.as_completed(tasks):
                    result = await task
                    left.pop(result.call_id)
                    yield result
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _before_writing(self, calls: Sequence[ToolCall]) -> list[Body]:
        """A snapshot of the work tree before the first tool of the turn that may change it."""
        toolbox = self._services.toolbox
        if not self._snapshot_due or all(toolbox.kind(call.tool) == "read" for call in calls):
            return []
        self._snapshot_due = False
        try:
            taken = await snapshots.take(toolbox.places.root, f"before {calls[0].tool}")
        except snapshots.SnapshotFailed as error:
            return [Failure("snapshot", str(error))]
        return [taken] if taken else []

    async def _run(self, call: ToolCall) -> ToolResult:
        services = self._services
        asked = services.toolbox.call(call.tool, call.arguments)
        vetoed = await self._hook("before_tool", {"tool": call.tool, "arguments": call.arguments})
        if vetoed is not None:
            return ToolResult(call.call_id, f"refused by a hook: {vetoed}", call.tool, True)
        if not await services.approvals.approve(asked, services.ask):
            why = services.approvals.refusal(asked, asked=services.ask is not None)
            return ToolResult(call.call_id, why, call.tool, True)
        report = partial(services.report, call.call_id) if services.report else None
        context = ToolContext(call.call_id, report, shell=not services.approvals.runs_plain(asked))
        outcome = await services.toolbox.run(call.tool, call.arguments, context)
        await self._hook("after_tool", {"tool": call.tool, "result": outcome.text, "is_error": outcome.is_error})
        return ToolResult(call.call_id, outcome.text, call.tool, outcome.is_error)


def cancelled(call: ToolCall) -> ToolResult:
    """The result of a call that was interrupted."""
    return ToolResult(call.call_id, CANCELLED, call.tool, True)
