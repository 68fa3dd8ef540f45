"""Requests with their answers, as they are exported as spans."""

from __future__ import annotations

from support.logs import number
from workbench.config.values import replace
from workbench.log.events import AssistantMessage, Body, Setting, Usage, UserMessage
from workbench.sources.model_calls import model_calls
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.sources.source import as_source


def test_a_call_ends_with_its_answer_and_began_as_long_before_as_it_took(services: Services) -> None:
    bodies: list[Body] = [
        Setting("model", "gpt-4o"),
        UserMessage("hello"),
        AssistantMessage("hi", "r1"),
        Usage("gpt-4o", 0, prompt=9, completion=1, seconds=2.0),
    ]
    events = [replace(event, at=100_000 + event.seq) for event in number(bodies)]
    [call] = model_calls(services, Options(), as_source("made", events))
    assert (call.start, call.end) == (98_003, 100_003)
