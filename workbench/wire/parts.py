"""Splits a request's body into parts that are stored once and named by their hash, and joins them again.

Marks for the provider's cache move from request to request. They are taken out of the contents, which keeps a message
the same in all requests that have it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from workbench.log.events import DialectName
from workbench.wire.dialects import DIALECTS
from workbench.wire.marks import COPILOT_MARK, MARK

_USUAL: Final = {"type": "ephemeral"}


class BodyParts(NamedTuple):
    system: Any
    """The value under the key for the system prompt; None if there is none."""
    tools: list[Any] | None
    messages: list[Any]
    parameters: dict[str, Any]
    """All other keys, including the model, in the order of the body. A part that was taken out is None here."""
    cache_marks: tuple[str, ...]
    """`messages.7.2`: the third block of the eighth message. Another key than the usual one follows after `@`, and an
    unusual mark after `=` as JSON."""


class WithoutMarks(NamedTuple):
    """A value without its marks for the cache, and the positions of those marks."""

    value: Any
    marks: tuple[str, ...] = ()
    """As in `BodyParts.cache_marks`, relative to the value."""


def unmarked(value: Any) -> WithoutMarks:
    """A system prompt, a message or all tools without marks for the cache; the same value if it cannot have any."""
    if not _may_carry(value):
        return WithoutMarks(value)
    marks: list[str] = []
    return WithoutMarks(_unmarked(value, "", marks), tuple(marks))


def all_unmarked(values: Sequence[Any]) -> list[WithoutMarks]:
    return list(map(unmarked, values))


def split_body(
    dialect: DialectName,
    body: Mapping[str, Any],
    unmark: Callable[[Sequence[Any]], Sequence[WithoutMarks]] = all_unmarked,
) -> BodyParts:
    """Split a body into its parts. An empty or unexpected value stays among the parameters.

    `unmark`: a replacement for `all_unmarked`, such as one that caches its results.
    """
    rest = dict(body)
    where, key = DIALECTS[dialect].places
    given = body.get(where) if where else None
    (system,) = unmark([given]) if given and isinstance(given, str | list | dict) else (WithoutMarks(None),)
    if system.value:
        rest[where] = None
    else:
        system = WithoutMarks(None)
    given = body.get("tools")
    (tools,) = unmark([given]) if given and isinstance(given, list) else (WithoutMarks(None),)
    if tools.value:
        rest["tools"] = None
    found: Any = body.get(key)
    is_text = isinstance(found, str) and bool(found)
    is_list = isinstance(found, list) and bool(found) and not _reads_as_text(found)
    messages = unmark([found] if is_text else found if is_list else [])
    if messages:
        rest[key] = None
    marks = [
        *(f"system{mark}" for mark in system.marks),
        *(f"tools{mark}" for mark in tools.marks),
        *(f"messages.{number}{mark}" for number, each in enumerate(messages) if each.marks for mark in each.marks),
    ]
    return BodyParts(system.value, tools.value, [each.value for each in messages], rest, tuple(marks))


def join_body(
    dialect: DialectName,
    system: Any,
    tools: list[Any] | None,
    messages: list[Any],
    parameters: Mapping[str, Any],
    cache_marks: Iterable[str] = (),
) -> dict[str, Any]:
    """Join parts to a body: the inverse of `split_body`."""
    where, key = DIALECTS[dialect].places
    marks = dict(_read_mark(mark) for mark in cache_marks)
    body: dict[str, Any] = dict(parameters)
    if where and system:
        body[where] = _marked(system, "system", marks)
    if tools:
        body["tools"] = _marked(tools, "tools", marks)
    if messages:
        body[key] = messages[0] if _reads_as_text(messages) else _marked(messages, "messages", marks)
    return body


def _reads_as_text(messages: list[Any]) -> bool:
    """Whether the messages are one bare text, which a body has in place of a list."""
    return len(messages) == 1 and isinstance(messages[0], str)


def _blocks(value: Any) -> Iterator[tuple[int, Any]]:
    """The blocks inside a value that may carry a mark: the elements of a list, or of a content."""
    inside = value.get("content") if isinstance(value, dict) else value
    return enumerate(inside) if isinstance(inside, list) else iter(())


def _with_blocks(value: Any, blocks: list[Any]) -> Any:
    return {**value, "content": blocks} if isinstance(value, dict) else blocks


def _unmarked(value: Any, path: str, marks: list[str]) -> Any:
    for key in (MARK, COPILOT_MARK):
        if isinstance(value, dict) and isinstance(value.get(key), dict):
            mark, place = value[key], _place(path, key)
            value = {other: each for other, each in value.items() if other != key}
            marks.append(place if mark == _USUAL else f"{place}={json.dumps(mark)}")
    blocks = [
        _unmarked(each, f"{path}.{number}", marks) if _may_carry(each) else each for number, each in _blocks(value)
    ]
    return _with_blocks(value, blocks) if blocks else value


def _may_carry(value: Any) -> bool:
    """Whether a value may have a mark on it or inside. Most messages and blocks cannot, and need no further check."""
    if isinstance(value, dict):
        return MARK in value or COPILOT_MARK in value or isinstance(value.get("content"), list)
    return isinstance(value, list)


def _place(path: str, key: str) -> str:
    return path if key == MARK else f"{path}@{key}"


def _read_mark(mark: str) -> tuple[str, Any]:
    place, _, written = mark.partition("=")
    return place, json.loads(written) if written else _USUAL


def _marked(value: Any, path: str, marks: Mapping[str, Any]) -> Any:
    blocks = [_marked(each, f"{path}.{number}", marks) for number, each in _blocks(value)]
    value = _with_blocks(value, blocks) if blocks else value
    if marks and isinstance(value, dict):
        found = {key: marks.get(_place(path, key)) for key in (MARK, COPILOT_MARK)}
        value = {**value, **{key: dict(mark) for key, mark in found.items() if mark is not None}}
    return value
