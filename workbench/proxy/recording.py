"""Turns records into events of sessions, in batches. This is the work of the recorder."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from multidict import CIMultiDict

from workbench.log.errors import StoreError
from workbench.log.events import DialectName, Setting
from workbench.proxy.frame_texts import request_in, response_in
from workbench.proxy.records import (
    AnsweredRecord,
    AskedRecord,
    Feedback,
    HeldRecord,
    NotedRecord,
    Record,
    ReplacedRecord,
    TracedRecord,
    UnreadRecord,
    decode_call,
)
from workbench.proxy.repeated_bodies import RepeatedBodies
from workbench.proxy.routes import Route
from workbench.proxy.sessions import OpenRequest, ProxySessions, ReceivedAnswer, SentRequest
from workbench.proxy.unpacking import LARGEST, BodyTooLarge, unpack_answer, unpacked_body
from workbench.wire.dialects import DEFAULT, DIALECTS

MOST_OPEN: Final = 10_000
"""The maximum number of requests that wait for their answers; the oldest is dropped first."""
PASSED_UNREAD: Final = "{} was passed on and not recorded: {}"
PROXY_ENDED: Final = "the proxy ended before the answer"

_log = logging.getLogger(__name__)


class _Open:
    """A request whose answer has not arrived."""

    def __init__(self, asked: OpenRequest, route: Route, largest: int) -> None:
        self.asked = asked
        self.dialect: DialectName = route.dialect or DEFAULT.name
        self.is_wrapped = route.is_wrapped
        self.headers: Mapping[str, str] = {}
        self.largest = largest


class BatchRecording:
    """Processes records one by one; `finish_batch` stores the result."""

    def __init__(self, sessions: ProxySessions) -> None:
        self._sessions = sessions
        sessions.in_batches = True
        self._open: dict[int, _Open] = {}
        self._waiting: dict[int, OpenRequest] = {}
        self._bodies = RepeatedBodies()
        self._lost: Counter[str] = Counter()
        self._done = self._taken = 0
        self.is_stored = True
        """Whether everything processed so far is in the store."""

    def process_record(self, record: Record, data: bytes, size: int = 0) -> None:
        """Process a record and its bytes. `size`: of both. An error in one record does not stop the next."""
        try:
            match record:
                case AskedRecord():
                    self._ask(record, data)
                case HeldRecord():
                    self._hold(record)
                case ReplacedRecord():
                    self._replace(record, data)
                case AnsweredRecord():
                    self._answer(record, data)
                case UnreadRecord():
                    reason = self._passed_unread("a request", record.why)
                    self._sessions.note_unread(record.route, record.headers, reason)
                case TracedRecord():
                    self._sessions.add_traced_call(record.client, decode_call(data))
                case NotedRecord():
                    self._sessions.add_session_event(record.session, Setting(record.key, record.value))
        except Exception as error:  # whatever the error, the next record is processed
            _log.debug("a record could not be taken", exc_info=True)
            self.count_lost(f"{type(error).__name__}: {error}")
        finally:
            self._done += size
            self._taken += isinstance(record, AskedRecord | AnsweredRecord | TracedRecord)

    def finish_batch(self, journal: str = "", position: int = 0) -> Feedback:
        """Store the batch and return feedback for the proxy. `journal`, `position`: how far a journal is recorded."""
        try:
            marks = tuple(self._sessions.store_all(journal, position))
            self.is_stored = True
        except Exception as error:  # whatever the error, the proxy continues
            marks, self.is_stored = (), False
            self._lost[f"{type(error).__name__}: {error}"] += max(self._taken, 1)
        self._taken = 0
        begun = {number: asked.stored.id for number, asked in self._waiting.items() if asked.stored.session is not None}
        for number in begun:
            del self._waiting[number]
        lost, self._lost = dict(self._lost), Counter()
        return Feedback(self._done, begun, marks, self._sessions.take_forgotten(), lost)

    def count_lost(self, why: str) -> None:
        self._lost[why] += 1

    def open_requests(self) -> dict[int, tuple[str, int]]:
        """The session and the event of each unanswered request, by number."""
        return {number: (each.asked.stored.id, each.asked.event) for number, each in self._open.items()}

    def reopen(self, numbers: Mapping[int, tuple[str, int]]) -> None:
        """Continue requests that an earlier recorder left open."""
        for number, (session, event) in numbers.items():
            try:
                asked = self._sessions.reopen_request(session, event)
            except StoreError:
                asked = None
            if asked is not None:
                live = asked.stored.live
                self._open[number] = _Open(asked, Route("openai", live.dialect), LARGEST)

    def end_open(self) -> bool:
        """Mark open requests as unanswered, because the proxy has ended. Return whether there were any."""
        ended = list(self._open.values())
        for each in ended:
            self._sessions.add_answer(each.asked, ReceivedAnswer(0, {}, {}, None, None, PROXY_ENDED))
        self._open.clear()
        self._waiting.clear()
        return bool(ended)

    def close(self) -> None:
        self._sessions.close()

    def _ask(self, record: AskedRecord, data: bytes) -> None:
        headers, largest = CIMultiDict(record.headers), record.largest or LARGEST
        try:
            body = self._request_in(record, data, headers, largest)
        except BodyTooLarge as error:
            reason = self._passed_unread("a request", str(error))
            self._sessions.note_unread(record.route, headers, reason)
            return
        route = record.route
        if route.is_wrapped:
            model, body = DIALECTS[route.dialect or DEFAULT.name].unwrapped_request(body)
            route = route._replace(model=model)
        asked = self._sessions.open_request(SentRequest(route, headers, body, record.at)) if body else None
        if asked is None:
            return
        made = self._open[record.number] = _Open(asked, record.route, largest)
        made.headers = headers
        if record.waits:
            self._waiting[record.number] = asked
        if len(self._open) > MOST_OPEN:
            del self._open[next(iter(self._open))]

    def _request_in(self, record: AskedRecord, data: bytes, headers: Mapping[str, str], largest: int) -> dict[str, Any]:
        """The body of a request; empty if it has none. Raises BodyTooLarge."""
        if record.payload == "frame":
            return request_in(data.decode(errors="surrogatepass"))
        whole = unpacked_body(data, headers.get("Content-Encoding", ""), largest)
        found = self._bodies.parse_body(whole, DIALECTS[record.route.dialect or DEFAULT.name].places[1])
        return found if isinstance(found, dict) else {}

    def _hold(self, record: HeldRecord) -> None:
        found = self._open.get(record.number)
        if found is not None:
            found.asked = self._sessions.hold_request(found.asked, record)

    def _replace(self, record: ReplacedRecord, data: bytes) -> None:
        found = self._open.get(record.number)
        if found is not None:
            sent = SentRequest(record.route, found.headers, msgspec.json.decode(data, type=dict), record.at)
            found.asked = self._sessions.replace_request(found.asked, sent)

    def _answer(self, record: AnsweredRecord, data: bytes) -> None:
        found = self._open.pop(record.number, None)
        if found is None:
            return
        headers, status, body = CIMultiDict(record.headers), record.status, dict[str, Any]()
        reason = self._passed_unread("an answer", record.lost) if record.lost else ""
        try:
            if record.payload == "frames":
                frames = msgspec.json.decode(data, type=list[str]) if data else []
                body, status = response_in(frames)
            else:
                body = unpack_answer(found.dialect, data, headers, found.largest)
                body = DIALECTS[found.dialect].unwrapped_answer(body) if found.is_wrapped else body
        except BodyTooLarge as error:
            reason = self._passed_unread("an answer", str(error))
        came = ReceivedAnswer(status, headers, body, record.first, record.took, record.problem or reason, record.finish)
        self._sessions.add_answer(found.asked, came)

    def _passed_unread(self, what: str, why: str) -> str:
        self.count_lost(f"{what} was passed on unread: {why}")
        return PASSED_UNREAD.format(what, why)
