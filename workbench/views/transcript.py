"""The chat's entries, made lazily from the log."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from typing import Final, NamedTuple

from workbench.agent.mentions import as_written
from workbench.compaction.record import CATEGORY as COMPACTION
from workbench.compaction.undo import describe_overrides, what_was_done
from workbench.config.text import printable
from workbench.context.plan import ContextPlan
from workbench.context.tool_outcomes import outcome_of
from workbench.log.events import (
    ON_THE_WAY,
    AssistantMessage,
    Body,
    Compaction,
    Event,
    Failure,
    Hold,
    HoldEnd,
    Override,
    Reasoning,
    Revert,
    Setting,
    Snapshot,
    SystemMessage,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
    text_of,
)
from workbench.proxy.policy_notes import note_words
from workbench.traces.references import LEFT_OUT, SUB_AGENTS, sub_agents_words
from workbench.views.row_lookup import row_of
from workbench.views.values import ChatCall, ChatEntry, EntryState

SHOWN_SETTINGS = ("model", "policy", "window", "knobs", LEFT_OUT, SUB_AGENTS, ON_THE_WAY)
"""The settings that get a line in the chat: those that change what the model sees, and notes on a transcript."""
MOST_BETWEEN = 20
"""How many events before a result are searched for the snapshot taken before its tool ran."""
MOST_FREED = 200
"""The most masked events whose tokens are added up for a line of the chat."""
WHOLE = ("", "stop", "tool_calls", "end_turn")
"""The finish reasons of an answer that was not cut short."""
HARMLESS = (COMPACTION, "hook", "instructions", "snapshot")
"""Failures that stopped no answer: asking again, or asking another model, would not help."""


class EntryIndex:
    """Which events are entries. Grows with the log; an entry never changes its index."""

    def __init__(self, events: list[Event]) -> None:
        """`events`: the log, to which its owner keeps appending."""
        self.events = events
        self._places: list[int] = []
        """By entry: the index of its event."""
        self._turns: list[int] = []
        self._results: dict[str, int] = {}
        """By call id: the index of the result."""
        self._calls: set[str] = set()
        self._lines: dict[int, list[int]] = {}
        """By the first event of a line: all events shown in it, overrides of one decision or reverts that undid one."""
        self._decision_start: dict[int, int] = {}
        """By override: the first one of the same decision."""
        self._turn = 0
        self._taken = 0
        self.has_talk = False
        """Whether there is anything besides settings, snapshots and overrides."""
        self.catch_up()

    def catch_up(self) -> None:
        """Read the events appended since the last call."""
        for index in range(self._taken, len(self.events)):
            body = self.events[index].body
            if type(body) is Usage:
                continue
            if type(body) is UserMessage:
                self._turn += 1
            elif type(body) is ToolCall:
                self._calls.add(body.call_id)
            elif type(body) is ToolResult:
                self._results.setdefault(body.call_id, index)
            elif isinstance(body, Override | Revert) and self._joins_previous_line(index, body):
                continue
            if self._is_entry(body):
                self.has_talk = self.has_talk or not isinstance(body, Setting | Snapshot | Override | Revert)
                self._places.append(index)
                self._turns.append(self._turn)
        self._taken = len(self.events)

    def _joins_previous_line(self, index: int, body: Override | Revert) -> bool:
        """Whether an event shares the line of the one before it: the same decision, or the same undo."""
        last = next(reversed(self._lines), -1)
        if isinstance(body, Override):
            together = body.joined and last >= 0 and isinstance(self.events[last].body, Override)
            self._decision_start[index] = last if together else index
        else:
            group = self._lines.get(last, [])
            undone = self._undoes(index)
            together = group[-1:] == [index - 1] and undone is not None and undone == self._undoes(index - 1)
        self._lines.setdefault(last if together else index, []).append(index)
        return together

    def _undoes(self, index: int) -> tuple[str, int] | None:
        """A revert's verb and the decision it targets; None: it reverts no override."""
        body = self.events[index].body
        verb, target = self._reverted(body.target) if isinstance(body, Revert) else ("", 0)
        return (verb, self._decision_start[target - 1]) if target - 1 in self._decision_start else None

    def _is_entry(self, body: Body) -> bool:
        match body:
            case ToolCall() | UserMessage() | SystemMessage() | Compaction() | Failure():
                return True
            case ToolResult(call_id=call_id):
                return call_id not in self._calls
            case Reasoning(text=text):
                return bool(text.strip())  # encrypted thinking has no text
            case Snapshot() | Override() | Revert() | Hold():
                return True
            case AssistantMessage(content=content, finish=finish):
                return bool(text_of(content).strip()) or finish not in WHOLE
            case Setting(key=key):
                return key in SHOWN_SETTINGS
            case _:
                return False

    def __len__(self) -> int:
        return len(self._places)

    def first_after(self, seq: int) -> int:
        """The index of the first entry after an event."""
        return bisect_left(self._places, seq)

    def place_of(self, seq: int, length: int) -> int:
        """The index of an event's entry, or of the nearest before it. A result belongs to the entry of its call."""
        if 0 < seq <= len(self.events):
            body = self.events[seq - 1].body
            if isinstance(body, ToolResult) and body.call_id in self._calls:
                seq = self._call_seq(body.call_id, seq)
        return max(0, bisect_right(self._places, seq - 1, hi=length) - 1)

    def _call_seq(self, call_id: str, seq: int) -> int:
        for index in range(min(seq, len(self.events)) - 1, -1, -1):
            body = self.events[index].body
            if isinstance(body, ToolCall) and body.call_id == call_id:
                return index + 1
        return seq

    def entry(self, at: int, seen: int) -> ChatEntry:
        """One entry, as it was when the log had `seen` events."""
        event = self.events[self._places[at]]
        turn = self._turns[at]
        body = event.body
        match body:
            case UserMessage(content=content):
                return ChatEntry(event.seq, event.id, "you", turn, as_written(content))
            case AssistantMessage(content=content, finish=finish, model=model):
                cut = "" if finish in WHOLE else finish
                return ChatEntry(event.seq, event.id, "ai", turn, text_of(content), finish=cut, model=model)
            case Reasoning(text=text):
                return ChatEntry(event.seq, event.id, "reasoning", turn, text)
            case ToolCall(tool=tool, arguments=arguments):
                call = self._call(event, body, seen)
                return ChatEntry(event.seq, event.id, "tool", turn, printable(f"{tool} {arguments}", 400), call)
            case ToolResult(call_id=call_id, content=content, tool=tool, is_error=is_error):
                call = ChatCall(tool, "", text_of(content), event.seq, is_error, None, call_id)
                return ChatEntry(event.seq, event.id, "tool", turn, tool, call)
            case SystemMessage(content=content):
                return ChatEntry(event.seq, event.id, "system", turn, text_of(content))
            case Compaction(summary=summary):
                return ChatEntry(event.seq, event.id, "summary", turn, summary)
            case Failure(category=category, message=message) if category not in HARMLESS:
                return ChatEntry(event.seq, event.id, "failure", turn, message)
            case Revert() | Override():
                return ChatEntry(event.seq, event.id, "notice", turn, self._change_words(self._places[at], seen))
            case _:
                return ChatEntry(event.seq, event.id, "notice", turn, notice_words(body))

    def decision(self, at: int, seen: int) -> list[Override]:
        """The overrides that an entry shows."""
        bodies = [self.events[index].body for index in self._lines.get(self._places[at], ()) if index < seen]
        return [body for body in bodies if isinstance(body, Override)]

    def _change_words(self, index: int, seen: int) -> str:
        """In words, what one decision changed or what one undo restored."""
        indices = [each for each in self._lines[index] if each < seen]
        bodies = [self.events[each].body for each in indices]
        verb = ""
        if isinstance(bodies[0], Revert):
            found = [self._reverted(body.target) for body in bodies if isinstance(body, Revert)]
            verb, target = found[0]
            event = self.events[target - 1] if 0 < target <= len(self.events) else None
            if event is None or not isinstance(event.body, Override | Compaction):
                return f"{verb} event {target}"
            if isinstance(event.body, Compaction):
                return f"{verb}{what_was_done(event)}"
            bodies = [self.events[target - 1].body for _, target in found]
        overrides = sorted((body for body in bodies if isinstance(body, Override)), key=lambda body: body.first)
        words = describe_overrides(overrides)
        if verb:
            return f"{verb}: {words}"
        whys = {body.why for body in overrides}
        if len(whys) > 1:  # perhaps the same person decided
            whys = {why.partition(":")[0] for why in whys}
        why = whys.pop() if len(whys) == 1 else ""
        return f"{words}, {printable(why)}" if why else words

    def _reverted(self, target: int) -> tuple[str, int]:
        """The verb and the target of a revert; a revert of a revert is a redo."""
        verb = "undid"
        while 0 < target <= len(self.events):
            body = self.events[target - 1].body
            if not isinstance(body, Revert) or body.target >= target:
                break
            verb, target = "redid" if verb == "undid" else "undid", body.target
        return verb, target

    def _call(self, event: Event, body: ToolCall, seen: int) -> ChatCall:
        at = self._results.get(body.call_id, seen)
        if at >= seen:
            return ChatCall(body.tool, body.arguments, call_id=body.call_id)
        result = self.events[at]
        assert isinstance(result.body, ToolResult)
        text = text_of(result.body.content)
        call = ChatCall(body.tool, body.arguments, text, result.seq, result.body.is_error, None, body.call_id)
        return call._replace(seconds=self._seconds(event, result.body, result.at, at))

    def _seconds(self, call: Event, result: ToolResult, ended: int, at: int) -> float | None:
        """How long a tool ran. If it was not measured, this is the time in the log between call and result, or between
        the snapshot (taken once the user allowed the call) and the result. None for a denied or cancelled call."""
        if result.took is not None:
            return result.took / 1000
        if not ended or not call.at or outcome_of(text_of(result.content), result.is_error) in ("denied", "cancelled"):
            return None
        between = self.events[max(call.seq, at - MOST_BETWEEN) : at]
        begun = max([call.at, *(event.at for event in between if isinstance(event.body, Snapshot))])
        return (ended - begun) / 1000


