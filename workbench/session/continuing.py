"""Continue a session in a new one that begins with its summary, for the command line and the screen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from workbench.compaction.continuation import SessionSummary, figures_of_session, first_events, summarise_session
from workbench.compaction.preview import RequestFigures
from workbench.compaction.progress import ReportProgress, ignore_progress
from workbench.config.background import in_background
from workbench.config.errors import Refused
from workbench.config.folders import work_folder
from workbench.context.setup import Setup
from workbench.log.events import Body, Setting, UserMessage
from workbench.models.catalogue import REHEARSAL, is_built_in
from workbench.session import opening
from workbench.session.compactions import BUSY, SessionCompactions
from workbench.session.open_session import OpenSession
from workbench.sources.compactors import compactor_for
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.sources.source import Source, as_source


class EarlierSession(NamedTuple):
    id: str
    """Empty for a file. It is copied into the store only when the new session begins."""
    title: str
    source: Source
    setup: Setup
    """The setup for the summary and for the new session."""


def earlier_session(services: Services, options: Options, ref: str) -> EarlierSession:
    """Find a session by its id or title."""
    info = services.store.info(ref)
    with services.store.session(info.id, write=False) as session:
        source = as_source(info.id, session.events())
    return _earlier(services, options, info.id, info.title, source)


def _earlier(services: Services, options: Options, session: str, title: str, source: Source) -> EarlierSession:
    """If no model is named anywhere, the rehearsal model summarises: by rules, without a key."""
    model = source.model or services.settings.model or REHEARSAL
    return EarlierSession(session, title, source, services.set_up(options, source._replace(model=model)))


def previous_session(services: Services, now: str) -> str:
    """The id of the session that was last changed, without the open one and those without a message."""
    for info in services.store.list():
        if info.id != now:
            with services.store.session(info.id, write=False) as session:
                if any(isinstance(event.body, UserMessage) for event in session.events()):
                    return info.id
    raise Refused("there is no earlier session to continue from")


async def summarise_earlier_session(
    services: Services,
    options: Options,
    earlier: EarlierSession,
    *,
    digest: bool = False,
    progress: ReportProgress = ignore_progress,
) -> SessionSummary:
    """Summarise a whole session, with the model or as a digest. Raises CompactionRefused for an empty session."""
    async with compactor_for(services, options, earlier.setup, digest=digest) as compactor:
        return await summarise_session(compactor, earlier.source.events, digest=digest, progress=progress)


def first_bodies(earlier: EarlierSession, summary: str, made: SessionSummary | None) -> list[Body]:
    """The first events of the new session: title, model, policy and knobs of the earlier one, and the summary."""
    source = earlier.source
    title = f"continued: {earlier.title}" if earlier.title else "continued"
    settings = [Setting("title", title), Setting("model", earlier.setup.model)]
    settings += [Setting("policy", source.policy)] if source.policy else []
    settings += [Setting("knobs", list(source.knobs))] if source.knobs else []
    return first_events(earlier.id, summary, settings, made, recall=earlier.setup.calls_tools)


class ContinuationOffer(NamedTuple):
    """What would be summarised, and by which model. No request has been sent yet."""

    earlier: EarlierSession
    options: Options
    asked: RequestFigures

    @property
    def costs(self) -> bool:
        """Whether a request would go to a model that is not built in."""
        return bool(self.asked.model) and not is_built_in(self.asked.model)


class ContinuationDraft(NamedTuple):
    """A summary to read and edit. The new session does not exist yet."""

    earlier: EarlierSession
    made: SessionSummary


class SessionContinuation:
    """Opens a continuation in place of the open session. Runs in the session's thread."""

    def __init__(
        self,
        services: Services,
        options: Options,
        compactions: SessionCompactions,
        current: Callable[[], OpenSession],
        exchange: Callable[[Callable[[], OpenSession]], Awaitable[None]],
    ) -> None:
        """`current` returns the open session; `exchange` opens another one in its place."""
        self._services = services
        self._options = options
        self._compactions = compactions
        self._current = current
        self._exchange = exchange

    async def offer(self, ref: str) -> ContinuationOffer:
        """Offer to continue a session: by default the open one, or the previous one if nothing was said in it."""
        opened = self._current()
        now = opened.session.id if opened.session is not None else ""
        general = self._options.for_any_session
        if ref or not opened.has_user_message:
            ref = ref or await in_background(previous_session, self._services, now)
            earlier = await in_background(earlier_session, self._services, general, ref)
        else:
            title = opened.session.title if opened.session is not None else Path(opened.name).name
            source = as_source(opened.name, list(opened.events), is_file=opened.session is None)
            earlier = await in_background(_earlier, self._services, general, now, title, source)
        options = self._options if now and earlier.id == now else general
        async with compactor_for(self._services, options, earlier.setup) as compactor:
            return ContinuationOffer(earlier, options, await figures_of_session(compactor, earlier.source.events))

    async def draft(self, offer: ContinuationOffer, digest: bool = False) -> ContinuationDraft:
        """Summarise the offered session."""
        if self._compactions.busy:
            raise Refused(BUSY)
        report = partial(self._compactions.show_progress, draft=True)
        earlier, options = offer.earlier, offer.options
        try:
            made = await summarise_earlier_session(self._services, options, earlier, digest=digest, progress=report)
            return ContinuationDraft(earlier, made)
        finally:
            self._compactions.show_idle()

    async def begin(self, draft: ContinuationDraft, summary: str | None) -> None:
        """Open a session that begins with the summary; `summary`: the user's edited text instead."""
        services, made, general = self._services, draft.made, self._options.for_any_session
        text = made.summary if summary is None else summary
        unchanged = made if summary is None else None

        def make() -> OpenSession:
            bodies = first_bodies(_kept(services, draft.earlier), text, unchanged)
            return opening.open_new_session(services, general, services.store.create(bodies, folder=work_folder()))

        await self._exchange(make)


def _kept(services: Services, earlier: EarlierSession) -> EarlierSession:
    """The same session, in the store, where the originals can be read. A file is copied there."""
    if earlier.id:
        return earlier
    with opening.stored_copy(services, earlier.title, earlier.source.model, earlier.source.events) as copy:
        return earlier._replace(id=copy.id)
