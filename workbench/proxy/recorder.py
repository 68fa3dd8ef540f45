"""Recording, off the path: what passed is handed to a thread, which may fail or fall behind without anybody waiting."""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Event
from time import monotonic
from typing import Any, Final

from workbench.config.background import background
from workbench.log.events import Body
from workbench.proxy.conversation_marks import Belonging, ConversationMark
from workbench.proxy.routes import Route
from workbench.proxy.sessions import CameBack, HoldMark, OpenRequest, ProxySessions, SentRequest
from workbench.wire.streams import from_stream, loaded

_log = logging.getLogger(__name__)

MOST_WAITING: Final = 256 * 1024 * 1024
"""Bytes that may wait to be recorded; what comes on top of them is not recorded."""
BEHIND: Final = 0.1
"""Seconds that a request waits at most where half as many do: only hundreds of large ones in a second come to that."""
QUIET: Final = 0.005
"""Seconds after a first byte in which another request may follow; then it is recorded."""
PATIENCE: Final = 1.0
"""Seconds by which it may be recorded later, because others wait for a first byte all the time."""


class Recorder:
    """Takes what passes, and has a thread make sessions of it."""

    def __init__(self, sessions: ProxySessions, tell: Callable[[str], None] = _log.warning) -> None:
        """`tell` is told what could not be recorded, a line each."""
        self._sessions = sessions
        self._tell = tell
        self._told: set[str] = set()
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._taken = self._done = 0
        """Bytes; each is counted by one thread alone."""
        self.lost = 0
        """Requests that were not recorded."""
        self._hurried: set[object] = set()
        """Those who wait for their first byte."""
        self._timer: asyncio.TimerHandle | None = None
        self._calm = Event()
        self._calm.set()
        self._due = 0.0
        """When what is being recorded waits for nobody any more."""
        sessions.pause = self._pause
        self._thread: Future[None] = background(self._run)

    @property
    def _waiting(self) -> int:
        return self._taken - self._done

    async def room(self) -> None:
        """Wait for the recorder where it is far behind, though not where it does not catch up."""
        until = monotonic() + BEHIND
        while MOST_WAITING // 2 < self._waiting < MOST_WAITING and monotonic() < until:
            await asyncio.sleep(QUIET)

    def hold_off(self, who: object) -> None:
        """Somebody waits for a first byte: what can be done later is done later. Called in the loop's thread."""
        if self._timer is not None:
            self._timer.cancel()
        self._hurried.add(who)
        self._calm.clear()

    def go_on(self, who: object) -> None:
        """He has it, or it takes so long that nothing more can hold it up. Called in the loop's thread."""
        if who not in self._hurried:
            return
        self._hurried.remove(who)
        if not self._hurried:
            self._timer = asyncio.get_running_loop().call_later(QUIET, self._calm.set)

    def sent(self, request: Callable[[], SentRequest | None], size: int) -> Recorded:
        """A request, which is read later; `size`: its bytes."""
        made = Recorded(self)
        if self._waiting + size > MOST_WAITING:
            self._lose("too much waits to be recorded")
            return made
        self._put(size, lambda: made.begin(self._sessions, request()))
        return made

    def note(self, session: str, body: Body) -> None:
        """Something to write down in a session."""
        self._put(0, lambda: self._sessions.note(session, body))

    @property
    def marks(self) -> Mapping[str, ConversationMark]:
        """What the sessions are known by, as far as they are recorded."""
        return self._sessions.marks

    def whose(self, route: Route, headers: Mapping[str, str], body: dict[str, Any]) -> Belonging:
        """Which session a request belongs to, as far as they are recorded. Nobody is waited for."""
        return self._sessions.whose(route, headers, body)

    def _put(self, size: int, work: Callable[[], None]) -> None:
        self._taken += size
        due = monotonic() + PATIENCE

        def run() -> None:
            self._due = due
            self._pause()
            try:
                work()
            finally:
                self._done += size

        self._work.put(run)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            try:
                work()
            except Exception as error:  # whatever it is, the agent goes on
                self._lose(f"{type(error).__name__}: {error}")
        self._sessions.close()

    def _pause(self) -> None:
        """In the recorder's thread: the two would take turns otherwise, and each wait for the other."""
        if not self._calm.is_set() and (left := self._due - monotonic()) > 0:
            self._calm.wait(left)

    def _lose(self, why: str) -> None:
        self.lost += 1
        if why not in self._told:
            self._told.add(why)
            self._tell(f"not recorded: {why}")

    def close(self, seconds: float = 10) -> None:
        """Record what is waiting; what takes longer is left."""
        self._work.put(None)
        self._calm.set()
        try:
            self._thread.result(seconds)
        except TimeoutError:
            self._lose("the end of the program came first")


class Recorded:
    """A request that is being recorded."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._sessions: ProxySessions | None = None
        self._open: OpenRequest | None = None

    @property
    def session(self) -> str:
        """The session it is recorded in; empty before it is."""
        return self._open.place.id if self._open is not None else ""

    def begin(self, sessions: ProxySessions, request: SentRequest | None) -> None:
        """In the recorder's thread: read it and store it."""
        self._sessions = sessions
        self._open = sessions.sent(request) if request is not None else None

    def held(self, mark: HoldMark, sent: SentRequest | None, size: int = 0) -> None:
        """It waited at a breakpoint; `sent`: what was sent in its place, of so many bytes."""

        def work() -> None:
            if self._open is not None and self._sessions is not None:
                self._open = self._sessions.held(self._open, mark, sent)

        self._recorder._put(size, work)

    def replaced(self, sent: SentRequest, size: int) -> None:
        """Something else was sent in its place, of so many bytes."""

        def work() -> None:
            if self._open is not None and self._sessions is not None:
                self._open = self._sessions.replaced(self._open, sent)

        self._recorder._put(size, work)

    def answered(self, came: Callable[[], CameBack], size: int) -> None:
        """What came back, which is read later."""

        def work() -> None:
            if self._open is not None and self._sessions is not None:
                self._sessions.answered(self._open, came())

        self._recorder._put(size, work)


def read_body(body: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
    """The object in a body; an empty one where there is none."""
    found = loaded(unpacked(body, headers.get("Content-Encoding", "")))
    return found if isinstance(found, dict) else {}


def read_answer(dialect: Any, body: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
    """An answer as one body; of a stream, as much as came of it."""
    text = unpacked(body, headers.get("Content-Encoding", ""))
    kind = headers.get("Content-Type", "")
    found = None if "event-stream" in kind else loaded(text)
    if isinstance(found, dict):
        return found
    return from_stream(dialect, text.decode(errors="replace"))


def unpacked(body: bytes, encoding: str) -> bytes:
    """A body without its compression; as much of it as there is, and as it is where the compression is not known."""
    for each in reversed([name.strip().lower() for name in encoding.split(",")]):
        try:
            body = _UNPACK.get(each, bytes)(body)
        except Exception:  # broken off, or not what it says; brotli and zstd have errors of their own
            return b""
    return body


def _gunzip(body: bytes) -> bytes:
    return zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(body)


def _deflate(body: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(body)
    except zlib.error:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(body)


def _brotli(body: bytes) -> bytes:
    import brotli  # type: ignore[import-untyped]  # late: few answers need it

    return bytes(brotli.Decompressor().process(body))


def _zstd(body: bytes) -> bytes:
    import zstandard  # late: few answers need it

    return zstandard.ZstdDecompressor().decompressobj().decompress(body)


_UNPACK: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
