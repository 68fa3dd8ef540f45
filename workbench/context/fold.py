"""Fold: the log's events in request order, and which of them the compactions in force cover."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import NamedTuple

from msgspec import Struct, field

from workbench.context.cells import Cell, Unit, is_answer
from workbench.context.control import NO_DECISION, InEffect, UserDecision, compaction_range
from workbench.context.items import Edit, State
from workbench.context.stages.normalise import Pairs, is_blank
from workbench.log.events import (
    AssistantMessage,
    Compaction,
    Event,
    KeptEvent,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
)

TEXT, CALL, RESULT = range(3)


def aside_edit(tokens: int, unsure: bool = False) -> Edit:
    """Keep to be read what is no part of the conversation; `unsure`: another agent may have sent it."""
    why = "kept for reading; the log does not say if it was sent" if unsure else "not sent: kept for reading"
    return Edit("fold", "aside", tokens, 0, why)


def summarise_edit(tokens: int, compaction: int) -> Edit:
    """Leave out what a compaction replaces."""
    return Edit("fold", "summarised", tokens, 0, f"summarised by compaction #{compaction}")


def unneeded_result_edit(state: State, tokens: int) -> Edit:
    """Leave out the synthetic result of a call that is not sent."""
    return Edit("fold", state, tokens, 0, "left out with its call")


def kept_edit(before: int, after: int) -> Edit:
    """Send what a compaction kept of a message."""
    why = f"kept in part by a compaction: {after:,} of {before:,} tokens"
    return Edit("fold", "truncated", before, after, why)


class Coverage(NamedTuple):
    """What the compactions in force do to single events, by sequence number."""

    cover: dict[int, int]
    """The compaction that covers the event."""
    kept: dict[int, KeptEvent]
    """What they kept of their ranges."""


class Preconditions(Struct, frozen=True):
    """The decisions made before the first event is added."""

    overrides: Mapping[int, UserDecision] = field(default_factory=dict)
    cover: Mapping[int, int] = field(default_factory=dict)
    """By sequence number: the compaction in force that covers the event."""
    kept: Mapping[int, KeptEvent] = field(default_factory=dict)
    unpaired: Mapping[int, str] = field(default_factory=dict)
    """By sequence number: results known to have no call, and why."""
    ordered: int = 0
    """Events up to this one were put in order: their pairs are final."""


_Place = tuple[int, int, Event]
"""For an event: its rank, and the sequence number at which it was placed."""


class _Buckets:
    """Groups events that belong together, in the order in which each bucket began.

    An event in its place stays in its place, so that a log read at once and a log read as it grows agree.
    """

    def __init__(self) -> None:
        self.buckets: list[list[_Place]] = []
        self.unpaired: dict[int, str] = {}
        """Results without a call, with the reason. A call that moves before one must not claim it."""
        self._pairs = Pairs()
        self._bucket_of: list[int] = []
        """The bucket of each call."""
        self._newest = -1
        """The bucket of the newest message."""
        self._rank = TEXT
        """The highest rank in the last bucket."""
        self._reply = ""
        """The id of its reply; further parts of the reply join it."""
        self._open = False
        """Whether it holds calls without a reply's id; the next such call joins it."""
        self._turn = 0
        self._turn_of: list[int] = []
        """The turn of each call."""
        self._seq_of: list[int] = []
        """The sequence number of each call."""
        self._early: list[tuple[int, Event]] = []
        """Results without a call, and their turns. The call may still come."""

    def add_event(self, event: Event) -> None:
        body = event.body
        match body:
            case ToolResult():
                self._result(event, body)
            case ToolCall():
                self._pairs.wait(body.call_id, len(self._bucket_of))
                self._part(event, body.reply, CALL)
                self._bucket_of.append(self._newest)
                self._turn_of.append(self._turn)
                self._seq_of.append(event.seq)
            case AssistantMessage() if not is_blank(body.content):
                self._open = False
                self._part(event, body.reply, TEXT)
            case UserMessage():
                self._turn += 1
                self._begin(event)
            case SystemMessage() if not is_blank(body.content):
                self._begin(event)
            case _:
                self._add_unsent(event)

    def _begin(self, event: Event, rank: int = TEXT, reply: str = "") -> None:
        self.buckets.append([(rank, event.seq, event)])
        self._newest, self._rank, self._reply, self._open = len(self.buckets) - 1, rank, reply, False

    def _part(self, event: Event, reply: str, rank: int) -> None:
        """Add a part of a reply."""
        if reply == self._reply if reply else self._open:
            self.buckets[self._newest].append((rank, event.seq, event))
            self._rank = max(self._rank, rank)
        else:
            self._begin(event, rank, reply)
        self._open = not reply

    def _result(self, event: Event, body: ToolResult) -> None:
        call, why = self._pairs.take_call(body.call_id, self._is_newest)
        if call < 0:
            self.unpaired[event.seq] = why
            self._add_unsent(event)
            self._early.append((self._turn, event))
            return
        bucket = self._bucket_of[call]
        self.buckets[bucket].append((RESULT, event.seq, event))
        if bucket == self._newest:
            self._open, self._rank = False, RESULT

    def _is_newest(self, call: int) -> bool:
        return self._bucket_of[call] == self._newest

    def pair_early(self) -> None:
        """Give calls without a result the earlier results of the same turn."""
        claimed: list[tuple[int, Event]] = []
        """By call."""
        for turn, event in self._early:
            assert isinstance(event.body, ToolResult)
            call, _ = self._pairs.take_call(event.body.call_id, partial(self._is_of, turn))
            if call < 0:
                continue
            if self._is_of(turn, call):
                claimed.append((call, event))
                del self.unpaired[event.seq]
            else:
                self._pairs.wait(event.body.call_id, call)
        moved = {event.seq for _, event in claimed}
        if moved:
            self.buckets = [[each for each in bucket if each[2].seq not in moved] for bucket in self.buckets]
        for number in {self._bucket_of[call] for call, _ in claimed}:
            self.buckets[number] = self._behind_results(self.buckets[number])
        for call, event in claimed:
            self.buckets[self._bucket_of[call]].append((RESULT, self._seq_of[call], event))

    def _behind_results(self, bucket: list[_Place]) -> list[_Place]:
        """What is never sent and came after a bucket's last call also comes after that call's early result."""
        last = max(seq for _, seq, event in bucket if isinstance(event.body, ToolCall))
        return [(RESULT if rank == CALL and seq > last else rank, seq, event) for rank, seq, event in bucket]

    def _is_of(self, turn: int, call: int) -> bool:
        return self._turn_of[call] == turn

    def _add_unsent(self, event: Event) -> None:
        """Add something that is never sent: it stays after what came last."""
        if not self.buckets:
            self.buckets.append([])
        self.buckets[-1].append((self._rank, event.seq, event))