def notice_words(body: Body) -> str:
    """The line in the chat for an event that is no message."""
    return printable(_notice_words(body))


_HOLD_ENDS: Final[Mapping[HoldEnd, str]] = {
    "as_it_was": "then sent unchanged",
    "changed": "then something else was sent in its place",
    "answered": "then answered by hand: what follows is not the model's",
    "expired": "then sent unchanged, because the time limit passed",
    "gone": "until the agent gave up",
}


def hold_words(hold: Hold) -> str:
    """How long a request waited at a breakpoint, and how it continued."""
    why = f" ({hold.why})" if hold.why and hold.rule != "every" else ""
    return printable(f"held for {hold.took / 1000:,.0f} s at breakpoint {hold.rule}{why}, {_HOLD_ENDS[hold.end]}")


def _notice_words(body: Body) -> str:
    match body:
        case Hold() as hold:
            return hold_words(hold)
        case Snapshot(why=why):
            return f"snapshot of the work tree{', taken ' + why if why else ''}"
        case Failure(category=category, message=message) if category == COMPACTION:
            return f"not compacted: {message.partition(': ')[2] or message}"
        case Failure(category=category, message=message):
            return f"{category}: {message}"
        case Setting(key="window", value={"model": model, "tokens": 0}):
            return f"window of {model}: no longer known"
        case Setting(key="window", value=dict() as value):
            says = "as you asked" if value.get("source") == "option" else f"as the {value.get('source')} says"
            tokens = value.get("tokens")
            size = f"{tokens:,}" if isinstance(tokens, int) else tokens
            return f"window of {value.get('model')}: {size} tokens, {says}"
        case Setting(key=key, value=dict() as value) if key == LEFT_OUT:
            kinds = ", ".join(f"{count} {kind}" for kind, count in value.items())
            return f"skipped: {kinds}"
        case Setting(key=key, value=dict() as value) if key == SUB_AGENTS:
            return sub_agents_words(value, "FILE")
        case Setting(key=key, value=dict() as value) if key == ON_THE_WAY:
            return f"{key}: {note_words(value)}"
        case Setting(key=key, value=value):
            return f"{key}: {value}"
        case _:
            return type(body).__name__.lower()


