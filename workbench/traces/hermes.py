"""Hermes, Nous Research's agent: `~/.hermes/sessions/session_ID.json`.

- One object with a `session_id`, the `model`, the `system_prompt`, the `tools`, and `messages` in OpenAI's format with
  more keys. A tool's message names its tool in `tool_name`. Thinking is in `reasoning` and `reasoning_content`.
- Messages of the role `session_meta` are about the program.
- Not in the file: reports, times of messages.
"""

from __future__ import annotations

from typing import Any

from workbench.log.events import SlotContent
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, first_objects
from workbench.traces.reading import Document
from workbench.wire.chat import ChatReader
from workbench.wire.values import dict_in, list_in, text_in

NAME = format_names.HERMES
_MARKS = ("session_start", "platform", "message_count", "last_updated")
_READ = ("messages", "tools", "system_prompt", "model", "session_id", "session_start", "title")


def recognises(document: Document) -> bool:
    """Whether it is a session: an id, messages and Hermes' other keys."""
    first = first_objects(document, 1)
    if document.lines or len(first) != 1 or not isinstance(first[0].get("messages"), list):
        return False
    return bool(text_in(first[0], "session_id")) and sum(key in first[0] for key in _MARKS) > 1


def read(document: Document, text: str) -> list[Recording]:
    first = first_objects(document, 1)
    session: dict[str, Any] = first[0] if first else {}
    builder = Builder(NAME, document.broken)
    builder.when(session.get("session_start"))
    builder.says_title(text_in(session, "title"))
    builder.says_model(text_in(session, "model"))
    if text_in(session, "system_prompt"):
        builder.add(SlotContent("system", "system prompt", text_in(session, "system_prompt")))
    for tool in list_in(session, "tools"):
        builder.tool(_definition(tool))
    reader = ChatReader(builder)
    for message in list_in(session, "messages"):
        builder.when(message.get("timestamp") if isinstance(message, dict) else None)
        if text_in(message, "role") == "session_meta":
            builder.leave_out("session_meta")
        elif isinstance(message, dict) and "name" not in message and text_in(message, "tool_name"):
            reader.message({**message, "name": text_in(message, "tool_name")})
        else:
            reader.message(message)
    builder.leave_out_all_but(_READ, session)
    return [builder.finish()]


def _definition(tool: Any) -> Any:
    """A tool as OpenAI's chat has it; Hermes repeats the description and the schema outside its function."""
    function = dict_in(tool, "function")
    name = text_in(function, "name") or text_in(tool, "name")
    if not name:
        return tool
    described = text_in(function, "description") or text_in(tool, "description")
    schema = dict_in(function, "parameters") or dict_in(tool, "input_schema") or dict_in(tool, "parameters")
    more = {"description": described} if described else {}
    return {"type": "function", "function": {"name": name, **more, **({"parameters": schema} if schema else {})}}
