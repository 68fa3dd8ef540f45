"""The one way into the session's thread: a typed call from the screen's thread. The caller may await it or not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar

from workbench.config.errors import Refused, WorkbenchError

if TYPE_CHECKING:
    from workbench.session.worker import SessionWorker

P = ParamSpec("P")
T = TypeVar("T")

SessionMethod = Callable[["SessionWorker"], Callable[P, Coroutine[Any, Any, T]]]
"""Returns a method of the session, or of one of its parts. The first call creates the session."""


def _report(failed: Callable[[Exception], None], loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    if isinstance(error := context.get("exception"), Exception):
        failed(error)


class SessionThread:
    """A thread with an event loop. It is a daemon: the program does not wait for it at exit."""

    def __init__(self, failed: Callable[[Exception], None]) -> None:
        """`failed` is called with the errors of tasks that nobody awaits."""
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(partial(_report, failed))
        self._thread = Thread(target=self._run, name="session", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the loop after its current step, and cancel the tasks that still wait."""
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


class StartedCall(Generic[T]):
    """A call that already runs in the session's thread.

    Await it at once to get the result or a WorkbenchError; cancelling the await cancels the work. If nobody awaits it,
    its error becomes a notice.
    """

    def __init__(self) -> None:
        self.work: Future[T] = Future()
        self.is_awaited = False

    def __await__(self) -> Generator[Any, None, T]:
        return self.result_later().__await__()

    def result_later(self) -> Coroutine[Any, Any, T]:
        """What to await where that cannot be done at once, as in a worker."""
        self.is_awaited = True
        return self._result()

    async def _result(self) -> T:
        try:
            return await asyncio.wrap_future(self.work)
        except WorkbenchError:
            raise
        except Exception as error:
            raise Refused(f"this should not happen: {type(error).__name__}: {error}") from error


class _Caller(Protocol):
    def call_session(self, method: SessionMethod[P, T], /, *args: P.args, **named: P.kwargs) -> StartedCall[T]: ...


class SessionCall(Generic[P, T]):
    """A method of the session, declared on the class whose objects call it: `send = SessionCall(lambda s: s.send)`.

    It takes the method's own parameters. The arguments are evaluated in the caller's thread; the method runs in the
    session's.
    """

    def __init__(self, method: SessionMethod[P, T]) -> None:
        self._method = method

    def __get__(self, caller: _Caller, owner: type[Any]) -> Callable[P, StartedCall[T]]:
        return partial(caller.call_session, self._method)