class PastRequest(NamedTuple):
    """A past request that the user has selected."""

    number: int
    """From 1 on."""
    upto: int
    """The last event before it."""
    is_newest: bool
    """Whether only its answer follows."""


class LogTranscript:
    """The entries up to one moment, with their states at that time. Compared by identity."""

    def __init__(self, entries: EntryIndex, plan: ContextPlan | None, past: PastRequest | None = None) -> None:
        """`past`: the request that `plan` was made for; None: the next request."""
        self._entries = entries
        self._length = len(entries)
        self._seen = len(entries.events)
        self._plan = plan
        self._past = past
        self._later = self._length if past is None else entries.first_after(past.upto)
        """The first entry after the request."""

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> ChatEntry:
        at = index + self._length if index < 0 else index
        if not 0 <= at < self._length:
            raise IndexError(index)
        entry = self._entries.entry(at, self._seen)
        if self._past is not None and at >= self._later:
            asked = self._past.number if at == self._later else 0
            return entry._replace(asked_before=asked, is_later=not self._past.is_newest)
        freed = self._freed(self._entries.decision(at, self._seen)) if entry.kind == "notice" else 0
        return entry._replace(text=f"{entry.text}, frees {freed:,} tokens") if freed else entry

    def _freed(self, decision: list[Override]) -> int:
        """The tokens that masking frees while it is in effect; 0 if unknown or slow to compute."""
        rows = () if self._plan is None else self._plan.items
        seqs = [seq for each in decision if each.action == "mask" for seq in range(each.first, each.last + 1)]
        freed = 0
        for seq in seqs if len(seqs) <= MOST_FREED else ():
            at = row_of(rows, seq)
            if at is not None and rows[at].seq == seq and rows[at].state == "masked":
                freed += sum(edit.before - edit.after for edit in rows[at].edits if edit.stage == "override")
        return freed

    def index_of(self, seq: int) -> int:
        """The index of the entry that shows an event, or of the nearest before it; 0 if there is none."""
        return self._entries.place_of(seq, self._length)

    def entry_state(self, entry: ChatEntry) -> EntryState | None:
        """The state of an entry (for a call with a result: of the result) in the context; None if it is no item."""
        seq = entry.call.result_seq if entry.call and entry.call.result_seq else entry.seq
        rows = () if self._plan is None else self._plan.items
        at = row_of(rows, seq)
        if at is None or rows[at].seq != seq:
            return None
        row = rows[at]
        why = row.edits[-1].why if row.edits else ""
        return EntryState(row.state, row.tokens, row.original_tokens, row.pinned, why)


NOTHING = LogTranscript(EntryIndex([]), None)
"""The conversation before anything is open."""
