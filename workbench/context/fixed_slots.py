"""The fixed slots: system prompt, instructions, memory and tools. No stage cuts them and no compaction covers them.

A file that is too large for its slot is cut when it is read, and ends with a line that says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from workbench.context.cells import Cell
from workbench.context.control import NO_DECISION, UserDecision
from workbench.context.items import Edit, Item
from workbench.context.measure import Meter
from workbench.context.stages import normalise, override
from workbench.context.stages.chat_form import chat_tool
from workbench.log.events import Event, SlotContent
from workbench.models.framing import count_tool, count_tools_frame

SLOT_ORDER = ("system", "instructions", "memory", "tools")
HEADINGS = {"system": "", "instructions": "# Instructions: {name}\n\n", "memory": "# Memory: {name}\n\n"}
"""System prompt, instructions and memory are sent as one system message; headings separate them."""


class FixedSlots(NamedTuple):
    """The items of the fixed slots, and what they cost beyond their content."""

    items: tuple[Item, ...] = ()
    framing: int = 0


def cut_marker(name: str, kept: int, size: int) -> str:
    """The last line of a file that was cut before it was put into its slot."""
    return f"[truncated: kept first {kept} of {size} bytes of {name}]"


def cut_note_in(text: str) -> str:
    """The text of that line; empty: nothing was cut."""
    line = text[text.rfind("\n") + 1 :]
    return line.strip("[]") if line.startswith("[truncated: kept first ") else ""


def slot_heading(slot: str, name: str) -> str:
    """The heading of a slot's content in the system message."""
    return HEADINGS[slot].format(name=name)


def fill_fixed_slots(
    slots: Sequence[Event], preamble: Iterable[Cell], overrides: Mapping[int, UserDecision], meter: Meter
) -> FixedSlots:
    """The items of the fixed slots, in request order: the one system message, then a transcript's own."""
    contents = [(event, event.body) for event in slots if isinstance(event.body, SlotContent)]
    items: list[Item] = []
    around = 0
    for slot in SLOT_ORDER:
        for event, body in contents:
            if body.slot == slot:
                item = _slot_item(event, body, overrides, meter)
                items.append(item)
                if item.in_request and slot != "tools":
                    around += meter.counter.count(slot_heading(slot, body.name)).tokens
        if slot == "memory":
            for cell in preamble:
                item = _preamble_item(cell, overrides)
                items.append(item)
                around += meter.framing(item.kind, True, meter.author(cell)) * item.in_request
    sent = [item for item in items if item.in_request]
    around += meter.framing("message", any(is_merged(item) for item in sent))
    if any(item.slot == "tools" for item in sent):
        around += count_tools_frame(meter.counter, _first_system(sent), meter.style)
    return FixedSlots(tuple(items), around)


_MERGED = -2
"""The unit of the items that are merged into one system message."""


def is_merged(item: Item) -> bool:
    """Whether an item is part of the one system message, rather than a message of its own."""
    return item.unit == _MERGED and item.slot != "tools"


def _first_system(sent: Sequence[Item]) -> str | None:
    """The text at the end of the first system message of a request; None if it has none."""
    merged = [item.text or "" for item in sent if is_merged(item)]
    own = [item.text or "" for item in sent if item.slot != "tools"]
    return merged[-1] if merged else own[0] if own else None


def _edits(own: UserDecision, before: int, after: int, note: str, is_sent: bool = True) -> tuple[Edit, ...]:
    if own.excluded:
        return (override.exclude_edit(own, before),)
    if not note:
        return ()
    return (normalise.change_edit(before, after, note) if is_sent else normalise.drop_edit(before, note),)


def tool_definition(text: str) -> dict[str, Any] | None:
    """A tool's definition; None if the slot holds no JSON object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _slot_item(event: Event, body: SlotContent, overrides: Mapping[int, UserDecision], meter: Meter) -> Item:
    own = overrides.get(event.seq, NO_DECISION)
    is_tool = body.slot == "tools"
    counted = meter.counter.count(body.text) if not is_tool else count_tool(meter.counter, body.text, meter.style)
    sent: str | None = body.text
    note, after = "", counted.tokens
    if is_tool and not (meter.is_record or meter.sends_own_tools):
        definition, note = chat_tool(tool_definition(body.text))
        if note:
            sent = None if definition is None else json.dumps(definition, ensure_ascii=False)
            after = 0 if sent is None else count_tool(meter.counter, sent, meter.style).tokens
    edits = _edits(own, counted.tokens, after, note, sent is not None)
    out = own.excluded or sent is None
    return Item(
        id=event.id,
        seq=event.seq,
        turn=0,
        slot=body.slot,
        role=None if is_tool else "system",
        kind="tool_definition" if is_tool else "message",
        tool=body.name if is_tool else None,
        state=edits[-1].state if edits else "sent",
        tokens=0 if out else after,
        original_tokens=counted.tokens,
        exact=counted.exact,
        pinned=own.pinned,
        edits=edits,
        text=None if out else sent,
        original=body.text,
        content=None if out else sent,
        unit=_MERGED,
        name=body.name,
    )


def _preamble_item(cell: Cell, overrides: Mapping[int, UserDecision]) -> Item:
    own = overrides.get(cell.seq, NO_DECISION)
    out = own.excluded
    return Item(
        id=cell.id,
        seq=cell.seq,
        turn=0,
        slot="system",
        role=cell.role,
        kind="message",
        tool=None,
        state="excluded" if out else "sent",
        tokens=0 if out else cell.tokens,
        original_tokens=cell.original_tokens,
        exact=cell.exact,
        pinned=own.pinned,
        edits=_edits(own, cell.original_tokens, cell.tokens, cell.note),
        text=None if out else cell.text,
        original=cell.original,
        content=None if out else cell.content,
        name=cell.name,
    )
