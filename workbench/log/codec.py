"""Events as JSON: one canonical line per event, and back.

The keys of a line are in a fixed order (`v`, `seq`, `id`, `at`, `kind`, then the body's fields as declared), and fields
with their default value are left out, so that equal events give equal bytes. What a newer version wrote (a new kind,
field, word or version of a kind) becomes `Unknown` and is written back unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from types import UnionType
from typing import Any, Final, NoReturn, get_args, get_type_hints
from uuid import UUID

import msgspec

from workbench.config.text import without_surrogates
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
from workbench.log.shapes import AHEAD, ANY_LINE, BODY_OF, KIND_OF, KINDS, VERSION, written_line

SEARCH_VERSION: Final = 2
"""Raise it when a line gives other search words than before, because `search_text` changes or because a kind, a
field or a word has become known: stores then rebuild their search index."""

_LONG_LINE: Final = 1 << 20
_ENVELOPE = ("v", "seq", "id", "at", "kind")


def encode_event(event: Event) -> str:
    """The canonical line of an event, without a newline."""
    return _plain_line(event) or _checked(event)[1]


def decode_event(line: str | Mapping[str, Any]) -> Event:
    """The event of a line, or of the line's parsed JSON."""
    if not isinstance(line, str):
        return _examine(dict(line))
    try:
        found = _FAST.decode(line)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return _examine(_parse(line))
    return _event(found)


def settle_event(event: Event) -> tuple[Event, str]:
    """The event exactly as it will read back, and its line.

    It differs from the given event where a text holds lone surrogates, or where free JSON values change in a round
    trip (tuples, numbers as keys). Callers that append go on with the settled event, so that a live session and the
    same session opened later are equal.
    """
    if plain := _plain_line(event):
        return event, plain
    settled, line = _checked(event)
    cleaned = without_surrogates(line)
    return settled if cleaned is line else decode_event(cleaned), cleaned


def search_text(body: Body) -> str:
    """The words by which an event is found; empty if it has none. See `SEARCH_VERSION`."""
    found = _WORDS.get(type(body))
    return found(body) if found is not None else ""


def _plain_line(event: Event) -> str:
    """The line of an event of texts and whole numbers alone, which reads back as it is; empty for others."""
    seq, name, at, body = event.seq, event.id, event.at, event.body
    kind = KIND_OF.get(type(body))
    values = msgspec.structs.astuple(body) if kind is not None else ()
    if not values or not _is_plain(type(body), (type(seq), type(name), type(at), *map(type, values))):
        return ""
    if seq < 1 or not name:
        return ""
    try:
        return _QUICK_WRITER.encode(written_line(type(body))(VERSION, seq, name, at, kind, *values)).decode()
    except (ValueError, OverflowError):  # half a surrogate pair, a very large number
        return ""


@cache
def _is_plain(body: type, types: tuple[type, ...]) -> bool:
    """Whether a body of this class may have values of these types after its envelope, each written as it is read."""
    hints = (int, str, int, *get_type_hints(body).values())
    allowed = (get_args(hint) if isinstance(hint, UnionType) else (hint,) for hint in hints)
    return all(each in _SIMPLE and each in hint for each, hint in zip(types, allowed, strict=True))


def _checked(event: Event) -> tuple[Event, str]:
    """The event as it reads back, and its line. A line that cannot be read back would lose the session."""
    body = event.body
    if isinstance(body, Unknown):
        kind, fields = body.kind, _unknown_fields(body)
    elif type(body) in KIND_OF:
        kind, fields = KIND_OF[type(body)], _plain_values(body)
    else:
        raise BadEvent(f"expected the body of an event, found {type(body).__name__}")
    version = fields.pop("v", VERSION)
    data = {"v": version, "seq": event.seq, "id": event.id, "at": event.at, "kind": kind, **fields}
    try:
        line = _written(data)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadEvent(f"a {kind} event: expected values that JSON can hold ({error})") from None
    settled = decode_event(line)
    if len(line) > _LONG_LINE and settled == event:
        settled = event  # without a second copy of its text
    if isinstance(settled.body, Unknown) and not isinstance(body, Unknown):
        raise BadEvent(f"a {kind} event: expected values that this version can read")
    return settled, line


