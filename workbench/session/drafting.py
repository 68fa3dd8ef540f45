"""Drafts of compactions: preview, write, edit, accept. Runs in the session's thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from workbench.agent.compaction_runner import CHANGED, CompactionRunner, PlannedCompaction, failure_of
from workbench.agent.hooks import Hooks
from workbench.compaction.compactor import Compactor
from workbench.compaction.progress import CompactionProgress, ignore_progress
from workbench.compaction.values import CompactionPreview, CompactionRefused, Fact, SummaryAudit, SummaryDraft
from workbench.config.background import in_background
from workbench.config.errors import Refused
from workbench.session.compactions import BUSY, SessionCompactions
from workbench.session.open_session import OpenSession
from workbench.session.turns import Turns
from workbench.sources.services import Services
from workbench.sources.source import as_source
from workbench.views.compaction_values import CompactionOutcome

if TYPE_CHECKING:
    from workbench.judge.quick import QuickJudgement

OF_A_FILE = "for a file no model is asked, so this is the digest"


class _Previewed(NamedTuple):
    """The preview on the screen, and what it was made from."""

    opened: OpenSession
    runner: CompactionRunner
    planned: PlannedCompaction


class SummaryDrafts:
    """One draft at a time. A new preview replaces the previous one."""

    def __init__(
        self, services: Services, turns: Turns, compactions: SessionCompactions, publish: Callable[[], None]
    ) -> None:
        """`publish` shows the current log."""
        self._services = services
        self._turns = turns
        self._compactions = compactions
        self._publish = publish
        self._previewed: _Previewed | None = None

    async def preview(self, digest: bool = False) -> CompactionPreview:
        """What a compaction would do now. Raises CompactionRefused if nothing can be compacted."""
        opened = self._compactions.current()
        self._previewed = None
        if opened.writable:
            agent = await self._turns.agent(opened, to_ask=False)
            runner, planner = agent.compactions, agent.planner
        else:
            planner = opened.planner
            without_model = Compactor(opened.setup, None, catalogue=self._services.catalogue, no_model=OF_A_FILE)
            runner = CompactionRunner(without_model, Hooks())
        is_alone = not self._compactions.busy  # else the progress of the running one stays on the screen
        report = partial(self._compactions.show_progress, draft=True) if is_alone else ignore_progress
        try:
            report(CompactionProgress("selecting"))
            planned = await runner.plan(opened.events, digest=digest, planner=planner, report=report)
        finally:
            if is_alone:
                self._compactions.show_idle()
        self._previewed = _Previewed(opened, runner, planned)
        return planned.preview

    async def loss(self, preview: CompactionPreview) -> SummaryAudit:
        """What a summary without a model would lose. It is known before a model is asked."""
        compactor = self._current(preview).planned.compactor
        return await in_background(compactor.digest_audit, preview)

    async def compact(self, preview: CompactionPreview, digest: bool = False) -> CompactionOutcome:
        """Compact as previewed, at once. Raises Refused if the session has changed since."""
        self._compactions.writable()
        return await self._compactions.compact(digest, self._current(preview).planned)

    async def draft(self, preview: CompactionPreview, digest: bool = False) -> SummaryDraft:
        """A summary to read. Raises CompactionRefused if no usable one can be made."""
        opened, runner, planned = self._current(preview)
        planned.check_still_valid(opened.events, runner.compactor)
        try:
            report = partial(self._compactions.show_progress, draft=True)
            noted, made = await runner.draft(planned, digest=digest, report=report)
            if noted:
                opened.append(*noted)
            return made
        except CompactionRefused as refused:
            if opened.writable:
                opened.append(failure_of(refused))
                self._publish()
            raise
        finally:
            self._compactions.show_idle()

    async def edited(self, draft: SummaryDraft, summary: str) -> SummaryDraft:
        compactor, events, _ = self._current().planned
        return await in_background(compactor.edited, events, draft, summary)

    async def with_lost(self, draft: SummaryDraft, facts: Sequence[Fact] | None) -> SummaryDraft:
        """The draft with lost facts added: these, or all of them if `facts` is None."""
        compactor, events, _ = self._current().planned
        return await in_background(compactor.with_lost, events, draft, facts)

    async def judged(self, draft: SummaryDraft | None = None) -> QuickJudgement:
        """What can be answered with a draft, asked and graded by rule; None: with the summary that needs no model."""
        from workbench.judge.quick import judge_proposed  # late: not needed for the first frame

        opened, _, (compactor, events, preview) = self._current()

        def judge() -> QuickJudgement:
            made = draft or compactor.digested(events, preview)
            source = as_source(opened.name, list(events), is_file=opened.session is None)
            return judge_proposed(self._services, source, compactor.plan_with_draft(events, made), made)

        return await in_background(judge)

    async def accept(self, draft: SummaryDraft) -> CompactionOutcome:
        """Append the draft to the log as a compaction. Raises CompactionRefused if it is not allowed."""
        opened = self._compactions.writable()
        planned = self._current().planned
        self._compactions.decline_question()
        if self._compactions.busy:
            raise Refused(BUSY)
        agent = await self._turns.agent(opened, to_ask=False)
        [event] = await self._compactions.run_steps(opened, agent.accept(planned, draft))
        self._previewed = None
        self._compactions.return_to_next()
        return self._compactions.outcome(opened, event)

    def _current(self, preview: CompactionPreview | None = None) -> _Previewed:
        """The current preview. Raises Refused if the session, or the preview that the user saw, is another."""
        found = self._previewed
        if found is None or found.opened is not self._compactions.current():
            raise Refused(CHANGED)
        if preview is not None and found.planned.preview is not preview:
            raise Refused(CHANGED)
        return found
