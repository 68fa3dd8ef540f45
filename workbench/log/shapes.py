"""The JSON shape of each kind of event, derived from the fields of its class.

Both directions check types: a store that writes what it cannot read back has lost a session.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from types import NoneType
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from workbench.log import events
from workbench.log.errors import BadEvent
from workbench.log.events import Body, Content, ImagePart, KeptEvent, OtherPart, TextPart

KINDS: Mapping[str, type[Body]] = {
    "system": events.SystemMessage,
    "user": events.UserMessage,
    "assistant": events.AssistantMessage,
    "reasoning": events.Reasoning,
    "tool_call": events.ToolCall,
    "tool_result": events.ToolResult,
    "slot": events.SlotContent,
    "compaction": events.Compaction,
    "revert": events.Revert,
    "override": events.Override,
    "usage": events.Usage,
    "snapshot": events.Snapshot,
    "setting": events.Setting,
    "error": events.Failure,
}


class NewerError(Exception):
    """Well formed, but not of this version; the event is carried along as it stands."""


class FieldForm(NamedTuple):
    """How the values of one type stand in JSON."""

    expected: str
    """For the message when a value is something else."""
    plain: frozenset[type]
    """Types that are the same in JSON."""
    read: Callable[[Any], Any] | None = None
    """From JSON, for all other types; raises TypeError for what is no such value."""
    write: Callable[[Any], Any] | None = None
    """To JSON, likewise."""


class Shape(NamedTuple):
    """How one kind of event stands in JSON."""

    kind: str
    cls: Callable[..., Body]
    defaults: Mapping[str, object]
    """In declared order; MISSING where there is none, which equals no value."""
    required: tuple[str, ...]
    plain: Mapping[str, frozenset[type]]
    """Beside `forms`, because it is looked up for every field of every event."""
    forms: Mapping[str, FieldForm]

    def read(self, name: str, value: object) -> object:
        """A field's value from its JSON."""
        form = self.forms.get(name)
        if form is None:
            raise NewerError
        return self._convert(form.read, name, value)

    def write(self, name: str, value: object) -> object:
        """A field's value as JSON."""
        try:
            return self._convert(self.forms[name].write, name, value)
        except NewerError:
            raise self._unexpected(name) from None

    def _convert(self, convert: Callable[[Any], Any] | None, name: str, value: object) -> object:
        """The converted value, or an error that names the field."""
        if convert is None:
            raise self._unexpected(name)
        try:
            return convert(value)
        except TypeError:
            raise self._unexpected(name) from None

    def _unexpected(self, name: str) -> BadEvent:
        """The error for a value that is something else."""
        return BadEvent(f"a {self.kind} event: expected {self.forms[name].expected} for '{name}'")


def _read_part(data: object) -> events.Part:
    """A part of a message, from its JSON."""
    match data:
        case {"type": "text", "text": str(text), **rest}:
            part: events.Part = TextPart(text)
        case {"type": "image", "url": str(url), "detail": str(detail), **rest}:
            part = ImagePart(url, detail)
        case {"type": "image", "url": str(url), **rest} if "detail" not in rest:
            part = ImagePart(url)
        case {"type": "other", "data": dict(inner), **rest}:
            part = OtherPart(inner)
        case {"type": str(kind)} if kind not in ("text", "image", "other"):
            raise NewerError
        case _:
            raise TypeError
    if rest:
        raise NewerError
    return part


def _write_part(part: object) -> dict[str, Any]:
    """A part of a message, as JSON."""
    match part:
        case TextPart(str(text)):
            return {"type": "text", "text": text}
        case ImagePart(str(url), "auto"):
            return {"type": "image", "url": url}
        case ImagePart(str(url), str(detail)):
            return {"type": "image", "url": url, "detail": detail}
        case OtherPart(data) if isinstance(data, Mapping):
            return {"type": "other", "data": dict(data)}
    raise TypeError