def _written(data: dict[str, Any]) -> str:
    """An object as JSON. msgspec writes texts and whole numbers as Python does, in a fraction of the time."""
    if _SIMPLE.issuperset(map(type, data.values())):
        with suppress(ValueError, OverflowError):  # half a surrogate pair, a very large number
            return _QUICK_WRITER.encode(data).decode()
    return _WRITER.encode(data)


def _plain_values(body: Body) -> dict[str, Any]:
    """The body's fields as JSON values, without those that equal their default."""
    try:
        fields: dict[str, Any] = msgspec.to_builtins(body, str_keys=True, builtin_types=_NOT_JSON, enc_hook=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadEvent(f"a {KIND_OF[type(body)]} event: expected values that JSON can hold ({error})") from None
    return fields


def _event(line: msgspec.Struct) -> Event:
    """The event of a decoded line."""
    values = msgspec.structs.astuple(line)
    return Event(values[1], values[2], values[3], BODY_OF[type(line)](*values[AHEAD:]))


def _examine(data: dict[str, Any]) -> Event:
    """The event of a line that did not decode: newer than this version, or wrong. Raises BadEvent with the reason."""
    missing = next((key for key in _ENVELOPE if key not in data), None)
    if missing is not None:
        raise BadEvent(f"expected an event with the key '{missing}'")
    version, seq, name, at, kind = (data[key] for key in _ENVELOPE)
    _check_envelope(version, seq, name, at, kind)
    if kind in KINDS and version == VERSION:
        try:
            return _event(msgspec.convert(data, ANY_LINE))
        except msgspec.ValidationError as error:
            message = str(error)
            if not message.startswith(_NEWER):
                raise BadEvent(f"a {kind} event: {message[:1].lower()}{message[1:]}") from None
        except UnicodeEncodeError:  # in a key, or in a field with a fixed set of words
            raise BadEvent(f"a {kind} event: expected words without lone surrogates") from None
    rest = {key: value for key, value in data.items() if key not in _ENVELOPE}
    # If the version is not ours, it is kept in the data.
    return Event(seq, name, at, Unknown(kind, rest if version == VERSION else {"v": version, **rest}))


def _unknown_fields(body: Unknown) -> dict[str, Any]:
    """The data, which must not overwrite the envelope."""
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
    """Python reads NaN and Infinity; JSON does not have them."""
    raise ValueError(f"{name} is not JSON")


def _plain(value: object) -> object:
    """Plain dicts for read-only mappings inside free JSON values."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"found {type(value).__name__}")


_NEWER = ("Object contains unknown field", "Invalid enum value", "Invalid value")
"""How msgspec's errors begin where a field, a word or the type of a part is newer than this version."""
_NOT_JSON = (bytes, bytearray, memoryview, date, datetime, time, timedelta, Decimal, UUID)
"""Types that msgspec would write as text; Python's JSON module refuses them."""
_WORDS: Final[Mapping[type[Body], Callable[[Any], str]]] = {
    **dict.fromkeys((UserMessage, AssistantMessage, ToolResult, SystemMessage), lambda body: text_of(body.content)),
    Reasoning: lambda body: body.text,
    ToolCall: lambda body: f"{body.tool} {body.arguments}",
    SlotContent: lambda body: f"{body.name}\n{body.text}",
    Compaction: lambda body: body.summary,
    Failure: lambda body: f"{body.category}: {body.message}",
    Snapshot: lambda body: body.why,
    Setting: lambda body: body.value if isinstance(body.value, str) else "",
}
_FAST = msgspec.json.Decoder(ANY_LINE)
_READER = json.JSONDecoder(parse_constant=_no_constant)
_SIMPLE = frozenset({str, int, bool, type(None)})
_QUICK_WRITER = msgspec.json.Encoder()
_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain)
