"""Anthropic's dialect: messages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from workbench.models.reply_parts import Reported
from workbench.rehearsal.answers import AnswerPiece, RehearsedAnswer, RehearsedCall, pieces
from workbench.rehearsal.dialect import MODELS, StreamedEvent, event
from workbench.rehearsal.faults import Refusal
from workbench.rehearsal.rehearsal_model import PlayedAnswer
from workbench.rehearsal.request import (
    BadRequest,
    Json,
    RehearsalMessage,
    RehearsalRequest,
    check_pairs,
    content_of,
    list_of,
)

REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "refused": "refusal"}

SIGNATURE = "cmVoZWFyc2Fs"
"""Thinking comes signed, and goes back signed; base64, as theirs is."""

_ERRORS = {
    400: ("invalid_request_error", "The request is not accepted."),
    401: ("authentication_error", "invalid x-api-key"),
    403: ("permission_error", "Your API key does not have permission to use the specified resource."),
    404: ("not_found_error", "model: {model}"),
    413: ("request_too_large", "Request exceeds the maximum size"),
    429: (
        "rate_limit_error",
        "This request would exceed the rate limit for your organization. Please try again later.",
    ),
    500: ("api_error", "Internal server error"),
    503: ("api_error", "Service unavailable"),
    529: ("overloaded_error", "Overloaded"),
}
_KINDS = {
    "context": ("invalid_request_error", "prompt is too long: {asked} tokens > {limit} maximum"),
    "quota": ("rate_limit_error", "Your credit balance is too low to access the API."),
    "policy": ("invalid_request_error", "Output blocked by content filtering policy"),
}


class Anthropic:
    """The protocol of `/v1/messages`."""

    paths: tuple[str, ...] = ("/v1/messages",)
    header = "anthropic-version"

    def read(self, body: Json) -> RehearsalRequest:
        """The request in a body."""
        limit = body.get("max_tokens")
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise BadRequest("max_tokens: Field required")
        messages = _system(body.get("system"))
        given = list_of(body.get("messages"), "messages")
        if not given:
            raise BadRequest("messages: at least one message is required")
        for number, each in enumerate(given):
            messages += _messages(each, f"messages.{number}")
        check_pairs(messages)
        tools = [
            {
                "type": "function",
                "function": {
                    "name": tool.get("name", ""),
                    "description": tool.get("description", ""),
                    "parameters": tool.get("input_schema") or {},
                },
            }
            for tool in list_of(body.get("tools"), "tools")
        ]
        model = str(body.get("model") or "rehearsal")
        return RehearsalRequest(tuple(messages), tuple(tools), model, body.get("stream") is True, max_tokens=limit)

    def whole(self, played: PlayedAnswer, request: RehearsalRequest, ident: str) -> dict[str, Any]:
        """A message."""
        answer = played.answer
        content: list[dict[str, Any]] = []
        if answer.reasoning:
            content.append({"type": "thinking", "thinking": answer.reasoning, "signature": SIGNATURE})
        if answer.text:
            content.append({"type": "text", "text": answer.text})
        content += [{**_tool_use(call), "input": _input(call)} for call in answer.calls]
        reason = REASONS[answer.reason] if played.finishes else None
        message = {**_message(request, ident), "content": content, "stop_reason": reason}
        return {**message, "usage": usage_json(answer.usage)} if answer.usage else message

    def stream(self, played: PlayedAnswer, request: RehearsalRequest, ident: str) -> Iterator[StreamedEvent]:
        """The events of a message."""
        answer, pace = played.answer, played.pace
        usage = answer.usage or Reported(0, 0)
        started = {**_message(request, ident), "usage": usage_json(usage._replace(completion=1))}
        yield _event(pace.delay, "message_start", message=started)
        yield _event(pace.delay, "ping")
        at, index, block = pace.delay, -1, ""
        for piece in pieces(answer, pace):
            at = piece.at
            opened = "tool_use" if piece.kind == "call" else block if piece.kind == "arguments" else piece.kind
            if opened != block or piece.kind == "call":
                yield from _closed(at, index, block)
                index, block = index + 1, opened
                yield _event(at, "content_block_start", index=index, content_block=_block(piece, answer))
            if piece.kind != "call":
                yield _event(at, "content_block_delta", index=index, delta=_delta(piece))
        yield from _closed(at, index, block)
        if played.finishes:
            delta = {"stop_reason": REASONS[answer.reason], "stop_sequence": None}
            yield _event(at, "message_delta", delta=delta, usage={"output_tokens": usage.completion})
            yield _event(at, "message_stop")

    def error(self, refusal: Refusal, model: str) -> dict[str, Any]:
        """An error as Anthropic words it."""
        other = _ERRORS[500 if refusal.status >= 500 else 400]
        kind, text = _KINDS.get(refusal.kind) or _ERRORS.get(refusal.status, other)
        said = refusal.detail or text.format(model=model, asked=refusal.asked, limit=refusal.limit)
        return {"type": "error", "error": {"type": kind, "message": said}}

    def error_event(self) -> bytes:
        """An error as an event."""
        return event(self.error(Refusal(529), ""), "error")

    def models(self) -> dict[str, Any]:
        """The list of models."""
        data = [
            {"type": "model", "id": name, "display_name": name, "created_at": "1970-01-01T00:00:00Z"} for name in MODELS
        ]
        return {"data": data, "has_more": False, "first_id": MODELS[0], "last_id": MODELS[-1]}


# Reading


def _system(system: object) -> list[RehearsalMessage]:
    text, _ = content_of(system, "system")
    return [RehearsalMessage("system", text)] if text else []


def _messages(message: Json, where: str) -> list[RehearsalMessage]:
    """One message of theirs is several of ours: results stand on their own.

    So does each text: clients join neighbouring user messages into one, and only the last is what was asked.
    """
    role, content = message.get("role"), message.get("content")
    if role not in ("user", "assistant"):
        raise BadRequest(f"{where}.role: expected user or assistant, got {role!r}")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    blocks = list_of(content, f"{where}.content")
    if not blocks:
        raise BadRequest(f"{where}.content: expected text or a list of blocks")
    if role == "assistant":
        return [_assistant(blocks, where)]
    found: list[RehearsalMessage] = []
    for number, block in enumerate(blocks):
        match block.get("type"):
            case "tool_result":
                text, images = content_of(block.get("content"), f"{where}.content.{number}.content")
                call_id = str(block.get("tool_use_id", ""))
                failed = block.get("is_error") is True
                found.append(RehearsalMessage("tool", text, call_id=call_id, is_error=failed, images=images))
            case "text":
                found.append(RehearsalMessage("user", _text(block, f"{where}.content.{number}")))
            case "image":
                found.append(RehearsalMessage("user", images=((_image(block), "auto"),)))
    return found


def _assistant(blocks: list[Json], where: str) -> RehearsalMessage:
    calls, texts = [], []
    for number, block in enumerate(blocks):
        if block.get("type") == "tool_use":
            arguments = json.dumps(block.get("input") or {}, ensure_ascii=False)
            calls.append(RehearsedCall(str(block.get("name", "")), arguments, str(block.get("id", ""))))
        elif block.get("type") == "text":
            texts.append(_text(block, f"{where}.content.{number}"))
    return RehearsalMessage("assistant", "\n".join(texts), tuple(calls))


def _text(block: Json, where: str) -> str:
    text = block.get("text")
    if not isinstance(text, str) or not text.strip():
        raise BadRequest(f"{where}: text content blocks must be non-empty")
    return text


def _image(block: Json) -> str:
    source = block.get("source")
    if not isinstance(source, Mapping):
        return ""
    return str(source.get("url") or f"data:{source.get('media_type')};base64,{source.get('data')}")


# Writing


def _message(request: RehearsalRequest, ident: str) -> dict[str, Any]:
    return {
        "id": f"msg_{ident}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _event(at: float, kind: str, **body: Any) -> StreamedEvent:
    return StreamedEvent(at, event({"type": kind, **body}, kind))


def _closed(at: float, index: int, block: str) -> Iterator[StreamedEvent]:
    if block == "reasoning":
        signed = {"type": "signature_delta", "signature": SIGNATURE}
        yield _event(at, "content_block_delta", index=index, delta=signed)
    if block:
        yield _event(at, "content_block_stop", index=index)


def _block(piece: AnswerPiece, answer: RehearsedAnswer) -> dict[str, Any]:
    match piece.kind:
        case "reasoning":
            return {"type": "thinking", "thinking": "", "signature": ""}
        case "text":
            return {"type": "text", "text": ""}
    return {**_tool_use(answer.calls[piece.number]), "input": {}}


def _tool_use(call: RehearsedCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.call_id, "name": call.tool}


def _input(call: RehearsedCall) -> object:
    try:
        return json.loads(call.arguments or "{}")
    except ValueError:
        return {"arguments": call.arguments}


def _delta(piece: AnswerPiece) -> dict[str, str]:
    match piece.kind:
        case "reasoning":
            return {"type": "thinking_delta", "thinking": piece.text}
        case "text":
            return {"type": "text_delta", "text": piece.text}
    return {"type": "input_json_delta", "partial_json": piece.text}


def usage_json(usage: Reported) -> dict[str, int]:
    """Usage in Anthropic's form, where cached tokens stand beside the prompt's."""
    return {
        "input_tokens": max(usage.prompt - usage.cached - usage.cache_write, 0),
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.completion,
    }
