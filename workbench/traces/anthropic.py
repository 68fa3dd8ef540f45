"""Anthropic's Messages: a list, a request's body `{"model", "system", "tools", "messages"}`, or JSON lines of these.

- Recognised by what OpenAI-style messages do not have: `system` next to `messages`, tools with an `input_schema`, and
  the blocks `tool_use`, `tool_result` and `thinking`. Without any of them both formats are the same.
- Calls and results are paired by id; one message of the assistant is one reply.
- The other keys of a body (`max_tokens`, `temperature`, ...) are counted.
"""

from __future__ import annotations

from typing import Any

from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, first_objects, log_entries
from workbench.traces.reading import Document, bad_file
from workbench.wire.anthropic import AnthropicReader
from workbench.wire.anthropic_bodies import are_anthropic_messages, is_anthropic_body
from workbench.wire.values import text_in

NAME = format_names.ANTHROPIC_MESSAGES
_READ = ("messages", "system", "tools", "model")
_ALL = 1 << 31
"""The first call of a tool may be far from the beginning; before it, both formats are the same."""


def recognises(document: Document) -> bool:
    """Whether a body or a message has what only Anthropic's have, and none has calls in OpenAI's format."""
    first = first_objects(document, _ALL)
    bodies = [value for value in first if isinstance(value.get("messages"), list)]
    if bodies:
        return any(is_anthropic_body(value) for value in bodies)
    return are_anthropic_messages(first)


def read(document: Document, text: str) -> list[Recording]:
    """The conversation; or one per line, if lines are bodies of requests."""
    located = log_entries(document, text)
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
