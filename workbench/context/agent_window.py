"""The window of another agent that does not report it: inferred from its requests and compactions."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.config.values import replace
from workbench.log.events import Body, Compaction, Event, Request, Usage
from workbench.models.catalogue import ModelInfo
from workbench.models.windows import window_seen

_TELLING = {Request, Usage, Compaction}
"""What shows a window: a few of many events."""


def compacted_at(body: Body) -> int:
    """The size at which an agent compacted by itself; 0 if it did not, or did not record it."""
    if not isinstance(body, Compaction) or not body.meta.get("made_by") or body.meta.get("trigger") != "auto":
        return 0
    before = body.meta.get("tokens_before")
    return before if isinstance(before, int) and before > 0 else 0


def as_the_agent_used_it(info: ModelInfo, events: Iterable[Event]) -> ModelInfo:
    """A model with the window that its requests and compactions in a log show."""
    largest = compacted = 0
    model = ""
    elsewhere: set[int] = set()
    for event in events:
        body = event.body
        if type(body) not in _TELLING:
            continue
        if isinstance(body, Request) and body.is_elsewhere:
            elsewhere.add(event.seq)
        elif isinstance(body, Usage) and body.request not in elsewhere:
            model = body.model
            largest = max(largest, body.prompt or 0) if model == info.name else largest
        elif model in ("", info.name):
            compacted = compacted_at(body) or compacted
    window = window_seen(info.name, info.window, largest, compacted)
    return info if window == info.window else replace(info, window=window, window_source="agent")
