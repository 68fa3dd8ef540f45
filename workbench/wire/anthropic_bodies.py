"""Recognises Anthropic's requests by what only they have. Without any of that, their messages look like OpenAI's."""

from __future__ import annotations

from typing import Any

from workbench.wire.values import list_in, text_in

_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use")


def is_anthropic_body(value: dict[str, Any]) -> bool:
    """Whether the body of a request has something that only Anthropic's requests have."""
    messages = [message for message in value["messages"] if isinstance(message, dict)]
    if any(_is_openai(message) for message in messages):
        return False
    schemas = any(isinstance(tool, dict) and "input_schema" in tool for tool in list_in(value, "tools"))
    return bool(value.get("system")) or schemas or are_anthropic_messages(messages)


def are_anthropic_messages(messages: list[dict[str, Any]]) -> bool:
    """Whether messages have blocks that only Anthropic has, and no message is in OpenAI's form."""
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
