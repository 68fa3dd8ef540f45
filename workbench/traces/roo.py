"""Roo Code and Kilo Code: `tasks/ID/api_conversation_history.json` in the editor's storage.

- A list of Anthropic's messages with a `ts`. Reasoning is in blocks of its own type, or in entries of the type
  `reasoning`, whose content may be encrypted.
- A summary (`isSummary`, `condenseId`) replaces the messages that name it as their `condenseParent`. A marker
  (`isTruncationMarker`, `truncationId`) hides those that name it as their `truncationParent`; it is sent itself. A
  parent that is not in the file hides nothing.
- Some versions send nothing before the last summary, except for the first message.
- Files without any of these marks are read as Anthropic's. Not in the file: system prompt, tools, model, reports.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from workbench.log.events import Compaction, KeptEvent, Override, Reasoning, text_of
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, first_objects, log_entries
from workbench.traces.reading import Document
from workbench.wire.anthropic import AnthropicReader
from workbench.wire.values import content_of, list_in, text_in

NAME = format_names.ROO
HIDDEN = "hidden by Roo Code's sliding window"
_MARKS = frozenset(
    ("condenseParent", "condenseId", "isSummary", "truncationParent", "truncationId", "isTruncationMarker")
)
_ALL = 1 << 31


def recognises(document: Document) -> bool:
    """Whether messages have a time and one of them a mark of a condensation or truncation."""
    messages = [each for each in first_objects(document, _ALL) if text_in(each, "role") or _is_reasoning(each)]
    timed = [each for each in messages if "ts" in each and "modelInfo" not in each and "metrics" not in each]
    if not timed or len(timed) < len(messages):
        return False
    return any(not _MARKS.isdisjoint(each) or _is_reasoning(each) for each in timed)


def _is_reasoning(value: dict[str, Any]) -> bool:
    return text_in(value, "type") == "reasoning" and "ts" in value


class _Placed(NamedTuple):
    condensed_into: str
    hidden_by: str
    first: int
    last: int


def read(document: Document, text: str) -> list[Recording]:
    values = [value for _, value in log_entries(document, text)]
    builder = Builder(NAME, document.broken)
    wire = AnthropicReader(builder)
    placed: list[_Placed] = []
    for value in values:
        builder.when(value.get("ts") if isinstance(value, dict) else None)
        if isinstance(value, dict) and value.get("isSummary") and builder.has_talk:
            _summary(builder, value, placed)
            continue
        before = builder.last
        if isinstance(value, dict) and value.get("isTruncationMarker"):
            _truncation(builder, text_in(value, "truncationId"), placed)
            before = builder.last
        _message(builder, wire, value)
        parents = text_in(value, "condenseParent"), text_in(value, "truncationParent")
        placed.append(_Placed(*parents, before + 1, builder.last))
    return [builder.finish()]


def _message(builder: Builder, wire: AnthropicReader, value: Any) -> None:
    if isinstance(value, dict) and _is_reasoning(value):
        text = "\n\n".join(filter(None, (text_in(each, "text") for each in list_in(value, "summary"))))
        builder.add(Reasoning(text, "", text_in(value, "encrypted_content")))
    elif isinstance(value, dict) and isinstance(value.get("content"), list):
        wire.message({**value, "content": [_block(each) for each in value["content"]]})
    else:
        wire.message(value)


def _block(block: Any) -> Any:
    if text_in(block, "type") == "reasoning":
        return {"type": "thinking", "thinking": text_in(block, "text")}
    return block


def _summary(builder: Builder, value: dict[str, Any], placed: list[_Placed]) -> None:
    """A compaction of the messages that name it, or if none does, of all but the first."""
    name = text_in(value, "condenseId")
    gone = [each for each in placed if name and each.condensed_into == name] or placed[1:] or placed
    first, last = min(each.first for each in gone), max(each.last for each in gone)
    left = set(gone)
    earlier = {each.condensed_into for each in placed} - {"", name}
    kept = tuple(
        KeptEvent(seq)
        for each in placed
        if each not in left and each.condensed_into not in earlier and first <= each.first
        for seq in range(each.first, min(each.last, last) + 1)
    )
    content = value.get("content")
    blocks = [each for each in content if text_in(each, "type") == "text"] if isinstance(content, list) else content
    summary = text_of(content_of(blocks))
    builder.add(Compaction(first, last, summary, kept, meta={"made_by": NAME}))


def _truncation(builder: Builder, name: str, placed: list[_Placed]) -> None:
    gone = [each for each in placed if name and each.hidden_by == name and each.first <= each.last]
    for at, each in enumerate(gone):
        builder.add(Override("exclude", each.first, each.last, HIDDEN, joined=at > 0))
