"""Finds and records the requests among the frames of a websocket, and completes those that send only new items.

A request may continue an earlier response (`previous_response_id`). If the user wrote that response by hand, or changed
the request that it answers, the provider does not have the conversation that the client has. Then the items of the
client's conversation are sent instead of the response's id.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from threading import RLock
from typing import Any, Final

import msgspec

from workbench.config.background import background
from workbench.config.text import without_surrogates
from workbench.proxy.frame_texts import ITEM, frame_of, read_frame, request_in, response_in
from workbench.proxy.gate import SeenRequest
from workbench.proxy.recorder import Recorder, RequestRecording
from workbench.proxy.records import HeldRecord
from workbench.proxy.routes import Route
from workbench.proxy.unpacking import LARGEST, BodyTooLarge, too_large
from workbench.wire.earlier_responses import EARLIER, EarlierResponses, UnknownResponse
from workbench.wire.speaking import to_json
from workbench.wire.values import text_in

REMEMBERED: Final = 16
"""Responses that a request may continue."""
FRAME: Final = 100
"""The estimated overhead of a frame in bytes."""
MOST_UNREAD: Final = 8 * 1024 * 1024
"""Characters of exchanges that are kept without parsing; beyond that they are parsed."""
_ENDS: Final = frozenset(("response.completed", "response.failed", "response.incomplete", "error"))
_JSON: Final = {"Content-Type": "application/json"}


class SocketRequest:
    """A request on a socket, and the frames of its answer so far."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.frames: list[str] = []
        self.size = 0
        """The size of the frames, including the overhead of each."""
        self.lost = ""
        """Why the frames are not kept; empty if they are."""
        self.began = time.monotonic()
        self.first: float | None = None
        self.ended = self.began
        self.recorded: RequestRecording | None = None
        self.seen: SeenRequest | None = None
        self.asked: dict[str, Any] | None = None
        """The client's full request, if another one was sent instead."""

    def keep_frame(self, frame: str, largest: int) -> None:
        """Keep a frame of the answer, if there is room."""
        self.size += len(frame) + FRAME
        if self.size > largest and not self.lost:
            self.frames, self.lost = [], too_large(largest)
        if not self.lost or any(end in frame[:100] for end in _ENDS):
            self.frames.append(frame)


