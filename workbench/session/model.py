"""The session model: panes observe its state, and call the session through it. It is not a widget.

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
    """The open session: its observable state, and every action on it."""

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
    switch_tool = SessionCall(lambda session: session.tools.switch_tool)
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
    judge_draft = SessionCall(lambda session: session.drafts.judged)
    accept_summary = SessionCall(lambda session: session.drafts.accept)
    audit_compaction = SessionCall(lambda session: session.compactions.audit_again)
    stop_compacting = SessionCall(lambda session: session.stop_compacting)

    # Which session
    start = SessionCall(lambda session: session.current.begin)
    open_session = SessionCall(lambda session: session.current.open)
    follow = SessionCall(lambda session: session.follow)
    find_active = SessionCall(lambda session: session.activity.find_active)
    change_over = SessionCall(lambda session: session.activity.change_over)
    toggle_pin = SessionCall(lambda session: session.toggle_pin)
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
        """`loop`: the screen's loop, where observers are called. `warm`: load litellm once a session is open."""
        super().__init__(loop, self._look_up)
        self._thread = SessionThread(self.failed)
        self._services = services
        self._options = options
        self._warm = warm
        self._work: SessionWorker | None = None
        self._running = 0
        """Calls that have not ended. Used in the screen's thread."""
        self._closed = False
        self._waiting: list[asyncio.Future[None]] = []
        """The callers that wait in `settled`. Used in the screen's thread."""

    def call_session(self, method: SessionMethod[P, T], /, *args: P.args, **named: P.kwargs) -> StartedCall[T]:
        """Start a method of the session in its thread. Call it in the screen's thread. After `close` nothing starts."""
        call: StartedCall[T] = StartedCall()
        if self._closed:
            call.work.cancel()
        else:
            self._running += 1
            work = self._run(call, lambda: method(self._worker())(*args, **named))
            call.work = asyncio.run_coroutine_threadsafe(work, self._thread.loop)
        return call

    def call_with_session(self, question: Callable[[OpenSession], T]) -> StartedCall[T]:
        """Call `question` with the open session, in the session's thread. Raises Refused if none can be opened."""
        return self.call_session(lambda session: session.run_with_session, question)

    def count(self, text: str) -> int:
        """The tokens of a text. It may be slow, so do not call it in the screen's thread."""
        return self._work.count(text) if self._work is not None else 0

    async def settled(self) -> None:
        """Wait until all work that needs no user has ended, and the screen has received every change."""
        if not self.is_settled:
            self._waiting.append(asyncio.get_running_loop().create_future())
            await self._waiting[-1]

    def _look_up(self) -> None:
        """Wake the callers of `settled` when everything has ended. Called after each update."""
        if self._waiting and self.is_settled:
            waiting, self._waiting = self._waiting, []
            for each in waiting:
                if not each.done():
                    each.set_result(None)

    @property
    def is_settled(self) -> bool:
        """Whether `settled` would return at once."""
        work = self._work
        if work is None or self._running != work.held:
            return False
        updating = work.compactions.is_updating or work.compactions.busy
        return not work.busy and not updating and self.is_clear

    def _ended(self, call: StartedCall[Any], error: Exception | None) -> None:
        """Show the error of a call that nobody awaits. Runs in the screen's thread."""
        self._running -= 1
        if error is not None and not call.is_awaited:
            self.failed(error)
        self.call_updated()

    async def close(self) -> None:
        """Stop, keep the partial answer, and close everything. Does not wait for a plan that is being made."""
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
            with suppress(RuntimeError):  # the screen's loop is closed, and nobody waits any more
                self._screen_loop.call_soon_threadsafe(self._ended, call, failure)

    def _worker(self) -> SessionWorker:
        """The worker, created by the first call: its imports take longer than the first frame may."""
        if self._work is None:
            from workbench.session.worker import SessionWorker

            self._work = SessionWorker(self._services, self._options, self, warm=self._warm)
        return self._work

    async def _end(self) -> None:
        if self._work is not None:
            await self._work.current.close()
