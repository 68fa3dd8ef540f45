"""The plan's items as units, and which of them a compaction may summarise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from msgspec import Struct

from workbench.compaction.progress import ReportProgress, ignore_progress, with_progress
from workbench.context.cells import is_answer
from workbench.context.control import CONTROL, NO_DECISION, InEffect, in_effect
from workbench.context.items import Item
from workbench.context.plan import ContextPlan
from workbench.log.events import Compaction, Event


class ItemUnit(NamedTuple):
    """The items of one unit: a user message, or an assistant message with its calls and results."""

    number: int
    turn: int
    items: tuple[Item, ...]
    seqs: tuple[int, ...]
    """The numbers of its events; a synthetic result has none."""

    @property
    def summarised(self) -> bool:
        """Whether a compaction in force covers it; that is so for all of its items or none."""
        return self.items[0].state == "summarised"

    @property
    def excluded(self) -> bool:
        """Whether the user excluded all of it."""
        return self.items[0].state == "excluded" and all(item.state == "excluded" for item in self.items)

    @property
    def is_user(self) -> bool:
        return self.items[0].role == "user"

    @property
    def has_calls(self) -> bool:
        """Whether it is an iteration group."""
        return any(item.kind == "tool_call" for item in self.items)

    @property
    def messages(self) -> int:
        """How many messages it is on the wire: all but the results are one."""
        results = sum(item.role == "tool" for item in self.items)
        return results + (results < len(self.items))

    @property
    def tokens(self) -> int:
        """Its cost as it is sent now."""
        return sum(item.tokens for item in self.items)

    def cost(self) -> int:
        """Its cost when sent; for one that is left out now, uncut."""
        return sum(item.tokens if item.in_request else item.original_tokens for item in self.items)


class Candidates(Struct, frozen=True):
    """The units of a conversation, and which of them may be summarised."""

    units: tuple[ItemUnit, ...]
    """In request order."""
    effective: InEffect
    latest: int
    """The number of the unit with the latest user message while its turn is open; -1 if none is."""
    open_from: int
    """The first unit of the current turn; the number of units if the last turn is over."""
    barred: frozenset[int]
    """Units that no compaction may summarise: pinned and excluded ones, and the user message of an open turn."""
    shortened: dict[int, str]
    """By sequence number, for events that a compaction in force kept in part: the text that is sent."""

    @property
    def turn(self) -> int:
        """The number of the last turn."""
        return self.units[-1].turn if self.units else 0

    def takeable(self, *, groups: bool) -> list[ItemUnit]:
        """Units that may be summarised, including those that are already.

        The open turn stays. With `groups`, what stays of it is its user message, its last iteration group and
        what follows.
        """
        end = self.open_from
        if groups:
            end = max((at for at, unit in enumerate(self.units) if at >= end and unit.has_calls), default=end)
        return [unit for unit in self.units[:end] if unit.number not in self.barred]


def candidates_in(plan: ContextPlan, events: Iterable[Event], report: ReportProgress = ignore_progress) -> Candidates:
    """The units of a plan, with what the log's own events say about them."""
    units = _units(with_progress(plan.items.without_reasons(), len(plan.items), "selecting", report))
    effective = in_effect([event for event in events if type(event.body) in CONTROL])
    open_from = _open_from(units)
    latest = next((unit.number for unit in units[open_from:] if unit.is_user), -1)
    barred = {unit.number for unit in units if _is_barred(unit, effective)} | {latest}
    return Candidates(units, effective, latest, open_from, frozenset(barred), _shortened(effective.compactions))


def _units(items: Iterable[Item]) -> tuple[ItemUnit, ...]:
    found = []
    for number, group in groupby((item for item in items if item.unit >= 0), key=lambda item: item.unit):
        members = tuple(group)
        seqs = tuple([item.seq for item in members if item.seq is not None])
        found.append(ItemUnit(number, members[0].turn, members, seqs))
    return tuple(found)


def _is_barred(unit: ItemUnit, effective: InEffect) -> bool:
    if unit.excluded:
        return True
    return any(effective.overrides.get(seq, NO_DECISION).pinned for seq in unit.seqs) if effective.overrides else False


def _open_from(units: Sequence[ItemUnit]) -> int:
    """A turn is over when it ends with an answer; an excluded answer does not count."""
    last = next((unit for unit in reversed(units) if not unit.excluded), None)
    if last is None or is_answer(last.items):
        return len(units)
    start = len(units)
    while start and units[start - 1].turn == units[-1].turn:
        start -= 1
    return start


def _shortened(compactions: Iterable[Event]) -> dict[int, str]:
    found: dict[int, str] = {}
    for event in compactions:
        assert isinstance(event.body, Compaction)
        for kept in event.body.kept:
            if kept.text:
                found.setdefault(kept.seq, kept.text)
    return found
