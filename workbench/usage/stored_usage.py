"""The use of the requests in our own store: those that passed the proxy, and those of our own agent."""

from __future__ import annotations

from workbench.config.errors import WorkbenchError
from workbench.context.policy_names import RECORDED
from workbench.log.events import AssistantMessage, Compaction, Request, Setting, ToolCall, Usage
from workbench.log.session import SessionInfo
from workbench.log.shapes import KIND_OF
from workbench.log.store import Store
from workbench.sources.source import recorded_by
from workbench.usage.other_usage import add_events
from workbench.usage.records import SessionUse

OWN_AGENT = "Workbench"
_KINDS = tuple(KIND_OF[each] for each in (Usage, Request, ToolCall, AssistantMessage, Compaction, Setting))


def read_stored_session(store: Store, info: SessionInfo) -> SessionUse:
    """What a session of the store used. What was imported into it was used elsewhere, and does not count."""
    used = SessionUse(OWN_AGENT, info.id, info.id, info.folder)
    try:
        events = store.events_of_kinds(info.id, _KINDS)
    except WorkbenchError:
        return used
    first = events[0] if events and events[0].seq == 1 else None
    agent = recorded_by(first)
    if agent:
        used.agent, used.is_passed = agent, True
        asked = next((event.body for event in events if isinstance(event.body, Request)), None)
        used.state = {"client": asked.session} if asked is not None and asked.session else {}
    else:
        marks = [at for at, event in enumerate(events) if _is_imported(event.body)]
        events = events[marks[-1] + 1 :] if marks else events
    add_events(used, ((event.seq, event.id, event.at, event.body) for event in events))
    used.silent_since = 0
    return used


def _is_imported(body: object) -> bool:
    return isinstance(body, Setting) and body.key == RECORDED and bool(body.value)
