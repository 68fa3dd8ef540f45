"""Plans of past requests: from their own contents if the log has them, else from the events before."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter

from workbench.config.values import replace
from workbench.context.control import CONTROL, compaction_range, in_effect
from workbench.context.outline import Outline
from workbench.context.plan import ContextPlan, Totals
from workbench.context.planner import Planner
from workbench.context.setup import Setup
from workbench.log.events import (
    AssistantMessage,
    Compaction,
    Event,
    Override,
    OverrideAction,
    Request,
    Revert,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from workbench.sources.log_places import LogPlaces, ProviderDecisions
from workbench.sources.requests import RequestMark
from workbench.wire.dialects import DIALECTS, reader_for
from workbench.wire.requests import RequestBodies

SetupFor = Callable[[str], Setup]
"""Gives the setup of a model."""


_DECISIONS = frozenset((Compaction, Override, Revert))
_seq_of = attrgetter("seq")
_COUNTED_OTHERWISE = 1.05
"""The factor above which a request's count over the report means dropped content, not another tokenizer."""


def _may_be_truncated(request: Request) -> bool:
    """Whether its provider was asked to drop the oldest items rather than refuse it."""
    return DIALECTS[request.dialect].may_truncate(request.parameters)


class RequestPlans:
    """Plans requests of a log. Asked for them in order, it goes through the log once."""

    def __init__(
        self,
        events: Sequence[Event],
        bodies: RequestBodies,
        setup_for: SetupFor,
        *,
        sizes: bool = False,
        thinking: bool = True,
    ) -> None:
        """`sizes`: only totals are needed; what a compaction covers is then forgotten and costs nothing more.
        `thinking`: the thinking in requests that the log has in full counts.
        """
        self._events = events
        self._bodies = bodies
        self._setup_for = setup_for
        self._sizes = sizes
        self._thinking = thinking
        self._log = LogPlaces()
        self._planners: dict[str, _Walk] = {}
        self._kept: dict[tuple[str, int], Outline] = {}
        """By model and last event."""
        self._whole: dict[tuple[str, str], WholeRequestPlanner] = {}
        """By model and agent."""

    def plan(self, mark: RequestMark) -> ContextPlan:
        return self._plan_whole(mark) if mark.exact else self._outline(mark).plan()

    def totals(self, mark: RequestMark) -> Totals:
        """The size of a request."""
        return self._plan_whole(mark).totals if mark.exact else self._outline(mark).totals

    def keep_request(self, mark: RequestMark) -> None:
        """Remember a request that is asked for later, after others that follow it; unless it was passed already."""
        walk = self._planners.get(mark.model)
        if not mark.exact and (walk is None or walk.can_reach(mark.upto)):
            self._kept[mark.model, mark.upto] = self._outline(mark)

    def is_kept(self, mark: RequestMark) -> bool:
        """Whether the request is remembered."""
        return (mark.model, mark.upto) in self._kept

    def planner(self, mark: RequestMark) -> Planner:
        """The planner of a request that is not in the log in full, for copies of it."""
        return self._walk_to(mark).planner(mark.upto)

    def _outline(self, mark: RequestMark) -> Outline:
        return self._kept.get((mark.model, mark.upto)) or self._walk_to(mark).planner(mark.upto).outline()

    def _walk_to(self, mark: RequestMark) -> _Walk:
        walk = self._planners.get(mark.model)
        if walk is None or not walk.can_reach(mark.upto):
            walk = self._planners[mark.model] = _Walk(self._events, self._setup_for(mark.model), self._sizes)
        return walk

    def _plan_whole(self, mark: RequestMark) -> ContextPlan:
        self._log.add_events(self._events)
        key = (mark.model, mark.agent)
        found = self._whole.get(key)
        if found is None or not found.go_on(mark.request):
            found = self._whole[key] = WholeRequestPlanner(
                self._bodies, self._log, self._setup_for(mark.model), mark.request, thinking=self._thinking
            )
        done = self._log.done_by_provider(mark.request, mark.upto)
        return found.plan(done, mark.reported if _may_be_truncated(self._bodies.request(mark.request)) else None)


