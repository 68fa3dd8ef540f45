"""Tracks which needed facts are in the current request. A fact that an answer uses and the request lacks is a miss."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from workbench.context.items import Item
from workbench.context.steps import CellChange
from workbench.lab.replay.needs import Needs
from workbench.lab.values import Miss
from workbench.log.events import Event


class AvailableFacts:
    """The facts in one request after the other, updated as items enter and leave."""

    def __init__(self, needs: Needs) -> None:
        self._needs = needs
        self._counted: dict[int, tuple[int, ...]] = {}
        """By event: which of its facts are in the request."""
        self._counts: defaultdict[int, int] = defaultdict(int)
        """By fact: how many items of the request hold it."""
        self._holders: defaultdict[int, set[int]] = defaultdict(set)
        """By fact: the events of the conversation that hold it, whether they are sent or not."""
        self._summaries: tuple[Item, ...] = ()
        self._summarised: tuple[int, ...] = ()

    def add_fixed_event(self, seq: int) -> None:
        """Count the facts of an event that is in every request."""
        self._add(self._needs.holds.get(seq, ()), 1)

    def apply_changes(self, changes: Iterable[CellChange], summaries: tuple[Item, ...]) -> None:
        """Update the facts after items changed their state. `summaries`: those in the request now."""
        holds = self._needs.holds
        for change in changes:
            held = holds.get(change.cell.seq)
            if held is None or change.after == "aside":
                continue
            for fact in held if change.before is None else ():
                self._holders[fact].add(change.cell.seq)
            for fact in held if change.after == "excluded" else ():
                self._holders[fact].discard(change.cell.seq)
            self._count(change.cell.seq, self._left_in(change, held))
        if summaries != self._summaries:
            self._add(self._summarised, -1)
            self._summaries = summaries
            self._summarised = tuple(fact for row in summaries for fact in self._needs.held_in(row.text or ""))
            self._add(self._summarised, 1)

    def _left_in(self, change: CellChange, held: tuple[int, ...]) -> tuple[int, ...]:
        match change.after:
            case "sent":
                return held
            case "truncated" if change.cell.cut is not None:
                left = set(self._needs.held_in(change.cell.cut.text))
                return tuple(fact for fact in held if fact in left)
            case "truncated" if change.cell.agent_cut is not None:
                return held  # the agent cut it before it was logged, so the log holds only the rest
        return ()

    def _count(self, seq: int, facts: tuple[int, ...]) -> None:
        before = self._counted.get(seq, ())
        if facts is not before:
            self._add(before, -1)
            self._add(facts, 1)
            self._counted[seq] = facts

    def _add(self, facts: Iterable[int], times: int) -> None:
        counts = self._counts
        for fact in facts:
            counts[fact] += times

    def find_misses(self, answer: Sequence[Event], request: int) -> Iterable[Miss]:
        """The facts that an answer uses, that an earlier event holds, and that its request lacks."""
        reported: set[int] = set()
        for event in answer:
            for fact in self._needs.uses.get(event.seq, ()):
                if fact not in reported and self._counts[fact] <= 0 and self._holders.get(fact):
                    reported.add(fact)
                    needed = self._needs.facts[fact]
                    yield Miss(needed.kind, needed.text, event.seq, max(self._holders[fact]), request)
