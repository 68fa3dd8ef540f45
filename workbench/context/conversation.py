"""The conversation of a log, as the stages of a policy read it, and copies of it: as it is, with other decisions, or
without some of its events."""

from __future__ import annotations

from array import array
from collections.abc import Container
from copy import copy
from itertools import accumulate, compress, count

from workbench.context.fold import Preconditions
from workbench.context.growing_conversation import GrowingConversation
from workbench.context.running_sums import RunningSums
from workbench.log.events import ToolCall, ToolResult, UserMessage


class Conversation(GrowingConversation):
    """The growing conversation and its copies."""

    def copy(self) -> Conversation:
        """An independent copy: nothing that still changes is shared."""
        made = copy(self)
        for name in ("cells", "units", "openers", "held", "preamble", "repairs", "results", "_asides"):
            setattr(made, name, getattr(self, name)[:])
        for name in ("_pinned", "_early", "_late"):
            setattr(made, name, getattr(self, name).copy())
        made.sums, made._mask, made._pairs = self.sums.copy(), self._mask.copy(), self._pairs.copy()
        if self.units:  # the newest may still get cells, and its calls their results
            made.units[-1] = newest = copy(self.units[-1])
            newest.cells = newest.cells[:]
            for at in newest.cells:
                made.cells[at] = copy(self.cells[at])
        return made

    def with_preconditions(self, ground: Preconditions) -> Conversation:
        """The same events with other overrides and compactions; all were in order.

        Nothing is paired, counted or cut to its cap again: that would take ten times as long.
        """
        made = self.copy()
        made.ground, made.overrides, made._plain, made._measuring = ground, ground.overrides, False, False
        made._pinned, made.held_set, made.held = set(), frozenset(), []
        made._mask, made.results = self._meter.mask_window(), []
        made.sums = RunningSums(len(self.units))
        affected = {*ground.overrides, *ground.kept, *self.overrides, *self.ground.kept}
        by_turn, cover = self._masking.scope == "turn", ground.cover
        for at, cell in enumerate(made.cells):
            if cell.unit < 0:
                continue
            seq, kind = cell.event.seq, type(cell.event.body)
            if by_turn and kind is UserMessage:
                made._unmask_turn()
            touched, counts = seq in affected, kind is ToolResult and seq not in cover
            if touched or counts:
                made.cells[at] = cell = cell.undecided()
                made._decide(made.units[cell.unit], cell)
            if counts and made._mask.active:
                made._number(cell, at)
        made._measuring = True
        made._hold()
        made._measure(number for number, unit in enumerate(made.units) if self.cells[unit.cells[0]].seq not in cover)
        return made

    def without(self, gone: Container[int]) -> Conversation | None:
        """The conversation without events that a compaction replaces; None if that would split a unit.

        The rest is unchanged except for its position: turns without their user message are merged into the turn before.
        """
        stays = [cell.event.seq not in gone for cell in self.cells]
        numbers: dict[int, int] = {}
        for number, unit in enumerate(self.units):
            left = sum(stays[at] for at in unit.cells)
            if left:
                numbers[number] = len(numbers)
            if 0 < left < len(unit.cells):
                return None
        turns = list(accumulate((opener in numbers for opener in self.openers[1:]), initial=0))
        places = dict(zip(compress(count(), stays), count(), strict=False))
        made = copy(self)
        made.last_cut = 0
        made.cells, made._asides, made._aside_kinds, made.original_tokens = [], array("L"), {}, 0
        for at in places:
            cell = copy(self.cells[at])
            cell.turn, cell.unit, cell.partner = (
                turns[cell.turn],
                numbers.get(cell.unit, -1),
                places.get(cell.partner, -1),
            )
            if cell.unit < 0:
                made._store(cell)
            else:
                made.cells.append(cell)
                made.original_tokens += cell.original_tokens
        made.units = [self.units[number].moved(turns, places) for number in numbers]
        made.openers = [-1, *(numbers[opener] for opener in self.openers[1:] if opener in numbers)]
        made.turn = len(made.openers) - 1
        made.begins_with_user = made.openers[1:2] == [0] or not made.units
        made.last_group = max((number for number, unit in enumerate(made.units) if unit.calls), default=-1)
        made._pinned = {numbers[number] for number in self._pinned if number in numbers}
        made.held_set = frozenset(numbers[number] for number in self.held if number in numbers)
        made.held = sorted(made.held_set)
        made.repairs, made.results = (
            [places[at] for at in each if at in places] for each in (self.repairs, self.results)
        )
        made.preamble, made._early, made._late = self.preamble[:], self._early.copy(), self._late.copy()
        made.sums, made._mask = self.sums.of_units(numbers), self._mask.copy()
        calls = (cell.event.body for cell in made.cells)
        made._pairs = self._pairs.moved(places, {call.call_id for call in calls if isinstance(call, ToolCall)})
        return made
