"""What went over the wire in a run: which requests fit and are valid, what the cache keeps, which facts are missing."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from adapters.scripted import MODEL, WINDOW, needed, script
from workbench.rehearsal.faults import Fault
from workbench.rehearsal.rehearsal_model import PlayedAnswer, RehearsalModel
from workbench.rehearsal.server import ReceivedRequest, RehearsalServer
from workbench.rehearsal.summaries import summarise
from workbench.rehearsal.usage import PromptSegment, cached_tokens, prompt_segments, prompt_tokens, rehearsal_tokenizer
from workbench.wire.answers import WrittenAnswer
from workbench.wire.checked_requests import BadRequest, CheckedRequest, request_of
from workbench.wire.dialects import DIALECTS
from workbench.wire.speaking import DialectSpeaker


@dataclass(frozen=True)
class Measured:
    """The figures of one run."""

    requests: int
    fit: int
    invalid: int
    """Requests that a provider refuses: a call without its result, or a result without its call."""
    tokens: int
    """Of all requests together."""
    cached: int
    """Of these, the ones that the request before began with as well."""
    needed: int
    missing_said: int
    """Facts of the user's that were needed and not in the request."""
    missing_found: int
    """The same for facts in results of tools."""

    @property
    def kept(self) -> float:
        """The share of the tokens that came from the provider's cache."""
        return self.cached / self.tokens


@asynccontextmanager
async def lenient_server() -> AsyncIterator[RehearsalServer]:
    """The rehearsal server with the script of the run. It also answers requests that a provider would refuse."""
    server = RehearsalServer(script())
    for name, speaker in server.speakers.items():
        vars(speaker)["read_request"] = _lenient(name, speaker)
    vars(server.model)["play"] = _summarising(server.model)
    async with server:
        yield server


def _lenient(name: Any, speaker: DialectSpeaker) -> Any:
    strict = speaker.read_request

    def read(body: Mapping[str, Any], path: str = "") -> CheckedRequest:
        try:
            return strict(body, path)
        except BadRequest:
            return unchecked(name, body)

    return read


def _summarising(model: RehearsalModel) -> Any:
    """Requests without tools are for a summary, however they are worded, and take no step of the script."""
    scripted = model.play

    def play(request: CheckedRequest, fault: Fault | None = None) -> PlayedAnswer:
        return scripted(request, fault) if request.tools else PlayedAnswer(WrittenAnswer(summarise(request)))

    return play


def unchecked(name: Any, body: Mapping[str, Any]) -> CheckedRequest:
    """A request as its dialect reads it, with pairs or without."""
    return request_of(DIALECTS[name].read_request(dict(body)), body, stream=bool(body.get("stream")))


def asked(server: RehearsalServer) -> list[ReceivedRequest]:
    """The requests of the run itself, without those for a summary, which offer no tools."""
    return [request for request in server.requests if request.body.get("tools")]


def measure(server: RehearsalServer) -> Measured:
    """The figures of what a server received."""
    fit = invalid = tokens = cached = wanted = 0
    missing = {"user": 0, "result": 0}
    before: Sequence[PromptSegment] = ()
    received = asked(server)
    for number, request in enumerate(received):
        name = dialect_of(request)
        parts = prompt_segments(unchecked(name, request.body))
        size = prompt_tokens(parts)
        fit += size <= WINDOW
        invalid += bool(complaint(request))
        tokens += size
        cached += cached_tokens(parts, list(before), rehearsal_tokenizer(MODEL))
        before = parts
        text = json.dumps(request.body, ensure_ascii=False)
        for fact in needed(number):
            wanted += 1
            missing[fact.source] += fact.text not in text
    return Measured(len(received), fit, invalid, tokens, cached, wanted, missing["user"], missing["result"])


def dialect_of(request: ReceivedRequest) -> Any:
    """The dialect of a request, by its path."""
    return next(name for name, dialect in DIALECTS.items() if dialect.recognises_path(request.path) is not None)


def complaint(request: ReceivedRequest) -> str:
    """What a provider would say against a request; empty: nothing."""
    speaker = DIALECTS[dialect_of(request)].new_speaker()
    try:
        speaker.read_request(request.body, request.path)
    except BadRequest as error:
        return str(error)
    return ""
