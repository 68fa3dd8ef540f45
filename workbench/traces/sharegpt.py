"""ShareGPT: training conversations, as a list, one object, or JSON lines.

- An object has `conversations` (or `conversation`, or `items`), a list of turns with `from` and `value` (or `role` and
  `content`). Speakers: `human`, `gpt` and their synonyms, `system`; `function_call` with `{"name", "arguments"}` as
  JSON text, and `observation`, `function_response` or `tool` for the result. The format has no ids for calls: a result
  belongs to the oldest call without one.
- `system` next to the turns is the system prompt, `tools` are definitions as a list or as JSON text.
- Each object is its own conversation. Its other keys (ids, scores, sources) are counted.
"""

from __future__ import annotations

import json
from collections import deque
from typing import Any

from workbench.log.events import AssistantMessage, SlotContent, SystemMessage, UserMessage, text_of
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, first_objects, log_entries
from workbench.traces.reading import Document, bad_file
from workbench.wire.values import content_of, list_in, text_in

NAME = format_names.SHAREGPT
_LISTS = ("conversations", "conversation", "items")
"""The keys under which turns are found; the first is the common one."""
_USER = ("human", "user", "prompter")
_ASSISTANT = ("gpt", "assistant", "chatgpt", "model", "bot", "bing", "bard")
_RESULT = ("observation", "function_response", "tool", "tool_response", "function")
_CALL = ("function_call", "tool_call")


def recognises(document: Document) -> bool:
    """Whether an object near the beginning has turns."""
    return any(
        isinstance(turn, dict) and ("from" in turn or "role" in turn)
        for value in first_objects(document)
        for turn in _turns(value)[:5]
    )


def _turns(value: Any) -> list[Any]:
    return next((found for found in (list_in(value, key) for key in _LISTS) if found), [])


def read(document: Document, text: str) -> list[Recording]:
    """One conversation per object, so that `FILE#3` is the third."""
    found: list[Recording] = []
    for line, value in log_entries(document, text):
        if not isinstance(value, dict) or value.keys().isdisjoint(_LISTS):
            raise bad_file(document.name, line, 'an object with a list under "conversations"', value)
        found.append(_conversation(value, () if found else document.broken))
    return found


def _conversation(value: dict[str, Any], broken: Any) -> Recording:
    builder = Builder(NAME, broken)
    if text_in(value, "system"):
        builder.add(SlotContent("system", "system", text_in(value, "system")))
    for tool in _tools(value.get("tools")):
        builder.tool(tool)
    waiting: deque[str] = deque()
    for number, turn in enumerate(_turns(value), 1):
        _turn(builder, turn, f"r{number}", waiting)
    builder.leave_out_all_but((*_LISTS, "system", "tools"), value)
    return builder.finish()


def _tools(value: Any) -> list[Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return []
    return value if isinstance(value, list) else []


def _turn(builder: Builder, turn: Any, reply: str, waiting: deque[str]) -> None:
    speaker = (text_in(turn, "from") or text_in(turn, "role")).lower()
    content = content_of(turn.get("value", turn.get("content"))) if isinstance(turn, dict) else ""
    if speaker in _USER:
        builder.add(UserMessage(content))
    elif speaker in _ASSISTANT:
        builder.add(AssistantMessage(content, reply))
    elif speaker == "system":
        builder.add(SystemMessage(content))
    elif speaker in _RESULT:
        builder.result(waiting.popleft() if waiting else "", content)
    elif speaker in _CALL:
        _calls(builder, text_of(content), reply, waiting)
    else:
        builder.unknown("turn", turn)


def _calls(builder: Builder, text: str, reply: str, waiting: deque[str]) -> None:
    """A call, or a list of them; anything else stays the assistant's text."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    calls = found if isinstance(found, list) else [found]
    if not calls or not all(text_in(call, "name") for call in calls):
        builder.add(AssistantMessage(text, reply))
        return
    for number, call in enumerate(calls, 1):
        call_id = f"{reply}-{number}"
        waiting.append(call_id)
        builder.call(call_id, text_in(call, "name"), call.get("arguments"), reply)
