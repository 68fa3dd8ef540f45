"""The text that a summary is made from. The summariser, the digest and the audit all read the same."""

from __future__ import annotations

import re
from operator import attrgetter
from typing import NamedTuple

from workbench.compaction.values import SelectedRange
from workbench.config.patterns import late_pattern
from workbench.context.items import Item
from workbench.context.stages.chat_form import chat_parts
from workbench.log.events import Compaction, text_of

LONGEST, LONGEST_RESULT = 32_000, 8_000
"""Characters to read of an item that is not sent now, and so was not cut to its cap by the stages. The two ends of an
old result show its outcome; a request for every few of them would cost more than it is worth."""

_FORGED = late_pattern(r"^\[(?=\S+ (?:user|assistant|system|developer|call|result)\b)", re.MULTILINE)
"""A line that looks like the head of a block. A text must not pass for another speaker's."""

_ID = r"(?: \[id \S{1,200}\])?"
_OWN = late_pattern(
    rf"\[truncated: kept [^\]\n]{{0,200}}\]{_ID}"
    rf"|\[\.\.\. omitted [^\]\n]{{0,100}} \.\.\.\](?: \[cut inside a line\])?{_ID}"
    rf"|\[(?:result|message) masked — [^\]\n]{{0,100}}\]{_ID}"
    r"|\[\.\.\. [\d,]+ characters left out \.\.\.\]"
    r"|^Total output lines: \d+$"
    r"|^Digest of [\d,]+ items \([^)\n]{0,400}\), made without a model[^\n]{0,100}$"
    r"|^\([\d,]+ more left out\)$",
    re.MULTILINE,
)
"""What Workbench itself writes into cut results and into a digest."""


def without_own_words(text: str) -> str:
    """A text without the program's own markers: their figures are no facts of the conversation."""
    return _OWN.sub("", text)


def item_text(item: Item) -> str:
    """An item's text as the stages left it, for a model of any provider; what they left out altogether is read from the
    log, within bounds."""
    if isinstance(item.content, tuple):
        return text_of(chat_parts(item.content, item.role)[0])
    if item.text is not None:
        return item.text
    return both_ends(item.original, LONGEST_RESULT if item.kind == "tool_result" else LONGEST)


def both_ends(text: str, most: int) -> str:
    """A text of bounded length: its beginning and its end, with a line between them that says what is missing."""
    if len(text) <= most:
        return text
    head, tail = most - most // 2, most // 2
    return f"{text[:head]}\n[... {len(text) - head - tail:,} characters left out ...]\n{text[len(text) - tail :]}"


class SourceBlock(NamedTuple):
    """What the summariser reads of one item."""

    head: str
    """The speaker and the id."""
    content: str
    """Separate from the head, because it was counted when the log was planned."""
    unit: int
    """Blocks of one unit stay in one request."""
    id: str
    """For the marker, if the block is too large and has to be cut."""

    @property
    def text(self) -> str:
        """Head and content."""
        return f"{self.head}\n{self.content}"


def source_blocks(selected: SelectedRange) -> list[SourceBlock]:
    """What the summariser reads, one block for each item: speaker, id and content.

    Items that stay next to the summary are included, and marked: without the questions the answers would make no sense.
    """
    staying = {item.id for item in selected.staying}
    ordered = sorted((*selected.items, *selected.staying), key=attrgetter("unit"))
    return [source_block(item, item.id in staying) for item in ordered if item.state != "excluded"]


def source_block(item: Item, stays: bool = False, call: str = "") -> SourceBlock:
    """One item as a block. `call`: the id of the call that a result belongs to, for its head."""
    match item.kind:
        case "tool_call":
            who = f"call {item.tool}"
        case "tool_result":
            who = f"result {item.tool or ''}".rstrip() + (f" of {call}" if call else "")
        case _:
            who = f"{item.role} {item.name}".rstrip()
    head = f"[{item.id} {who}{', stays in the request' if stays else ''}]"
    text = item_text(item)
    if "\n[" in text or text.startswith("["):  # rare, and faster to test
        text = _FORGED.sub("([", text)
    return SourceBlock(head, text, item.unit, item.id)


def previous_summary(selected: SelectedRange) -> str:
    """The summaries that the new one replaces, oldest range first; empty if there are none."""
    bodies = [event.body for event in selected.previous if isinstance(event.body, Compaction)]
    return "\n\n".join(body.summary.strip() for body in bodies if body.summary.strip())