class _Walk:
    """Goes through a log, event by event. Where an event changes the past, it starts again.

    If only sizes are needed, it starts again without what a compaction has covered, so that a long session with many
    compactions costs no more than their sum. Each time, a check makes sure that no size changes.
    """

    def __init__(self, events: Sequence[Event], setup: Setup, sizes: bool) -> None:
        self._events = events
        self._setup = setup
        self._sizes = sizes
        self._planner: Planner | None = None
        self._decisions = [at for at, event in enumerate(events) if type(event.body) in _DECISIONS]
        """The places of what may change the past."""
        self._at = 0
        self._gone: set[int] = set()
        """Events that the planner does not have."""
        self._names: set[str] = set()
        """The ids of their calls and replies."""

    def can_reach(self, upto: int) -> bool:
        """Whether it can get to an event: it only goes forward."""
        return self._at <= upto

    def planner(self, upto: int) -> Planner:
        """The planner of everything up to an event."""
        fresh = self._events[self._at : upto]
        decided = self._decisions[bisect_left(self._decisions, self._at) : bisect_left(self._decisions, upto)]
        compactions = [at for at in decided if type(self._events[at].body) is Compaction]
        if self._gone and any(map(self._reaches_back, fresh)):
            self._gone, self._names, self._planner = set(), set(), None
        if self._planner is None:
            self._planner = self._setup.planner(self._without_summarised(upto))
        elif decided:
            for start, end in pairwise([self._at, *(each for at in compactions for each in (at, at + 1)), upto]):
                self._planner.extend(self._events[start:end])
        else:
            for event in fresh:
                self._planner.append_event(event)
        if self._sizes and (compactions or not self._at):
            self._planner = self._shortened(self._planner)
        self._at = upto
        return self._planner

    def _without_summarised(self, upto: int) -> Sequence[Event]:
        """The log up to an event. If only sizes are needed: without what one compaction of all before it replaced, so
        that the end of a long log can be planned without its beginning; unless anything refers to that."""
        events = self._events[:upto]
        decided = self._decisions[: bisect_left(self._decisions, upto)]
        standing = in_effect([events[at] for at in decided]).compactions
        if not self._sizes or len(standing) != 1 or any(type(events[at].body) is not Compaction for at in decided):
            return events
        body, (first, last) = standing[0].body, compaction_range(standing[0])
        assert isinstance(body, Compaction)
        talk = [event for event in events if type(event.body) not in CONTROL]
        at = bisect_left(talk, last + 1, key=_seq_of)
        before, after = talk[:at], talk[at:]
        asked = bool(after) and type(after[0].body) is UserMessage
        if not asked or first > 1 or body.kept or any(type(event.body) is SystemMessage for event in before):
            return events
        names = {name for event in before for name in names_of(event)}
        if not names.isdisjoint(name for event in after for name in names_of(event)):
            return events
        self._gone, self._names = {event.seq for event in before}, names
        return [event for event in events if event.seq > last or type(event.body) in CONTROL]

    def _reaches_back(self, event: Event) -> bool:
        """Whether an event refers to forgotten ones."""
        if isinstance(event.body, Override):
            return not self._gone.isdisjoint(range(event.body.first, event.body.last + 1))
        return isinstance(event.body, Revert) or not self._names.isdisjoint(names_of(event))

    def _shortened(self, planner: Planner) -> Planner:
        """The planner without what its last compaction covers; the same one if a size would change by that."""
        known = planner.events
        standing = in_effect([event for event in known if type(event.body) in CONTROL]).compactions
        if not standing:
            return planner
        latest = next((event.seq for event in reversed(known) if type(event.body) is UserMessage), 0)
        first, last = compaction_range(standing[-1])
        gone, names, others = set[int](), set[str](), set[str]()
        for event in known:
            covered = first <= event.seq <= last and event.seq != latest and type(event.body) not in CONTROL
            if covered:
                gone.add(event.seq)
            (names if covered else others).update(names_of(event))
        shorter = planner.without(gone) if names.isdisjoint(others) else None
        if shorter is None or shorter.outline().totals[:3] != planner.outline().totals[:3]:
            return planner
        self._gone |= gone
        self._names |= names
        return shorter


def names_of(event: Event) -> tuple[str, ...]:
    """The ids that link other events to this one: its call, and its reply."""
    body = event.body
    if isinstance(body, ToolCall):  # quicker than a pattern, for all events of a log
        return (f"call {body.call_id}", f"reply {body.reply}")
    if isinstance(body, ToolResult):
        return (f"call {body.call_id}",)
    if isinstance(body, AssistantMessage) and body.reply:
        return (f"reply {body.reply}",)
    return ()


