"""Finds what the user of another agent undid or cleared, so that it left the conversation.

No policy decides about it: it is gone under all of them. An agent may also leave events out to make room. The
difference is the place: going back removes everything at the end of the conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from workbench.log.events import AssistantMessage, Event, Override, ToolCall, ToolResult, UserMessage

_MESSAGES = (UserMessage, AssistantMessage, ToolCall, ToolResult)


def undone_by(events: Sequence[Event]) -> frozenset[int]:
    """The decisions that exclude the end of the conversation as it was then."""
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
