"""Compaction around a turn: whether it is due, the question, the hooks, the draft, and what goes into the log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from workbench.agent.hooks import Hooks
from workbench.compaction.compactor import Compactor
from workbench.compaction.record import CATEGORY, record
from workbench.compaction.triggers import decide
from workbench.compaction.values import (
    CompactionDecision,
    CompactionPreview,
    CompactionRefused,
    Progress,
    SummaryDraft,
    Trigger,
)
from workbench.config.background import in_background
from workbench.context.plan import ContextPlan
from workbench.log.events import Body, Event, Failure

AskFirst = Callable[[CompactionDecision], Awaitable[bool]]
"""Asks the user whether to compact now; the decision has the question and its figures."""
LONG = 20_000
"""Events from which on the log is looked at in a thread: a hundred thousand take longer than a screen may pause."""


class Compacting:
    """Decides on compactions of one session and makes them; whoever holds the session appends what comes of it."""

    def __init__(self, compactor: Compactor, hooks: Hooks, ask: AskFirst | None = None) -> None:
        """`ask` is None where nobody can be asked: there the policy's `headless_mode` holds."""
        self.compactor = compactor
        self.busy = asyncio.Lock()
        """Held while one is decided on and made, so that two never cover the same past."""
        self._hooks = hooks
        self._ask = ask
        self._declined = False
        """The user said no; the next answer of the model brings the question back."""
        self._idle = False
        """There was nothing to compact, and while the same turn goes on there will be nothing."""

    def answered(self) -> None:
        """The model has answered the user, so a question that was declined may be asked again."""
        self._declined = self._idle = False

    async def due(
        self, plan: ContextPlan, events: Sequence[Event], *, turn_over: bool, overflow: bool = False
    ) -> CompactionDecision:
        """What the triggers, the mode and the brakes say now."""
        policy = self.compactor.setup.loaded.policy.compaction

        def look() -> CompactionDecision:
            headless = self._ask is None
            return decide(
                plan, events, record(events), policy, headless=headless, turn_over=turn_over, overflow=overflow
            )

        return look() if len(events) < LONG else await in_background(look)

    async def agreed(self, decision: CompactionDecision) -> bool:
        """Whether to go on: at once, or after the user has said yes."""
        if self._idle and decision.trigger != "overflow":
            return False
        if decision.action == "compact":
            return True
        if decision.action == "none" or self._declined or self._ask is None:
            return False
        self._declined = not await self._ask(decision)
        return not self._declined

    async def run(
        self, events: Sequence[Event], trigger: Trigger, why: str, *, digest: bool = False
    ) -> AsyncGenerator[Progress | Body, None]:
        """Make one compaction: progress as it goes, then the event to append, or the failure that stands for it.

        A cancel leaves nothing behind. A failure is a value, because the session goes on without the compaction. That
        there is nothing to compact is no failure where nobody asked for it.
        """
        told: asyncio.Queue[Progress | None] = asyncio.Queue()
        making = asyncio.create_task(self._make(events, trigger, why, digest, told.put_nowait))
        making.add_done_callback(lambda _: told.put_nowait(None))
        try:
            while (progress := await told.get()) is not None:
                yield progress
            noted, draft = await making
            for problem in noted:
                yield problem
            yield self.compactor.body(draft)
        except CompactionRefused as refused:
            self._idle = refused.kind == "nothing"
            if not self._idle or trigger in ("manual", "overflow"):
                yield failure_of(refused)
        else:
            for problem in await self.after(draft):
                yield problem
        finally:
            making.cancel()
            await asyncio.wait([making])

    async def _make(
        self,
        events: Sequence[Event],
        trigger: Trigger,
        why: str,
        digest: bool,
        tell: Callable[[Progress], None],
    ) -> tuple[list[Failure], SummaryDraft]:
        tell(Progress("selecting"))
        preview = await in_background(self.compactor.preview, events, trigger, why, digest=digest)
        noted = await self.before(preview)
        return noted, await self.compactor.draft(events, preview, digest=digest, progress=tell)

    # The hooks; the screen calls them itself, where the user previews and edits

    async def before(self, preview: CompactionPreview) -> list[Failure]:
        """Run the hooks that may veto; raises CompactionRefused. What went wrong with one of them is a failure."""
        payload = {"trigger": preview.trigger, "why": preview.why, "tokens": preview.tokens_before}
        result = await self._hooks.run("before_compact", payload)
        if result.vetoed is not None:
            raise CompactionRefused("vetoed", f"a hook refused the compaction: {result.vetoed}")
        return [Failure("hook", str(problem)) for problem in result.problems]

    async def after(self, draft: SummaryDraft) -> list[Failure]:
        """Run the hooks behind a compaction that is in the log."""
        payload = {"trigger": draft.preview.trigger, "summary": draft.summary, "freed": draft.freed}
        result = await self._hooks.run("after_compact", payload)
        return [Failure("hook", str(problem)) for problem in result.problems]


def failure_of(refused: CompactionRefused) -> Failure:
    """The event of a compaction that was not made."""
    return Failure(CATEGORY, f"{refused.kind}: {refused}")
