"""The JSON shape of each kind of event: the envelope and the fields of its class in one object, tagged by `kind`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, reduce
from operator import or_
from typing import Annotated, Any, Literal, get_type_hints

import msgspec
from msgspec import NODEFAULT, Meta, Struct

from workbench.log import events
from workbench.log.events import Body

VERSION = 1

KINDS: Mapping[str, type[Any]] = {
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
    "request": events.Request,
    "request_part": events.RequestPart,
    "answer": events.RequestAnswer,
    "hold": events.Hold,
    "snapshot": events.Snapshot,
    "setting": events.Setting,
    "error": events.Failure,
}
KIND_OF: Mapping[type, str] = {body: kind for kind, body in KINDS.items()}

_ENVELOPE = (
    ("v", Literal[1]),
    ("seq", Annotated[int, Meta(ge=1)]),
    ("id", Annotated[str, Meta(min_length=1)]),
    ("at", int),
)
AHEAD = len(_ENVELOPE)
"""How many fields of a line come before those of its body."""


@cache
def _hints_of(body: type[Struct]) -> dict[str, Any]:
    """The types of a class's fields. To find them takes as long as to make a class of them."""
    return get_type_hints(body, include_extras=True)


def _fields(body: type[Struct]) -> list[Any]:
    """The fields of a class, for another one."""
    hints = _hints_of(body)
    fields: list[Any] = []
    for each in msgspec.structs.fields(body):
        default = each.default
        if each.default_factory is not NODEFAULT:
            default = msgspec.field(default_factory=each.default_factory)
        fields.append((each.name, hints[each.name]) if default is NODEFAULT else (each.name, hints[each.name], default))
    return fields


def _line(kind: str, body: type[Struct]) -> type[Struct]:
    """The class for a kind's lines, to read them."""
    fields = [*_ENVELOPE, *_fields(body)]
    name = f"{body.__name__}Line"
    return msgspec.defstruct(name, fields, tag_field="kind", tag=kind, forbid_unknown_fields=True, gc=False)


@cache
def written_line(body: type[Struct]) -> type[Struct]:
    """The same to write them: the kind comes after the envelope. Most runs write only a few kinds."""
    fields = [*_ENVELOPE, ("kind", str), *_fields(body)]
    return msgspec.defstruct(f"{body.__name__}Written", fields, omit_defaults=True, gc=False)


BODY_OF: Mapping[type[Struct], type[Body]] = {_line(kind, body): body for kind, body in KINDS.items()}
"""The classes of lines, with the classes of their bodies."""
ANY_LINE: Any = reduce(or_, BODY_OF)
