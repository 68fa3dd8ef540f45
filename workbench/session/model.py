"""The session model: panes observe its state, and call the session through it. It is no widget.

Its methods are called from the screen's thread and return at once; the session's thread does the work (`calls.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from workbench.session.calls import SessionCall, SessionMethod, SessionThread, StartedCall
from workbench.session.observable import ObservableSession
from workbench.sources.options import Options
from workbench.sources.services import Services

if TYPE_CHECKING:
    from workbench.session.open_session import OpenSession
    from workbench.session.worker import SessionWorker

P = ParamSpec("P")
T = TypeVar("T")

CLOSING = 3.0
"""Seconds that the end of the program waits for connections to close."""


class SessionModel(ObservableSession):
    """One session at a time: its state, to be observed, and all that can be done with it."""

    # The conversation
    send = SessionCall(lambda session: session.turns.send)
    withdraw = SessionCall(lambda session: session.turns.withdraw)
    interrupt = SessionCall(lambda session: session.interrupt)
    answer = SessionCall(lambda session: session.questions.answer)
    retry = SessionCall(lambda session: session.retry)
    draft = SessionCall(lambda session: session.count_draft)

    # What the model sees
    decide = SessionCall(lambda session: session.decide)
    revert = SessionCall(lambda session: session.revert)
    switch_model = SessionCall(lambda session: session.switch_model)
    switch_policy = SessionCall(lambda session: session.switch_policy)
    set_knob = SessionCall(lambda session: session.set_knob)
    switch_tools = SessionCall(lambda session: session.tools.switch)
    forget_approval = SessionCall(lambda session: session.tools.forget)
    travel = SessionCall(lambda session: session.travel_to)
    walk = SessionCall(lambda session: session.walk)

    # Compactions
    preview_compaction = SessionCall(lambda session: session.drafts.preview)
    preview_loss = SessionCall(lambda session: session.drafts.loss)
    compact_as_previewed = SessionCall(lambda session: session.drafts.compact)
    draft_summary = SessionCall(lambda session: session.drafts.draft)
    edit_summary = SessionCall(lambda session: session.drafts.edited)
    put_lost_back = SessionCall(lambda session: session.drafts.with_lost)
    accept_summary = SessionCall(lambda session: session.drafts.accept)
    audit_compaction = SessionCall(lambda session: session.compactions.audit_again)
    stop_compacting = SessionCall(lambda session: session.stop_compacting)

    # Which session
    start = SessionCall(lambda session: session.begin)
    open_session = SessionCall(lambda session: session.open)
    follow = SessionCall(lambda session: session.follow)
    new_session = SessionCall(lambda session: session.new)
    make_session = SessionCall(lambda session: session.make_session)
    fork = SessionCall(lambda session: session.fork)
    edit_and_resend = SessionCall(lambda session: session.edit_and_resend)
    rename = SessionCall(lambda session: session.rename)
    offer_continuation = SessionCall(lambda session: session.continuing.offer)
    draft_continuation = SessionCall(lambda session: session.continuing.draft)
    begin_continuation = SessionCall(lambda session: session.continuing.begin)

    def __init__(
        self, services: Services, options: Options, loop: asyncio.AbstractEventLoop, *, warm: bool = False
    ) -> None:
        """`loop`: the screen's, where observers are called. `warm`: load litellm once the first session is open."""
        super().__init__(loop, self._look_up)
        self._thread = SessionThread(self.failed)
        self._services = services
        self._options = options
        self._warm = warm
        self._work: SessionWorker | None = None
        self._running = 0
        """Calls that have not ended; in the screen's thread."""
        self._closed = False
        self._waiting: list[asyncio.Future[None]] = []
        """Those who wait until nothing goes on; in the screen's thread."""

    def call_session(self, method: SessionMethod[P, T], /, *args: P.args, **named: P.kwargs) -> StartedCall[T]:
        """Start a method of the session in its thread. Called in the screen's thread; once closed, nothing starts."""
        call: StartedCall[T] = StartedCall()
        if self._closed:
            call.work.cancel()
        else:
            self._running += 1
            work = self._run(call, lambda: method(self._worker())(*args, **named))
            call.work = asyncio.run_coroutine_threadsafe(work, self._thread.loop)
        return call

    def ask(self, question: Callable[[OpenSession], T]) -> StartedCall[T]:
        """Work something out from what is open, in the session's thread; Refused where nothing is."""
        return self.call_session(lambda session: session.asked, question)

    def count(self, text: str) -> int:
        """The tokens of a text. May take a while, so it is asked from another thread than the screen's."""
        return self._work.count(text) if self._work is not None else 0

    async def settled(self) -> None:
        """Wait until nothing goes on without the user, and the screen has seen all of it."""
        if not self.is_settled:
            self._waiting.append(asyncio.get_running_loop().create_future())
            await self._waiting[-1]

    def _look_up(self) -> None:
        """After each update: wake those who wait for the end of everything."""
        if self._waiting and self.is_settled:
            waiting, self._waiting = self._waiting, []
            for each in waiting:
                if not each.done():
                    each.set_result(None)

    @property
    def is_settled(self) -> bool:
        """Whether that is so now."""
        work = self._work
        if work is None or self._running != work.held:
            return False
        looking = work.compactions.is_looking or work.compactions.busy
        return not work.busy and not looking and self.is_clear

    def _ended(self, call: StartedCall[Any], error: Exception | None) -> None:
        """In the screen's thread: an error that nobody waits for is shown."""
        self._running -= 1
        if error is not None and not call.is_awaited:
            self.failed(error)
        self.poke()

    async def close(self) -> None:
        """Stop, keep what came, and let go of everything; a plan that is being made is not waited for."""
        if self._closed:
            return
        self._closed = True
        with suppress(TimeoutError):
            end = asyncio.run_coroutine_threadsafe(self._end(), self._thread.loop)
            await asyncio.wait_for(asyncio.wrap_future(end), CLOSING)
        self._thread.stop()

    # In the session's thread

    async def _run(self, call: StartedCall[T], work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        failure: Exception | None = None
        try:
            return await work()
        except Exception as error:
            failure = error
            raise
        finally:
            with suppress(RuntimeError):  # the screen is gone, and nobody waits any more
                self._screen_loop.call_soon_threadsafe(self._ended, call, failure)

    def _worker(self) -> SessionWorker:
        """Made by the first call. Importing what it needs takes longer than the first frame may."""
        if self._work is None:
            from workbench.session.worker import SessionWorker

            self._work = SessionWorker(self._services, self._options, self, warm=self._warm)
        return self._work

    async def _end(self) -> None:
        if self._work is not None:
            await self._work.close()
