"""Requests among the frames of a websocket: each is recorded, and known whole, though it may send only what is new.

A request may go on from an earlier response (`previous_response_id`). Where that response was written by hand, or is to
a request that was changed on its way, the provider does not know what the client knows: what the client knows is sent
along then, in place of the response's name.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from threading import RLock
from typing import Any, Final, NamedTuple

import msgspec

from workbench.config.background import background
from workbench.log.codec import clean
from workbench.proxy.frame_texts import ITEM, frame_of, read_frame, request_in, response_in
from workbench.proxy.gate import SeenRequest
from workbench.proxy.recorder import Recorded, Recorder
from workbench.proxy.routes import Route
from workbench.proxy.sessions import HoldMark
from workbench.proxy.unpacking import LARGEST, BodyTooLarge, too_large
from workbench.wire.earlier_responses import EARLIER, EarlierResponses, UnknownResponse, input_items
from workbench.wire.speaking import to_json
from workbench.wire.values import list_in, text_in

REMEMBERED: Final = 16
"""Responses that a request may go on from."""
FRAME: Final = 100
"""Bytes that a frame takes besides its text."""
MOST_UNREAD: Final = 8 * 1024 * 1024
"""Characters of exchanges that are kept as they came; the rest is read."""
_ENDS: Final = frozenset(("response.completed", "response.failed", "response.incomplete", "error"))
_JSON: Final = {"Content-Type": "application/json"}


class SocketRequest:
    """A request on a socket, and what came back for it so far."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.frames: list[str] = []
        self.size = 0
        """What the frames take, and each frame besides its text."""
        self.lost = ""
        """Why the frames are not kept; empty: they are."""
        self.began = time.monotonic()
        self.first: float | None = None
        self.ended = self.began
        self.recorded: Recorded | None = None
        self.seen: SeenRequest | None = None
        self.asked: dict[str, Any] | None = None
        """What the client asked, whole, where something else was sent."""

    def keep(self, frame: str, largest: int) -> None:
        """Keep a frame of the answer, while there is room."""
        self.size += len(frame) + FRAME
        if self.size > largest and not self.lost:
            self.frames, self.lost = [], too_large(largest)
        if not self.lost or any(end in frame[:100] for end in _ENDS):
            self.frames.append(frame)


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
        told = [text for text in asked.frames[:-1] if ITEM in text] + asked.frames[-1:]
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
                    with suppress(BodyTooLarge):
                        self.put(request_in(text), response)


class _KnownInstead(NamedTuple):
    """What stands for a response that the provider does not know, or knows otherwise than the client."""

    earlier: str
    """The response before it that both know; empty: none."""
    items: list[Any]


class SocketFrames:
    """The requests of one socket; they are answered one at a time."""

    def __init__(
        self,
        route: Route,
        headers: Mapping[str, str],
        recorder: Recorder | None,
        largest: int = LARGEST,
        waits: bool = False,
    ) -> None:
        """`largest`: bytes of an answer that are kept to be recorded; `waits`: requests may wait at a breakpoint."""
        self._waits = waits
        self._largest = largest
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
            at, data = time.time_ns() // 1_000_000, text.encode(errors="surrogatepass")
            asked.recorded = self._recorder.asked(
                self._route, self._headers, [data], at, payload="frame", waits=self._waits
            )
        return asked

    def from_provider(self, text: str) -> None:
        """A frame of the provider."""
        asked = self._open
        if asked is None:
            return
        asked.first = asked.first or time.monotonic()
        asked.keep(text, self._largest)
        if any(end in text for end in _ENDS):
            end = text_in(read_frame(text), "type")
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
            _record_answer(asked.recorded, asked, problem)
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
            asked.recorded.held(mark)
            if changed:
                asked.recorded.replaced(to_json(changed).encode())

    def answered(self, asked: SocketRequest, response: dict[str, Any]) -> None:
        """It was answered by hand: the provider knows neither the request nor the answer."""
        self._open, asked.ended = None, time.monotonic()
        self._known_instead(self.known(request_in(asked.text)), response)
        if asked.recorded is not None:
            took = round((asked.ended - asked.began) * 1000)
            asked.recorded.answered(200, _JSON, [to_json(response).encode()], None, took)

    def _known_instead(self, request: dict[str, Any], response: dict[str, Any]) -> None:
        if response.get("id"):
            self.earlier.put(request, response)
            items = [*input_items(request), *list_in(response, "output")]
            self._instead[response["id"]] = _KnownInstead(text_in(request, EARLIER), items)

    def known(self, request: dict[str, Any]) -> dict[str, Any]:
        """A request as the provider understands it."""
        instead = self._instead.get(text_in(request, EARLIER))
        if instead is None:
            return request
        rest = {key: value for key, value in request.items() if key != EARLIER}
        earlier = {EARLIER: instead.earlier} if instead.earlier else {}
        return {**rest, **earlier, "input": [*instead.items, *input_items(request)]}

    def to_provider(self, text: str) -> str:
        """A frame as the provider understands it: as it is, but for what it cannot know."""
        if not any(name in text for name in self._instead):
            return text
        try:
            request = request_in(text)
        except BodyTooLarge:
            return text
        known = self.known(request)
        return text if known is request else frame_of(known, text)


def _record_answer(recorded: Recorded, asked: SocketRequest, problem: str) -> None:
    frames = msgspec.json.encode(list(map(clean, asked.frames)))
    first = None if asked.first is None else round((asked.first - asked.began) * 1000)
    took = round((asked.ended - asked.began) * 1000)
    finish = "broken" if problem or asked.lost else ""
    recorded.answered(
        *(0, {}, [frames], first, took), problem=problem, finish=finish, payload="frames", lost=asked.lost
    )
