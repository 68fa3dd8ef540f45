"""Collects one exchange while it passes, and hands it to the recorder when nobody waits for it."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence

from workbench.proxy.recorder import TOO_MUCH, Recorder, RequestRecording
from workbench.proxy.records import HeldRecord
from workbench.proxy.routes import Route
from workbench.proxy.unpacking import BodyTooLarge, too_large, unpacked_body

_log = logging.getLogger(__name__)


class ExchangeLog:
    """The record of one request and its answer."""

    def __init__(
        self, recorder: Recorder | None, route: Route, headers: Mapping[str, str], largest: int, *, waits: bool
    ) -> None:
        """`recorder`: None records nothing; `waits`: the request may wait at a breakpoint."""
        self._recorder = recorder
        self._route = route
        self._headers = headers
        self._largest = largest
        self._waits = waits
        self._at = time.time_ns() // 1_000_000
        self._began = time.monotonic()
        self._first: float | None = None
        self._recorded: RequestRecording | None = None
        self._request: Sequence[bytes] = ()
        self._answer: list[bytes] = []
        self._size = 0
        """The bytes of the answer that are kept."""
        self._lost = ""
        """Why the answer is not recorded; empty if it is."""
        self.unread = ""
        """Why the request is passed on without being read; empty if it is read."""

    @property
    def session(self) -> str:
        """The session of a request that may wait at a breakpoint; empty before it is recorded."""
        return self._recorded.session if self._recorded is not None else ""

    def set_request(self, parts: Sequence[bytes]) -> None:
        """Set the complete request, in pieces."""
        self._request = parts

    def record_request(self, *, at_once: bool = True) -> None:
        """Record the request if it is complete and not recorded yet. `at_once`: before its answer has arrived."""
        if self._recorder is not None and self._recorded is None and self._request and not self.unread:
            self._recorded = self._recorder.record_request(
                self._route,
                self._headers,
                self._request,
                self._at,
                largest=self._largest,
                waits=self._waits,
                at_once=at_once,
            )

    def record_hold(self, mark: HeldRecord) -> None:
        """Note that the request waited at a breakpoint and now continues."""
        self._began = time.monotonic()
        if self._recorded is not None:
            self._recorded.record_hold(mark)

    def record_replacement(self, body: bytes, model: str = "") -> None:
        """Note that another body is sent instead."""
        self.record_request()
        if self._recorded is not None:
            self._recorded.record_replacement(body, model)

    def keep_chunk(self, chunk: bytes) -> None:
        """Keep a chunk of the answer if there is room for it."""
        if self._first is None:
            self._first = time.monotonic()
        if self._lost:
            return
        if self._size + len(chunk) > self._largest:
            self._lose(too_large(self._largest))
        elif self._recorder is not None and not self._recorder.reserve_bytes(len(chunk)):
            self._lose(TOO_MUCH)
        else:
            self._answer.append(chunk)
            self._size += len(chunk)

    def _lose(self, why: str) -> None:
        if self._recorder is not None:
            self._recorder.free_bytes(self._size)
        self._answer, self._size, self._lost = [], 0, why

    def unpacked(self, encoding: str) -> bytes:
        """The answer, decompressed. Raises BodyTooLarge."""
        if self._lost:
            raise BodyTooLarge(self._lost)
        try:
            return unpacked_body(b"".join(self._answer), encoding, self._largest)
        except BodyTooLarge as error:
            self._lose(str(error))
            raise

    def end(self, status: int, headers: Mapping[str, str], problem: str, finish: str) -> None:
        """Record the finished exchange."""
        recorder = self._recorder
        if recorder is None:
            if self.unread:
                _log.warning("a request was passed on as it was: %s", self.unread)
            return
        recorder.free_bytes(self._size)
        self.record_request(at_once=False)
        if self._recorded is None:
            if self.unread:
                recorder.record_unread(self._route, self._headers, self.unread)
            return
        first = None if self._first is None else round((self._first - self._began) * 1000)
        took = round((time.monotonic() - self._began) * 1000)
        self._recorded.record_answer(
            status, headers, self._answer, first, took, problem=problem, finish=finish, lost=self._lost
        )
