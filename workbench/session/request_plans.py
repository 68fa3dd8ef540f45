"""Plans of requests that were made: from their own contents where the log holds them, else from what came before."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace

from workbench.context.plan import ContextPlan
from workbench.context.planner import Planner
from workbench.context.setup import Setup
from workbench.log.events import (
    AssistantMessage,
    Body,
    Event,
    Reasoning,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
    text_of,
)
from workbench.session.requests import RequestMark
from workbench.wire.dialects import NAMES, reader
from workbench.wire.requests import RequestBodies
from workbench.wire.talk import Talk

SetupFor = Callable[[str], Setup]
"""Gives the setup of a model."""


class RequestPlans:
    """Plans requests of a log. Asked for them in order, it walks through the log once."""

    def __init__(self, events: Sequence[Event], bodies: RequestBodies, setup_for: SetupFor) -> None:
        self._events = events
        self._bodies = bodies
        self._setup_for = setup_for
        self._log = LogPlaces()
        self._planners: dict[str, Planner] = {}
        self._whole: dict[tuple[str, str], WholeRequestPlanner] = {}
        """By model and agent."""

    def plan(self, mark: RequestMark) -> ContextPlan:
        """What a request held."""
        if mark.exact:
            return self._plan_whole(mark)
        planner = self._planners.get(mark.model)
        if planner is None or len(planner.events) > mark.upto:
            planner = self._planners[mark.model] = self._setup_for(mark.model).planner(self._events[: mark.upto])
        for event in self._events[len(planner.events) : mark.upto]:
            planner.append(event)
        return planner.plan()

    def _plan_whole(self, mark: RequestMark) -> ContextPlan:
        self._log.take(self._events)
        key = (mark.model, mark.agent)
        found = self._whole.get(key)
        if found is None or not found.go_on(mark.request):
            found = self._whole[key] = WholeRequestPlanner(
                self._bodies, self._log, self._setup_for(mark.model), mark.request
            )
        return found.plan()


class WholeRequestPlanner:
    """Plans requests that the log holds whole, from their own contents; one that extends another goes on from it."""

    def __init__(self, bodies: RequestBodies, places: LogPlaces, setup: Setup, seq: int) -> None:
        self._bodies = bodies
        self._log = places
        self._places: dict[int, int | None] = {}
        """By our events: where the same stands in the log."""
        self._last = 0
        self._first = bodies.request(seq)
        self._reader = reader(self._first.dialect, Talk(NAMES[self._first.dialect]))
        taken = self._reader.head(bodies.body(seq))
        self._read = bodies.hashes(seq)[:taken]
        self._planner = setup.planner()
        self.go_on(seq)

    def go_on(self, seq: int) -> bool:
        """Take in what a request has more; False where it is no extension of the one before."""
        request, names = self._bodies.request(seq), self._bodies.hashes(seq)
        same_head = (request.dialect, request.system, request.tools) == self._head
        if not same_head or names[: len(self._read)] != self._read:
            return False
        for message in self._bodies.messages(names[len(self._read) :]):
            self._reader.message(message)
        self._read = names
        taken, made = len(self._planner.events), self._reader.talk.bodies
        for at, body in enumerate(made[taken:], taken + 1):
            place = self._places[at] = self._log.find(body, self._last)
            self._last = max(self._last, place or 0)
            self._planner.append(Event(at, f"r{at:05d}", 0, body))
        return True

    @property
    def _head(self) -> tuple[str, str, str]:
        return self._first.dialect, self._first.system, self._first.tools

    def plan(self) -> ContextPlan:
        """What the request held."""
        made = self._planner.plan()
        return replace(made, rows=made.rows.placed(self._places))


class LogPlaces:
    """Where in a log something was said, for requests that say it again."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], list[int]] = {}
        self._taken = 0

    def take(self, events: Sequence[Event]) -> None:
        """Take in what is new."""
        for event in events[self._taken :]:
            key = _key(event.body)
            if key is not None:
                self._found.setdefault(key, []).append(event.seq)
        self._taken = len(events)

    def find(self, body: Body, after: int) -> int | None:
        """The event that says the same: the next one behind `after`, else the last before it; None: there is none."""
        seqs = self._found.get(_key(body) or ("", ""))
        if not seqs:
            return None
        at = bisect_right(seqs, after)
        return seqs[at] if at < len(seqs) else seqs[-1]


def _key(body: Body) -> tuple[str, str] | None:
    match body:
        case ToolCall(call_id=name):
            return "call", name
        case ToolResult(call_id=name):
            return "result", name
        case Reasoning(text=text):
            return "reasoning", text
        case UserMessage() | AssistantMessage() | SystemMessage():
            return type(body).__name__, text_of(body.content)
    return None
