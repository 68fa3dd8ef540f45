"""Going on from a summary of a session in a new one, for the command line and the screen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple

from workbench.compaction.continuation import SessionSummary, first_events, summarise_session
from workbench.compaction.values import Progress
from workbench.config.background import in_background
from workbench.config.errors import Refused
from workbench.config.folders import work_folder
from workbench.context.setup import Setup
from workbench.log.events import Body, Setting, UserMessage
from workbench.models.catalogue import REHEARSAL
from workbench.session import opening
from workbench.session.compacting import BUSY, SessionCompactions
from workbench.session.connection import compactor_for
from workbench.session.open_session import OpenSession
from workbench.session.options import Options
from workbench.session.services import Services
from workbench.session.source import Source, as_source


class EarlierSession(NamedTuple):
    """A session to go on from."""

    id: str
    title: str
    source: Source
    setup: Setup
    """Under which it is summarised, and the new one goes on."""


def earlier_session(services: Services, options: Options, ref: str) -> EarlierSession:
    """The session of an id or title; without a model named anywhere the one that needs no key summarises, by rules."""
    info = services.store.info(ref)
    with services.store.session(info.id, write=False) as session:
        source = as_source(info.id, session.events())
    model = source.model or services.settings.model or REHEARSAL
    return EarlierSession(info.id, info.title, source, services.set_up(options, source._replace(model=model)))


def previous_session(services: Services, now: str) -> str:
    """The id of the session, of all but the one that is open now, in which something was said last."""
    for info in services.store.list():
        if info.id != now:
            with services.store.session(info.id, write=False) as session:
                if any(isinstance(event.body, UserMessage) for event in session.events()):
                    return info.id
    raise Refused("there is no earlier session to continue from")


async def summarised(
    services: Services,
    options: Options,
    earlier: EarlierSession,
    *,
    digest: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> SessionSummary:
    """A summary of all of it, by the model or by the digest; raises CompactionRefused for an empty session."""
    async with compactor_for(services, options, earlier.setup, digest=digest) as compactor:
        return await summarise_session(compactor, earlier.source.events, digest=digest, progress=progress)


def first_bodies(earlier: EarlierSession, summary: str, made: SessionSummary | None) -> list[Body]:
    """What the new session begins with: title, model, policy and knobs of the earlier one, and the summary."""
    source = earlier.source
    title = f"continued: {earlier.title}" if earlier.title else "continued"
    settings = [Setting("title", title), Setting("model", earlier.setup.model)]
    settings += [Setting("policy", source.policy)] if source.policy else []
    settings += [Setting("knobs", list(source.knobs))] if source.knobs else []
    return first_events(earlier.id, summary, settings, made, recall=earlier.setup.calls_tools)


class ContinuationDraft(NamedTuple):
    """A summary to look at and to edit. Nothing was made of it yet."""

    earlier: EarlierSession
    made: SessionSummary


class Continuing:
    """Goes on in a new session, which is opened in place of the one that is. Lives in the session's thread."""

    def __init__(
        self,
        services: Services,
        options: Options,
        compactions: SessionCompactions,
        exchange: Callable[[Callable[[], OpenSession]], Awaitable[None]],
    ) -> None:
        """`exchange` opens something else in place of what is open."""
        self._services = services
        self._options = options
        self._compactions = compactions
        self._exchange = exchange

    async def draft(self, ref: str) -> ContinuationDraft:
        """A summary of a session; without a name, of the one that is open, or of the last one where that is empty."""
        if self._compactions.busy:
            raise Refused(BUSY)
        opened = self._compactions.current()
        now = opened.session.id if opened.session is not None else ""
        if not ref:
            ref = now if now and opened.said else await in_background(previous_session, self._services, now)
        general = self._options.for_any_session
        earlier = await in_background(earlier_session, self._services, general, ref)
        options = self._options if earlier.id == now else general
        try:
            tell = partial(self._compactions.progress, draft=True)
            return ContinuationDraft(earlier, await summarised(self._services, options, earlier, progress=tell))
        finally:
            self._compactions.rest()

    async def begin(self, draft: ContinuationDraft, summary: str | None) -> None:
        """Open a session that begins with the summary, or with another text that the user made of it."""
        services, made = self._services, draft.made
        bodies = first_bodies(
            draft.earlier, made.summary if summary is None else summary, made if summary is None else None
        )
        general = self._options.for_any_session
        await self._exchange(
            lambda: opening.begun(services, general, services.store.create(bodies, folder=work_folder()))
        )
