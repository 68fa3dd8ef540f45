"""A session to replay, read once for all policies: its requests, their answers and what the log lacks of each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from itertools import islice, zip_longest
from typing import NamedTuple

from workbench.compaction.facts import Mentions
from workbench.config.values import replace
from workbench.context.policy_names import RECORDED
from workbench.context.setup import Setup
from workbench.lab.caching import minutes_kept
from workbench.lab.replay.compactions import Connect
from workbench.lab.replay.needs import Needs, text_for_model
from workbench.lab.replay.unattributed import Unattributed, unattributed_tokens
from workbench.log.events import (
    AssistantMessage,
    Compaction,
    Event,
    Override,
    Revert,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.models.calibration import Calibration
from workbench.models.tokens import TokenCounter
from workbench.sources.options import Options
from workbench.sources.recorded import RecordedSession
from workbench.sources.requests import RequestMark, is_main, not_sent
from workbench.sources.services import Services
from workbench.sources.source import Source

LIMIT = "budget.max_input_tokens="
"""The knob that limits how much of the window a session may use."""


class LabAnswer(NamedTuple):
    """The answer to a request. It is the same under every policy."""

    events: Sequence[Event]
    at: int
    """When it began; 0: no answer came."""
    report: Usage | None
    tokens: int
    """Tokens of the answer: as reported, or as counted if there is no report."""


class ReplayedSession:
    """What a replay under any policy needs to know of a session."""

    def __init__(self, services: Services, options: Options, source: Source, *, summarise: bool = False) -> None:
        """`summarise`: ask a model for the summaries of compactions, which costs money."""
        self.services = services
        self.options = options
        self.source = source
        self.summarise = summarise
        self.recorded = RecordedSession(services, options, source)
        self.mentions = Mentions(remember=True)
        self._counter: TokenCounter | None = None
        """Shared by all policies, so that each text is counted and cut once."""
        self.stopped = False
        """Set this to stop replays that run in other threads."""
        main = is_main(self.recorded.marks)
        unsent = not_sent(self.recorded.marks)
        self.marks: Sequence[RequestMark] = [
            mark for mark in self.recorded.marks if main(mark) and mark.seq not in unsent
        ]
        """The requests of the conversation itself."""
        self.side_requests = sum(not main(mark) for mark in self.recorded.marks)
        """How many other requests the session made, for sub-agents and titles. No policy decides about them."""

    def number_of(self, listed: int) -> int | None:
        """The number of a request that `workbench requests` lists under another; None if it is not replayed."""
        mark = self.recorded.marks[listed - 1]
        return next((number for number, each in enumerate(self.marks, 1) if each is mark), None)

    @cached_property
    def needs(self) -> Needs:
        """The facts that its answers use."""
        return Needs(self.source.events)

    @cached_property
    def answers(self) -> Sequence[LabAnswer]:
        """The answer to each request."""
        events, count = self.source.events, self.setup(RECORDED).counter.count
        made: list[LabAnswer] = []
        for mark, following in zip_longest(self.marks, [mark.upto for mark in self.marks[1:]]):
            answers = [
                each for each in events[mark.upto : following] if isinstance(each.body, AssistantMessage | ToolCall)
            ]
            body = events[mark.usage - 1].body if mark.usage else None
            report = body if isinstance(body, Usage) else None
            reported = report.completion if report is not None else 0
            tokens = reported or sum(count(text).tokens for text in map(text_for_model, answers))
            made.append(LabAnswer(answers, answers[0].at if answers else 0, report, tokens))
        return made

    @cached_property
    def cache_minutes(self) -> int:
        """How many minutes its agent keeps the provider's cache. The same is assumed under every policy."""
        return minutes_kept(answer.report for answer in self.answers if answer.report is not None)

    @cached_property
    def without_decisions(self) -> Sequence[Event]:
        """The log without the decisions of its agent or its user that made room."""
        events = self.source.events
        undone = undone_by(events) if self.source.recorded else frozenset()
        decisions = (Compaction, Override, Revert)
        return [event for event in events if event.seq in undone or not isinstance(event.body, decisions)]

    @property
    def calibration(self) -> Calibration | None:
        """How the reports correct our counts, if another agent made the session."""
        return self.recorded.calibration(self.source.model) if self.source.recorded else None

    def setup(self, policy: str, knobs: Sequence[str] = ()) -> Setup:
        """The setup for one policy. The calibration and the session's own limit apply to every policy."""
        held = [each for each in self.source.knobs if each.startswith(LIMIT)] if self.options.window is None else []
        asked = replace(self.options, policy=policy, knobs=(*held, *knobs))
        made = self.services.set_up(asked, self.source._replace(knobs=()))
        self._counter = self._counter or made.counter
        made = replace(made, counter=self._counter, own_form=self.source.recorded)
        learnt = self.calibration
        return made.with_calibration(learnt, learnt.rest) if learnt is not None else made

    @property
    def connect(self) -> Connect | None:
        """Opens a connection to the model that summarises; None where no model is asked."""
        if not self.summarise:
            return None
        from workbench.sources.compactors import compactor_for  # late: it imports everything that a turn needs

        return partial(compactor_for, self.services, self.options)

    @cached_property
    def unattributed(self) -> Sequence[Unattributed]:
        """The tokens of each request that are not in the log. They are the same under every policy."""
        setup = self.setup(RECORDED)
        if self.calibration is None:
            return [Unattributed(setup.limits.unattributed)] * len(self.marks)
        return unattributed_tokens(self.recorded, self.marks, setup, self.source.events)


_MESSAGES = (UserMessage, AssistantMessage, ToolCall, ToolResult)


def undone_by(events: Sequence[Event]) -> frozenset[int]:
    """The decisions with which the user of another agent undid or cleared the end of the conversation.

    No policy decides about that: it is gone under all of them. An agent may also leave events out to make room, but
    those are not everything at the end.
    """
    found: set[int] = set()
    messages: dict[int, None] = {}
    """The events of the conversation, in order."""
    for at, event in enumerate(events):
        if isinstance(event.body, _MESSAGES):
            messages[event.seq] = None
        elif _excludes(event) and not (at and _excludes(events[at - 1])):
            together = _run(events, at)
            gone = {seq for each in together for seq in _range(each) if seq in messages}
            last = set(islice(reversed(messages), len(gone)))
            if gone and gone == last:
                found.update(each.seq for each in together)
                for seq in gone:
                    del messages[seq]
    return frozenset(found)


def _excludes(event: Event) -> bool:
    return isinstance(event.body, Override) and event.body.action == "exclude"


def _run(events: Sequence[Event], at: int) -> list[Event]:
    """The decisions that follow one another without a gap."""
    end = at
    while end < len(events) and _excludes(events[end]):
        end += 1
    return list(events[at:end])


def _range(event: Event) -> range:
    assert isinstance(event.body, Override)
    return range(event.body.first, min(event.body.last, event.seq - 1) + 1)
