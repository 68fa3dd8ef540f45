"""Requests as spans by OpenTelemetry's conventions for GenAI, before any package encodes them.

A span is a call of a model: its messages, its answer, its tools and what was reported. Sent twice, it is the same span:
its ids come from the session and the request.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

from msgspec import Struct

from workbench.log.events import (
    AssistantMessage,
    Body,
    Content,
    DialectName,
    ImagePart,
    Reasoning,
    SlotContent,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
    text_of,
)
from workbench.wire.dialects import DIALECTS, reader_for
from workbench.wire.event_builder import EventBuilder
from workbench.wire.parts import split_body
from workbench.wire.values import dict_in, json_text, parsed, text_in

Part = dict[str, Any]


class ModelCall(Struct, frozen=True):
    """One request and its answer, to be exported."""

    session: str
    number: int
    """Distinguishes the requests of a session."""
    dialect: DialectName
    body: dict[str, Any]
    answer: Sequence[Body]
    """The events of the answer."""
    usage: Usage | None = None
    model: str = ""
    provider: str = ""
    """Who was asked, if that is known."""
    start: int = 0
    """Milliseconds since 1970."""
    end: int = 0
    agent: str = ""
    """The agent or sub-agent that asked; empty if unknown."""
    problem: str = ""
    """Why there is no answer, or only a part of one."""


class GenAiSpan(Struct, frozen=True):
    """A span, ready to be encoded."""

    name: str
    trace: int
    id: int
    start: int
    """Nanoseconds since 1970."""
    end: int
    attributes: dict[str, str | int]
    problem: str = ""


def genai_span(call: ModelCall) -> GenAiSpan:
    talk = _talk_in(call.dialect, call.body)
    model = call.model or text_in(call.body, "model")
    trace = int.from_bytes(sha256(call.session.encode(errors="replace")).digest()[:16])
    number = int.from_bytes(sha256(f"{call.session} {call.number}".encode(errors="replace")).digest()[:8])
    start, end = call.start * 1_000_000, max(call.start, call.end) * 1_000_000
    attributes: dict[str, str | int] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": call.provider,
        "gen_ai.request.model": model,
        "gen_ai.conversation.id": call.session,
        "session.id": call.session,
        "gen_ai.agent.name": call.agent,
        "gen_ai.system_instructions": _json(_instructions_in(talk)),
        "gen_ai.input.messages": _json(_messages_in(talk)),
        "gen_ai.output.messages": _json(_answer_in(call.answer)),
        "gen_ai.tool.definitions": _json(_definitions_in(talk)),
        "error.type": "provider" if call.problem else "",
        **_usage_in(call.usage),
    }
    known = {key: value for key, value in attributes.items() if value != ""}
    return GenAiSpan(f"chat {model}".strip(), trace or 1, number or 1, start, end, known, call.problem)


def _talk_in(dialect: DialectName, body: dict[str, Any]) -> list[Body]:
    reader = reader_for(dialect, EventBuilder(""))
    reader.head(body)
    messages = split_body(dialect, body).messages
    for message in messages[DIALECTS[dialect].prompt_length(messages) :]:
        reader.message(message)
    return reader.builder.bodies


def _json(value: list[Any]) -> str:
    return json_text(value) if value else ""


def _usage_in(usage: Usage | None) -> dict[str, int]:
    if usage is None or usage.prompt is None:
        return {}
    found = {"gen_ai.usage.input_tokens": usage.prompt, "gen_ai.usage.output_tokens": usage.completion}
    more = {
        "gen_ai.usage.cache_read.input_tokens": usage.cached,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning,
    }
    return {**found, **{key: value for key, value in more.items() if value}}


def _instructions_in(talk: Iterable[Body]) -> list[Part]:
    return [_text(body.text) for body in talk if isinstance(body, SlotContent) and body.slot != "tools" and body.text]


def _definitions_in(talk: Iterable[Body]) -> list[Part]:
    tools = (parsed(body.text) for body in talk if isinstance(body, SlotContent) and body.slot == "tools")
    return [_definition(tool) for tool in tools if isinstance(tool, dict)]


def _definition(tool: dict[str, Any]) -> Part:
    function = dict_in(tool, "function") or tool
    schema = next((each for key in ("parameters", "input_schema") if (each := function.get(key)) is not None), None)
    found = {"type": "function", "name": text_in(function, "name"), "description": text_in(function, "description")}
    return {**found, "parameters": schema} if found["name"] else tool


def _messages_in(talk: Iterable[Body]) -> list[Part]:
    """The messages of a conversation; events of one reply, and results next to each other, are one message."""
    found: list[Part] = []
    last: tuple[str, str] | None = None
    for body in talk:
        role, parts, reply = _said_in(body)
        if not role:
            continue
        key = (role, reply)
        if last == key and role in ("assistant", "tool"):
            found[-1]["parts"] += parts
        else:
            found.append({"role": role, "parts": parts})
        last = key
    return found


def _answer_in(bodies: Sequence[Body]) -> list[Part]:
    parts = [part for body in bodies for part in _said_in(body)[1]]
    if not parts:
        return []
    reason = "tool_call" if any(part["type"] == "tool_call" for part in parts) else "stop"
    return [{"role": "assistant", "parts": parts, "finish_reason": reason}]


def _said_in(body: Body) -> tuple[str, list[Part], str]:
    """The role, the parts and the reply of an event; no role if it says nothing."""
    match body:
        case SystemMessage():
            return "system", _parts(body.content), ""
        case UserMessage():
            return "user", _parts(body.content), ""
        case AssistantMessage():
            return "assistant", _parts(body.content), body.reply
        case Reasoning():
            return "assistant", [{"type": "reasoning", "content": body.text}] if body.text else [], body.reply
        case ToolCall():
            call = {"type": "tool_call", "id": body.call_id, "name": body.tool, "arguments": parsed(body.arguments)}
            return "assistant", [call], body.reply
        case ToolResult():
            given = {"type": "tool_call_response", "id": body.call_id, "response": text_of(body.content)}
            return "tool", [given, *(part for part in _parts(body.content) if part["type"] in ("uri", "blob"))], ""
    return "", [], ""


def _text(text: str) -> Part:
    return {"type": "text", "content": text}


def _parts(content: Content) -> list[Part]:
    if isinstance(content, str):
        return [_text(content)] if content else []
    return [_part(part) for part in content]


def _part(part: Any) -> Part:
    match part:
        case TextPart(text=text):
            return _text(text)
        case ImagePart(url=url):
            head, comma, data = url.partition(",")
            if comma and head.startswith("data:"):
                kind = head.removeprefix("data:").partition(";")[0]
                return {"type": "blob", "modality": "image", "mime_type": kind or "image/png", "content": data}
            return {"type": "uri", "modality": "image", "uri": url}
    return _text(text_of((part,)))
