"""The requests of a session: those that the log has as events, and those inferred from the replies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from workbench.log.events import (
    AssistantMessage,
    Compaction,
    Event,
    Hold,
    Override,
    Purpose,
    Reasoning,
    Request,
    RequestAnswer,
    SystemMessage,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.wire.event_builder import AT_PROVIDER

TALK: tuple[Purpose, ...] = ("turn", "sub-agent")
"""The purposes of requests in the conversation itself. For a sub-agent, its own session is the conversation."""


class RequestMark(NamedTuple):
    upto: int
    """The last event it was made from."""
    turn: int
    model: str = ""
    reported: int | None = None
    """Its prompt tokens by the provider's count, cache included; None if not recorded."""
    estimate: int = 0
    """Our count when it was made; 0 if the log does not have it."""
    purpose: Purpose = "turn"
    agent: str = ""
    seq: int = 0
    """The event of the request itself, else the first of its answer, else its report."""
    request: int = 0
    """The `Request` event that has it in full; 0: it is inferred, or the event says only who asked and why."""
    usage: int = 0
    """The event of its report; 0: none."""
    cached: int = 0
    """The tokens that the provider read from its cache."""
    instead_of: int = 0
    """The `Request` event that this one was sent in place of; that one never reached the model."""
    name: str = ""
    """What it was for, if more is known than the purpose: a title, counting, a kind of sub-agent."""
    hold: Hold | None = None
    """Its wait at a breakpoint, and how it went on."""

    @property
    def by_hand(self) -> bool:
        """Whether a person answered it in the model's place; then it was not sent."""
        return self.hold is not None and self.hold.end == "answered"

    @property
    def who(self) -> str:
        """Its agent and what it was for, in addition to the purpose."""
        return " ".join(filter(None, (self.name, self.agent)))

    @property
    def tokens(self) -> int:
        """The best known size; 0 if nothing is known."""
        return self.estimate if self.reported is None else self.reported

    @property
    def exact(self) -> bool:
        """Whether the log has the sent request itself, not only what it was made from."""
        return self.request > 0


