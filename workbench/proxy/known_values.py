"""Caches facts about values that passed recently: a conversation repeats all its messages with each request.

`RepeatedBodies` returns the same objects for repeated parts of a request. So the cache uses their identity and need not
look at their contents again. These objects are never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec

from workbench.proxy.unpacking import memory_of
from workbench.traces.building import content_hash
from workbench.traces.request_thread import message_name
from workbench.wire.parts import WithoutMarks, unmarked

T = TypeVar("T")

REMEMBERED: Final = 48 << 20
"""The limit in bytes of cached values, roughly as they are in memory."""


class KnownMessage(NamedTuple):
    """The facts about a message."""

    unmarked: WithoutMarks
    hash: str
    """The hash of the message without its marks."""
    name: str
    """The hash to compare it by (`message_name`)."""

    @classmethod
    def from_message(cls, message: Any) -> KnownMessage:
        found = unmarked(message)
        known = content_hash(found.value)
        return cls(found, known, message_name(found.value, known))


class ByIdentity(Generic[T]):
    """Caches the results of a function by the identity of its argument. The oldest are dropped first."""

    def __init__(self, function: Callable[[Any], T], most: int = REMEMBERED) -> None:
        self._function = function
        self._most = most
        self._known: dict[object, tuple[T, Any, int]] = {}
        """By identity: the result; the value, kept because its id could be reused otherwise; and its size."""
        self._size = 0

    def results_for(self, values: Iterable[Any]) -> list[T]:
        get = self._known.get
        return [
            found[0] if (found := get(id(value))) is not None else self._learn(id(value), value) for value in values
        ]

    def result_for(self, value: Any) -> T:
        """The result for a value. A list is identified by its elements."""
        key = _identity(value)
        found = self._known.get(key)
        return found[0] if found is not None else self._learn(key, value)

    def _learn(self, key: object, value: Any) -> T:
        found = self._function(value)
        try:
            size = memory_of(msgspec.json.encode(value))
        except (ValueError, OverflowError, RecursionError):  # half a surrogate pair
            return found
        if size <= self._most // 2:
            self._known[key] = (found, value, size)
            self._size += size
            while self._size > self._most:
                self._size -= self._known.pop(next(iter(self._known)))[2]
        return found


def _identity(value: Any) -> object:
    return tuple(map(_identity, value)) if type(value) is list else id(value)
