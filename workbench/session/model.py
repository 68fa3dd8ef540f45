"""The session model: panes observe its state, and what they ask for goes here. It is no widget.

Its methods are called from the screen's thread and return at once; the work is done in the session's (`worker.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from workbench.config.errors import Refused, WorkbenchError
from workbench.log.events import OverrideAction
from workbench.session.observable import Notice, ObservableSession
from workbench.sources.options import Options
from workbench.sources.services import Services

if TYPE_CHECKING:
    from workbench.session.open_session import OpenSession
    from workbench.session.undoing import Which
    from workbench.session.worker import SessionWorker

T = TypeVar("T")

CLOSING = 3.0
"""Seconds that the end of the program waits for connections to close."""


def _tell(failed: Callable[[Exception], None], loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    if isinstance(error := context.get("exception"), Exception):
        failed(error)


class SessionThread:
    """A thread with an event loop. It is not waited for when the program ends."""

    def __init__(self, failed: Callable[[Exception], None]) -> None:
        """`failed` hears of errors in what nobody waits for."""
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(partial(_tell, failed))
        self._thread = Thread(target=self._run, name="session", daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run something there; its result may be waited for, or left alone."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def stop(self) -> None:
        """Let the loop end after what it is doing now; what still waits there is cancelled."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.loop.stop)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            left = asyncio.all_tasks(self.loop)
            for task in left:
                task.cancel()
            self.loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            self.loop.close()


