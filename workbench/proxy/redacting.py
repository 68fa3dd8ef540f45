"""Masks secrets before anything is written to the journal, which is a file.

A thread of the proxy parses and masks the bodies one by one, so the proxy has more work than without masking.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Lock
from typing import Any

import msgspec

from workbench.config.background import background
from workbench.config.values import replace
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
from workbench.proxy.unpacking import LARGEST, BodyTooLarge, checked_size, read_body, unpack_answer
from workbench.wire.dialects import DEFAULT
from workbench.wire.speaking import to_json
from workbench.wire.streams import parsed_json

Redact = Callable[[Any], Any]

_BODY_HEADERS = {"content-encoding", "content-type"}


class RedactingLink:
    """Masks the bytes of records before it hands them to another link."""

    def __init__(self, link: RecorderLink, redact: Redact) -> None:
        self._link = link
        self._redact = redact
        self._queue: SimpleQueue[tuple[Record, bytes] | None] = SimpleQueue()
        self._thread: Future[None] | None = None
        self._dialects: dict[int, tuple[DialectName, int]] = {}
        self._lock = Lock()
        self._handed: deque[tuple[int, int]] = deque()
        """For each record that is not recorded yet: the masked bytes up to its end, and the original ones."""
        self._masked_bytes = self._original_bytes = 0
        """The sums of all records so far. What is lost has no masked bytes."""
        self._recorded = self._done = 0
        """The masked bytes that are recorded, and the original ones that they stand for."""
        self._on_feedback: Callable[[Feedback], None] = lambda feedback: None

    def start(self, on_feedback: Callable[[Feedback], None]) -> None:
        self._on_feedback = on_feedback
        self._link.start(self._pass_on)
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
            return "the program ended before all records were masked"
        return self._link.close(seconds)

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            record, data = item
            size = len(data)
            try:
                record, data = self._masked(record, data)
                self._note_handed(size, self._link.put_records((record, [data])))
            except OSError as error:
                self._lose(size, f"the journal cannot be written: {error.strerror or error}")
            except Exception as error:  # whatever the error, unmasked bytes must not get into the journal
                self._lose(size, f"{type(error).__name__}: {error}")

    def _lose(self, size: int, why: str) -> None:
        self._note_handed(size, 0)
        self._pass_on(Feedback(lost={why: 1}))

    def _note_handed(self, original: int, masked: int) -> None:
        with self._lock:
            self._original_bytes += original
            self._masked_bytes += masked
            self._handed.append((self._masked_bytes, self._original_bytes))
            is_recorded = self._recorded >= self._masked_bytes  # the recorder was faster than this thread
        if is_recorded:
            self._pass_on(Feedback())

    def _pass_on(self, feedback: Feedback) -> None:
        """Pass feedback on with the bytes that the records had before they were masked."""
        with self._lock:
            self._recorded = max(self._recorded, feedback.done)
            while self._handed and self._handed[0][0] <= self._recorded:
                self._done = self._handed.popleft()[1]
            done = self._done
        self._on_feedback(replace(feedback, done=done))

    def _masked(self, record: Record, data: bytes) -> tuple[Record, bytes]:
        match record:
            case AskedRecord(payload="frame"):
                try:
                    frame = parsed_json(checked_size(data.decode(errors="surrogatepass")))
                except BodyTooLarge as error:
                    return UnreadRecord(record.route, record.headers, str(error)), b""
                return record, self._masked_json(frame)
            case AskedRecord():
                largest = record.largest or LARGEST
                self._dialects[record.number] = (record.route.dialect or DEFAULT.name, largest)
                try:
                    body = read_body(data, record.headers | _reader_headers(record.headers), largest)
                except BodyTooLarge as error:
                    return UnreadRecord(record.route, record.headers, str(error)), b""
                return replace(record, headers=_without_body_headers(record.headers)), self._masked_json(body)
            case ReplacedRecord() | TracedRecord():
                return record, self._masked_json(msgspec.json.decode(data))
            case AnsweredRecord(payload="frames") if data:
                frames = map(read_frame, msgspec.json.decode(data, type=list[str]))
                written = [to_json(self._redact(frame)) for frame in frames if frame is not None]
                return record, msgspec.json.encode(written)
            case AnsweredRecord():
                dialect, largest = self._dialects.pop(record.number, (DEFAULT.name, LARGEST))
                if not data:
                    return record, data
                try:
                    body = unpack_answer(dialect, data, _reader_headers(record.headers), largest)
                except BodyTooLarge as error:
                    return record.without_bytes(str(error)), b""
                headers = {**_without_body_headers(record.headers), "content-type": "application/json"}
                return replace(record, headers=headers), self._masked_json(body)
        return record, data

    def _masked_json(self, value: Any) -> bytes:
        return to_json(self._redact(value)).encode(errors="surrogatepass")


def _reader_headers(headers: dict[str, str]) -> dict[str, str]:
    """The headers that the readers of bodies need, in the spelling that the readers look up."""
    return {"Content-Encoding": headers.get("content-encoding", ""), "Content-Type": headers.get("content-type", "")}


def _without_body_headers(headers: dict[str, str]) -> dict[str, str]:
    """The headers without those that describe the compression and type of the original body."""
    return {name: value for name, value in headers.items() if name not in _BODY_HEADERS}
