"""What a log has about compactions: those that were made, those that failed, and what has happened since.

Nothing is remembered outside the log. Cool-down, limit and circuit breaker are read from here, and so are the counters
of the status command and of the screen.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

from msgspec import Struct

from workbench.compaction.values import FailureKind
from workbench.context.control import compaction_range, in_effect, reverted_events
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Event,
    Failure,
    Revert,
    ToolCall,
    Usage,
    UserMessage,
)

Status = Literal["standing", "replaced", "reverted"]
"""Standing: in the plan. Replaced: inside the range of a later one that is. Reverted: undone."""
STATUS_NAMES: dict[str, str] = {"standing": "active", "replaced": "replaced", "reverted": "undone"}
"""The words for people."""

CATEGORY = "compaction"
"""The category of failed compactions."""
OTHER = "other"
"""The kind of a failure whose message names none we know."""


class CompactionDetails(Struct, frozen=True):
    """A compaction's metadata. None if a value is missing or has the wrong type."""

    trigger: str | None = None
    why: str | None = None
    model: str | None = None
    made_by: str | None = None
    """The model's name, or `digest`."""
    prompt_hash: str | None = None
    seconds: float | None = None
    cost: float | None = None
    ratio: float | None = None
    """Source to summary."""
    request_ratio: float | None = None
    """The whole request before to the whole request after."""
    score: float | None = None
    """Share of the facts that the summary kept, 0 to 1."""
    tokens_before: int | None = None
    tokens_after: int | None = None
    source_tokens: int | None = None
    summary_tokens: int | None = None
    kept_tokens: int | None = None
    facts_kept: int | None = None
    facts_lost: int | None = None
    events: int | None = None
    first_at: int | None = None
    """Milliseconds since 1970, like the next."""
    last_at: int | None = None
    first_turn: int | None = None
    last_turn: int | None = None

    @property
    def freed(self) -> int | None:
        """How much smaller the request became; 0 if it did not, as a compaction by hand may do."""
        if self.tokens_before is None or self.tokens_after is None:
            return None
        return max(0, self.tokens_before - self.tokens_after)


_MOST = 10**18
"""A larger number measured nothing; `inf`, which JSON can contain as 1e999, is larger too."""
_TEXTS = ("trigger", "why", "model", "made_by", "prompt_hash")
_NUMBERS = ("seconds", "cost", "ratio", "request_ratio", "score")


def read_details(meta: Mapping[str, Any]) -> CompactionDetails:
    """Read the values that exist and have the right type: another version or program may have written them."""
    found: dict[str, Any] = {}
    for name in CompactionDetails.__struct_fields__:
        value: Any = meta.get(name)
        # `type`, not `isinstance`: true is no number here.
        if name in _TEXTS:
            fits = type(value) is str
        else:
            fits = type(value) in ((int, float) if name in _NUMBERS else (int,)) and -_MOST < value < _MOST
        found[name] = value if fits else None
    return CompactionDetails(**found)


class CompactionEntry(NamedTuple):
    """One compaction that was made, and its status now."""

    event: Event
    status: Status
    by: int | None
    """The compaction that replaced it, or the revert that undid it."""
    details: CompactionDetails

    @property
    def range(self) -> tuple[int, int]:
        """The first and the last event that it replaces."""
        return compaction_range(self.event)


class FailedCompaction(NamedTuple):
    seq: int
    kind: str
    message: str


class CompactionRecord(Struct, frozen=True):
    """What a log has about compactions."""

    entries: tuple[CompactionEntry, ...] = ()
    """All that were made, in order."""
    failures: tuple[FailedCompaction, ...] = ()
    active: tuple[Event, ...] = ()
    """Those in the plan, ordered by range."""
    covered: int = 0
    """The end of the furthest range in force; 0: none."""
    turns: int = 0
    """Turns begun after it, including the current one; a failed turn does not count."""
    failed: bool = False
    """Whether the newest turn failed: it ends with a failure, with no answer before that."""
    reported: int = 0
    """The last report of a provider; 0: none."""
    reshaped: int = 0
    """The last compaction, or undo or redo of one; 0: none. Reports from before it are out of date."""
    tried: int = 0
    """That, or a later failed attempt. The cool-down counts from here: after an undo the user does not want the
    compaction back at once, and what has just failed would fail again. `nothing` does not count, here and below: no
    attempt was made, and the next iteration may bring something to summarise."""
    turns_since_tried: int = 0
    """Turns begun after that, including the current one."""
    failures_in_a_row: int = 0
    """Since the last compaction that was made, by any trigger."""
    attempts: int = 0
    """Compactions and failures since the last message of anyone: attempts for one and the same request."""

    @property
    def counted(self) -> int:
        """What counts against the limit per session: all that were made and not undone.

        The limit is on the summaries in a session. That cannot cause a loop: undo is done by hand, and the cool-down
        counts from it.
        """
        return sum(entry.status != "reverted" for entry in self.entries)


