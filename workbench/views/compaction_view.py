"""Computes what the compaction panel shows. What depends on the whole log is updated event by event.

`LogFigures` is updated in the session's thread. The view is made from it in another thread, because that may take long.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from msgspec import Struct

from workbench.compaction.audit import audit_summary
from workbench.compaction.forecast import forecast_compaction, next_step
from workbench.compaction.metrics import count_metrics
from workbench.compaction.preview import can_recall, source_tokens, summarised_words, worthwhile_summary
from workbench.compaction.record import CompactionEntry, CompactionRecord, read_record
from workbench.compaction.selection import select_for
from workbench.compaction.triggers import compacts_at, decide_compaction
from workbench.compaction.undo import compaction_tree
from workbench.compaction.values import CompactionRefused, SelectedRange
from workbench.config.errors import Refused
from workbench.config.text import counted
from workbench.context.control import CONTROL, compaction_range, in_effect, reverted_events
from workbench.context.plan import ContextPlan
from workbench.context.planner import Planner
from workbench.context.policy_names import RECORDED
from workbench.context.setup import Setup
from workbench.log.events import (
    ON_THE_WAY,
    AssistantMessage,
    Compaction,
    Event,
    Failure,
    Override,
    Reasoning,
    Request,
    Revert,
    Setting,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.proxy.policy_notes import policy_in, undone_in
from workbench.sources.recorded import RecordedSession
from workbench.sources.savings import ProxyPolicyFigures, left_out, proxy_policy_figures
from workbench.views.compaction_values import CompactionMark, CompactionView, Curve, PastAudit, PastOffer
from workbench.wire.event_builder import is_sealed

FEW = 3_000
"""Only in logs of up to this many events does the panel itself check whether there is anything to compact."""
POINTS = 600
"""The most points of the curve; no screen is wider."""


class LogFigures:
    """What the panel needs to know about a log, updated event by event.

    That is the curve of the context's sizes, and the thin log: the events that decide about compaction.
    """

    def __init__(self) -> None:
        self._thin: list[Event] = []
        self._usage: Event | None = None
        self._elsewhere: set[int] = set()
        """The events of sub-agents' requests: their sizes are not the conversation's."""
        self._last_message: Event | None = None
        """The model's last message, if the thin log does not have it."""
        self._attempted = False
        """Whether there has been no message since the last compaction or failure."""
        self._taken = 0
        """How many events were read."""
        self._turn = 0
        self._sizes: list[int] = []
        self._ends: list[int] = []
        """For each size, the event that reported it."""
        self._open: tuple[int, int] | None = None
        """The values of `_turn` and `_reshaped` at the last size. While they stay so, a later size replaces it."""
        self._reshaped = 0
        """How many compactions and undos there were."""
        self._places: dict[int, int] = {}
        """For each compaction, by event: the index of the size after which it was made."""
        self.proxy_policy: str | None = None
        """The proxy's policy that the log named last; empty: it was switched off; None: the log names none."""
        self.undone_on_the_way: list[tuple[int, int]] = []
        """The events that undid a batch of that policy, with the number of results."""

    def catch_up(self, events: Sequence[Event]) -> None:
        """Read the events appended since the last call."""
        for event in events[self._taken :]:
            self._add(event)
        self._taken = len(events)

    def _add(self, event: Event) -> None:
        match event.body:
            case UserMessage():
                self._turn += 1
                self._attempted = False
                self._last_message = None
                self._keep(event)
            case AssistantMessage() | ToolCall():
                # Only the first message after an attempt matters, and the last one before a failure.
                if self._attempted:
                    self._keep(event)
                    self._attempted = False
                else:
                    self._last_message = event
            case ToolResult() | Reasoning():
                pass  # they are many, so they are here and not at the end
            case Request(is_elsewhere=True):
                self._elsewhere.add(event.seq)
            case Usage(request=request) if request in self._elsewhere:
                pass
            case Usage() as usage:
                self._usage = event
                self._measure(event.seq, usage.estimate if usage.prompt is None else usage.prompt)
            case Compaction():
                self._places[event.seq] = max(0, len(self._sizes) - 1)
                self._reshape(event)
                self._attempted = True
            case Revert():
                self._reshape(event)
            case Override():
                self._keep(event)
            case Failure():
                self._keep(event)
                self._attempted = True
            case Setting(key=key, value=dict() as value) if key == ON_THE_WAY:
                policy = policy_in(value)
                self.proxy_policy = self.proxy_policy if policy is None else policy
                if policy is None:
                    self.undone_on_the_way.append((event.seq, undone_in(value)))

    def _keep(self, event: Event) -> None:
        """Add an event to the thin log, and before it the model's last message, if that is missing."""
        self._thin += [event] if self._last_message is None else [self._last_message, event]
        self._last_message = None

    def _reshape(self, event: Event) -> None:
        """Add a compaction or an undo to the thin log; the next size is a new point of the curve."""
        self._keep(event)
        self._reshaped += 1

    def _measure(self, seq: int, tokens: int) -> None:
        """Add a size to the curve, or replace the last one of the same turn."""
        here = (self._turn, self._reshaped)
        if here == self._open:
            self._sizes[-1], self._ends[-1] = tokens, seq
        else:
            self._sizes.append(tokens)
            self._ends.append(seq)
            self._open = here

    def events(self) -> list[Event]:
        """The thin log. Triggers, record and selection give the same results for it as for the whole log."""
        return [*self._thin, *([self._usage] if self._usage is not None else ())]

    def curve(self, found: CompactionRecord, now: int, limit: int, window: int) -> Curve:
        """The sizes up to now, with the compactions between them."""
        marks = [CompactionMark(self._places[each.event.seq], each.status == "reverted") for each in found.entries]
        return thinned_curve(Curve((*self._sizes, now), tuple(marks), self._turn, limit, window, tuple(self._ends)))

    def recorded_curve(
        self, found: CompactionRecord, recorded: RecordedSession, inputs: CompactionInputs, limit: int
    ) -> Curve:
        """The curve of a recorded session: the reported sizes, and those under another policy, if one is tried."""
        plan, setup = inputs.plan, inputs.setup
        requests = recorded.conversation
        ends = tuple(mark.usage for mark in requests)
        places = [max(0, bisect_left(ends, each.event.seq) - 1) for each in found.entries]
        marks = [CompactionMark(at, each.status == "reverted") for at, each in zip(places, found.entries, strict=True)]
        what_if = "" if inputs.policy == RECORDED else inputs.policy
        tried = recorded.sizes_under(setup) if what_if else ()
        following = recorded.next_size if what_if else plan.size
        if self.proxy_policy is not None:  # what the proxy masked stays masked
            following = max(0, following - left_out(recorded.listed))
        sizes = (*(mark.reported or 0 for mark in requests), following)
        return thinned_curve(
            Curve(sizes, tuple(marks), self._turn, limit, plan.limits.window, ends, tried, what_if, len(requests))
        )


