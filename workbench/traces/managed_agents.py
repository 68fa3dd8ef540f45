"""Claude managed agents: the events of a session, as Anthropic's API lists and streams them.

- A list, `{"data": [...]}`, or JSON lines of events with a `type`, an `id` and the time `processed_at`:
  `user.message`, `agent.message`, `agent.tool_use` and the like with `input` and `name`, whose results name the event
  (`tool_use_id`, `mcp_tool_use_id`, `custom_tool_use_id`), `system.message`, and messages of other threads.
- `span.model_request_end` is the report on a request. `agent.thinking` says that the model thought, not what.
- `agent.thread_context_compacted` says only that the context was compacted: it becomes a compaction of everything
  before it with a line that says so.
- Not in these files: system prompt, tools, the model.
"""

from __future__ import annotations

from typing import Any, Final

from workbench.log.events import AssistantMessage, SystemMessage, UserMessage
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, first_objects, log_entries
from workbench.traces.reading import Document
from workbench.wire.anthropic import anthropic_usage
from workbench.wire.values import content_of, dict_in, json_text, list_in, text_in

NAME = format_names.MANAGED_AGENTS
COMPACTED = "[The context was compacted here; the events do not hold the summary]"
_CALLS: Final = ("agent.tool_use", "agent.mcp_tool_use", "agent.custom_tool_use")
_RESULTS: Final = {
    "agent.tool_result": "tool_use_id",
    "agent.mcp_tool_result": "mcp_tool_use_id",
    "user.custom_tool_result": "custom_tool_use_id",
    "user.tool_result": "tool_use_id",
}
_MARKS = (*_CALLS, *_RESULTS, "agent.message", "agent.thinking", "session.status_running", "span.model_request_start")
_PROGRAM = ("session.", "span.", "user.", "workflow_run.", "agent.thinking")


def recognises(document: Document) -> bool:
    """Whether events near the beginning are those of a session."""
    first = first_objects(document)
    events = list_in(first[0], "data")[:40] if len(first) == 1 and "data" in first[0] else first
    return any(text_in(value, "type") in _MARKS and "data" not in value for value in events)


def read(document: Document, text: str) -> list[Recording]:
    builder = Builder(NAME, document.broken)
    values = [value for _, value in log_entries(document, text)]
    if len(values) == 1 and list_in(values[0], "data"):
        values = list_in(values[0], "data")
    for value in values:
        _read_event(builder, value)
    return [builder.finish()]


def _read_event(builder: Builder, value: Any) -> None:
    kind = text_in(value, "type")
    content = content_of(value.get("content")) if isinstance(value, dict) else ""
    builder.when(value.get("processed_at") if isinstance(value, dict) else None)
    if kind in _RESULTS:
        builder.end_reply()
        builder.result(text_in(value, _RESULTS[kind]), content, value.get("is_error") is True)
    elif kind in _CALLS:
        builder.call(text_in(value, "id"), text_in(value, "name"), value.get("input"), builder.open_reply())
    elif kind == "agent.message":
        builder.add(AssistantMessage(content, builder.open_reply(), model=builder.model))
    elif kind == "user.message":
        builder.end_reply()
        builder.add(UserMessage(content))
    elif kind == "system.message":
        builder.add(SystemMessage(content))
    elif kind == "agent.thread_message_received":
        builder.end_reply()
        builder.add(SystemMessage(content, "user", text_in(value, "from_agent_name")))
    elif kind == "agent.thread_message_sent":
        builder.add(AssistantMessage(content, builder.open_reply(), text_in(value, "to_agent_name")))
    elif kind == "agent.thread_context_compacted":
        builder.compaction(1, builder.last, COMPACTED)
    elif kind == "span.model_request_end":
        builder.end_reply()
        used = anthropic_usage(dict_in(value, "model_usage"), builder.model)
        if used is not None:
            builder.add(used)
    elif kind == "session.error":
        builder.failure(text_in(dict_in(value, "error"), "message") or json_text(value.get("error")))
    elif kind.startswith(_PROGRAM):
        builder.leave_out(kind)
    else:
        builder.unknown(kind or "event", value)
