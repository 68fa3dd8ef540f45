"""Requests among the frames of a websocket: each is recorded, and known whole, though it may send only what is new.

A request may go on from an earlier response (`previous_response_id`). Where that response was written by hand, or is to
a request that was changed on its way, the provider does not know what the client knows: what the client knows is sent
along then, in place of the response's name.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from threading import RLock
from typing import Any, Final, NamedTuple

from workbench.config.background import background
from workbench.proxy.gate import SeenRequest
from workbench.proxy.recorder import Recorded, Recorder
from workbench.proxy.routes import Route
from workbench.proxy.sessions import CameBack, HoldMark, SentRequest
from workbench.rehearsal.dialect import to_json
from workbench.wire.parts import messages_of
from workbench.wire.responses import EarlierResponses, UnknownResponse
from workbench.wire.streams import loaded
from workbench.wire.values import dict_in, list_in, text_in

EARLIER: Final = "previous_response_id"
REMEMBERED: Final = 16
"""Responses that a request may go on from."""
MOST_UNREAD: Final = 8 * 1024 * 1024
"""Characters of exchanges that are kept as they came; the rest is read."""
_ENDS: Final = frozenset(("response.completed", "response.failed", "response.incomplete", "error"))
_ITEM: Final = "response.output_item.done"


def is_request(text: str) -> bool:
    """Whether a frame of the client asks for a response."""
    return '"response.create"' in text[:2000] + text[-2000:]


def request_in(text: str) -> dict[str, Any]:
    """The request in a frame; empty where there is none."""
    frame = loaded(text)
    if not isinstance(frame, dict):
        return {}
    body = {key: value for key, value in frame.items() if key != "type"}
    return dict_in(body, "response") or body


def frame_of(body: Mapping[str, Any], before: str) -> str:
    """A frame with another request than one had before."""
    frame = loaded(before)
    is_inside = isinstance(frame, dict) and bool(dict_in(frame, "response"))
    return to_json({"type": "response.create", **({"response": body} if is_inside else body)})


def response_in(frames: Sequence[str]) -> tuple[dict[str, Any], int]:
    """What came back for a request, and its status; 0: nothing did."""
    events = [each for each in map(loaded, frames) if isinstance(each, dict)]
    failed = next((each for each in events if each.get("type") == "error"), None)
    if failed:
        status = failed.get("status")
        return failed, status if isinstance(status, int) and status > 0 else 500
    response = next((dict_in(each, "response") for each in reversed(events) if dict_in(each, "response")), {})
    done = [each["item"] for each in events if each.get("type") == _ITEM and "item" in each]
    return {**response, "output": list_in(response, "output") or done}, 200 if events else 0


class SocketRequest:
    """A request on a socket, and what came back for it so far."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.frames: list[str] = []
        self.began = time.monotonic()
        self.first: float | None = None
        self.ended = self.began
        self.recorded: Recorded | None = None
        self.seen: SeenRequest | None = None
        self.asked: dict[str, Any] | None = None
        """What the client asked, whole, where something else was sent."""