def thinned_curve(curve: Curve, most: int = POINTS) -> Curve:
    """The same curve with at most `most` sizes: each point is the largest of several, except the last, current one."""
    count = len(curve.sizes)
    if count <= most:
        return curve
    each = -(-(count - 1) // (most - 1))
    spans = [slice(at, min(at + each, count - 1)) for at in range(0, count - 1, each)]
    marks = dict.fromkeys(CompactionMark(mark.at // each, mark.undone) for mark in curve.marks)
    return curve._replace(
        sizes=(*(max(curve.sizes[span]) for span in spans), curve.sizes[-1]),
        marks=tuple(marks),
        ends=tuple(curve.ends[span.stop - 1] for span in spans) if curve.ends else (),
        tried=(*(max(curve.tried[span]) for span in spans), curve.tried[-1]) if curve.tried else (),
    )


class CompactionInputs(Struct, frozen=True):
    """Everything that a view is made from, at one moment."""

    plan: ContextPlan
    setup: Setup
    policy: str
    """The policy as the user named it."""
    events: Sequence[Event]
    """The thin log."""
    figures: LogFigures
    growth: float | None
    why_read_only: str
    turn_over: bool
    recorded: RecordedSession | None = None
    planner: Planner | None = None
    """A copy of the session's planner, which `compaction_offer` modifies; None if `selected` is known already, or if
    the log has more than `FEW` events."""
    selected: tuple[str, str] | None = None
    """The last result of `compaction_offer`, if the log and the setup are still the same."""
    length: int = 0
    """The length of the whole log."""

    @property
    def length_and_setup(self) -> tuple[int, Setup]:
        """While these are the same, the result of `compaction_offer` is the same."""
        return self.length, self.setup


def compaction_panel_view(inputs: CompactionInputs) -> CompactionView:
    """Compute what the panel shows, from `inputs` alone. This may take long."""
    plan, knobs = inputs.plan, inputs.setup.loaded.policy.compaction
    found = read_record(inputs.events)
    total, window = plan.size, plan.limits.window
    failed = found.failures[-1] if found.failures else None
    last = found.entries[-1] if found.entries else None
    if failed is not None and last is not None and failed.seq < last.event.seq:
        failed = None
    coming = forecast_compaction(plan, inputs.events, found, knobs, growth=inputs.growth, turn_over=inputs.turn_over)
    decision = decide_compaction(plan, inputs.events, found, knobs, headless=False, turn_over=inputs.turn_over)
    limit = compacts_at(knobs, plan)
    if inputs.recorded is not None:
        curve = inputs.figures.recorded_curve(found, inputs.recorded, inputs, limit)
    else:
        curve = inputs.figures.curve(found, total, limit, window)
    nothing, would = _selected(inputs)
    return CompactionView(
        policy=inputs.policy,
        mode=knobs.mode,
        tokens=total,
        window=window,
        decision=decision,
        forecast=coming,
        next=next_step(coming, decision, knobs, window),
        curve=curve,
        history=compaction_tree(found),
        last=last,
        failed=failed,
        metrics=count_metrics(found),
        nothing=nothing,
        would=would,
        cleared=_cleared(inputs.events),
        fixed=inputs.why_read_only,
        proxy_policy=_proxy_policy(inputs),
    )


def _proxy_policy(inputs: CompactionInputs) -> ProxyPolicyFigures | None:
    """The figures of the proxy's policy in a recorded session."""
    recorded, policy = inputs.recorded, inputs.figures.proxy_policy
    if recorded is None or (policy is None and not any(mark.instead_of for mark in recorded.marks)):
        return None
    return proxy_policy_figures(policy, recorded.listed, inputs.figures.undone_on_the_way, recorded.spread)


def _cleared(events: Sequence[Event]) -> tuple[int, ...]:
    """The numbers of the events that masked or excluded something and were not undone."""
    gone = reverted_events([event for event in events if type(event.body) in CONTROL])
    return tuple(
        event.seq
        for event in events
        if isinstance(event.body, Override)
        and event.body.action in ("mask", "exclude")
        and not event.body.joined
        and event.seq not in gone
    )


def _selected(inputs: CompactionInputs) -> tuple[str, str]:
    """The result of `compaction_offer` for the current log; two empty texts if it is not known."""
    if inputs.planner is None:
        return inputs.selected or ("", "")
    return compaction_offer(inputs.setup, inputs.planner, inputs.events)


def compaction_offer(setup: Setup, planner: Planner, events: Sequence[Event], keep: str = "keep") -> tuple[str, str]:
    """Two texts: why a manual compaction would do nothing, or else what it would summarise and keep.

    The text that does not apply is empty. `planner` is modified. `events` is the log, or the thin log. `keep`: the verb
    for the events that are kept.
    """
    plan = planner.plan()
    try:
        found = select_for(setup, plan, events, "manual")
    except CompactionRefused as refused:
        return str(refused).removeprefix("nothing to compact: "), ""
    made = worthwhile_summary(setup, plan, found, can_recall(planner.events), planner.plan_with, "manual")
    kept = f", and {keep} {counted(len(found.kept), 'event')} of them" if found.kept else ""
    little = f"; it {made.too_little_freed}" if made.too_little_freed else ""
    return "", f"{summarised_words(found, source_tokens(found, plan))}{kept}{little}"


def past_offer(past: PastOffer, setup: Setup, events: Sequence[Event]) -> PastOffer:
    """What could have been compacted when the log ended with `events`, under the setup of that time."""
    found = read_record(events)
    past = past._replace(last=found.entries[-1] if found.entries else None)
    if len(events) > FEW:
        return past
    nothing, would = compaction_offer(setup, setup.planner(events), events, keep="kept")
    return past._replace(nothing=nothing, would=would)


def audit_again(setup: Setup, events: Sequence[Event], entry: CompactionEntry) -> PastAudit:
    """Find out again what the summary of a compaction kept and lost, from the log as it was at that time."""
    body = entry.event.body
    assert isinstance(body, Compaction)
    if is_sealed(body):
        raise Refused("the summary is encrypted: the model can read it, but what it kept and lost cannot be shown here")
    before = events[: entry.event.seq - 1]
    first, last = entry.range
    active = in_effect([event for event in before if type(event.body) in CONTROL]).compactions
    previous = tuple(
        event for event in active if first <= compaction_range(event)[0] and compaction_range(event)[1] <= last
    )
    kept = {each.seq for each in body.kept}
    updates = setup.loaded.policy.compaction.update or body.meta.get("merged") is True
    left_out = {"excluded", "aside"} | ({"summarised"} if updates else set())
    items = tuple(
        row
        for row in setup.plan(before).items
        if row.unit >= 0
        and row.seq is not None
        and first <= row.seq <= last
        and row.seq not in kept
        and row.state not in left_out
    )
    found = audit_summary(SelectedRange(first, last, items, body.kept, 0, previous, ""), body.summary)
    wanted = {fact.event for fact in (*found.lost, *found.forgotten)}
    seqs = {event.id: event.seq for event in events if event.id in wanted}
    return PastAudit(entry, body.summary, found.lost, found.forgotten, len(found.kept), seqs)
