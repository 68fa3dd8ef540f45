"""Anthropic's Messages: a list, a request's body `{"model", "system", "tools", "messages"}`, or JSON lines of these.

- Recognised by what OpenAI-style messages do not have: `system` next to `messages`, tools with an `input_schema`, and
  the blocks `tool_use`, `tool_result` and `thinking`. Without any of them both formats are the same.
- Calls and results are paired by id; one message of the assistant is one reply.
- The other keys of a body (`max_tokens`, `temperature`, ...) are counted.
"""

from __future__ import annotations

from typing import Any

from workbench.traces.building import Builder, Recording, beginning, entries
from workbench.traces.reading import Document, bad_file
from workbench.wire.anthropic import AnthropicReader
from workbench.wire.values import list_in, text_in

NAME = "Anthropic"
_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use")
_READ = ("messages", "system", "tools", "model")
_ALL = 1 << 31
"""The first call of a tool may be far from the beginning; before it, both formats are the same."""


def recognises(document: Document) -> bool:
    """Whether a body or a message has what only Anthropic's have, and none has calls in OpenAI's format."""
    first = beginning(document, _ALL)
    bodies = [value for value in first if isinstance(value.get("messages"), list)]
    if bodies:
        return any(is_body(value) for value in bodies)
    return _are_messages(first)


def is_body(value: dict[str, Any]) -> bool:
    """Whether the body of a request has what only Anthropic's have."""
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
    """The conversation; or one per line, if lines are bodies of requests."""
    located = entries(document, text)
    if not any(isinstance(value, dict) and "messages" in value for _, value in located):
        return [_conversation(Builder(NAME, document.broken), [value for _, value in located])]
    found: list[Recording] = []
    for line, value in located:
        if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
            raise bad_file(document.name, line, 'an object with a list under "messages"', value)
        found.append(_conversation(Builder(NAME, () if found else document.broken), value["messages"], value))
    return found


def _conversation(builder: Builder, messages: list[Any], body: dict[str, Any] | None = None) -> Recording:
    reader = AnthropicReader(builder)
    if body is not None:
        builder.says_model(text_in(body, "model"))
        reader.head(body)
        builder.leave_out_all_but(_READ, body)
    for message in messages:
        reader.message(message)
    return builder.finish()
