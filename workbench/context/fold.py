"""Fold: the log's events in the order of the request, and what standing compactions cover of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter

from workbench.context.cells import Cell, Unit
from workbench.context.control import NO_OWN, Standing, span
from workbench.context.stages.normalise import Pairs, is_blank
from workbench.log.events import (
    AssistantMessage,
    Compaction,
    Event,
    Kept,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
)

TEXT, CALL, RESULT = range(3)


class _Buckets:
    """Events gathered into what belongs together, in the order in which each bucket began.

    An event that came in its place stays in its place, so that a log read at once and a log read as it grows agree.
    """

    def __init__(self) -> None:
        self.buckets: list[list[tuple[int, Event]]] = []
        self.unpaired: dict[int, str] = {}
        """Results that had no call when they came, with the reason. A call that moves before one must not claim it."""
        self._pairs = Pairs()
        self._bucket_of: list[int] = []
        """By call: its bucket."""
        self._newest = -1
        """The bucket of the newest message."""
        self._reply = ""
        """The reply it holds; its further parts join it."""
        self._open = False
        """Whether it holds calls without a reply's id; the next such call joins it."""

    def add(self, event: Event) -> None:
        body = event.body
        match body:
            case ToolResult():
                self._result(event, body)
            case ToolCall():
                self._pairs.call(body.call_id, len(self._bucket_of))
                self._part(event, body.reply, CALL)
                self._bucket_of.append(self._newest)
            case AssistantMessage() if not is_blank(body.content):
                self._open = self._open and bool(body.reply)
                self._part(event, body.reply, TEXT)
            case UserMessage():
                self._begin(event)
            case SystemMessage() if not is_blank(body.content):
                self._begin(event)
            case _:
                self._beside(event)

    def _begin(self, event: Event, rank: int = TEXT, reply: str = "") -> None:
        self.buckets.append([(rank, event)])
        self._newest, self._reply, self._open = len(self.buckets) - 1, reply, False

    def _part(self, event: Event, reply: str, rank: int) -> None:
        """A part of a reply."""
        if reply == self._reply if reply else self._open:
            self.buckets[self._newest].append((rank, event))
        else:
            self._begin(event, rank, reply)
        self._open = not reply

    def _result(self, event: Event, body: ToolResult) -> None:
        call, why = self._pairs.match(body.call_id, lambda at: self._bucket_of[at] == self._newest)
        if call < 0:
            self.unpaired[event.seq] = why
            self._beside(event)
            return
        self._pairs.settle(body.call_id, call)
        bucket = self._bucket_of[call]
        self.buckets[bucket].append((RESULT, event))
        if bucket == self._newest:
            self._open = False

    def _beside(self, event: Event) -> None:
        """Something that is never sent: it stays behind what came last."""
        if not self.buckets:
            self.buckets.append([])
        bucket = self.buckets[-1]
        bucket.append((max((rank for rank, _ in bucket), default=TEXT), event))


def in_order(events: Iterable[Event]) -> tuple[list[Event], dict[int, str]]:
    """Events with every result next to its call and every part of a reply next to its others, whenever they came.

    Providers want the results right behind the message that called. Nothing else moves. Beside them, by sequence number, the
    results that have no call, and why.
    """
    gathered = _Buckets()
    for event in events:
        gathered.add(event)
    ordered = [event for bucket in gathered.buckets for _, event in sorted(bucket, key=itemgetter(0))]
    return ordered, gathered.unpaired


def coverage(
    standing: Standing, cells: Sequence[Cell], units: Sequence[Unit], users: Sequence[int]
) -> tuple[dict[int, int], dict[int, Kept]]:
    """Which events the standing compactions summarise, and which of their ranges they kept.

    A unit is summarised only when every event of it lies in one range, so that no pair is ever split. Pinned units and the user
    message that was the latest when the compaction was made stay. `users` are the sequence numbers of user messages, in order.
    """
    cover: dict[int, int] = {}
    kept: dict[int, Kept] = {}
    for index, event in enumerate(standing.compactions):
        body = event.body
        assert isinstance(body, Compaction)
        latest = max((seq for seq in users if seq < event.seq), default=0)
        first, last = span(event)
        mine = {entry.seq: entry for entry in body.kept if first <= entry.seq <= last}
        kept.update(mine)
        for unit in units:
            seqs = [cells[at].seq for at in unit.cells]
            inside = first <= min(seqs) and max(seqs) <= last
            pinned = any(standing.overrides.get(seq, NO_OWN).pinned for seq in seqs)
            if inside and not pinned and latest not in seqs and not any(seq in mine for seq in seqs):
                cover.update(dict.fromkeys(seqs, index))
    return cover, {seq: entry for seq, entry in kept.items() if seq not in cover}
