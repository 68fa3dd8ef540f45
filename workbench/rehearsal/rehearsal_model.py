"""The rehearsal model itself: takes requests one after the other, follows its script, then its rules."""

from __future__ import annotations

import json
from hashlib import blake2b
from threading import Lock

from workbench.config.values import replace
from workbench.models.tokens import TokenCounter
from workbench.rehearsal import usage
from workbench.rehearsal.faults import Fault, refusal_for
from workbench.rehearsal.rules import answer_by_rule
from workbench.rehearsal.script import Script, ScriptStep
from workbench.rehearsal.summaries import is_summary_request
from workbench.wire.answers import AnswerPace, PacedAnswer, Refusal, WrittenAnswer, WrittenCall
from workbench.wire.checked_requests import CheckedRequest

REMEMBERED = 8
"""How many messages the ids of calls are made from: they include a group with its results, so ids do not repeat."""


class PlayedAnswer(PacedAnswer, frozen=True):
    """What happens to one request."""

    fault: Fault | None = None
    refusal: Refusal | None = None
    """The error to send instead of the answer."""

    @property
    def finishes(self) -> bool:
        """Whether the answer has a finish reason."""
        return not self.fault or self.fault.kind != "no_finish"


class RehearsalModel:
    """Answers requests. It remembers only its position in the script and the last request (for the cache's figures)."""

    def __init__(self, script: Script | None = None) -> None:
        self.script = script or Script()
        self.played = 0
        """Steps of the script that are done."""
        self._previous: list[usage.PromptSegment] = []
        self._one_at_a_time = Lock()
        """litellm calls from its own threads."""

    def play(self, request: CheckedRequest, fault: Fault | None = None) -> PlayedAnswer:
        """Answer a request. A fault requested from outside does not advance the script."""
        with self._one_at_a_time:
            return self._play(request, fault)

    def _play(self, request: CheckedRequest, fault: Fault | None) -> PlayedAnswer:
        parts, count = usage.prompt_segments(request), usage.rehearsal_tokenizer(request.model)
        asked = usage.prompt_tokens(parts)
        if fault is None and 0 < self.script.window < asked:
            fault = Fault("context", self.script.window)
            return PlayedAnswer(WrittenAnswer(), self.script.pace, fault, refusal_for(fault, asked))
        step = ScriptStep(fault=fault) if fault else self._next(request)
        pace = replace(self.script.pace, **step.pace)
        refused = refusal_for(step.fault, asked) if step.fault else None
        if refused:
            return PlayedAnswer(WrittenAnswer(), pace, step.fault, refused)
        answer = _with_ids(step.answer or answer_by_rule(request), request)
        if step.fault:
            answer, pace = _spoilt(answer, pace, step.fault)
        answer = _bounded(answer, request.max_tokens, count)
        figures = step.report(usage.rehearsed_usage(parts, self._previous, answer, count))
        self._previous = parts
        reported = None if step.fault and step.fault.kind == "no_usage" else figures
        return PlayedAnswer(replace(answer, usage=reported), pace, step.fault)

    def _next(self, request: CheckedRequest) -> ScriptStep:
        if self.played == len(self.script.steps) or (not self.script.summaries and is_summary_request(request)):
            return ScriptStep()
        self.played += 1
        return self.script.steps[self.played - 1]


def _spoilt(answer: WrittenAnswer, pace: AnswerPace, fault: Fault) -> tuple[WrittenAnswer, AnswerPace]:
    """Apply the faults that are in the answer itself."""
    match fault.kind:
        case "length":
            return WrittenAnswer(answer.text[: len(answer.text) // 2], answer.reasoning, finish="length"), pace
        case "refused":
            return WrittenAnswer(finish="refused"), pace
        case "slow":
            return answer, replace(pace, speed=fault.number)
    return answer, pace


def _bounded(answer: WrittenAnswer, max_tokens: int | None, count: TokenCounter) -> WrittenAnswer:
    """Cut an answer that is longer than requested, with the finish reason `length`."""
    if max_tokens is None or answer.calls or usage.completion_tokens(answer, count)[0] <= max_tokens:
        return answer
    reasoning = answer.reasoning[: count.head(answer.reasoning, max_tokens)]
    left = max_tokens - count.count(reasoning).tokens
    return WrittenAnswer(answer.text[: count.head(answer.text, left)], reasoning, finish="length")


def _with_ids(answer: WrittenAnswer, request: CheckedRequest) -> WrittenAnswer:
    """Give every call an id: its own, or one made from the end of the conversation, which is never the same twice."""
    if all(call.call_id for call in answer.calls):
        return answer
    latest = [(each.role, each.text, each.calls, each.call_id) for each in request.messages[-REMEMBERED:]]
    seed = blake2b(json.dumps([len(request.messages), latest]).encode("utf-8", "surrogatepass"), digest_size=9)
    calls = [
        call if call.call_id else WrittenCall(call.tool, call.arguments, f"call_{seed.hexdigest()}_{number}")
        for number, call in enumerate(answer.calls)
    ]
    return replace(answer, calls=tuple(calls))
