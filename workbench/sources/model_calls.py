"""The requests of a session with their answers, to be exported as spans."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from workbench.context.policy_names import RECORDED
from workbench.context.render import render_request
from workbench.log.events import AssistantMessage, Body, Event, Reasoning, RequestAnswer, ToolCall, Usage
from workbench.sources.options import Options
from workbench.sources.own_requests import OwnRequests
from workbench.sources.recorded import RecordedSession
from workbench.sources.requests import RequestMark, not_sent
from workbench.sources.services import Services
from workbench.sources.source import Source, setting_in
from workbench.traces.genai_spans import ModelCall
from workbench.wire.dialects import DEFAULT, DIALECTS, read_answer
from workbench.wire.requests import RequestBodies


def model_calls(services: Services, options: Options, source: Source) -> Iterator[ModelCall]:
    """The requests that reached a model and whose contents the log has, one after the other.

    One that was recorded in full is given as it was sent, any other as it is planned.
    """
    session = RecordedSession(services, options, source)
    own = None if source.recorded else OwnRequests(services, source.events)
    log = _Log(source)
    unsent = not_sent(session.marks)
    known = [at for at, mark in enumerate(session.marks) if mark.exact or session.holds_contents(mark)]
    ends = {at: session.marks[after].seq for at, after in pairwise(known)}
    for at in known:
        mark = session.marks[at]
        if mark.seq in unsent:
            continue
        until = ends.get(at, len(source.events) + 1)
        if mark.exact and log.bodies.is_whole(mark.request):
            yield log.exact_call(mark, until)
        else:
            plan = session.plan(at) if own is None else own.plan(at, mark)
            yield log.planned_call(mark, render_request(plan), until)


class _Log:
    """Finds answers and times in a log."""

    def __init__(self, source: Source) -> None:
        self._events = source.events
        self._name = os.path.basename(source.name) if source.is_file else source.name
        self._agent = setting_in(source.events, RECORDED)
        self.bodies = RequestBodies(source.events)
        self._answers: Mapping[int, tuple[Event, RequestAnswer]] = {
            event.body.request: (event, event.body) for event in source.events if isinstance(event.body, RequestAnswer)
        }

    def exact_call(self, mark: RequestMark, until: int) -> ModelCall:
        """A request that was recorded in full. `until`: the event before which its answer ends."""
        request = self.bodies.request(mark.request)
        replied = self._answer_events(mark, until)
        start = self._events[mark.request - 1].at
        end = replied[-1].at if replied else start
        answered, used = [event.body for event in replied], self._usage(mark)
        problem = "" if replied or used else "no answer was recorded"
        if mark.request in self._answers:
            event, came = self._answers[mark.request]
            found = self.bodies.messages([came.body]) if came.body else []
            if found and isinstance(found[0], dict):
                answered, reported = read_answer(request.dialect, found[0])
                used = used or reported
            end = start + came.took if came.took is not None else event.at
            problem = came.problem or ("" if 0 < came.status < 400 else f"HTTP {came.status}")
        return ModelCall(
            *(self._name, mark.seq, request.dialect, self.bodies.body(mark.request), answered, used),
            mark.model,
            DIALECTS[request.dialect].provider.name,
            start,
            end,
            mark.who or self._agent,
            problem,
        )

    def planned_call(self, mark: RequestMark, body: dict[str, Any], until: int) -> ModelCall:
        """A request without contents of its own. `until`: the event before which its answer ends."""
        replied = self._answer_events(mark, until)
        usage = self._usage(mark)
        end = replied[-1].at if replied else self._events[mark.seq - 1].at
        start = replied[0].at if replied else end
        if usage is not None and usage.seconds is not None:
            start = end - round(usage.seconds * 1000)
        return ModelCall(
            *(self._name, mark.seq, DEFAULT.name, body, [event.body for event in replied], usage),
            mark.model,
            start=max(start, 0),
            end=end,
            agent=mark.who or self._agent,
        )

    def _answer_events(self, mark: RequestMark, until: int) -> list[Event]:
        """The events of the first reply after a request."""
        found = [event for event in self._events[mark.upto : until - 1] if isinstance(event.body, _ANSWER)]
        reply = _reply_of(found[0].body) if found else ""
        return [event for event in found if _reply_of(event.body) == reply]

    def _usage(self, mark: RequestMark) -> Usage | None:
        body = self._events[mark.usage - 1].body if mark.usage else None
        return body if isinstance(body, Usage) else None


_ANSWER = (AssistantMessage, Reasoning, ToolCall)


def _reply_of(body: Body) -> str:
    return body.reply if isinstance(body, AssistantMessage | Reasoning | ToolCall) else ""
