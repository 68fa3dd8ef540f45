"""A recorder in a thread of this process, for tests that need no journal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, Final

from workbench.config.background import background
from workbench.proxy.recorder import Recorder
from workbench.proxy.recording import BatchRecording
from workbench.proxy.records import Feedback, Record
from workbench.proxy.sessions import ProxySessions

BATCH: Final = 64
"""Records that are stored together."""

_Item = tuple[Record, bytes, int]


class ThreadLink:
    """Records are handed over in memory."""

    def __init__(self, sessions: ProxySessions) -> None:
        self._recording = BatchRecording(sessions)
        self._queue: SimpleQueue[_Item | None] = SimpleQueue()
        self._thread: Future[None] | None = None

    def start(self, hear: Callable[[Feedback], None]) -> None:
        """Begin."""
        self._thread = background(lambda: self._run(hear))

    def put_records(self, *records: tuple[Record, Sequence[bytes]]) -> int:
        """Hand on records."""
        size = 0
        for record, parts in records:
            data = b"".join(parts)
            self._queue.put((record, data, len(data)))
            size += len(data)
        return size

    def close(self, seconds: float) -> str:
        """Finish."""
        self._queue.put(None)
        assert self._thread is not None
        try:
            self._thread.result(seconds)
        except TimeoutError:
            return "the program ended before all was recorded"
        return ""

    def _run(self, hear: Callable[[Feedback], None]) -> None:
        item = self._queue.get()
        while item is not None:
            for _ in range(BATCH):
                self._recording.process_record(*item)
                try:
                    item = self._queue.get_nowait()
                except Empty:
                    hear(self._recording.finish_batch())
                    item = self._queue.get()
                    break
                if item is None:
                    break
            else:
                hear(self._recording.finish_batch())
        hear(self._recording.finish_batch())
        self._recording.close()


def in_thread(sessions: ProxySessions, *given: Any, **more: Any) -> Recorder:
    """A recorder in a thread; the rest as for `Recorder`."""
    return Recorder(ThreadLink(sessions), *given, **more)
