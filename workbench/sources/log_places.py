"""Finds the event of a log that has the same content as a part of a request, and the decisions about it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from workbench.config.values import replace
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Event,
    Override,
    Reasoning,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
    text_of,
)
from workbench.wire.event_builder import AT_PROVIDER


class ProviderDecisions(NamedTuple):
    """What a provider did to a request before the model saw it."""

    cleared: Mapping[int, Override]
    """By the event of the log."""
    summary: Compaction | None
    """The compaction that replaced all of it."""


class LogPlaces:
    """Finds the events of a log whose content requests repeat."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], list[int]] = {}
        self._events: Sequence[Event] = ()
        self._taken = 0
        self._masks: dict[int, list[Override]] = {}
        """By event: the texts that its agent sent instead of it."""
        self._provider: list[Event] = []
        """Overrides and compactions by providers."""

    def add_events(self, events: Sequence[Event]) -> None:
        for event in events[self._taken :]:
            key = _key(event.body)
            if key is not None:
                self._found.setdefault(key, []).append(event.seq)
            match event.body:
                case Override(at_provider=True):
                    self._provider.append(event)
                case Compaction(meta=meta) if meta.get(AT_PROVIDER):
                    self._provider.append(event)
                case Override(action="mask", first=first, last=last, text=text) as body if text and first == last:
                    self._masks.setdefault(first, []).append(body)
        self._events, self._taken = events, len(events)

    def as_known(self, body: Body, place: int | None, at: int) -> list[Body]:
        """A part of a request as events, with what the log knows about it; `at`: the number of the first of them.

        What its agent had cut in the log is cut here, too. A result in its agent's masked form is that result.
        """
        known = self._events[place - 1].body if place else None
        if not isinstance(body, ToolResult | UserMessage) or type(known) is not type(body):
            return [body]
        assert isinstance(known, ToolResult | UserMessage)
        if known.cut is not None and known.content == body.content:
            return [replace(body, cut=known.cut)]
        masks = self._masks.get(place or 0, ()) if isinstance(body.content, str) else ()
        mask = next((each for each in masks if each.text == body.content), None)
        return [body] if mask is None else [known, replace(mask, first=at, last=at)]

    def done_by_provider(self, request: int, upto: int) -> ProviderDecisions:
        """The decisions in force when a request was answered. A compaction between request and answer is part of it."""
        cleared: dict[int, Override] = {}
        summary = None
        for event in self._provider:
            if event.seq > upto:
                break
            if isinstance(event.body, Compaction):
                summary = event.body if event.seq > request else None
            elif isinstance(event.body, Override) and event.body.action in ("mask", "exclude"):
                cleared[event.body.first] = event.body
            elif isinstance(event.body, Override):
                cleared.pop(event.body.first, None)
        return ProviderDecisions(cleared, summary)

    def find_event(self, body: Body, after: int) -> int | None:
        """The event with the same content: the next after `after`, else the last before it; None if there is none."""
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
