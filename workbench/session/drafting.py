"""Drafts of compactions: previewed, written, edited, accepted. Lives in the session's thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from workbench.agent.compacting import failure_of
from workbench.compaction.compactor import Compactor
from workbench.compaction.values import CompactionPreview, CompactionRefused, Fact, SummaryDraft
from workbench.config.background import background
from workbench.config.errors import Refused
from workbench.log.events import Compaction, Event, Override, Revert
from workbench.session.compacting import BUSY, SessionCompactions
from workbench.session.compaction_values import CompactionOutcome
from workbench.session.open_session import OpenSession
from workbench.session.services import Services
from workbench.session.turns import Turns

T = TypeVar("T")

BY_HAND = "by hand"
CHANGED = "the session has changed since this was drafted: another compaction, an undo or an override; preview it anew"


class _Piece(NamedTuple):
    """What is being previewed."""

    opened: OpenSession
    compactor: Compactor
    events: tuple[Event, ...]


class SummaryDrafts:
    """One at a time: whoever previews again begins anew."""

    def __init__(
        self, services: Services, turns: Turns, compactions: SessionCompactions, publish: Callable[[], None]
    ) -> None:
        """`publish` shows what is in the log by now."""
        self._services = services
        self._turns = turns
        self._compactions = compactions
        self._publish = publish
        self._piece: _Piece | None = None

    async def preview(self, digest: bool = False) -> CompactionPreview:
        """What a compaction would do now; raises CompactionRefused where there is nothing to compact."""
        opened = self._compactions.current()
        if opened.writable:
            compactor = (await self._turns.agent(opened)).compacting.compactor
        else:
            compactor = Compactor(opened.setup, None, catalogue=self._services.catalogue)
        events = tuple(opened.events)
        self._piece = _Piece(opened, compactor, events)
        return await _beside(partial(compactor.preview, events, "manual", BY_HAND, digest=digest))

    async def draft(self, preview: CompactionPreview, digest: bool = False) -> SummaryDraft:
        """A summary to look at; raises CompactionRefused where none will do."""
        opened, compactor, events = self._work_piece()
        try:
            if opened.agent is not None and opened.writable:
                noted = await opened.agent.compacting.before(preview)
                if noted:
                    opened.append(*noted)
            tell = partial(self._compactions.progress, draft=True)
            return await compactor.draft(events, preview, digest=digest, progress=tell)
        except CompactionRefused as refused:
            if opened.writable:
                opened.append(failure_of(refused))
                self._publish()
            raise
        finally:
            self._compactions.rest()

    async def edited(self, draft: SummaryDraft, summary: str) -> SummaryDraft:
        """The draft with another text."""
        _, compactor, events = self._work_piece()
        return await _beside(partial(compactor.edited, events, draft, summary))

    async def with_lost(self, draft: SummaryDraft, facts: Sequence[Fact] | None) -> SummaryDraft:
        """The draft with lost things put back: these, or all of them."""
        _, compactor, events = self._work_piece()
        return await _beside(partial(compactor.with_lost, events, draft, facts))

    async def accept(self, draft: SummaryDraft) -> CompactionOutcome:
        """Make the draft stand; raises CompactionRefused where it must not."""
        opened = self._compactions.writable()
        since = opened.events[len(self._work_piece().events) :]
        if any(isinstance(event.body, Compaction | Revert | Override) for event in since):
            raise Refused(CHANGED)
        self._compactions.not_now()
        if self._compactions.busy:
            raise Refused(BUSY)
        agent = await self._turns.agent(opened)
        [event] = await self._compactions.run(opened, agent.accept(draft))
        self._piece = None
        return self._compactions.outcome(opened, event)

    def _work_piece(self) -> _Piece:
        if self._piece is None or self._piece.opened is not self._compactions.current():
            raise Refused(CHANGED)
        return self._piece


async def _beside(work: Callable[[], T]) -> T:
    """What takes long; the session's thread goes on meanwhile."""
    return await asyncio.wrap_future(background(work))
