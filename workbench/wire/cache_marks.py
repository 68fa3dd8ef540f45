"""Moves marks for the provider's cache: if a marked item is removed from a body, its mark goes to an item before it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from workbench.log.events import DialectName
from workbench.wire.body_items import SECTIONS, BodyPlace, Section
from workbench.wire.dialects import DIALECTS
from workbench.wire.found_items import THINKING
from workbench.wire.marks import MARK, mark_in
from workbench.wire.values import list_in, text_in

GONE: Final = object()
"""A placeholder for a removed entry, until all removals are done."""


def move_back(dialect: DialectName, sections: dict[Section, list[Any]], place: BodyPlace, mark: Any) -> None:
    """Put the mark of a removed item on the last item before it that can have one."""
    for section, at, index in _before(sections, place):
        entry = sections[section][at]
        block = entry if index is None else entry["content"][index]
        marked = _marked(dialect, section, block, mark)
        if marked is None:
            continue
        if index is None:
            sections[section][at] = marked
        else:
            blocks = list(entry["content"])
            blocks[index] = marked
            sections[section][at] = {**entry, "content": blocks}
        return


def _before(sections: dict[Section, list[Any]], place: BodyPlace) -> Iterator[tuple[Section, int, int | None]]:
    """The blocks left before a position, and the entries without blocks, from that position back to the beginning."""
    first = SECTIONS.index(place.section)
    for section in reversed(SECTIONS[: first + 1]):
        entries = sections[section]
        upto = place.at if section == place.section else len(entries) - 1
        for at in range(upto, -1, -1):
            if entries[at] is GONE:
                continue
            blocks = list_in(entries[at], "content")
            here = section == place.section and at == place.at
            end = place.number if here and place.key == "content" and place.number >= 0 else len(blocks)
            left = [index for index in range(end) if blocks[index] is not GONE]
            yield from ((section, at, index) for index in reversed(left))
            if not blocks and not here:
                yield section, at, None


def _marked(dialect: DialectName, section: Section, value: Any, mark: Any) -> Any:
    """The value with a mark, or unchanged if it already has one; None if it cannot have a mark."""
    marks_texts = DIALECTS[dialect].marks_texts
    if section == "system" and isinstance(value, str) and marks_texts:
        return [{"type": "text", "text": value, MARK: mark}]
    if not isinstance(value, dict) or text_in(value, "type") in THINKING or value.get("text") == "":
        return None
    if mark_in(value) is not None:
        return value
    if "type" in value or section != "messages" or not marks_texts:
        return {**value, MARK: mark}
    content = value.get("content")
    text = [{"type": "text", "text": content, MARK: mark}]
    return {**value, "content": text} if isinstance(content, str) and content else None
