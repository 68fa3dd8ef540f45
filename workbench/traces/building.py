"""Shared by the readers of transcripts: parts of messages, and a builder for the log."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from workbench.config.errors import WrongCall
from workbench.config.text import without_surrogates
from workbench.config.values import replace
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Event,
    Failure,
    Request,
    RequestPart,
    Setting,
    Slot,
    SlotContent,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
    text_of,
)
from workbench.log.learnt_windows import LearntWindow, window_setting
from workbench.traces.finding_cuts import IN_MESSAGES, cut_in
from workbench.traces.reading import Document, Located, list_elements
from workbench.traces.references import LEFT_OUT
from workbench.traces.written_times import epoch_milliseconds
from workbench.wire.context_edits import ProviderClearing, ProviderEdits
from workbench.wire.event_builder import EventBuilder
from workbench.wire.values import cleaned

CATEGORY = "transcript"
"""The category of failures about what could not be read."""
MOST_REPORTED = 20
"""Unreadable lines that are reported one by one."""
_TALK = ("payload", "message", "messages", "content", "parts", "text", "prompt", "response", "role")
_SORTED = msgspec.json.Encoder(order="deterministic")


def log_entries(document: Document, text: str) -> Sequence[Located]:
    """The entries of a log that is JSON lines, or one list of the same."""
    if not document.lines and isinstance(document.values[0].value, list):
        return list_elements(text)
    return document.values


def read_entries(
    document: Document, text: str, name: str, reader: Callable[[Builder], Callable[[Any], None]]
) -> list[Recording]:
    """One conversation from all entries of a log; `reader` gives the function that reads an entry into a builder."""
    builder = Builder(name, document.broken)
    read_entry = reader(builder)
    for _, value in log_entries(document, text):
        read_entry(value)
    return [builder.finish()]


def first_objects(document: Document, count: int = 40) -> list[dict[str, Any]]:
    """The objects among a document's first entries, to recognise its format."""
    first = document.values[0].value
    values = [value for _, value in document.values[:count]]
    if not document.lines and isinstance(first, list):
        values = first[:count]
    return [value for value in values if isinstance(value, dict)]


class Recording(list[Body]):
    """The events of a conversation that another agent recorded, and the time of each."""

    def __init__(self, bodies: Iterable[Body] = ()) -> None:
        super().__init__(bodies)
        self.times: list[int] = [0] * len(self)
        """Milliseconds since 1970, by event; 0 if the file has no time."""
        self.strange: Counter[str] = Counter()
        """By kind: entries that look like messages and were not understood. If they are many, the file is refused."""
        self.format = ""
        """The name of the format."""
        self.title = ""
        """Its name in a list of the file's conversations, if nothing inside gives one."""
        self.sub_agent = ""
        """The name of the sub-agent if it is a sub-agent's conversation; empty for a session's own."""
        self.sub_agents: dict[str, str] = {}
        """For a file with one session: the conversations of its sub-agents, by number, with their names."""

    def append_body(self, body: Body, at: int) -> None:
        self.append(body)
        self.times.append(at)


def by_session(located: Iterable[Located], session_of: Callable[[Any], str]) -> list[list[Located]]:
    """The entries of each session of a file; `session_of`: the id of the session that begins with an entry."""
    found: list[list[Located]] = [[]]
    last = ""
    for each in located:
        name = session_of(each.value)
        if name and last and name != last:
            found.append([])
        last = name or last
        found[-1].append(each)
    return found


def _looks_like_talk(value: Any) -> bool:
    return isinstance(value, dict) and any(value.get(key) for key in _TALK)


def content_hash(value: Any) -> str:
    """The name of a part of a request: parts that mean the same have the same name, however they are written."""
    try:
        written = _SORTED.encode(value)
    except ValueError:  # half a surrogate pair
        text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        written = without_surrogates(text).encode()
    return sha256(written).hexdigest()


class SubAgentReport(NamedTuple):
    """A request of a sub-agent, and what it cost."""

    at: int
    request: Request
    usage: Usage