def events_in_order(events: Iterable[Event]) -> tuple[list[Event], dict[int, str]]:
    """Events with every result next to its call and all parts of a reply together, whenever they came.

    Providers want results right after the message with the calls. Nothing else moves. Also returns, by sequence
    number, the results without a call, and why.
    """
    gathered = _Buckets()
    for event in events:
        gathered.add_event(event)
    gathered.pair_early()
    ordered = [event for bucket in gathered.buckets for _, _, event in sorted(bucket, key=itemgetter(0, 1))]
    return ordered, gathered.unpaired


def compaction_coverage(
    effective: InEffect, cells: Sequence[Cell], units: Sequence[Unit], latest: int, *, as_it_says: bool = False
) -> Coverage:
    """Which events the compactions in force cover, and which of their ranges they kept.

    A unit is covered only if all its events are in a range, so that no pair is ever split. Pinned units stay. So does
    the user message of a turn that was open when it was compacted (because it outgrew the window), while it is the
    latest (its sequence number is `latest`) and if the turn went on.
    """
    ranges = [(index, event.seq, *compaction_range(event)) for index, event in enumerate(effective.compactions)]
    keeps = [_keeps(event) for event in effective.compactions]
    ends = {unit.turn: cells[unit.cells[-1]].event.seq for unit in units}
    """The last event of each turn."""
    open_turns = {event.seq: _open_turn(event.seq, effective, cells, units) for event in effective.compactions}
    cover: dict[int, int] = {}
    kept: dict[int, KeptEvent] = {}
    unspoken = len(ranges) == 1 and not effective.overrides
    """Whether only one range decides about nearly all events: then one check is enough."""
    for unit in units:
        seqs = [cells[at].event.seq for at in unit.cells]
        if unspoken and keeps[0].keys().isdisjoint(seqs):
            index, made, first, last = ranges[0]
            least, most = min(seqs), max(seqs)
            if most < first or least > last:
                continue
            if first <= least and most <= last and unit.turn != open_turns[made]:
                for seq in seqs:
                    cover[seq] = index
                continue
        found: dict[int, int] = {}
        for seq in seqs:
            inside = [(index, made) for index, made, first, last in ranges if first <= seq <= last]
            taken = [(index, made) for index, made in inside if seq not in keeps[index]]
            if taken and not effective.overrides.get(seq, NO_DECISION).pinned:
                made = max(made for _, made in taken)
                asked = isinstance(cells[unit.cells[0]].event.body, UserMessage) and unit.turn == open_turns[made]
                if as_it_says or not (asked and (seq == latest or ends[unit.turn] > made)):
                    found[seq] = taken[0][0]
            elif inside and not taken:
                kept[seq] = keeps[inside[0][0]][seq]
        if len(found) == len(unit.cells):
            cover.update(found)
    return Coverage(cover, kept)


def _keeps(event: Event) -> dict[int, KeptEvent]:
    assert isinstance(event.body, Compaction)
    return {entry.seq: entry for entry in event.body.kept}


def _open_turn(made: int, effective: InEffect, cells: Sequence[Cell], units: Sequence[Unit]) -> int:
    """The turn that waited for its answer when a compaction was made; -1: none."""
    for unit in reversed(units):
        before = [cell for at in unit.cells if (cell := cells[at]).event.seq < made]
        if not before:
            continue
        taken_out = all(effective.overrides.get(cell.seq, NO_DECISION).excluded for cell in before)
        if not (is_answer(before) and taken_out):
            return -1 if is_answer(before) else unit.turn
    return -1
