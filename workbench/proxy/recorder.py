"""Recording, off the path: what passed is handed to a thread, which may fail or fall behind without anybody waiting."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Event
from typing import Any, Final

from workbench.config.background import background
from workbench.proxy.sessions import CameBack, HoldMark, OpenRequest, ProxySessions, SentRequest
from workbench.wire.streams import from_stream, loaded

_log = logging.getLogger(__name__)

MOST_WAITING: Final = 256 * 1024 * 1024
"""Bytes that may wait to be recorded; what comes on top of them is not recorded."""


PATIENCE: Final = 0.2
"""Seconds for which recording waits for a first byte; a provider may think for minutes."""


class Recorder:
    """Takes what passes, and has a thread make sessions of it."""

    def __init__(self, sessions: ProxySessions, tell: Callable[[str], None] = _log.warning) -> None:
        """`tell` is told what could not be recorded, a line each."""
        self._sessions = sessions
        self._tell = tell
        self._told: set[str] = set()
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._waiting = 0
        self.lost = 0
        """Requests that were not recorded."""
        self._hurried = 0
        """Requests that wait for their first byte."""
        self._calm = Event()
        self._calm.set()
        self._thread: Future[None] = background(self._run)

    def hold_off(self) -> None:
        """Somebody waits for a first byte: what can be done later is done later. Called in the loop's thread."""
        self._hurried += 1
        self._calm.clear()

    def go_on(self) -> None:
        """He has it."""
        self._hurried -= 1
        if not self._hurried:
            self._calm.set()

    def sent(self, request: Callable[[], SentRequest | None], size: int) -> Recorded:
        """A request, which is read later; `size`: its bytes."""
        made = Recorded(self)
        if self._waiting + size > MOST_WAITING:
            self._lose("too much waits to be recorded")
            return made
        self._put(size, lambda: made.begin(self._sessions, request()))
        return made

    def _put(self, size: int, work: Callable[[], None]) -> None:
        self._waiting += size

        def run() -> None:
            try:
                work()
            finally:
                self._waiting -= size

        self._work.put(run)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            self._calm.wait(PATIENCE)
            try:
                work()
            except Exception as error:  # whatever it is, the agent goes on
                self._lose(f"{type(error).__name__}: {error}")
        self._sessions.close()

    def _lose(self, why: str) -> None:
        self.lost += 1
        if why not in self._told:
            self._told.add(why)
            self._tell(f"not recorded: {why}")

    def close(self, seconds: float = 10) -> None:
        """Record what is waiting; what takes longer is left."""
        self._work.put(None)
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
