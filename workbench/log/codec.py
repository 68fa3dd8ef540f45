"""Events as JSON: one canonical line per event, and back.

The keys of a line stand in a fixed order (`v`, `seq`, `id`, `at`, `kind`, then the body's fields as
declared), and fields that equal their default are left out, so that equal events give equal bytes. Whatever a
newer version wrote (a new kind, field, word or version of a kind) becomes `Unknown` and goes out unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from workbench.log.errors import BadEvent
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Event,
    Failure,
    Reasoning,
    Setting,
    SlotContent,
    Snapshot,
    SystemMessage,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
    text_of,
)
from workbench.log.shapes import BY_CLASS, BY_KIND, NewerError, Shape

VERSION: Final = 1
SEARCH_VERSION: Final = 1
"""Raise it when a line would give other words than before, because `search_text` changes or because a kind, a
field or a word has become known: stores then build their search index anew."""

_ENVELOPE = ("v", "seq", "id", "at", "kind")


def clean(text: str) -> str:
    """`text` with each lone surrogate replaced by U+FFFD: it has no UTF-8 form and could not be stored."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def encode(event: Event) -> str:
    """The canonical line of an event, without a newline."""
    body = event.body
    if isinstance(body, Unknown):
        kind, fields = body.kind, _unknown_fields(body)
    else:
        shape = BY_CLASS.get(type(body))
        if shape is None:
            raise BadEvent(f"expected the body of an event, found {type(body).__name__}")
        kind, fields = shape.kind, _fields(shape, body)
    version = fields.pop("v", VERSION)
    line = {"v": version, "seq": event.seq, "id": event.id, "at": event.at, "kind": kind, **fields}
    _check_envelope(version, event.seq, event.id, event.at, kind)
    try:
        return _WRITER.encode(line)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadEvent(f"a {kind} event: expected values that JSON can hold ({error})") from None


def decode(line: str | Mapping[str, Any]) -> Event:
    """The event of a line, or of the line's parsed JSON."""
    data = _parse(line) if isinstance(line, str) else dict(line)
    try:
        version, seq, name = data.pop("v"), data.pop("seq"), data.pop("id")
        at, kind = data.pop("at"), data.pop("kind")
    except KeyError as error:
        raise BadEvent(f"expected an event with the key {error}") from None
    _check_envelope(version, seq, name, at, kind)
    shape = BY_KIND.get(kind)
    if shape is None or version != VERSION:
        return Event(seq, name, at, _unknown(version, kind, data))
    plain = shape.plain
    read: dict[str, Any] | None = None  # a copy is made only where a value must be converted
    try:
        for key, value in data.items():
            if type(value) not in plain.get(key, ()):
                if read is None:
                    read = data.copy()
                read[key] = shape.read(key, value)
    except NewerError:
        return Event(seq, name, at, _unknown(version, kind, data))
    try:
        body: Body = shape.cls(**(data if read is None else read))
    except TypeError:
        missing = next(key for key in shape.required if key not in data)
        raise BadEvent(f"expected a {kind} event with the key '{missing}'") from None
    return Event(seq, name, at, body)


def settle(event: Event) -> tuple[Event, str]:
    """The event exactly as it will read back, and its line.

    It differs from what was given where a text holds lone surrogates, or where free JSON values hold what
    JSON reads back differently (tuples, numbers as keys). Whoever appends goes on with the settled event, so
    that a live session and the same session opened later are equal.
    """
    line = encode(event)
    cleaned = clean(line)
    body = event.body
    free = isinstance(body, (Setting, Compaction, Unknown)) or isinstance(getattr(body, "content", ""), tuple)
    if free or cleaned is not line:
        event = decode(cleaned)
    return event, cleaned


def search_text(body: Body) -> str:
    """The words by which an event can be found; empty for events that hold none. See `SEARCH_VERSION`."""
    match body:
        case UserMessage() | AssistantMessage() | ToolResult() | SystemMessage():
            return text_of(body.content)
        case Reasoning():
            return body.text
        case ToolCall():
            return f"{body.tool} {body.arguments}"
        case SlotContent():
            return f"{body.name}\n{body.text}"
        case Compaction():
            return body.summary
        case Failure():
            return f"{body.category}: {body.message}"
        case Snapshot():
            return body.why
        case Setting(value=str(value)):
            return value
        case _:
            return ""


def _fields(shape: Shape, body: Body) -> dict[str, Any]:
    """The body's fields as JSON values, without those that equal their default."""
    found = {}
    for name, default in shape.defaults.items():
        value = getattr(body, name)
        if value != default:
            found[name] = value if type(value) in shape.plain[name] else shape.write(name, value)
    return found


def _unknown(version: int, kind: str, data: dict[str, Any]) -> Unknown:
    """What we cannot read, whole. The version rides along in the data where it is not ours."""
    return Unknown(kind, data if version == VERSION else {"v": version, **data})


def _unknown_fields(body: Unknown) -> dict[str, Any]:
    """Its data, which must not pass for the envelope."""
    fields = dict(body.data)
    taken = [key for key in _ENVELOPE[1:] if key in fields]
    if taken:
        raise BadEvent(f"expected an unknown event's data without the key '{taken[0]}'")
    return fields


def _check_envelope(version: object, seq: object, name: object, at: object, kind: object) -> None:
    """Refuse an envelope that no event can have. `type`, not `isinstance`: true is no number here."""
    if not (type(version) is type(seq) is type(at) is int and type(name) is type(kind) is str):
        raise BadEvent("expected whole numbers for `v`, `seq` and `at`, and strings for `id` and `kind`")
    if not (version > 0 and seq > 0 and name and kind):
        raise BadEvent("expected `v` and `seq` from 1, and an `id` and a `kind` that are not empty")


def _parse(line: str) -> dict[str, Any]:
    """The JSON object of a line."""
    try:
        data = _READER.decode(line)
    except RecursionError:
        raise BadEvent("expected JSON that is not nested so deeply") from None
    except ValueError as error:
        raise BadEvent(f"expected one JSON object ({error})") from None
    if type(data) is not dict:
        raise BadEvent(f"expected one JSON object, found {type(data).__name__}")
    return data


def _no_constant(name: str) -> NoReturn:
    """Python reads NaN and Infinity; JSON has no such numbers."""
    raise ValueError(f"{name} is not JSON")


def _plain(value: object) -> object:
    """Read-only mappings inside free JSON values."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"found {type(value).__name__}")


_READER = json.JSONDecoder(parse_constant=_no_constant)
_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain)