class Builder(EventBuilder):
    """Builds the events of one conversation of a transcript, entry by entry; `finish` returns them."""

    bodies: Recording

    def __init__(self, format_name: str, broken: Iterable[WrongCall] = ()) -> None:
        super().__init__(format_name, Recording())
        self._at = 0
        self._taken = 0
        """How many events were handed on already."""
        self._window = ("", 0)
        self._parts: set[str] = set()
        """The hashes of the parts of requests that are stored."""
        self._slots: dict[tuple[Slot, str], str] = {}
        """The contents of the slots."""
        self._title = ""
        self.replies = 0
        """How many replies of the model were named."""
        self._is_replying = False
        self._left_out: Counter[str] = Counter()
        self._asked: dict[str, str] = {}
        """The arguments of each call."""
        self._clearing = ProviderClearing()
        self._followed = 0
        """How many of the events it knows."""
        self._broken: list[WrongCall] = []
        self.skipped(broken)

    def skipped(self, broken: Iterable[WrongCall]) -> None:
        """Report lines of the file that are not JSON."""
        self._broken.extend(broken)

    @property
    def last(self) -> int:
        """The sequence number of the newest event."""
        return self._taken + len(self.bodies)

    @property
    def has_talk(self) -> bool:
        """Whether it has messages yet, which a compaction could replace."""
        return any(isinstance(body, UserMessage | AssistantMessage | ToolResult) for body in self.bodies)

    def when(self, value: Any) -> None:
        """Set the time of what comes next; a value that is no time leaves it unchanged."""
        self._at = epoch_milliseconds(value) or self._at

    def add(self, *bodies: Body) -> None:
        """Append events; if their agent had cut one before it sent it, the cut is recorded."""
        recorded = self.bodies
        for body in bodies:
            sent = body
            if type(body) is ToolCall:
                self._asked[body.call_id] = body.arguments
            elif type(body) is ToolResult:
                sent = self._with_cut(body, body.tool, self._asked.get(body.call_id, ""))
            elif type(body) is UserMessage and self.name in IN_MESSAGES:
                sent = self._with_cut(body)
            recorded.append(sent)
            recorded.times.append(self._at)

    def cleared(self, edits: ProviderEdits) -> None:
        """Record what the provider removed from the request that is answered next, or was just made."""
        if self._clearing.is_affected(edits):
            self._follow_clearing()
            self.add(*self._clearing.decisions(edits))

    def _follow_clearing(self) -> None:
        """Add the events that it does not know yet: in most conversations nobody ever asks for them."""
        first = self._followed
        self._followed = len(self.bodies)
        for seq, body in enumerate(self.bodies[first:], self._taken + first + 1):
            self._clearing.add_event(seq, body)

    def _with_cut(self, body: ToolResult | UserMessage, tool: str = "", asked: str = "") -> Body:
        cut = cut_in(self.name, text_of(body.content), tool, asked) if body.cut is None else None
        return body if cut is None else replace(body, cut=cut)

    def has_part(self, name: str) -> bool:
        """Whether a part of a request is stored already."""
        return name in self._parts

    def part(self, value: Any, name: str = "") -> str:
        """Store a part of a request; returns its hash (`name`, if the file has its own)."""
        found = name or content_hash(value)
        if found not in self._parts:
            self._parts.add(found)
            self.add(RequestPart(found, cleaned(value)))
        return found

    def request(self, request: Request) -> int:
        """Append a request, before its answer; returns its event, for later requests and the report."""
        self.add(replace(request, parameters=cleaned(dict(request.parameters))))
        return self.last

    def slot(self, slot: Slot, name: str, text: str) -> None:
        """Set the content of a slot, if it changed; an empty text clears it."""
        if self._slots.get((slot, name), "") != text:
            self._slots[slot, name] = text
            self.add(SlotContent(slot, name, text))

    def says_model(self, name: str) -> None:
        """Set the model from here on, if it changed."""
        if name and name != self.model:
            self.model = name
            self.add(Setting("model", name))

    def says_window(self, tokens: int) -> None:
        """Set the window that the agent itself uses, if it changed."""
        if tokens and self.model and (self.model, tokens) != self._window:
            self._window = (self.model, tokens)
            self.add(window_setting(self.model, LearntWindow(tokens)))

    def says_title(self, title: str) -> None:
        """Set the conversation's title, if it changed."""
        plain = " ".join(title.split())
        if plain and plain != self._title:
            self._title = plain
            self.add(Setting("title", plain))

    def compaction(self, first: int, last: int, summary: str, preface: str = "", **noted: Any) -> None:
        """Append a compaction of the file. If `last` is before `first`, what it replaced is not in the file."""
        meta = {"made_by": self.name, **{key: value for key, value in noted.items() if value}}
        self.add(Compaction(first, last, summary, preface=preface, meta=meta))

    def next_reply(self) -> str:
        """The name of a new reply of the model."""
        self.replies += 1
        self._is_replying = True
        return f"r{self.replies}"

    def open_reply(self) -> str:
        """The name of the reply that goes on; a new one after `end_reply`."""
        return f"r{self.replies}" if self._is_replying else self.next_reply()

    def end_reply(self) -> None:
        """What the model says next is another reply."""
        self._is_replying = False

    def usage(self, prompt: int, completion: int, **more: Any) -> None:
        """Append the report on a request. We had no count of our own at that time: the estimate is 0."""
        if prompt or completion:
            self.add(Usage(more.pop("model", self.model), 0, prompt, completion=completion, **more))

    def failure(self, message: str) -> None:
        """Append an error of the file; it is never part of the conversation."""
        self.add(Failure(CATEGORY, message))

    def unknown(self, kind: str, value: Any, is_talk: bool = True) -> None:
        """Append an entry that is not understood, unchanged, as `Unknown(f"{self.name} {kind}", {"entry": value})`.

        `is_talk`: it may be part of the conversation, and a file with many of those is refused.
        """
        if is_talk and _looks_like_talk(value):
            self.bodies.strange[without_surrogates(kind)] += 1
        super().unknown(kind, value)

    def leave_out_all_but(self, read: Container[str], value: Iterable[str]) -> None:
        """Count the keys of an object that are not read."""
        for key in value:
            if key not in read:
                self.leave_out(key)

    def leave_out(self, kind: str, count: int = 1) -> None:
        """Count entries that are understood and no part of the conversation."""
        if count:
            self._left_out[without_surrogates(kind)] += count

    def goes_on(self, events: Sequence[Event]) -> None:
        """Continue after events that are stored already."""
        for event in events:
            self._clearing.add_event(event.seq, event.body)
            match event.body:
                case RequestPart(hash=name):
                    self._parts.add(name)
                case SlotContent(slot=slot, name=name, text=text):
                    self._slots[slot, name] = text
                case ToolCall(call_id=call_id, tool=tool, arguments=arguments):
                    self._tools[call_id] = tool
                    self._asked[call_id] = arguments
                case Setting(key="model", value=value):
                    self.model = value
                case Setting(key="title", value=value):
                    self._title = value
        self.handed_on()
        self._taken = events[-1].seq if events else 0

    def handed_on(self) -> None:
        """Forget the events so far, which are stored elsewhere; numbers continue."""
        self._follow_clearing()
        self._taken, self._followed = self.last, 0
        self.bodies.clear()
        self.bodies.times.clear()

    def finish(self) -> Recording:
        """Everything that was read, then what was not."""
        for error in self._broken[:MOST_REPORTED]:
            self.failure(f"skipped: {error}")
        if len(self._broken) > MOST_REPORTED:
            self.failure(f"skipped: {len(self._broken) - MOST_REPORTED:,} more lines that are not JSON")
        if self._left_out:
            self.add(Setting(LEFT_OUT, dict(self._left_out)))
        return self.bodies
