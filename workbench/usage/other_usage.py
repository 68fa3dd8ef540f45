"""The use of the requests in files of all other formats, and in our own store: from the events of a session."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256

from workbench.config.errors import WorkbenchError
from workbench.live.finder import AgentSession
from workbench.log.events import AssistantMessage, Body, Compaction, Request, Setting, ToolCall, Usage
from workbench.traces.formats import read_conversations, read_file
from workbench.usage.records import CompactionUse, RequestUse, SessionUse

TimedBody = tuple[int, str, int, Body]
"""Number and id of an event (empty if it has none), milliseconds since 1970, and what happened."""


def read_other_file(agent: str, path: str, session_at: Callable[[str], AgentSession | None]) -> list[SessionUse]:
    """The sessions of a file, read as for opening it; none if it cannot be read.

    `session_at`: what is known of a session without reading it.
    """
    try:
        recordings = read_conversations(*read_file(path, growing=True), 0, path)
    except (WorkbenchError, OSError, RecursionError):
        return []
    found = []
    for number, recording in enumerate(recordings, 1):
        if recording.sub_agent:  # the session has its requests
            continue
        ref = f"{path}#{number}"
        known = session_at(ref)
        used = SessionUse(agent or recording.format, known.id if known else ref, ref, known.folder if known else "")
        events = zip(recording.times, recording, strict=True)
        add_events(used, ((seq, "", at, body) for seq, (at, body) in enumerate(events, 1)))
        found.append(used)
    return found


def add_events(used: SessionUse, events: Iterable[TimedBody]) -> None:
    """Add what the events of a session report."""
    sub_agents: dict[int, str] = {}
    tools: list[str] = []
    model, answers, at = "", 0, 0
    for seq, name, at, body in events:
        match body:
            case Request(purpose="sub-agent", agent=agent, name=kind):
                sub_agents[seq] = agent or kind or "?"
            case ToolCall(tool=tool):
                tools.append(tool)
            case AssistantMessage():
                answers += 1
            case Setting(key="model", value=str(now)):
                model = now
            case Compaction():
                used.compactions.append(CompactionUse(at, model))
            case Usage() as report:
                model = report.model or model
                sub_agent = sub_agents.get(report.request, "")
                copied = name or _copied(used, at, report)
                used.requests.append(_request(at, report, copied, sub_agent, () if sub_agent else tuple(tools)))
                tools = [] if not sub_agent else tools
            case _:
                pass
    if answers and not used.requests:
        used.silent_since = at or 1


def _copied(used: SessionUse, at: int, report: Usage) -> str:
    """A name for a report without an id, the same in a copy: nobody gets the same figures in the same millisecond."""
    figures = (report.prompt, report.cached, report.cache_write, report.completion, report.reasoning)
    found = (used.agent, at, report.model, figures) if at else (used.ref, len(used.requests))
    return sha256(repr(found).encode("utf-8", "replace")).hexdigest()[:24]


def _request(at: int, report: Usage, key: str, sub_agent: str, tools: tuple[str, ...]) -> RequestUse:
    return RequestUse(
        at,
        report.model,
        report.estimate if report.prompt is None else report.prompt,
        report.cached,
        report.cache_write,
        report.cache_hour,
        report.completion,
        report.cost,
        key,
        sub_agent,
        tools,
    )
