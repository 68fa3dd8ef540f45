"""What was said in another agent and is no part of the conversation any more: undone, cleared, or never sent again.

That is nobody's policy: it is gone under all of them. It is told from what an agent leaves out to make room by where it
stands: who goes back leaves out all that came last.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from workbench.log.events import AssistantMessage, Event, Override, ToolCall, ToolResult, UserMessage

_SAID = (UserMessage, AssistantMessage, ToolCall, ToolResult)


def undone_by(events: Sequence[Event]) -> frozenset[int]:
    """The decisions that leave out the end of what was said until then."""
    found: set[int] = set()
    said: dict[int, None] = {}
    """What is part of the conversation, in order."""
    for at, event in enumerate(events):
        if isinstance(event.body, _SAID):
            said[event.seq] = None
        elif _excludes(event) and not (at and _excludes(events[at - 1])):
            together = _run(events, at)
            gone = {seq for each in together for seq in _range(each) if seq in said}
            last = set(islice(reversed(said), len(gone)))
            if gone and gone == last:
                found.update(each.seq for each in together)
                for seq in gone:
                    del said[seq]
    return frozenset(found)


def _excludes(event: Event) -> bool:
    return isinstance(event.body, Override) and event.body.action == "exclude"


def _run(events: Sequence[Event], at: int) -> list[Event]:
    """Decisions that stand one behind the other."""
    end = at
    while end < len(events) and _excludes(events[end]):
        end += 1
    return list(events[at:end])


def _range(event: Event) -> range:
    assert isinstance(event.body, Override)
    return range(event.body.first, min(event.body.last, event.seq - 1) + 1)
