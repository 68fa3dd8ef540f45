"""litellm in a thread with an event loop of its own.

litellm takes seconds to import and most of a millisecond per chunk. Here that happens beside the caller's loop, which
only wakes up for what is ready.
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
from workbench.models.answer_streams import Answering
from workbench.models.quiet import silence_if_wished

_PACE = 0.004
"""Seconds between two wake-ups of the caller's loop; what comes alone is handed over at once."""
_IN_TIME = 0.005
_MOMENT = 0.005
"""Seconds that the caller's loop has to fetch something, and that the engine's thread then waits for it."""


def import_litellm() -> Any:
    """litellm, and the only place that imports it: no network, no `.env` of parent folders, no telemetry, no output.

    Environment, loggers and the garbage collector are afterwards as they were: litellm reads variables while it is
    imported, and gives handlers, levels and filters to its own loggers and to those of its dependencies. Its own
    loggers stay silent, because what goes wrong is a `ModelFailure`. Those of its dependencies are the program's;
    `quiet.silence_libraries` is for one that wants nothing of them on its terminal.

    Two things are litellm's own doing and stay: three filters that hide what pydantic warns of in litellm's types, and,
    from the first call on, `TIKTOKEN_CACHE_DIR` where it was not set, so that tiktoken finds litellm's files.
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
    quiet.drop_params = False  # a parameter that is dropped in silence would make the inspector lie
    for name in ("callbacks", "success_callback", "failure_callback", "input_callback", "service_callback"):
        setattr(quiet, name, [])
    return litellm


@contextlib.contextmanager
def _left_as_it_was(**variables: str) -> Iterator[None]:
    """Import something under these variables of the environment, and put back what it changes in the process.

    The garbage collector rests meanwhile: it would look through the growing heap again and again.
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
"""Seconds at most for what the thread is doing when the program ends; to import litellm takes two or three."""


class Engine:
    """The thread, its loop, and litellm once somebody needed it."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        """Work is started in it with `asyncio.run_coroutine_threadsafe`."""
        # litellm leaves tasks behind whose errors nobody asks for; they would be printed on the user's screen.
        self.loop.set_exception_handler(lambda loop, context: None)
        self._litellm: Any = None
        self._warm = False
        self._own: dict[str, Answering] = {}
        self._thread = threading.Thread(target=self.loop.run_forever, name="litellm", daemon=True)
        self._thread.start()
        atexit.register(self._end)

    def _end(self) -> None:
        """Let the thread finish its step before the interpreter ends.

        A thread that is stopped while it imports keeps the locks of the modules, and what litellm does when its objects
        go needs one of them: a program that was left within its first seconds would hang.
        """
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(LAST_STEP)
        if not self._thread.is_alive():
            self.loop.close()

    def provide(self, provider: str, answering: Answering) -> None:
        """From now on, models of this provider are asked here and not through litellm; from any thread."""
        self._own[provider] = answering

    def own(self, model: str) -> Answering | None:
        """Who answers for a model in this process; None where litellm is asked."""
        return self._own.get(model.partition("/")[0])

    def litellm(self) -> Any:
        """litellm itself; to be asked for in the thread only, which it blocks for seconds the first time."""
        if self._litellm is None:
            self._litellm = import_litellm()
        return self._litellm

    async def warm(self) -> None:
        """Bring in what litellm loads with its first call, by one that is refused and one that it answers itself."""
        if self._warm:
            return
        self._warm = True
        litellm = self.litellm()
        common = {"model": "openai/warm", "messages": [{"role": "user", "content": "."}], "stream": True}
        # Bound and not listening: the system refuses connections to it, and nobody else can take the port.
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
    """The one engine of this process: litellm is one, and keeps its connections by loop."""
    with _lock:
        if not _engine:
            _engine.append(Engine())
        return _engine[0]


class Pipe:
    """Carries things from the engine's thread to the caller's loop, with one wake-up for all that gathered.

    It also sees to it that the caller's loop runs. A thread that makes many short system calls, as litellm's does, gets
    the interpreter back each time before another thread wakes up, and can keep it for a second. So when what gathered
    is not fetched in time, the engine's thread stands still until it is, for a moment at most.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._ready = asyncio.Event()
        self._lock = threading.Lock()
        self._gathered: list[Any] = []
        self._fetched = threading.Event()
        self._fetched.set()
        """Clear from a wake-up until the caller's loop has followed it."""
        self._told = 0.0
        """When the caller's loop was last woken, or waited for."""
        self._timer: asyncio.TimerHandle | None = None

    def put(self, things: list[Any], *, last: bool = False) -> None:
        """From the engine's thread. Raises RuntimeError when the caller's loop is closed."""
        now = time.monotonic()
        with self._lock:
            self._gathered += things
            woken = not self._fetched.is_set()
        if woken:
            if now - self._told > _IN_TIME:
                self._fetched.wait(_MOMENT)
                self._told = time.monotonic()
        elif last or now - self._told >= _PACE:
            self._wake()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._told + _PACE - now, self._wake)

    async def take(self) -> list[Any]:
        """All that gathered, at least one thing; the loop runs in between, however fast things come."""
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
        self._told = time.monotonic()
        self._fetched.clear()
        self._loop.call_soon_threadsafe(self._ready.set)


class Clock:
    """Cancels a task of the engine that has said nothing for too long; moving it on costs next to nothing."""

    def __init__(self, first: float, between: float) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._cancel: Callable[[], object] = task.cancel
        self._loop = asyncio.get_running_loop()
        self._between = between
        self._limit = first
        self._last = self._loop.time()
        self._timer = self._loop.call_later(first, self._look)
        self.silent = 0.0
        """The seconds of silence that were too many; 0 while all is well."""
        self.began = False
        """Whether anything was said at all."""

    def said(self) -> None:
        """Something came: the time runs anew."""
        self._last = self._loop.time()
        if not self.began:
            self.began = True
            self.allow(self._between)

    def allow(self, seconds: float) -> None:
        """From now on, this long."""
        self._last = self._loop.time()
        self._limit = seconds
        self._timer.cancel()
        self._timer = self._loop.call_later(seconds, self._look)

    def stop(self) -> None:
        """No more cancelling."""
        self._timer.cancel()

    def _look(self) -> None:
        """Time is up, unless something came since; then look again when it will be."""
        left = self._last + self._limit - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._look)
        else:
            self.silent = self._limit
            self._cancel()
