"""The transcripts of Acme: lines of text, each with its speaker.

    ACME TALK 1
    user: what is on the list?
    call list: {"day": "today"}
    result list: milk, bread
    assistant: Milk and bread.

A line without a speaker continues the one before.
"""

from __future__ import annotations

import re

from workbench.plugins import AssistantMessage, Recording, TextFormat, ToolCall, ToolResult, UserMessage

NAME = "Acme"
_FIRST = "ACME TALK 1"
_SPEAKER = re.compile(r"(user|assistant|call|result)(?: (\w+))?: ?(.*)")


def _recognises(text: str) -> bool:
    return text.startswith(_FIRST)


def _read(name: str, text: str) -> list[Recording]:
    """One conversation. `Recording.put` takes an event and its time in milliseconds; 0 if the file has none."""
    said: list[tuple[str, str, list[str]]] = []
    for line in text.splitlines()[1:]:
        found = _SPEAKER.fullmatch(line)
        if found:
            said.append((found[1], found[2] or "", [found[3]]))
        elif said:
            said[-1][2].append(line)
    recording = Recording()
    for number, (who, tool, lines) in enumerate(said):
        content = "\n".join(lines).strip()
        if who == "user":
            recording.append_body(UserMessage(content), 0)
        elif who == "assistant":
            recording.append_body(AssistantMessage(content, f"reply-{number}"), 0)
        elif who == "call":
            recording.append_body(ToolCall(f"call-{number}", tool, content, f"reply-{number}"), 0)
        else:
            recording.append_body(ToolResult(f"call-{number - 1}", content, tool), 0)
    return [recording]


FORMAT = TextFormat(NAME, (_FIRST,), _recognises, _read)
