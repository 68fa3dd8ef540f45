"""Anthropic's Messages: a list, a request's body `{"model", "system", "tools", "messages"}`, or JSON lines of these.

- Told from OpenAI-style messages by what only these have: `system` beside `messages`, tools with an `input_schema`, and
  the blocks `tool_use`, `tool_result` and `thinking`. Without any of them both formats are the same.
- Messages are what Claude Code writes into its lines, and are read in the same way: calls and results paired by id,
  one message of the assistant being one reply.
- Tools become definitions as OpenAI has them, which requests are written in; those that Anthropic itself runs have no
  schema and stay as they are.
- The other keys of a body (`max_tokens`, `temperature`, ...) are counted.
"""

from __future__ import annotations

from typing import Any

from workbench.log.events import SlotContent, SystemMessage, text_of
from workbench.traces.building import Builder, Recording, beginning, content_of, entries, list_in, text_in
from workbench.traces.claude_code import ClaudeCodeReader
from workbench.traces.reading import Document, bad

NAME = "Anthropic"
_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use")
_READ = ("messages", "system", "tools", "model")
_ALL = 1 << 31
"""The first call of a tool may be far from the beginning; until it comes, both formats are the same."""


def recognises(document: Document) -> bool:
    """Whether a body or a message has what only Anthropic's have, and none has calls in OpenAI's form."""
    first = beginning(document, _ALL)
    bodies = [value for value in first if isinstance(value.get("messages"), list)]
    if bodies:
        return any(_is_body(value) for value in bodies)
    return _are_messages(first)


def _is_body(value: dict[str, Any]) -> bool:
    messages = [message for message in value["messages"] if isinstance(message, dict)]
    if any(_is_openai(message) for message in messages):
        return False
    schemas = any(isinstance(tool, dict) and "input_schema" in tool for tool in list_in(value, "tools"))
    return bool(value.get("system")) or schemas or _are_messages(messages)


def _are_messages(messages: list[dict[str, Any]]) -> bool:
    if any(_is_openai(message) for message in messages):
        return False
    return any(
        text_in(block, "type") in _BLOCKS
        for message in messages
        if message.get("role") in ("user", "assistant")
        for block in list_in(message, "content")
    )


def _is_openai(message: dict[str, Any]) -> bool:
    return message.get("role") in ("tool", "function") or "tool_calls" in message or "function_call" in message


def read(document: Document, text: str) -> list[Recording]:
    """The conversation; or one per line, where lines are bodies of requests."""
    located = entries(document, text)
    if not any(isinstance(value, dict) and "messages" in value for _, value in located):
        return [_conversation(ClaudeCodeReader(document.broken, NAME), [value for _, value in located])]
    found: list[Recording] = []
    for line, value in located:
        if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
            raise bad(document.name, line, 'an object with a list under "messages"', value)
        reader = ClaudeCodeReader(() if found else document.broken, NAME)
        _settings(reader.builder, value)
        found.append(_conversation(reader, value["messages"]))
    return found


def _settings(builder: Builder, body: dict[str, Any]) -> None:
    builder.says_model(text_in(body, "model"))
    system = text_of(content_of(body.get("system")))
    if system:
        builder.add(SlotContent("system", "system", system))
    for tool in list_in(body, "tools"):
        builder.tool(_definition(tool))
    builder.leave_out_all_but(_READ, body)


def _definition(tool: Any) -> Any:
    if not isinstance(tool, dict) or "input_schema" not in tool:
        return tool
    described = {"description": tool["description"]} if "description" in tool else {}
    return {"type": "function", "function": {"name": tool.get("name"), **described, "parameters": tool["input_schema"]}}


def _conversation(reader: ClaudeCodeReader, messages: list[Any]) -> Recording:
    for number, message in enumerate(messages, 1):
        role = text_in(message, "role")
        if role == "system":
            reader.builder.add(SystemMessage(content_of(message.get("content"))))
        elif role in ("user", "assistant"):
            reader.line({"type": role, "uuid": f"r{number}", "message": message})
        else:
            reader.builder.unknown("message", message)
    return reader.finish()
