"""A log as OpenAI-style messages; `openai` reads them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workbench.context.fixed_slots import tool_definition
from workbench.context.render import content_json
from workbench.log.events import (
    AssistantMessage,
    Content,
    Event,
    Reasoning,
    SlotContent,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
)


def to_openai(events: Iterable[Event]) -> dict[str, Any]:
    """A log as OpenAI-style messages, as it happened: nothing cut, nothing repaired, without asides."""
    messages: list[dict[str, Any]] = []
    tools: dict[str, Any] = {}
    system: dict[tuple[str, str], str] = {}
    reply = None
    for event in events:
        body = event.body
        match body:
            case SlotContent(slot="tools"):
                tools[body.name] = tool_definition(body.text)
            case SlotContent():
                system[body.slot, body.name] = body.text
            case SystemMessage() | UserMessage():
                role = body.role if isinstance(body, SystemMessage) else "user"
                messages.append(_message_of(role, body.content, body.name))
                reply = None
            case ToolResult():
                messages.append({"role": "tool", "tool_call_id": body.call_id, "content": content_json(body.content)})
                if body.tool:
                    messages[-1]["name"] = body.tool
            case Reasoning() | AssistantMessage() | ToolCall():
                if body.reply != reply or not body.reply or messages[-1]["role"] != "assistant":
                    messages.append({"role": "assistant", "content": None})
                reply = body.reply
                _add(messages[-1], body)
    found: dict[str, Any] = {}
    prompt = "\n\n".join(text for text in system.values() if text)
    found["messages"] = [*([{"role": "system", "content": prompt}] if prompt else []), *messages]
    definitions = [tool for tool in tools.values() if tool is not None]
    return {**found, "tools": definitions} if definitions else found


def _message_of(role: str, content: Content, name: str) -> dict[str, Any]:
    message = {"role": role, "content": content_json(content)}
    return {**message, "name": name} if name else message


def _add(message: dict[str, Any], body: Reasoning | AssistantMessage | ToolCall) -> None:
    match body:
        case Reasoning():
            message["reasoning_content"] = message.get("reasoning_content", "") + body.text
        case AssistantMessage():
            message["content"] = content_json(body.content)
            if body.name:
                message["name"] = body.name
        case ToolCall():
            function = {"name": body.tool, "arguments": body.arguments}
            message.setdefault("tool_calls", []).append({"id": body.call_id, "type": "function", "function": function})
