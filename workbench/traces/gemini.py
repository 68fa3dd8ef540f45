"""Gemini: `contents`, as a list, or an object with them under `contents` or `history`, as `wire/gemini` reads them.

- The format has no usage, no model and no compaction: a snapshot of the past is a user message like any other.
- Parts of other kinds are kept as they are.
"""

from __future__ import annotations

from typing import Any

from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, first_objects, log_entries
from workbench.traces.reading import Document
from workbench.wire.gemini_contents import GeminiReader, is_content
from workbench.wire.values import list_in, text_in

NAME = format_names.GEMINI_CONTENTS


def recognises(document: Document) -> bool:
    """Whether a content with its parts is near the beginning."""
    first = first_objects(document)
    inside = [value for each in first for value in _contents(each)[:40]]
    return any(is_content(value) for value in [*first, *inside])


def _contents(value: Any) -> list[Any]:
    return list_in(value, "contents") or list_in(value, "history")


def read(document: Document, text: str) -> list[Recording]:
    """The conversation; or one per line, if lines are requests."""
    located = [value for _, value in log_entries(document, text)]
    requests = [value for value in located if _contents(value)]
    if not requests:
        return [_conversation(GeminiReader(builder := Builder(NAME, document.broken)), located, builder)]
    found = []
    for number, request in enumerate(requests):
        builder = Builder(NAME, () if number else document.broken)
        builder.says_model(text_in(request, "model").removeprefix("models/"))
        reader = GeminiReader(builder)
        reader.head(request)
        found.append(_conversation(reader, _contents(request), builder))
    return found


def _conversation(reader: GeminiReader, contents: list[Any], builder: Builder) -> Recording:
    for value in contents:
        reader.message(value)
    return builder.finish()
