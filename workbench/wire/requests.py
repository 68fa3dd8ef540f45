"""Rebuilds the full requests of a log from parts that the log stores once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workbench.log.events import Event, Request, RequestPart
from workbench.wire.dialects import DIALECTS
from workbench.wire.parts import join_body

REMEMBERED = 8
"""Requests whose message hashes are cached: the next request usually extends one of them."""


class RequestBodies:
    """The requests of a log, by the sequence numbers of their events."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._parts: dict[str, Any] = {}
        self._requests: dict[int, Request] = {}
        self._messages: dict[int, tuple[str, ...]] = {}
        """The hashes of all messages, for the requests that were used last."""
        for event in events:
            self.add_event(event)

    def add_event(self, event: Event) -> None:
        match event.body:
            case RequestPart(hash=name, value=value):
                self._parts.setdefault(name, value)
            case Request() as request:
                self._requests[event.seq] = request

    def request(self, seq: int) -> Request:
        return self._requests[seq]

    def hashes(self, seq: int) -> tuple[str, ...]:
        """The hashes of a request's messages."""
        chain = [seq]
        while chain[-1] not in self._messages and 0 < self._requests[chain[-1]].base < chain[-1]:
            chain.append(self._requests[chain[-1]].base)
        found = self._messages.get(chain[-1])
        if found is None:
            found = self._requests[chain.pop()].messages
        else:
            chain.pop()
        for each in reversed(chain):
            request = self._requests[each]
            found = (*found[: request.keep], *request.messages)
        if len(self._messages) >= REMEMBERED:
            self._messages.pop(next(iter(self._messages)))
        self._messages[seq] = found
        return found

    def messages(self, names: Iterable[str]) -> list[Any]:
        """The messages with these hashes. Those missing in the log are left out."""
        return [self._parts[name] for name in names if name in self._parts]

    def is_whole(self, seq: int) -> bool:
        """Whether all parts of a request are in the log."""
        request = self._requests[seq]
        names = (request.system, request.tools, *self.hashes(seq))
        return all(name in self._parts for name in names if name)

    def body(self, seq: int) -> dict[str, Any]:
        """The body as it was sent."""
        request = self._requests[seq]
        system, tools = self._parts.get(request.system), self._parts.get(request.tools)
        is_named = "model" in request.parameters or not DIALECTS[request.dialect].model_in_body
        named = {"model": request.model} if request.model and not is_named else {}
        parameters = {**named, **request.parameters}
        return join_body(
            request.dialect, system, tools, self.messages(self.hashes(seq)), parameters, request.cache_marks
        )
