"""litellm in a thread with its own event loop.

litellm takes seconds to import and most of a millisecond per chunk. Here that happens outside the caller's loop, which
wakes up only when something is ready.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import gc
import importlib
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from workbench.config.errors import WorkbenchError
from workbench.config.quiet import silence_if_wished
from workbench.models.answer_streams import Answering

_PACE = 0.004
"""Seconds between two wake-ups of the caller's loop; a single item is passed on at once."""
_IN_TIME = 0.005
_MOMENT = 0.005
"""Seconds that the caller's loop has to fetch something, and that the engine's thread then waits for it."""


def import_litellm() -> Any:
    """Import litellm. Only this function imports it: no network, no `.env` of parent folders, no telemetry, no output.

    The environment, loggers and the garbage collector are restored afterwards: litellm reads variables while it is
    imported, and gives handlers, levels and filters to its own loggers and to those of its dependencies. Its own
    loggers stay silent, because its errors become a `ModelFailure`. The loggers of its dependencies are left to the
    program; `quiet.silence_libraries` is for a program that wants none of their output on its terminal.

    Two effects of litellm stay: three filters that hide pydantic's warnings about litellm's types, and, from the first
    call on, `TIKTOKEN_CACHE_DIR` if it was not set, which lets tiktoken find litellm's files.
    """
    with _left_as_it_was(LITELLM_LOCAL_MODEL_COST_MAP="True", LITELLM_MODE="PRODUCTION"):
        try:
            litellm = importlib.import_module("litellm")
            importlib.import_module("workbench.models.http_guard").guard_litellm()
        except ImportError as error:
            raise WorkbenchError(f"litellm cannot be imported: expected it next to Workbench ({error})") from None
    for name in ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router"):
        logging.getLogger(name).disabled = True
    silence_if_wished()
    quiet: Any = litellm
    quiet.suppress_debug_info = True
    quiet.telemetry = False
    quiet.set_verbose = False
    quiet.drop_params = False  # if a parameter were silently dropped, the inspector would show a wrong request
    for name in ("callbacks", "success_callback", "failure_callback", "input_callback", "service_callback"):
        setattr(quiet, name, [])
    return litellm


@contextlib.contextmanager
def _left_as_it_was(**variables: str) -> Iterator[None]:
    """Import something with these environment variables, and restore what it changes in the process.

    The garbage collector is off meanwhile: it would scan the growing heap again and again.
    """
    environment = dict(os.environ)
    loggers = {logger: _settings_of(logger) for logger in _all_loggers()}
    collecting = gc.isenabled()
    os.environ.update(variables)
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
        for name in os.environ.keys() - environment.keys():
            del os.environ[name]
        os.environ.update(environment)
        for logger in _all_loggers():
            level, logger.propagate, handlers, filters = loggers.get(logger, (logging.NOTSET, True, [], []))
            logger.setLevel(level)
            logger.handlers[:], logger.filters[:] = handlers, filters


def _all_loggers() -> list[logging.Logger]:
    named = logging.Logger.manager.loggerDict.values()
    return [logging.getLogger(), *(each for each in list(named) if isinstance(each, logging.Logger))]


def _settings_of(logger: logging.Logger) -> tuple[int, bool, list[logging.Handler], list[Any]]:
    return logger.level, logger.propagate, list(logger.handlers), list(logger.filters)


LAST_STEP = 15.0
"""Seconds to wait at most for the thread's current step when the program ends; importing litellm takes two or three."""