def _read_kept(data: object) -> KeptEvent:
    """A kept event, from its JSON."""
    match data:
        case {"seq": int(seq), "text": str(text), **rest}:
            kept = KeptEvent(seq, text)
        case {"seq": int(seq), **rest} if "text" not in rest:
            kept = KeptEvent(seq)
        case _:
            raise TypeError
    if rest:
        raise NewerError
    return kept


def _write_kept(kept: object) -> dict[str, Any]:
    """A kept event, as JSON."""
    match kept:
        case KeptEvent(int(seq), None):
            return {"seq": seq}
        case KeptEvent(int(seq), str(text)):
            return {"seq": seq, "text": text}
    raise TypeError


def _reads(one: Callable[[object], Any]) -> Callable[[object], tuple[Any, ...]]:
    """A reader of a JSON list, from the reader of one of its values."""

    def read(data: object) -> tuple[Any, ...]:
        if not isinstance(data, list):
            raise TypeError
        return tuple([one(value) for value in data])

    return read


def _writes(one: Callable[[object], Any]) -> Callable[[object], list[Any]]:
    """A writer of a JSON list, from the writer of one of its values."""

    def write(values: object) -> list[Any]:
        if not isinstance(values, tuple):
            raise TypeError
        return [one(value) for value in values]

    return write


def _write_mapping(value: object) -> dict[str, Any]:
    """A read-only mapping, as JSON."""
    if not isinstance(value, Mapping):
        raise TypeError
    return dict(value)


def _choice(allowed: tuple[str, ...]) -> FieldForm:
    """One of a few words. A word we do not know comes from a newer version."""

    def take(value: object) -> object:
        if not isinstance(value, str):
            raise TypeError
        if value not in allowed:
            raise NewerError
        return value

    return FieldForm("one of " + ", ".join(allowed), frozenset(), take, take)


_ANY_JSON: frozenset[type] = frozenset({str, int, float, bool, NoneType, list, dict})

_FORMS: Mapping[Any, FieldForm] = {
    str: FieldForm("a string", frozenset({str})),
    int: FieldForm("a whole number", frozenset({int})),
    bool: FieldForm("true or false", frozenset({bool})),
    int | None: FieldForm("a whole number or null", frozenset({int, NoneType})),
    float | None: FieldForm("a number or null", frozenset({float, int, NoneType})),
    Mapping[str, Any]: FieldForm("an object", frozenset({dict}), write=_write_mapping),
    # Whatever JSON cannot hold is found when the whole event is written.
    Any: FieldForm("any JSON", frozenset({str, int, float, bool, NoneType, list, dict}), write=lambda value: value),
    Content: FieldForm("a string or a list of parts", frozenset({str}), _reads(_read_part), _writes(_write_part)),
    tuple[KeptEvent, ...]: FieldForm("a list of kept events", frozenset(), _reads(_read_kept), _writes(_write_kept)),
}


def _default(field: Field[Any]) -> object:
    """A field's default, or MISSING."""
    return field.default if field.default_factory is MISSING else field.default_factory()


def _shape(kind: str, cls: type[Body]) -> Shape:
    """The shape of a kind. A field of a type without a form fails here, at import, not at its first use."""
    hints = get_type_hints(cls)
    forms = {
        name: _choice(get_args(hint)) if get_origin(hint) is Literal else _FORMS[hint] for name, hint in hints.items()
    }
    defaults = {field.name: _default(field) for field in fields(cls)}
    return Shape(
        kind=kind,
        cls=cls,
        defaults=defaults,
        required=tuple(name for name, default in defaults.items() if default is MISSING),
        plain={name: form.plain for name, form in forms.items()},
        forms=forms,
    )


BY_KIND: Mapping[str, Shape] = {kind: _shape(kind, cls) for kind, cls in KINDS.items()}
BY_CLASS: Mapping[type, Shape] = {KINDS[kind]: shape for kind, shape in BY_KIND.items()}
