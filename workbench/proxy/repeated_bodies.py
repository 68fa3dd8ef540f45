"""Requests that begin as one before did: what they repeat is not read again.

An agent sends its whole conversation with each request. So the last body of each conversation is kept, as bytes and as
it was read. A body that begins with the same bytes is read without the messages that it repeats, and these are the same
objects as before. It comes to what reading all of it would come to. A body whose keys are not written plainly, or stand
there twice, is read as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from workbench.proxy.unpacking import PER_VALUE, check_count, countable, memory_of, values_in
from workbench.wire.streams import loaded

REMEMBERED: Final = 96 << 20
"""Bytes that all kept bodies take, roughly as they lie in memory. One takes a third of them at most."""
CONVERSATIONS: Final = 400
_PROBE: Final = 32
"""Bytes by which most other conversations are told apart."""
_LOOKED_AT: Final = 8
"""Bodies that are compared with a new one, where many begin alike."""
_CHANGED: Final = 4
"""So many of the last messages may differ in the next request of a conversation: marks for the cache move."""
_PER_MESSAGE: Final = 100
"""Bytes of memory for the notes on a message."""
_OPENING: Final = re.compile(rb"[ \t\r\n]*\{[ \t\r\n]*")
_COLON: Final = re.compile(rb"[ \t\r\n]*:[ \t\r\n]*")
_NEXT: Final = re.compile(rb"[ \t\r\n]*[,\]}][ \t\r\n]*")
_COMMA: Final = re.compile(rb"[ \t\r\n]*,[ \t\r\n]*")
_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ITEMS: Final = msgspec.json.Decoder(list[msgspec.Raw])
_VALUE: Final = msgspec.json.Decoder()


class RepeatedBodies:
    """Reads bodies one after the other."""

    def __init__(self, most: int = REMEMBERED) -> None:
        self._most = most
        self._kept: list[_KeptBody] = []
        """The one that was used last at the end."""
        self._size = 0

    def read(self, data: bytes, key: str) -> Any:
        """The JSON value in a body; None where there is none. `key`: where its messages stand. Raises BodyTooLarge."""
        before, repeated = self._begins_like(data, key)
        try:
            body = _read_new(data, key, repeated)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            body = None
        if body is None:
            return loaded(countable(data))
        if before is not None and before.goes_on_in(repeated):
            self._forget(before)
        self._keep(body)
        return {name: [*body.messages.values] if name == key else each.value for name, each in body.fields.items()}

    def _begins_like(self, data: bytes, key: str) -> tuple[_KeptBody | None, _Repeated]:
        """The body with which another has most in common."""
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
    """What stands under a key of a body."""

    written: bytes = b""
    value: Any = None
    size: int = 0


class _Messages(NamedTuple):
    """The messages of a body."""

    start: int
    """Where they begin, behind the bracket."""
    ends: list[int]
    """Where each of them ends."""
    counts: list[int]
    """How many JSON values there are from the start up to there."""
    values: list[Any]

    def first(self, count: int) -> _Messages:
        """So many of them."""
        return _Messages(self.start, self.ends[:count], self.counts[:count], self.values[:count])


class _Repeated(NamedTuple):
    """What a body has of one before."""

    messages: _Messages
    cut: int
    """Where the first message stands that is new."""
    fields: Mapping[str, _Field]
    """The other keys of the body; they may come again unchanged."""


class _KeptBody:
    """A body that was read."""

    def __init__(self, key: str, data: bytes, messages: _Messages, fields: dict[str, _Field]) -> None:
        self.key = key
        self.messages = messages
        self.fields = fields
        """In their order; that of the messages is empty."""
        self._written = memoryview(data)  # parts of it are compared without being copied
        noted = PER_VALUE * messages.counts[-1] + _PER_MESSAGE * len(messages.ends)
        self.size = len(data) + noted + sum(each.size for each in fields.values())
        end = messages.ends[len(messages.ends) // 2]
        self._middle_at = max(end - _PROBE, 0)
        self._middle = data[self._middle_at : end]
        self._first = self._written[: messages.ends[0]]

    def may_go_on_in(self, data: bytes, key: str) -> bool:
        """Whether another body has at least the first message and one in the middle; it takes next to no time."""
        is_likely = key == self.key and data.startswith(self._middle, self._middle_at)
        return is_likely and data.startswith(self._first)

    def goes_on_in(self, found: _Repeated) -> bool:
        """Whether a body that repeats so much is the next one of the conversation: it needs this one no more."""
        return len(self.messages.ends) - len(found.messages.ends) <= _CHANGED

    def repeated_in(self, data: bytes) -> _Repeated | None:
        """What another body has of this one, with something new behind it."""
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
    """Read a body without what it repeats; None: it has to be read as a whole. Raises what the decoders raise."""
    (start, ends, counts, values), cut, known = repeated
    ends, counts, values = ends.copy(), counts.copy(), values.copy()
    new = data[:start] + data[cut:]
    count = counts[-1] + values_in(data[ends[-1] : cut]) if ends else 0
    check_count(len(data), lambda: count + values_in(new))
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
    """Where the value of each key stands in an object; nothing where a key stands there twice, or with escapes."""
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
    """Where something ends that is there in all JSON."""
    found = pattern.match(text, at)
    return len(text) if found is None else found.end()