_CONVERSATION = frozenset({UserMessage, AssistantMessage, ToolCall})
_COUNTED = frozenset({Compaction, Failure, Revert, Usage})
"""The other events that count."""


def read_record(events: Iterable[Event]) -> CompactionRecord:
    reader = CompactionRecordReader()
    reader.read_events(events)
    return reader.record()


class CompactionRecordReader:
    """Reads a log that grows: each event once, and the record so far at any time."""

    def __init__(self) -> None:
        self.length = 0
        """How many events were read."""
        self._controls: list[Event] = []
        self._about: set[int] = set()
        """Compactions, and reverts that refer to one, directly or through other reverts."""
        self._failures: list[FailedCompaction] = []
        self._opened: list[int] = []
        """The user messages."""
        self._failed: list[int] = []
        """Those whose turn failed."""
        self._last: Body | None = None
        self._failing = False
        self._reported = self._reshaped = self._tried = self._attempts = self._in_a_row = 0

    def read_events(self, events: Iterable[Event]) -> None:
        for event in events:
            self.length += 1
            kind = type(event.body)
            if kind in _CONVERSATION:  # nearly all events: tested first, because logs can be long
                self._attempts = 0
                if kind is UserMessage:
                    if self._failing:
                        self._failed.append(self._opened[-1])
                    self._opened.append(event.seq)
                self._failing, self._last = False, event.body
            elif kind in _COUNTED:
                self._count_event(event)

    def _count_event(self, event: Event) -> None:
        seq = event.seq
        match event.body:
            case Usage():
                self._reported = seq
            case Compaction():
                self._controls.append(event)
                self._about.add(seq)
                self._reshaped, self._attempts, self._in_a_row = seq, self._attempts + 1, 0
            case Revert(target):
                self._controls.append(event)
                if target in self._about:
                    self._about.add(seq)
                    self._reshaped = seq
            case Failure(category, message) if category == CATEGORY:
                missed = _failed(seq, message)
                self._failures.append(missed)
                self._attempts += 1
                if missed.kind != "nothing":
                    self._tried = seq
                    self._in_a_row += 1
            case Failure():
                self._failing = bool(self._opened) and not _is_answer(self._last)

    def record(self) -> CompactionRecord:
        """What the events so far have about compactions. It takes no longer for a longer conversation."""
        tried = max(self._tried, self._reshaped)
        active = in_effect(self._controls).compactions
        covered = max((compaction_range(event)[1] for event in active), default=0)
        failing = self._failing and self._opened[-1] > covered
        return CompactionRecord(
            entries=_entries(self._controls, active),
            failures=tuple(self._failures),
            active=active,
            covered=covered,
            turns=_after(self._opened, covered) - _after(self._failed, covered) - failing,
            failed=self._failing,
            reported=self._reported,
            reshaped=self._reshaped,
            tried=tried,
            turns_since_tried=_after(self._opened, tried),
            failures_in_a_row=self._in_a_row,
            attempts=self._attempts,
        )


def _after(seqs: Sequence[int], seq: int) -> int:
    """How many of the events, in order, come after one."""
    return len(seqs) - bisect_right(seqs, seq)


def _is_answer(last: Body | None) -> bool:
    return isinstance(last, AssistantMessage) and last.finish != "broken"


def _failed(seq: int, message: str) -> FailedCompaction:
    kind, colon, rest = message.partition(":")
    return (
        FailedCompaction(seq, kind, rest.strip())
        if colon and kind in get_args(FailureKind)
        else FailedCompaction(seq, OTHER, message)
    )


def _entries(controls: Sequence[Event], active: Sequence[Event]) -> tuple[CompactionEntry, ...]:
    gone = reverted_events(controls)
    made = [event for event in controls if isinstance(event.body, Compaction)]
    alive = [event for event in made if event.seq not in gone]
    in_plan = {event.seq for event in active}
    by_whom = {
        event.body.target: event.seq
        for event in controls
        if isinstance(event.body, Revert) and event.seq not in gone and event.body.target < event.seq
    }
    found = []
    for event in made:
        assert isinstance(event.body, Compaction)
        noted = read_details(event.body.meta)
        if event.seq in in_plan:
            found.append(CompactionEntry(event, "standing", None, noted))
        elif event.seq in gone:
            found.append(CompactionEntry(event, "reverted", by_whom[event.seq], noted))
        else:
            found.append(CompactionEntry(event, "replaced", _replacement(event, alive), noted))
    return tuple(found)


def _replacement(event: Event, alive: Sequence[Event]) -> int:
    """The first later compaction whose range contains this one's."""
    first, last = compaction_range(event)
    return next(
        later.seq
        for later in alive
        if later.seq > event.seq and compaction_range(later)[0] <= first and last <= compaction_range(later)[1]
    )
