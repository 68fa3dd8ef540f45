"""Parses bodies that begin like an earlier one, without parsing the repeated part again.

An agent sends its whole conversation with each request. So the last body of each conversation is kept, as bytes and
parsed. If a new body begins with the same bytes, its repeated messages are not parsed again but are the same objects as
before. The result equals that of parsing all of it. A body whose keys have escapes or appear twice is parsed as a
whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from workbench.proxy.unpacking import PER_VALUE, check_count, checked_size, memory_of, values_in, values_outside_strings
from workbench.wire.streams import parsed_json

REMEMBERED: Final = 64 << 20
"""The limit in bytes of all kept bodies, roughly as they are in memory. One body may take up to a third."""
CONVERSATIONS: Final = 400
_PROBE: Final = 32
"""Bytes that distinguish most other conversations."""
_LOOKED_AT: Final = 8
"""The maximum number of kept bodies to compare with a new one, if many begin alike."""
_CHANGED: Final = 4
"""How many of the last messages may differ in the next request of a conversation, because marks for the cache move."""
_PER_MESSAGE: Final = 100
"""Bytes of memory for the positions and counts of a message."""
_OPENING: Final = re.compile(rb"[ \t\r\n]*\{[ \t\r\n]*")
_COLON: Final = re.compile(rb"[ \t\r\n]*:[ \t\r\n]*")
_NEXT: Final = re.compile(rb"[ \t\r\n]*[,\]}][ \t\r\n]*")
_COMMA: Final = re.compile(rb"[ \t\r\n]*,[ \t\r\n]*")
_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ITEMS: Final = msgspec.json.Decoder(list[msgspec.Raw])
_VALUE: Final = msgspec.json.Decoder()


class RepeatedBodies:
    """Parses bodies and keeps the last of each conversation."""

    def __init__(self, most: int = REMEMBERED) -> None:
        self._most = most
        self._kept: list[_KeptBody] = []
        """The last used at the end."""
        self._size = 0

    def parse_body(self, data: bytes, key: str) -> Any:
        """Parse a body; None if it is not JSON. `key`: the key of its messages. Raises BodyTooLarge."""
        before, repeated = self._begins_like(data, key)
        try:
            body = _read_new(data, key, repeated)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            body = None
        if body is None:
            return parsed_json(checked_size(data))
        if before is not None and before.goes_on_in(repeated):
            self._forget(before)
        self._keep(body)
        return {name: [*body.messages.values] if name == key else each.value for name, each in body.fields.items()}

    def _begins_like(self, data: bytes, key: str) -> tuple[_KeptBody | None, _Repeated]:
        """The kept body that has the most in common with this one, and what they share."""
        best, most = None, _Repeated(_Messages(0, [], [], []), 0, {})
        for body in islice((each for each in reversed(self._kept) if each.may_go_on_in(data, key)), _LOOKED_AT):
            found = body.repeated_in(data)
            if found is not None and len(found.messages.ends) > len(most.messages.ends):
                best, most = body, found
                if body.goes_on_in(found):
                    break
        return best, most

    def _keep(self, body: _KeptBody) -> None:
        if body.size > self._most // 3:
            return
        self._kept.append(body)
        self._size += body.size
        while self._size > self._most or len(self._kept) > CONVERSATIONS:
            self._forget(self._kept[0])

    def _forget(self, body: _KeptBody) -> None:
        self._kept.remove(body)
        self._size -= body.size


class _Field(NamedTuple):
    """The value under a key of a body."""

    written: bytes = b""
    value: Any = None
    size: int = 0


class _Messages(NamedTuple):
    """The messages of a body."""

    start: int
    """The position where they begin, after the bracket."""
    ends: list[int]
    """The position where each message ends."""
    counts: list[int]
    """The number of JSON values from the start to the end of each message."""
    values: list[Any]

    def first(self, count: int) -> _Messages:
        """Only the first messages."""
        return _Messages(self.start, self.ends[:count], self.counts[:count], self.values[:count])


class _Repeated(NamedTuple):
    """The part of a body that repeats an earlier one."""

    messages: _Messages
    cut: int
    """The position of the first new message."""
    fields: Mapping[str, _Field]
    """The other keys of the earlier body; they may be repeated unchanged."""


class _KeptBody:
    """A parsed body that is kept."""

    def __init__(self, key: str, data: bytes, messages: _Messages, fields: dict[str, _Field]) -> None:
        self.key = key
        self.messages = messages
        self.fields = fields
        """In order. The value of the messages is empty here."""
        self._written = memoryview(data)  # allows comparing parts without copying them
        noted = PER_VALUE * messages.counts[-1] + _PER_MESSAGE * len(messages.ends)
        self.size = len(data) + noted + sum(each.size for each in fields.values())
        end = messages.ends[len(messages.ends) // 2]
        self._middle_at = max(end - _PROBE, 0)
        self._middle = data[self._middle_at : end]
        self._first = self._written[: messages.ends[0]]

    def may_go_on_in(self, data: bytes, key: str) -> bool:
        """Whether another body has at least the first message and one in the middle. Very cheap."""
        is_likely = key == self.key and data.startswith(self._middle, self._middle_at)
        return is_likely and data.startswith(self._first)

    def goes_on_in(self, found: _Repeated) -> bool:
        """Whether a body that repeats this much is the next one of the conversation: then this one is not needed."""
        return len(self.messages.ends) - len(found.messages.ends) <= _CHANGED

    def repeated_in(self, data: bytes) -> _Repeated | None:
        """The part of another body that repeats this one, if something new follows it."""
        ends, same, most = self.messages.ends, 0, len(self.messages.ends)
        if data.startswith(self._written[: ends[-1]]):
            same = most
        while same < most:
            middle = (same + most + 1) // 2
            begin, end = ends[same - 1] if same else 0, ends[middle - 1]
            same, most = (middle, most) if data.startswith(self._written[begin:end], begin) else (same, middle - 1)
        while same:
            comma = _COMMA.match(data, ends[same - 1])
            if comma:
                return _Repeated(self.messages.first(same), comma.end(), self.fields)
            same -= 1
        return None


def _read_new(data: bytes, key: str, repeated: _Repeated) -> _KeptBody | None:
    """Parse a body without its repeated part; None if it has to be parsed as a whole. Raises the decoders' errors."""
    (start, ends, counts, values), cut, known = repeated
    ends, counts, values = ends.copy(), counts.copy(), values.copy()
    new = data[:start] + data[cut:]
    count = counts[-1] + values_in(data[ends[-1] : cut]) if ends else 0
    check_count(len(data), lambda: count + values_in(new), lambda: values_outside_strings(data))
    raw = _FIELDS.decode(new)
    places = _places(new, raw)
    if key not in places:
        return None
    items = _ITEMS.decode(raw[key])
    first = at = places[key].start + 1
    if not items or (ends and first != start):
        return None
    counted = at
    for item in items:
        at = _end(_SPACE, new, at)
        end = at + len(memoryview(item))
        values.append(_VALUE.decode(new[at:end]))
        count += values_in(new[counted:end])
        counts.append(count)
        ends.append(end + cut - start)
        at, counted = _end(_NEXT, new, end), end
    fields = {name: _Field() if name == key else _field(new[place], known.get(name)) for name, place in places.items()}
    return _KeptBody(key, data, _Messages(first, ends, counts, values), fields)


def _field(written: bytes, before: _Field | None) -> _Field:
    if before is not None and before.written == written:
        return before
    return _Field(written, _VALUE.decode(written), memory_of(written))


def _places(text: bytes, raw: Mapping[str, msgspec.Raw]) -> dict[str, slice]:
    """The position of each key's value in an object; empty if a key appears twice or has escapes."""
    found: dict[str, slice] = {}
    at = _end(_OPENING, text, 0)
    for name, value in raw.items():
        written = b'"%s"' % name.encode()
        if not text.startswith(written, at):
            return {}
        at = _end(_COLON, text, at + len(written))
        end = at + len(memoryview(value))
        if text[at:end] != bytes(value):
            return {}
        found[name] = slice(at, end)
        at = _end(_NEXT, text, end)
    return found if at == len(text) else {}


def _end(pattern: re.Pattern[bytes], text: bytes, at: int) -> int:
    """Where a pattern ends that all JSON has at this position."""
    found = pattern.match(text, at)
    return len(text) if found is None else found.end()