class EarlierFrames:
    """What was asked and answered on a socket, read only when somebody wants to know."""

    def __init__(self) -> None:
        self._unread: list[tuple[str, list[str]]] = []
        self._size = 0
        self._earlier = EarlierResponses(REMEMBERED)
        self._lock = RLock()
        """It is read in the background."""

    def add(self, asked: SocketRequest) -> None:
        """A request that was answered."""
        told = [text for text in asked.frames[:-1] if _ITEM in text] + asked.frames[-1:]
        with self._lock:
            self._unread.append((asked.text, told))
            self._size += len(asked.text) + sum(map(len, told))
        if self._size > MOST_UNREAD:
            background(self._read)

    def put(self, request: Mapping[str, Any], response: Mapping[str, Any]) -> None:
        """The same, where it is known already; the request may go on from an earlier one."""
        with self._lock:
            self._earlier.add(self.whole(request), response)

    def whole(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """A request with all that it goes on from, as far as that is known."""
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
                    self.put(request_in(text), response)


class _KnownInstead(NamedTuple):
    """What stands for a response that the provider does not know, or knows otherwise than the client."""

    earlier: str
    """The response before it that both know; empty: none."""
    items: list[Any]


class SocketFrames:
    """The requests of one socket; they are answered one at a time."""

    def __init__(self, route: Route, headers: Mapping[str, str], recorder: Recorder | None) -> None:
        self._route = route
        self._headers = headers
        self._recorder = recorder
        self._open: SocketRequest | None = None
        self._instead: dict[str, _KnownInstead] = {}
        self.earlier = EarlierFrames()

    def from_client(self, text: str) -> SocketRequest:
        """A request of the client."""
        self.over()
        self._open = asked = SocketRequest(text)
        if self._recorder is not None:
            at = time.time_ns() // 1_000_000
            asked.recorded = self._recorder.sent(lambda: self._request(request_in(text), at), len(text))
        return asked

    def from_provider(self, text: str) -> None:
        """A frame of the provider."""
        asked = self._open
        if asked is None:
            return
        asked.first = asked.first or time.monotonic()
        asked.frames.append(text)
        if any(end in text for end in _ENDS):
            end = text_in(loaded(text), "type")
            if end in ("error", "response.failed") and asked.seen is not None:
                asked.seen.refused = "the provider answered the last request with an error"
            if end in _ENDS:
                self._over(asked, "")

    def over(self) -> None:
        """What is still open when the socket closes, or the next request comes, was cut."""
        if self._open is not None:
            self._over(self._open, "the connection was closed")

    def _over(self, asked: SocketRequest, problem: str) -> None:
        self._open, asked.ended = None, time.monotonic()
        if asked.recorded is not None:
            asked.recorded.answered(lambda: _came(asked, problem), sum(map(len, asked.frames)))
        if asked.asked is not None:
            self._known_instead(asked.asked, response_in(asked.frames)[0])
        elif not problem:
            self.earlier.add(asked)

    # A request that waited

    def went_on(self, asked: SocketRequest, mark: HoldMark, changed: dict[str, Any] | None, whole: Any) -> None:
        """It is on its way again; `changed`: what is sent in its place, `whole`: what the client asked."""
        asked.began = time.monotonic()
        if changed is not None:
            asked.asked = whole
        if asked.recorded is not None:
            sent = self._request(changed, time.time_ns() // 1_000_000) if changed is not None else None
            asked.recorded.held(mark, sent, len(asked.text) if sent else 0)

    def answered(self, asked: SocketRequest, response: dict[str, Any]) -> None:
        """It was answered by hand: the provider knows neither the request nor the answer."""
        self._open, asked.ended = None, time.monotonic()
        self._known_instead(self.known(request_in(asked.text)), response)
        if asked.recorded is not None:
            took = round((asked.ended - asked.began) * 1000)
            asked.recorded.answered(lambda: CameBack(200, {}, response, None, took), len(asked.text))

    def _known_instead(self, request: dict[str, Any], response: dict[str, Any]) -> None:
        if response.get("id"):
            self.earlier.put(request, response)
            items = [*messages_of("responses", request), *list_in(response, "output")]
            self._instead[response["id"]] = _KnownInstead(text_in(request, EARLIER), items)

    def known(self, request: dict[str, Any]) -> dict[str, Any]:
        """A request as the provider understands it."""
        instead = self._instead.get(text_in(request, EARLIER))
        if instead is None:
            return request
        rest = {key: value for key, value in request.items() if key != EARLIER}
        earlier = {EARLIER: instead.earlier} if instead.earlier else {}
        return {**rest, **earlier, "input": [*instead.items, *messages_of("responses", request)]}

    def to_provider(self, text: str) -> str:
        """A frame as the provider understands it: as it is, but for what it cannot know."""
        if not any(name in text for name in self._instead):
            return text
        request = request_in(text)
        known = self.known(request)
        return text if known is request else frame_of(known, text)

    def _request(self, body: dict[str, Any], at: int) -> SentRequest | None:
        return SentRequest(self._route, self._headers, body, at) if body else None


def _came(asked: SocketRequest, problem: str) -> CameBack:
    body, status = response_in(asked.frames)
    first = None if asked.first is None else round((asked.first - asked.began) * 1000)
    took = round((asked.ended - asked.began) * 1000)
    return CameBack(status, {}, body, first, took, problem, "broken" if problem else "")
