"""The proxy's side of recording. It hands exchanges to a recorder that may fail or fall behind; nobody waits for it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from threading import Lock
from time import monotonic
from typing import Any, Final, Protocol

import msgspec

from workbench.config.text import counted
from workbench.config.values import replace
from workbench.log.events import Setting
from workbench.proxy.conversation_marks import MarkedConversations
from workbench.proxy.records import (
    AnsweredRecord,
    AskedRecord,
    Feedback,
    HeldRecord,
    NotedRecord,
    Payload,
    Record,
    ReplacedRecord,
    TracedRecord,
    UnreadRecord,
    encode,
)
from workbench.proxy.routes import Route
from workbench.proxy.senders import recorded_headers
from workbench.proxy.unpacking import LARGEST
from workbench.traces.llm_calls import LlmCall
from workbench.wire.values import cleaned

_log = logging.getLogger(__name__)

MOST_WAITING: Final = 256 * 1024 * 1024
"""Bytes that may wait to be recorded; anything beyond that is not recorded."""
MOST_ARRIVING: Final = 96 * 1024 * 1024
"""Bytes of answers that are still arriving. They are kept in memory; what waits to be recorded is in the journal."""
BEHIND: Final = 0.1
"""The longest wait of a request in seconds, once half of `MOST_WAITING` is used. Only hundreds of large requests
per second use that much.
"""
PAUSE: Final = 0.005
TOO_MUCH: Final = "too much waits to be recorded"


class RecorderLink(Protocol):
    """The connection to a recorder, which runs in a thread or in its own process."""

    def start(self, on_feedback: Callable[[Feedback], None]) -> None:
        """Start the recorder. `on_feedback` is called in any thread."""

    def put_records(self, *records: tuple[Record, Sequence[bytes]]) -> int:
        """Hand over records and their bytes. Return the total size. Raises OSError."""

    def close(self, seconds: float) -> str:
        """Let the recorder finish. Return why something is not recorded; empty if all is."""


class Recorder(MarkedConversations):
    """Records exchanges. Use it in one thread, except for `marks`, `match_session` and `note_setting`."""

    def __init__(
        self,
        link: RecorderLink,
        report: Callable[[str], None] = _log.warning,
        redact: Callable[[Any], Any] | None = None,
    ) -> None:
        """`report` gets one line for each kind of failure; `redact`: masks secrets, as in the store."""
        super().__init__(redact)
        self.lost = 0
        """The number of requests and answers that were not recorded."""
        self.sessions: dict[int, str] = {}
        """The sessions of requests that may wait at a breakpoint, by number; empty before they are recorded."""
        self._link = link
        self._report = report
        self._reported: set[str] = set()
        self._lock = Lock()
        self._numbers = count(1)
        self._put_in = self._done = 0
        """Bytes handed over, and bytes recorded."""
        self._kept = 0
        """Bytes of answers that are still arriving."""
        link.start(self._on_feedback)

    @property
    def waiting(self) -> int:
        """Bytes that are not recorded yet."""
        return self._put_in - self._done

    @property
    def is_behind(self) -> bool:
        return self.waiting > MOST_WAITING // 2

    async def wait_for_room(self) -> None:
        """Wait a short time for a recorder that is far behind, but not if it cannot catch up."""
        until = monotonic() + BEHIND
        while MOST_WAITING // 2 < self.waiting < MOST_WAITING and monotonic() < until:
            await asyncio.sleep(PAUSE)

    # Exchanges

    def record_request(
        self,
        route: Route,
        headers: Mapping[str, str],
        parts: Sequence[bytes],
        at: int,
        *,
        payload: Payload = "body",
        largest: int = LARGEST,
        waits: bool = False,
        at_once: bool = True,
    ) -> RequestRecording:
        """Record a request, which is read later. `at_once`: it is handed over before its answer arrives."""
        number = next(self._numbers)
        if waits:
            self.sessions[number] = ""
        record = AskedRecord(number, route, recorded_headers(headers), at, payload, largest, waits)
        return RequestRecording(self, record, parts, at_once=at_once)

    def record_unread(self, route: Route, headers: Mapping[str, str], why: str) -> None:
        """Record that a request was passed on without being read."""
        self._put((UnreadRecord(route, recorded_headers(headers), why), ()))

    def record_call(self, client: str, call: LlmCall) -> None:
        """Record a call of a model that an agent, `client`, traced."""
        data = encode(cleaned(msgspec.to_builtins(call)))
        self._put((TracedRecord(client), [data]))

    def note_setting(self, session: str, setting: Setting) -> None:
        """Write a setting to the log of a session."""
        self._put((NotedRecord(session, setting.key, setting.value), ()))

    def passed_unread(self, what: str, why: str) -> None:
        """Report once that a request or an answer was passed on and not recorded."""
        self._lose(f"{what} was passed on unread: {why}")

    def _put(self, *records: tuple[Record, Sequence[bytes]]) -> bool:
        """Hand over records. Return whether all were; an answer that does not fit is handed over without its bytes."""
        if self.waiting + sum(len(part) for _, parts in records for part in parts) > MOST_WAITING:
            record = records[-1][0]
            if len(records) > 1 or not isinstance(record, AnsweredRecord):
                self._lose(TOO_MUCH)
                return False
            records = ((record.without_bytes(TOO_MUCH), ()),)
        try:
            with self._lock:
                self._put_in += self._link.put_records(*records)
        except OSError as error:
            self._lose(f"the journal cannot be written: {error.strerror or error}")
            return False
        return True

    def reserve_bytes(self, size: int) -> bool:
        """Reserve bytes for answers that are still arriving. Return whether they fit; `free_bytes` frees them again."""
        if self._kept + size > MOST_ARRIVING or self._kept + self.waiting + size > MOST_WAITING:
            return False
        self._kept += size
        return True

    def free_bytes(self, size: int) -> None:
        self._kept -= size

    # Feedback of the recorder

    def _on_feedback(self, feedback: Feedback) -> None:
        """Handle feedback. Called in a thread of the link."""
        self._done = max(self._done, feedback.done)
        self.sessions.update((number, name) for number, name in feedback.sessions.items() if number in self.sessions)
        self.learn(feedback.marks, feedback.forgotten)
        for why, times in feedback.lost.items():
            self._lose(why, times)
        if feedback.recovered:
            found = counted(feedback.recovered, "answered request")
            self._report(f"recorded {found} that an earlier proxy had not recorded when it was killed")

    def _lose(self, why: str, times: int = 1) -> None:
        self.lost += times
        if why not in self._reported:
            self._reported.add(why)
            self._report(f"not recorded: {why}")

    def close(self, seconds: float = 10) -> None:
        """Record what is waiting, for at most this long."""
        if why := self._link.close(seconds):
            self._lose(why)


class RequestRecording:
    """A request that is being recorded."""

    def __init__(self, recorder: Recorder, asked: AskedRecord, parts: Sequence[bytes], *, at_once: bool) -> None:
        self._recorder = recorder
        self._number = asked.number
        self._route = asked.route
        self._is_lost = False
        self._pending: tuple[tuple[Record, Sequence[bytes]], ...] = ((asked, parts),)
        """Records to hand over together with the next one."""
        if at_once:
            self._put()

    @property
    def session(self) -> str:
        """The session of a request that may wait; empty before it is recorded."""
        return self._recorder.sessions.get(self._number, "")

    def record_hold(self, held: HeldRecord) -> None:
        """Record that the request waited at a breakpoint."""
        self._put((replace(held, number=self._number), ()))

    def record_replacement(self, body: bytes, model: str = "") -> None:
        """Record that another body was sent instead, perhaps to another model."""
        route = self._route._replace(model=model or self._route.model)
        self._put((ReplacedRecord(self._number, route, time.time_ns() // 1_000_000), [body]))

    def record_answer(
        self,
        status: int,
        headers: Mapping[str, str],
        parts: Sequence[bytes],
        first: int | None,
        took: int,
        *,
        problem: str = "",
        finish: str = "",
        payload: Payload = "body",
        lost: str = "",
    ) -> None:
        """Record the answer. `first`, `took`: milliseconds; `lost`: why it has no bytes."""
        kept_headers = recorded_headers(headers)
        self._recorder.sessions.pop(self._number, None)
        self._put(
            (AnsweredRecord(self._number, status, kept_headers, first, took, problem, finish, payload, lost), parts)
        )

    def _put(self, *records: tuple[Record, Sequence[bytes]]) -> None:
        unsaid, self._pending = self._pending, ()
        if not self._is_lost:
            self._is_lost = not self._recorder._put(*unsaid, *records) and bool(unsaid)