class Engine:
    """The thread, its loop, and litellm once it was needed."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        """Start work in it with `asyncio.run_coroutine_threadsafe`."""
        # litellm leaves tasks behind whose errors nobody reads; they would be printed on the user's screen.
        self.loop.set_exception_handler(lambda loop, context: None)
        self._litellm: Any = None
        self._warm = False
        self._own: dict[str, Answering] = {}
        self._thread = threading.Thread(target=self.loop.run_forever, name="litellm", daemon=True)
        self._thread.start()
        atexit.register(self._end)

    def _end(self) -> None:
        """Let the thread finish its step before the interpreter ends.

        A thread that is stopped during an import keeps the locks of the modules, and litellm needs one of them when its
        objects are destroyed: a program that is ended within its first seconds would hang.
        """
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(LAST_STEP)
        if not self._thread.is_alive():
            self.loop.close()

    def provide_answering(self, provider: str, answering: Answering) -> None:
        """From now on, answer for this provider's models here and not through litellm. Call it from any thread."""
        self._own[provider] = answering

    def answering_for(self, model: str) -> Answering | None:
        """The function that answers for a model in this process; None if litellm is used."""
        return self._own.get(model.partition("/")[0])

    def litellm(self) -> Any:
        """litellm itself. Call it only in the thread; the first call blocks for seconds."""
        if self._litellm is None:
            self._litellm = import_litellm()
        return self._litellm

    async def warm(self) -> None:
        """Load what litellm loads with its first call, by one call that is refused and one that it answers itself."""
        if self._warm:
            return
        self._warm = True
        litellm = self.litellm()
        common = {"model": "openai/warm", "messages": [{"role": "user", "content": "."}], "stream": True}
        # Bound but not listening: the system refuses connections to it, and nobody else can take the port.
        with socket.socket() as refusing, contextlib.suppress(Exception):
            refusing.bind(("127.0.0.1", 0))
            base = f"http://127.0.0.1:{refusing.getsockname()[1]}/v1"
            await litellm.acompletion(**common, api_base=base, api_key="none", max_retries=0, num_retries=0)
        with contextlib.suppress(Exception):
            async for _ in await litellm.acompletion(**common, mock_response="warm", api_key="none"):
                pass


_lock = threading.Lock()
_engine: list[Engine] = []


def engine() -> Engine:
    """The only engine of this process: there is one litellm, and it keeps its connections by loop."""
    with _lock:
        if not _engine:
            _engine.append(Engine())
        return _engine[0]


class ThreadPipe:
    """Carries items from the engine's thread to the caller's loop, with one wake-up for all that were collected.

    It also makes sure that the caller's loop gets to run. A thread that makes many short system calls, as litellm's
    does, gets the interpreter's lock back each time before another thread wakes up, and can keep it for a second. So if
    the items are not fetched in time, the engine's thread waits until they are, for a moment at most.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._ready = asyncio.Event()
        self._lock = threading.Lock()
        self._gathered: list[Any] = []
        self._fetched = threading.Event()
        self._fetched.set()
        """Cleared by a wake-up until the caller's loop has reacted."""
        self._woken_at = 0.0
        """When the caller's loop was last woken, or waited for."""
        self._timer: asyncio.TimerHandle | None = None

    def add_items(self, items: list[Any], *, last: bool = False) -> None:
        """Add items; call it from the engine's thread. Raises RuntimeError if the caller's loop is closed."""
        now = time.monotonic()
        with self._lock:
            self._gathered += items
            woken = not self._fetched.is_set()
        if woken:
            if now - self._woken_at > _IN_TIME:
                self._fetched.wait(_MOMENT)
                self._woken_at = time.monotonic()
        elif last or now - self._woken_at >= _PACE:
            self._wake()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._woken_at + _PACE - now, self._wake)

    async def take_items(self) -> list[Any]:
        """Take all items, at least one. The loop runs in between, however fast items arrive."""
        taken: list[Any] = []
        while not taken:
            await self._ready.wait()
            self._ready.clear()
            with self._lock:
                taken, self._gathered = self._gathered, taken
                self._fetched.set()
        return taken

    def _wake(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._woken_at = time.monotonic()
        self._fetched.clear()
        self._loop.call_soon_threadsafe(self._ready.set)


class SilenceTimer:
    """Cancels a task of the engine that has been silent for too long. Resetting it costs almost nothing."""

    def __init__(self, first: float, between: float) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._cancel: Callable[[], object] = task.cancel
        self._loop = asyncio.get_running_loop()
        self._between = between
        self._limit = first
        self._last = self._loop.time()
        self._timer = self._loop.call_later(first, self._check_silence)
        self.silent = 0.0
        """The seconds of silence that were too long; 0 while all is well."""
        self.began = False
        """Whether anything has arrived at all."""

    def note_arrival(self) -> None:
        """Report that something arrived: the time starts again."""
        self._last = self._loop.time()
        if not self.began:
            self.began = True
            self.allow(self._between)

    def allow(self, seconds: float) -> None:
        """Restart the time with this limit."""
        self._last = self._loop.time()
        self._limit = seconds
        self._timer.cancel()
        self._timer = self._loop.call_later(seconds, self._check_silence)

    def stop(self) -> None:
        """Stop the clock: the task is no longer cancelled."""
        self._timer.cancel()

    def _check_silence(self) -> None:
        """Cancel if the time is up; if something arrived meanwhile, check again later."""
        left = self._last + self._limit - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._check_silence)
        else:
            self.silent = self._limit
            self._cancel()