class EarlierFrames:
    """The requests and responses of a socket, parsed only when they are needed."""

    def __init__(self) -> None:
        self._unread: list[tuple[str, list[str]]] = []
        self._size = 0
        self._earlier = EarlierResponses(REMEMBERED)
        self._lock = RLock()
        """Needed because parsing may run in the background."""

    def add_unread(self, asked: SocketRequest) -> None:
        """Add a request with its answer."""
        frames = [text for text in asked.frames[:-1] if ITEM in text] + asked.frames[-1:]
        with self._lock:
            self._unread.append((asked.text, frames))
            self._size += len(asked.text) + sum(map(len, frames))
        if self._size > MOST_UNREAD:
            background(self._read)

    def add_parsed(self, request: Mapping[str, Any], response: Mapping[str, Any]) -> None:
        """Add a parsed request with its response. The request may continue an earlier response."""
        with self._lock:
            self._earlier.remember_response(self.full_request(request), response)

    def full_request(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """A request with the items of all earlier responses that it continues, as far as known."""
        with self._lock, suppress(UnknownResponse):
            self._read()
            request = self._earlier.resolved(request)
        return {key: value for key, value in request.items() if key != EARLIER}

    def _read(self) -> None:
        with self._lock:
            unread, self._unread, self._size = self._unread, [], 0
            for text, frames in unread:
                response, status = response_in(frames)
                if status == 200 and response.get("id"):
                    with suppress(BodyTooLarge):
                        self.add_parsed(request_in(text), response)


class SocketFrames:
    """The requests of one socket. They are answered one at a time."""

    def __init__(
        self,
        route: Route,
        headers: Mapping[str, str],
        recorder: Recorder | None,
        largest: int = LARGEST,
        waits: bool = False,
    ) -> None:
        """`largest`: bytes of an answer that are kept for the recorder; `waits`: requests may wait at a breakpoint."""
        self._waits = waits
        self._largest = largest
        self._route = route
        self._headers = headers
        self._recorder = recorder
        self._open: SocketRequest | None = None
        self._instead = EarlierResponses()
        """Responses that the provider does not know, or knows with other contents. Their items are sent instead."""
        self.earlier = EarlierFrames()

    def from_client(self, text: str) -> SocketRequest:
        """Begin and record a request of the client."""
        self.end_open_request()
        self._open = asked = SocketRequest(text)
        if self._recorder is not None:
            at, data = time.time_ns() // 1_000_000, text.encode(errors="surrogatepass")
            asked.recorded = self._recorder.record_request(
                self._route, self._headers, [data], at, payload="frame", waits=self._waits
            )
        return asked

    def from_provider(self, text: str) -> None:
        asked = self._open
        if asked is None:
            return
        asked.first = asked.first or time.monotonic()
        asked.keep_frame(text, self._largest)
        if any(end in text for end in _ENDS):
            end = text_in(read_frame(text), "type")
            if end in ("error", "response.failed") and asked.seen is not None:
                asked.seen.refused = "the provider answered the last request with an error"
            if end in _ENDS:
                self._over(asked, "")

    def end_open_request(self) -> None:
        """End an open request as cut off: the socket closes, or the next request arrives."""
        if self._open is not None:
            self._over(self._open, "the connection was closed")

    def _over(self, asked: SocketRequest, problem: str) -> None:
        self._open, asked.ended = None, time.monotonic()
        if asked.recorded is not None:
            _record_answer(asked.recorded, asked, problem)
        if asked.asked is not None:
            self._known_instead(asked.asked, response_in(asked.frames)[0])
        elif not problem:
            self.earlier.add_unread(asked)

    # Held requests

    def continue_after_hold(
        self, asked: SocketRequest, mark: HeldRecord, changed: dict[str, Any] | None, whole: Any
    ) -> None:
        """Continue a request after a wait. `changed`: what is sent instead; `whole`: the client's full request."""
        asked.began = time.monotonic()
        if changed is not None:
            asked.asked = whole
        if asked.recorded is not None:
            asked.recorded.record_hold(mark)
            if changed:
                asked.recorded.record_replacement(to_json(changed).encode())

    def record_own_answer(self, asked: SocketRequest, response: dict[str, Any]) -> None:
        """Record an answer written by hand. The provider knows neither this request nor its answer."""
        self._open, asked.ended = None, time.monotonic()
        self._known_instead(self.request_for_provider(request_in(asked.text)), response)
        if asked.recorded is not None:
            took = round((asked.ended - asked.began) * 1000)
            asked.recorded.record_answer(200, _JSON, [to_json(response).encode()], None, took)

    def _known_instead(self, request: dict[str, Any], response: dict[str, Any]) -> None:
        if response.get("id"):
            self.earlier.add_parsed(request, response)
            self._instead.remember_response(request, response)

    def request_for_provider(self, request: dict[str, Any]) -> dict[str, Any]:
        """A request in a form that the provider understands."""
        if text_in(request, EARLIER):
            with suppress(UnknownResponse):
                return self._instead.resolved(request)
        return request

    def to_provider(self, text: str) -> str:
        """A frame that the provider understands: changed only if it names a response unknown to the provider."""
        if not self._instead.is_named_in(text):
            return text
        try:
            request = request_in(text)
        except BodyTooLarge:
            return text
        known = self.request_for_provider(request)
        return text if known is request else frame_of(known, text)


def _record_answer(recorded: RequestRecording, asked: SocketRequest, problem: str) -> None:
    frames = msgspec.json.encode(list(map(without_surrogates, asked.frames)))
    first = None if asked.first is None else round((asked.first - asked.began) * 1000)
    took = round((asked.ended - asked.began) * 1000)
    finish = "broken" if problem or asked.lost else ""
    recorded.record_answer(
        *(0, {}, [frames], first, took), problem=problem, finish=finish, payload="frames", lost=asked.lost
    )