class SessionModel(ObservableSession):
    """One session at a time: its state, to be observed, and all that can be done with it."""

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
        self._begun = 0
        self._done = 0
        """Jobs; each number is written by one thread alone."""
        self._closed = False
        self._waiting: list[asyncio.Future[None]] = []
        """Whoever waits until nothing goes on; in the screen's thread."""

    # What happens with the conversation

    def send(self, text: str) -> None:
        """Say this, at once or when its turn comes."""
        self._do(lambda work: work.send(text))

    def withdraw(self, index: int, text: str) -> None:
        """A waiting message is not to be sent."""
        self._do(lambda work: work.withdraw(index, text))

    def interrupt(self) -> None:
        """Stop the model, and keep what came so far; where it does nothing, come back from the past."""
        self._do(lambda work: work.interrupt())

    def answer(self, number: int, answer: str) -> None:
        """The answer to a question."""
        self._do(lambda work: work.answer(number, answer))

    def retry(self) -> None:
        """Ask the model again."""
        self._do(lambda work: work.retry())

    # What the model sees

    def decide(self, action: OverrideAction, first: int, last: int, joined: bool = False) -> None:
        """An override by the user; `joined`: one decision with the override before it."""
        self._do(lambda work: work.decide(action, first, last, joined))

    def revert(self, which: Which, seq: int | None = None) -> None:
        """Undo or redo: the last change, the one of an event, or what the word says."""
        self._do(lambda work: work.revert(which, seq))

    def stop_compacting(self) -> None:
        """Stop the compaction that is being made; nothing of it stays."""
        self._do(lambda work: work.stop_compacting())

    async def compacting(self, work: Callable[[SessionWorker], Coroutine[Any, Any, T]]) -> T:
        """Have `compactions` or `drafts` do something, and wait for what comes of it. Raises WorkbenchError."""
        self._begun += 1
        return await asyncio.wrap_future(self._thread.submit(self._counted(work)))

    async def _counted(self, work: Callable[[SessionWorker], Coroutine[Any, Any, T]]) -> T:
        try:
            return await work(self._worker())
        except WorkbenchError:
            raise
        except Exception as error:
            raise Refused(f"this should not happen: {type(error).__name__}: {error}") from error
        finally:
            self._done += 1
            self.poke()

    def switch_model(self, name: str) -> None:
        """Another model, from the next turn on."""
        self._do(lambda work: work.switch(model=name))

    def switch_policy(self, ref: str) -> None:
        """Another policy, from the next turn on."""
        self._do(lambda work: work.switch(policy=ref))

    def set_knob(self, knob: str) -> None:
        """One knob of the policy, as in `masking.keep_last=3`, for this session."""
        self._do(lambda work: work.switch(knob=knob))

    def draft(self, text: str) -> None:
        """The text in the composer is this now."""
        self._do(lambda work: work.count_draft(text))

    def travel(self, place: int | None) -> None:
        """Show the context of a request; None: of now."""
        self._do(lambda work: work.travel_to(place))

    def walk(self, by: int, alone: bool = False) -> None:
        """Show the context of a request so many places away; `alone`: of the conversation itself only."""
        self._do(lambda work: work.walk(by, alone))

    def ask(self, question: Callable[[OpenSession], T]) -> Future[T]:
        """Work something out from what is open, in the session's thread; Refused where nothing does."""

        async def asked() -> T:
            return await self._worker().asked(question)

        return self._thread.submit(asked())

    def count(self, text: str) -> int:
        """The tokens of a text. May take a while, so it is asked from another thread than the screen's."""
        return self._work.count(text) if self._work is not None else 0

    # Which session

    def start(self, ref: str) -> None:
        """Open what was named on the command line; nothing: this folder's last session, or a new one."""
        self._do(lambda work: work.begin(ref))

    def open_session(self, ref: str) -> None:
        """Another session or a file."""
        self._do(lambda work: work.open(ref))

    def follow(self) -> None:
        """Follow the file that is open while somebody else writes it, or no longer."""
        self._do(lambda work: work.follow())

    def new_session(self) -> None:
        """An empty session."""
        self._do(lambda work: work.new())

    def fork(self, at: int | None = None) -> None:
        """Go on in a copy of this session that ends with an event."""
        self._do(lambda work: work.fork(at))

    def edit_and_resend(self, seq: int, text: str) -> None:
        """Say something else in place of a message, in a copy that ends before it."""
        self._do(lambda work: work.fork(seq - 1, text))

    def rename(self, title: str) -> None:
        """Give the session another title."""
        self._do(lambda work: work.rename(title))

    async def settled(self) -> None:
        """Wait until nothing goes on without the user, and the screen has seen all of it."""
        if not self.is_settled:
            self._waiting.append(asyncio.get_running_loop().create_future())
            await self._waiting[-1]

    def _look_up(self) -> None:
        """After each update: tell those who wait for the end of everything."""
        if self._waiting and self.is_settled:
            waiting, self._waiting = self._waiting, []
            for each in waiting:
                if not each.done():
                    each.set_result(None)

    @property
    def is_settled(self) -> bool:
        """Whether that is so now."""
        work = self._work
        if work is None or self._begun - self._done != work.held:
            return False
        looking = work.compactions.is_looking or work.compactions.busy
        return not work.busy and not looking and self.is_clear

    async def close(self) -> None:
        """Stop, keep what came, and let go of everything; a plan that is being made is not waited for."""
        if self._closed:
            return
        self._closed = True
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.wrap_future(self._thread.submit(self._end())), CLOSING)
        self._thread.stop()

    # In the session's thread

    def _worker(self) -> SessionWorker:
        """Made by the first job. Importing what it needs takes longer than the first frame may."""
        if self._work is None:
            from workbench.session.worker import SessionWorker

            self._work = SessionWorker(self._services, self._options, self, warm=self._warm)
        return self._work

    async def _end(self) -> None:
        if self._work is not None:
            await self._work.close()

    def _do(self, work: Callable[[SessionWorker], Coroutine[Any, Any, None]]) -> None:
        """Start a job; what a person can mend is told, and so is what nobody expected."""
        if not self._closed:
            self._begun += 1
            self._thread.submit(self._job(work))

    async def _job(self, work: Callable[[SessionWorker], Coroutine[Any, Any, None]]) -> None:
        try:
            await work(self._worker())
        except WorkbenchError as error:
            self.tell(Notice(str(error), "error"))
        except Exception as error:
            self.failed(error)
        finally:
            self._done += 1
            self.poke()