class WholeRequestPlanner:
    """Plans requests that the log has in full, from their own contents. A request that extends another continues it."""

    def __init__(
        self, bodies: RequestBodies, places: LogPlaces, setup: Setup, seq: int, *, thinking: bool = True
    ) -> None:
        self._bodies = bodies
        self._log = places
        self._places: dict[int, int | None] = {}
        """By our own events: the event of the log with the same content."""
        self._last = 0
        self._cleared: Mapping[int, Override] = {}
        """What the provider has cleared, by the event of the log."""
        self._first = bodies.request(seq)
        self._reader = reader_for(self._first.dialect)
        taken = self._reader.head(bodies.body(seq))
        self._read = bodies.hashes(seq)[:taken]
        self._planner = setup.planner(thinking=thinking)
        self.go_on(seq)

    def go_on(self, seq: int) -> bool:
        """Add what a request has more than the one before; False if it does not extend that one."""
        request, names = self._bodies.request(seq), self._bodies.hashes(seq)
        same_head = (request.dialect, request.system, request.tools) == self._head
        if not same_head or names[: len(self._read)] != self._read:
            return False
        for message in self._bodies.messages(names[len(self._read) :]):
            self._reader.message(message)
        self._read = names
        builder = self._reader.builder
        taken = len(self._planner.events)
        fresh = builder.bodies[taken:]
        del builder.bodies[taken:]
        for each in fresh:
            body = each
            if isinstance(body, Compaction):  # what only the log knows comes between the messages
                body = replace(body, first=min(body.first, builder.last + 1), last=builder.last)
            place = self._places[builder.last + 1] = self._log.find_event(body, self._last)
            self._last = max(self._last, place or 0)
            builder.add(*self._log.as_known(body, place, builder.last + 1))
        self._append()
        return True

    def _append(self) -> None:
        """Give the planner the new events."""
        bodies = self._reader.builder.bodies
        for at in range(len(self._planner.events), len(bodies)):
            self._planner.append_event(Event(at + 1, f"r{at + 1:05d}", 0, bodies[at]))

    @property
    def _head(self) -> tuple[str, str, str]:
        return self._first.dialect, self._first.system, self._first.tools

    def plan(self, done: ProviderDecisions, most: int | None = None) -> ContextPlan:
        """The plan of the request, with what its provider did to it.

        `most`: the reported tokens, if the provider drops what is too much silently.
        """
        self._take_out(done.cleared)
        planner = self._planner
        if done.summary is not None:
            planner = planner.at_this_moment()
            at = len(planner.events) + 1
            summary = replace(done.summary, first=1, last=at - 1)
            planner.append_event(Event(at, f"r{at:05d}", 0, summary))
        made = planner.plan()
        if most and made.totals.tokens > most * _COUNTED_OTHERWISE:
            made = self._without_oldest(made, most)
        return replace(made, items=made.items.with_places(self._places))

    def _without_oldest(self, made: ContextPlan, most: int) -> ContextPlan:
        """The plan without the oldest items of the conversation, so that it matches a smaller report."""
        rows = [row for row in made.items if row.in_request and row.unit >= 0 and row.seq is not None]
        excess, last = made.totals.tokens - round(most * _COUNTED_OTHERWISE), 0
        for row in rows:
            if excess <= 0 or row.slot == "turn":
                break
            excess, last = excess - row.tokens, max(last, row.seq or 0)
        if not last:
            return made
        planner = self._planner.at_this_moment(to_try=False)
        over = f"{made.totals.tokens - most:,} tokens more were sent than were reported"
        why = f"dropped by OpenAI (truncation: auto), to judge by the size: {over}"
        at = len(planner.events) + 1
        planner.append_event(Event(at, f"r{at:05d}", 0, Override("exclude", 1, last, why, at_provider=True)))
        return planner.plan()

    def _take_out(self, cleared: Mapping[int, Override]) -> None:
        """Give the planner what the provider cleared, and restore what it does not clear any more."""
        either = cleared.keys() | self._cleared.keys()
        here = {place: at for at, place in self._places.items() if place is not None and place in either}
        for place, at in here.items():
            before, now = self._cleared.get(place), cleared.get(place)
            if now is not None and before is None:
                self._reader.builder.add(replace(now, first=at, last=at))
            elif now is None and before is not None:
                back: OverrideAction = "unmask" if before.action == "mask" else "include"
                self._reader.builder.add(Override(back, at, at, at_provider=True))
        self._cleared = {place: each for place, each in cleared.items() if place in here}
        self._append()
