"""Masks secrets before anything is written to the journal, which is a file.

A thread of the proxy parses and masks the bodies one by one, so the proxy has more work than without masking.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

import msgspec

from workbench.config.background import background
from workbench.log.events import DialectName
from workbench.proxy.frame_texts import read_frame
from workbench.proxy.recorder import RecorderLink
from workbench.proxy.records import (
    AnsweredRecord,
    AskedRecord,
    Feedback,
    Record,
    ReplacedRecord,
    TracedRecord,
    UnreadRecord,
)
from workbench.proxy.unpacking import LARGEST, BodyTooLarge, read_body, unpack_answer
from workbench.wire.dialects import DEFAULT
from workbench.wire.speaking import to_json

Redact = Callable[[Any], Any]

_PLAIN = {"content-encoding", "content-type"}


class RedactingLink:
    """Masks the bytes of records before it hands them to another link."""

    def __init__(self, link: RecorderLink, redact: Redact) -> None:
        self._link = link
        self._redact = redact
        self._queue: SimpleQueue[tuple[Record, bytes] | None] = SimpleQueue()
        self._thread: Future[None] | None = None
        self._dialects: dict[int, tuple[DialectName, int]] = {}
        self._saved = 0
        """Bytes by which masking made the records smaller."""
        self._on_feedback: Callable[[Feedback], None] = lambda feedback: None

    def start(self, on_feedback: Callable[[Feedback], None]) -> None:
        self._on_feedback = on_feedback
        self._link.start(
            lambda feedback: on_feedback(msgspec.structs.replace(feedback, done=feedback.done + self._saved))
        )
        self._thread = background(self._run)

    def put_records(self, *records: tuple[Record, Sequence[bytes]]) -> int:
        """Queue records to be masked and handed over."""
        size = 0
        for record, parts in records:
            data = b"".join(parts)
            self._queue.put((record, data))
            size += len(data)
        return size

    def close(self, seconds: float) -> str:
        """Finish the queue, then close the other link."""
        self._queue.put(None)
        assert self._thread is not None
        try:
            self._thread.result(seconds)
        except TimeoutError:
            return "the end of the program came first"
        return self._link.close(seconds)

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            record, data = item
            size = len(data)
            try:
                record, data = self._masked(record, data)
                self._saved += size - self._link.put_records((record, [data]))
            except OSError as error:
                self._lose(size, f"the journal cannot be written: {error.strerror or error}")
            except Exception as error:  # whatever the error, unmasked bytes must not get into the journal
                self._lose(size, f"{type(error).__name__}: {error}")

    def _lose(self, size: int, why: str) -> None:
        self._saved += size
        self._on_feedback(Feedback(lost={why: 1}))

    def _masked(self, record: Record, data: bytes) -> tuple[Record, bytes]:
        match record:
            case AskedRecord(payload="frame"):
                return record, self._written(read_frame(data.decode(errors="surrogatepass")))
            case AskedRecord():
                largest = record.largest or LARGEST
                self._dialects[record.number] = (record.route.dialect or DEFAULT.name, largest)
                try:
                    body = read_body(data, record.headers | _found(record.headers), largest)
                except BodyTooLarge as error:
                    return UnreadRecord(record.route, record.headers, str(error)), b""
                return msgspec.structs.replace(record, headers=_plain(record.headers)), self._written(body)
            case ReplacedRecord() | TracedRecord():
                return record, self._written(msgspec.json.decode(data))
            case AnsweredRecord(payload="frames") if data:
                frames = map(read_frame, msgspec.json.decode(data, type=list[str]))
                written = [to_json(self._redact(frame)) for frame in frames if frame is not None]
                return record, msgspec.json.encode(written)
            case AnsweredRecord():
                dialect, largest = self._dialects.pop(record.number, (DEFAULT.name, LARGEST))
                if not data:
                    return record, data
                try:
                    body = unpack_answer(dialect, data, _found(record.headers), largest)
                except BodyTooLarge as error:
                    return record.without_bytes(str(error)), b""
                headers = {**_plain(record.headers), "content-type": "application/json"}
                return msgspec.structs.replace(record, headers=headers), self._written(body)
        return record, data

    def _written(self, value: Any) -> bytes:
        return to_json(self._redact(value)).encode(errors="surrogatepass")


def _found(headers: dict[str, str]) -> dict[str, str]:
    """The headers that the readers of bodies need, with their usual spelling."""
    return {"Content-Encoding": headers.get("content-encoding", ""), "Content-Type": headers.get("content-type", "")}


def _plain(headers: dict[str, str]) -> dict[str, str]:
    """The headers without those that describe the compression and type of the original body."""
    return {name: value for name, value in headers.items() if name not in _PLAIN}
