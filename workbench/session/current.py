"""The open session or file: opening it, replacing it, and tasks that run meanwhile. Runs in the session's thread.

Slow work (opening, planning from the beginning) runs in a background thread, so a turn continues meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any

from workbench.config.background import in_background
from workbench.config.errors import Refused, WorkbenchError
from workbench.config.folders import shown_folder, work_folder
from workbench.config.garbage import keep_what_is_loaded
from workbench.config.values import replace
from workbench.log.events import Event
from workbench.models.catalogue import is_built_in
from workbench.models.gateway import Gateway
from workbench.session import figures, opening
from workbench.session.compactions import SessionCompactions
from workbench.session.observable import ObservableSession
from workbench.session.open_session import OpenSession
from workbench.session.outside_changes import OutsideChanges
from workbench.session.time_travel import TimeTravel
from workbench.session.turns import Turns
from workbench.session.welcome import folder_sessions, listed_agents, welcome_of
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.views.context_view import ContextView
from workbench.views.transcript import EntryIndex, LogTranscript
from workbench.views.values import Activity, Status, WelcomeLists


class CurrentSession:
    """The session or file that is open, and its place on the screen."""

    def __init__(
        self,
        services: Services,
        options: Options,
        updates: ObservableSession,
        published: Callable[[], None],
        *,
        warm: bool,
    ) -> None:
        """`published` is called after each `publish`."""
        self._services = services
        self._options = options
        self._updates = updates
        self._published = published
        self._warm = warm
        self.turns = Turns(services, options, updates, self.publish)
        self.compactions = SessionCompactions(updates, self.turns, self.publish, self.return_to_next)
        self.travel = TimeTravel(services, options)
        self.opened: OpenSession | None = None
        self.early: list[str] = []
        """Messages that were sent while a session is being opened. They wait until it is open."""
        self.opening = asyncio.Lock()
        """Held while a session or file is being opened."""
        self._begun = asyncio.Event()
        """Set once the first session or file is open, or cannot be opened."""
        self._glanced = False
        """Whether the screen shows the end of a session or file that is still being opened."""
        self._loop = asyncio.get_running_loop()
        self._lists = WelcomeLists()
        self._side_tasks: set[asyncio.Task[None]] = set()
        """They are cancelled when another session is opened, and at the end of the program."""
        self.outside = OutsideChanges(services, updates, self)

    @property
    def ready(self) -> OpenSession | None:
        """What is open; None while something is still being read."""
        return None if self._glanced else self.opened

    def require_open(self) -> OpenSession:
        """What is open. Raises Refused while it is still being read."""
        if self.ready is None:
            raise Refused("it is still being read; try again in a moment")
        return self.ready

    async def wait_until_open(self) -> OpenSession:
        """Wait until something is open, and return it. Raises Refused if it cannot be opened."""
        await self._begun.wait()
        if self._glanced:
            async with self.opening:
                pass
        return self.require_open()

    def writable(self) -> OpenSession:
        """What is open, with us as its writer. Raises Refused if nothing can be appended to it."""
        opened = self.require_open()
        opened.begin_writing()
        return opened

    # Opening

    async def begin(self, ref: str) -> None:
        """Open the first session or file. If that fails, the program ends, because it has nothing to show."""
        self._updates.change_state(activity=Activity("loading", "reading…"))
        try:
            await self._open(lambda: opening.open_first_session(self._services, self._options, ref, self._glance))
        except WorkbenchError as error:
            self._updates.change_state(fatal=error)
        finally:
            self._begun.set()

    async def open(self, ref: str) -> None:
        """Open a session or a file, and follow it if another agent is writing it."""
        options = self._options.for_any_session
        await self.exchange(lambda: opening.open_source(self._services, options, ref, self._glance))
        if self.require_open().ref:
            self.start_side_task(self.outside.follow_if_running(self.require_open()))

    async def exchange(self, make: Callable[[], OpenSession]) -> None:
        """Open something else in place of the open session. Raises Refused while the model works."""
        if self.turns.busy or self.compactions.busy:
            raise Refused("the model is still working; Esc stops it")
        self._updates.change_state(activity=Activity("loading", "opening…"))
        try:
            await self._open(make)
        finally:
            self._updates.change_state(activity=Activity())

    async def _open(self, make: Callable[[], OpenSession]) -> None:
        async with self.opening:
            try:
                made = await in_background(make)
            except WorkbenchError:
                await self._show_again()
                raise
            async with self.turns.free:
                self._stop_side_tasks()
                await self.compactions.close()
                self.turns.give_back_waiting()
                self._leave()
                self._put_away()
                self.opened = made
                self._lists = WelcomeLists()
                self.travel.return_to_next()
            newest = made.recorded.newest if made.recorded is not None else None
            fresh = partial(self._updates.change_state, live=None, question=None, activity=Activity(), following="")
            await self._show_at(made, newest, lambda: fresh(queue=tuple(self.early)))
        self.prepare_to_ask(made)
        if made.session is not None and not made.entries.has_talk:
            self.start_side_task(self._look_for_sessions(made))
        if made.session is not None and not made.session.is_writer:
            self.start_side_task(self.outside.watch_session(made))
        if made.asked.follow and made.ref:
            self.outside.follow(True)

    async def _show_at(self, made: OpenSession, place: int | None, before: Callable[[], None] | None = None) -> None:
        """Show a session at one of its requests; None: as it is now. `before` is called right before that."""
        found: list[ContextView] = []
        if place is not None:
            await self.travel.show_request(made, place, found.append)
        self._glanced = False
        if before is not None:
            before()
        self.publish()
        if found:
            self.show_past(found[-1])

    def _glance(self, name: str, events: list[Event]) -> None:
        """Show the end of what is being opened. Called in a background thread, before the rest is read and planned."""
        self._loop.call_soon_threadsafe(self._show_end, name, LogTranscript(EntryIndex(events), None))

    def _show_end(self, name: str, transcript: LogTranscript) -> None:
        self._glanced = True
        self._leave()
        self._updates.change_state(
            title=name,
            opened="",
            transcript=transcript,
            live=None,
            shown=None,
            status=Status(ready="loading"),
            welcome=None,
        )

    def _leave(self) -> None:
        """Show nothing more of what is open, and ask no more about it."""
        self.turns.questions.decline_all()
        self.compactions.show_nothing()

    async def _show_again(self) -> None:
        """Opening has failed: show what was open before, at the request that was on the screen."""
        if self._glanced:
            self._glanced = False
            if self.opened is not None:
                await self._show_at(self.opened, self.travel.place(self.opened))

    def _put_away(self) -> None:
        """Close what is open. Delete a session that we created if it has no message."""
        opened, self.opened = self.opened, None
        if opened is None or opened.session is None:
            return
        opened.session.close()
        if opened.ours and not opened.has_user_message:
            with suppress(WorkbenchError):
                self._services.store.delete(opened.session.id)

    # Side tasks

    def start_side_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task, which is cancelled when something else is opened."""
        task = asyncio.get_running_loop().create_task(work)
        self._side_tasks.add(task)
        task.add_done_callback(self._side_tasks.discard)
        return task

    def _stop_side_tasks(self) -> None:
        self.outside.stop_following()
        for task in self._side_tasks:
            task.cancel()

    def prepare_to_ask(self, opened: OpenSession) -> None:
        """Do slow work before the first request: read the key store, and load litellm if the model needs it.

        litellm is not loaded for another agent's session, in a file or in the store: it is mostly only looked at.
        """
        self.start_side_task(self._look_for_key(opened))
        is_ours = opened.session is not None and opened.recorded is None
        if self._warm and is_ours and not is_built_in(opened.setup.model):
            self.start_side_task(self._warm_up())

    async def _warm_up(self) -> None:
        await Gateway().warm()
        keep_what_is_loaded()

    async def _look_for_key(self, opened: OpenSession) -> None:
        """Check whether the model has a key. The system's key store may be slow, so this runs in the background."""
        if self._services.settings.api_base(opened.setup.model):
            return  # a server of the user's own may need none
        key = await in_background(self._services.routes.key, opened.setup.model)
        if opened.lacks_key != (key.origin == "none"):
            opened.lacks_key = key.origin == "none"
            self.publish()

    async def _look_for_sessions(self, opened: OpenSession) -> None:
        """Fill the lists of the welcome: this folder's sessions at once, then those of other agents (slower)."""
        own = await in_background(folder_sessions, self._services, opened)
        self._lists = WelcomeLists(own)
        self.publish()
        agents = await in_background(listed_agents, self._services)
        self._lists = WelcomeLists(own, agents, searching=False)
        self.publish()

    async def show_new_contents(self, made: OpenSession) -> bool:
        """Show the new contents of a file, at the same request as before.

        Return False, and change nothing, if the user has chosen another model, policy or knob since it was read.
        """
        async with self.opening, self.turns.free:
            await self.compactions.finished()
            before = self.require_open()
            if before.session is not None and before.session.is_writer:  # the user went on in it meanwhile
                return True
            if made.asked != replace(before.asked, follow=True):
                return False
            self.opened, made.lacks_key = made, before.lacks_key
            place = _same_place(before, self.travel.place(before), made)
            self.travel.return_to_next()
            await self._show_at(made, place)
        return True

    def show_past(self, shown: ContextView) -> None:
        """Show a past request, with the conversation as it was then."""
        opened = self.require_open()
        self._updates.change_state(shown=shown, transcript=opened.transcript(shown))
        self.compactions.show_past_offer(*(self.travel.offer(opened, shown) or (None,)))

    def return_to_next(self) -> None:
        """Go from a past request back to the next one."""
        if self.travel.place(self.require_open()) is not None:
            self.travel.return_to_next()
            self.publish()

    def publish(self) -> None:
        """Show the current log. While a past request is on the screen, the inspector stays there."""
        opened = self.ready
        if opened is None:
            return
        shown = opened.shown()
        here = work_folder()
        status = figures.status_figures(opened, shown.plan)
        self._updates.change_state(
            title=opened.name,
            opened=opened.identity,
            folder=_folder(opened, here.storable.path),
            branch=here.branch,
            welcome=welcome_of(opened, self._lists, self._services.settings.model),
            transcript=opened.transcript(self.travel.view(opened) or shown),
            status=status,
            alert_figures=figures.alert_figures(opened, status),
            read_only=opened.why_read_only,
            refusal="" if opened.session is None else opened.why_read_only,
        )
        if self.travel.place(opened) is None:
            self._updates.change_state(shown=shown)
            self.compactions.show_past_offer(None)
        self.compactions.show(opened)
        self._published()

    async def close(self) -> None:
        """Stop all tasks, keep the partial answer, and close connections and the session."""
        self._stop_side_tasks()
        await self.compactions.close()
        await self.turns.close()
        self._put_away()


def _same_place(before: OpenSession, place: int | None, after: OpenSession) -> int | None:
    """The request to show after a file was read again: the same as before, or the newest if that was shown."""
    was, newest = (each.recorded.newest if each.recorded is not None else None for each in (before, after))
    if place == was or newest is None:
        return newest
    if place is None:
        return None
    marks, seq = after.requests.marks, before.requests.marks[place].seq
    return next((at for at, mark in enumerate(marks) if mark.seq == seq), min(place, len(marks) - 1))


def _folder(opened: OpenSession, here: str) -> str:
    """The folder where tools work, and the one where the session was begun if it differs; empty for a file."""
    if opened.session is None:
        return ""
    origin = opened.session.folder
    other = f", begun in {shown_folder(origin)}" if origin and origin != here else ""
    return shown_folder(here) + other
