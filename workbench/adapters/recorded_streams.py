"""Streams of the providers' clients: the same objects, which report their events once they have ended."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from inspect import isawaitable
from typing import Any

from workbench.wire.dialect import Dialect

Report = Callable[[Sequence[Any]], None]
"""Gets all events of a stream. It is not called for a stream that was left early, or that raised."""


def watch_stream(answer: Any, report: Report) -> Any:
    """The answer of a client, watched if it is a stream or opens one; anything else as it is."""
    opener = next((name for name in getattr(answer, "__dict__", ()) if name.endswith("__api_request")), None)
    if opener is not None:  # `messages.stream` asks when it is entered
        setattr(answer, opener, _watched_opening(getattr(answer, opener), report))
    elif hasattr(answer, "_iterator"):
        events = answer._iterator
        answer._iterator = _watched_async(events, report) if hasattr(events, "__anext__") else _watched(events, report)
    return answer


def _watched_opening(opening: Any, report: Report) -> Any:
    if isawaitable(opening):
        return _opened_later(opening, report)
    return lambda: watch_stream(opening(), report)


async def _opened_later(opening: Awaitable[Any], report: Report) -> Any:
    return watch_stream(await opening, report)


def _watched(events: Iterator[Any], report: Report) -> Iterator[Any]:
    seen = []
    for event in events:
        seen.append(event)
        yield event
    report(seen)


async def _watched_async(events: AsyncIterator[Any], report: Report) -> AsyncIterator[Any]:
    seen = []
    async for event in events:
        seen.append(event)
        yield event
    report(seen)


class WatchedStream:
    """A stream of litellm's, watched: its class has no place for another iterator."""

    def __init__(self, stream: Any, report: Report) -> None:
        self._stream = stream
        self._events = _watched(iter(stream), report)

    def __iter__(self) -> Iterator[Any]:
        return self._events

    def __next__(self) -> Any:
        return next(self._events)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def answer_of_stream(events: Sequence[Any], dialect: Dialect) -> dict[str, Any]:
    """The whole answer that the events of a stream make, as the provider gives it to a request without a stream."""
    lines = [json.dumps(event.model_dump(mode="json", exclude_unset=True, warnings=False)) for event in events]
    return dialect.answer_in_stream("".join(f"data: {line}\n\n" for line in lines).encode())
