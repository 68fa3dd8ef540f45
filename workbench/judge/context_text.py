"""The text of a context: the rows of a plan as a model reads them, and which events a context no longer has whole."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from workbench.compaction.requests import GAP
from workbench.compaction.source import source_block
from workbench.context.items import Item
from workbench.context.plan import ContextPlan
from workbench.models.tokens import TokenCounter

_FIXED = ("system", "instructions", "memory", "tools")
"""Slots that every context has, whatever is compacted."""


class ContextBlock(NamedTuple):
    """One row as text."""

    id: str
    head: str
    content: str
    """Separate from the head, because it was counted when the log was planned."""
    call: str = ""
    """The id of the call that it is the result of."""

    @property
    def text(self) -> str:
        """Head and content."""
        return f"{self.head}\n{self.content}"

    def size_in(self, counter: TokenCounter) -> int:
        """Its tokens, at most, with what separates it from the next one."""
        return counter.count(self.head).tokens + counter.count(self.content).tokens + GAP


def conversation_items(plan: ContextPlan) -> list[Item]:
    """The rows of the conversation: no fixed slots, no thinking."""
    return [item for item in plan.items if item.slot not in _FIXED and item.kind not in ("aside", "reasoning")]


def context_blocks(items: Iterable[Item]) -> list[ContextBlock]:
    """The rows that are sent, as text, each under a head with its id and its author."""
    found: list[ContextBlock] = []
    calls: dict[str, str] = {}
    for item in items:
        if item.in_request and (item.text or item.kind == "tool_call"):
            if item.kind == "tool_call":
                calls[item.call_id] = item.id
            call = calls.get(item.call_id, "") if item.kind == "tool_result" else ""
            block = source_block(item, call=call)
            found.append(ContextBlock(item.id, block.head, block.content, call))
    return found


def joined_blocks(blocks: Iterable[ContextBlock]) -> str:
    return "\n\n".join(block.text for block in blocks)


def whole_events(items: Iterable[Item]) -> set[str]:
    """The ids of the rows that are sent as they were."""
    return {item.id for item in items if item.state == "sent" and (item.text is None or item.text == item.original)}


def blocks_holding(blocks: Sequence[ContextBlock], events: Collection[str]) -> list[ContextBlock]:
    """The blocks of these events, of the results of these calls, and the ones right after them."""
    before, found = "", []
    for block in blocks:
        if block.id in events or block.call in events or before in events:
            found.append(block)
        before = block.id
    return found


def blocks_around(
    blocks: Sequence[ContextBlock], events: Collection[str], room: int, counter: TokenCounter
) -> list[ContextBlock]:
    """The blocks of these events and their neighbours, nearest first, in at most `room` tokens; all if they fit."""
    sizes = [block.size_in(counter) for block in blocks]
    if sum(sizes) <= room:
        return list(blocks)
    places = [at for at, block in enumerate(blocks) if block.id in events]
    chosen: set[int] = set()
    left = room
    for distance in range(len(blocks)):
        near = {at + step for at in places for step in (-distance, distance)}
        fresh = [at for at in sorted(near - chosen) if 0 <= at < len(blocks) and sizes[at] <= left]
        for at in fresh:
            if sizes[at] <= left:
                chosen.add(at)
                left -= sizes[at]
        if distance and not fresh:
            break
    return [blocks[at] for at in sorted(chosen)]