class RequestMarks:
    """The requests of a log, kept up to date event by event.

    A request is known by its own event, by its report, or because a reply begins: before a reply was a request, made
    from everything before it. A request with its own event or report is not inferred a second time, and none is
    inferred from messages that a recorded request carries along.
    """

    def __init__(self) -> None:
        self.marks: list[RequestMark] = []
        """In order; the list grows with the log."""
        self._turn = 0
        self._reply: str | None = None
        """The id of the last reply; None: somebody else spoke since, and it has no id."""
        self._open = -1
        """The index of the request that waits for its reply or its report."""
        self._by_event: dict[int, int] = {}
        """The index of a mark, by its `Request` event."""
        self._read = 0
        """How many events it has had."""

    def catch_up(self, events: Sequence[Event]) -> None:
        """Add the new events of a log."""
        for event in events[self._read :]:
            self.add_event(event)

    def add_event(self, event: Event) -> None:
        self._read += 1
        match event.body:  # the most frequent ones first
            case ToolCall() | Reasoning() | AssistantMessage() as body:
                self._answer(event.seq, body)
            case ToolResult() | SystemMessage():
                self._reply = self._reply or None  # results of one reply may come between its calls
            case Usage() as body:
                self._report(event.seq, body)
            case UserMessage():
                self._turn += 1
                self._reply = self._reply or None
                self._close()
            case Request() as body:
                if body.base or body.messages:
                    self._forget_given()
                self._by_event[event.seq] = len(self.marks)
                mark = RequestMark(event.seq - 1, self._turn, body.model, None, 0, body.purpose, body.agent, event.seq)
                mark = mark._replace(instead_of=body.instead_of, name=body.name)
                self._put(mark._replace(request=event.seq) if body.base or body.messages else mark)
            case Hold(request=request) as body if request in self._by_event:
                at = self._by_event[request]
                self.marks[at] = self.marks[at]._replace(hold=body)
            case RequestAnswer(request=request):
                self._open = self._by_event.get(request, self._open)
            case Override(at_provider=True):
                self._edited(event.seq)
            case Compaction(meta=meta) if meta.get(AT_PROVIDER):
                self._edited(event.seq)

    def set_estimates(self, sizes: Mapping[int, int]) -> None:
        """Set the approximate sizes of unreported requests, by their indexes."""
        for at, tokens in sizes.items():
            self.marks[at] = self.marks[at]._replace(estimate=tokens)

    def _put(self, mark: RequestMark) -> None:
        self._open = len(self.marks)
        self.marks.append(mark)

    def _close(self) -> None:
        """End the wait for an answer. A request with its own event may still be reported."""
        self._open = -1

    def _forget_given(self) -> None:
        """Forget the requests that were inferred from what this request carries along.

        No model of this log wrote it: the agent put it there itself, as aider does with "Ok.", or it was answered
        before the recording began.
        """
        while self.marks and self._is_given(self.marks[-1]):
            self.marks.pop()

    def _is_given(self, mark: RequestMark) -> bool:
        return mark.seq not in self._by_event and not mark.usage and not mark.model

    def _edited(self, seq: int) -> None:
        """The answer shows what its provider did to the request, which is in the log already."""
        if self._open >= 0 and self.marks[self._open].exact:
            self.marks[self._open] = self.marks[self._open]._replace(upto=seq)

    def _answer(self, seq: int, body: AssistantMessage | Reasoning | ToolCall) -> None:
        if self._reply is None or body.reply != self._reply:
            model = body.model if isinstance(body, AssistantMessage) else ""
            open_ = self.marks[self._open] if self._open >= 0 else None
            if open_ is None or not open_.request or open_.purpose in ("side", "compaction"):
                self._put(RequestMark(seq - 1, self._turn, model, seq=seq))
        self._reply = body.reply

    def _report(self, seq: int, body: Usage) -> None:
        at = self._by_event.get(body.request, self._open) if body.request else self._open
        known = self.marks[at] if 0 <= at < len(self.marks) else None
        if known is None or known.usage:
            self._put(RequestMark(body.upto or seq - 1, self._turn, seq=seq))
            at, known = len(self.marks) - 1, self.marks[-1]
        # By position, which takes a third of the time: a long session has tens of thousands of reports.
        self.marks[at] = RequestMark(
            body.upto if body.upto and not known.request else known.upto,
            known.turn,
            known.model or body.model,
            body.prompt,
            body.estimate,
            known.purpose,
            known.agent,
            known.seq,
            known.request,
            seq,
            body.cached,
            *known[11:],
        )
        if at == self._open:
            self._close()


def is_main(marks: Sequence[RequestMark]) -> Callable[[RequestMark], bool]:
    """A test for requests of the conversation itself. In a sub-agent's log those are the sub-agent's."""
    main: Purpose = "turn" if any(mark.purpose == "turn" for mark in marks) else "sub-agent"
    return lambda mark: mark.purpose == main


def last_reported(marks: Sequence[RequestMark]) -> int:
    """The index of the last reported request of the conversation itself; -1: none."""
    main = is_main(marks)
    return next((at for at in reversed(range(len(marks))) if marks[at].reported and main(marks[at])), -1)


def not_sent(marks: Sequence[RequestMark]) -> frozenset[int]:
    """The requests that never reached the model, by their events.

    Another went in its place, a person answered it, or the agent gave up while it was held.
    """
    replaced = {mark.instead_of for mark in marks if mark.instead_of}
    ended = {mark.seq for mark in marks if mark.hold is not None and mark.hold.end in ("answered", "gone")}
    return frozenset(replaced | ended)


def sent_in_place(marks: Sequence[RequestMark], request: int) -> int:
    """The request that was sent, and answered, in place of another; the same one if none was."""
    instead = {mark.instead_of: mark.request for mark in marks if mark.instead_of and mark.exact}
    while request in instead:
        request = instead[request]
    return request
