"""What a plan is arranged from: a conversation, and around it the part of every request that is never cut."""

from __future__ import annotations

from msgspec import Struct

from workbench.context.conversation import Conversation
from workbench.context.fixed_slots import FixedSlots, cut_note_in
from workbench.context.items import SLOTS, Edit, Item, Kind, Slot
from workbench.context.measure import Meter
from workbench.context.plan_items import PlacedSummary
from workbench.models.framing import REPLY_PRIMING
from workbench.models.tokens import TokenCount


class RequestBase(Struct, frozen=True):
    """The part of every request that is never cut: fixed slots and summaries."""

    items: tuple[Item, ...]
    summaries: tuple[PlacedSummary, ...]
    slots: dict[Slot, int]
    cost: int
    """Content and framing."""
    framing: int
    original_tokens: int
    cuts: tuple[str, ...]
    """What was cut of its files, in words."""


class Arrangement(Struct, frozen=True):
    """Everything a plan is made of."""

    conversation: Conversation
    base: RequestBase
    meter: Meter
    model: str
    live: bool
    notes: tuple[str, ...] = ()
    """Stages of plug-ins that were skipped, each with the reason."""


def base_of(fixed: FixedSlots, summaries: tuple[PlacedSummary, ...], meter: Meter) -> RequestBase:
    """Add up what is in every request."""
    items = [*fixed.items, *(item for summary in summaries for item in summary.items)]
    slots: dict[Slot, int] = dict.fromkeys(SLOTS, 0)
    for item in items:
        slots[item.slot] += item.tokens
    around = fixed.framing + REPLY_PRIMING + meter.around_message * sum(len(summary.items) for summary in summaries)
    original_tokens = sum(item.original_tokens for item in items)
    files = (item.text for item in fixed.items if item.slot in ("instructions", "memory") and item.text)
    cuts = tuple(filter(None, map(cut_note_in, files)))
    return RequestBase(fixed.items, summaries, slots, sum(slots.values()) + around, around, original_tokens, cuts)


def synthetic_item(
    item_id: str, slot: Slot, role: str, kind: Kind, text: str, count: TokenCount, stage: str, why: str, turn: int = 0
) -> Item:
    """An item without an event."""
    return Item(
        id=item_id,
        seq=None,
        turn=turn,
        slot=slot,
        role=role,
        kind=kind,
        tool=None,
        state="sent",
        tokens=count.tokens,
        original_tokens=count.tokens,
        exact=count.exact,
        pinned=False,
        edits=(Edit(stage, "sent", 0, count.tokens, why),),
        text=text,
        original=text,
        content=text,
    )
