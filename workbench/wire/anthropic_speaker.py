"""Answers requests as Anthropic's Messages API does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from workbench.models.reply_parts import ReportedUsage
from workbench.wire.answers import AnswerPiece, PacedAnswer, Refusal, WrittenAnswer, WrittenCall, answer_pieces
from workbench.wire.checked_requests import (
    BadRequest,
    CheckedRequest,
    Json,
    check_pairs,
    input_of,
    list_of,
    positive_number,
    request_of,
    schema_in,
)
from workbench.wire.speaking import MODELS, DialectSpeaker, StreamedEvent, encoded_event
from workbench.wire.tool_demands import checked_demand

REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "refused": "refusal"}

SIGNATURE = "cmVoZWFyc2Fs"
"""The signature of a thinking block. Clients send it back with the block. It is base64, like Anthropic's own."""

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


class AnthropicSpeaker(DialectSpeaker):
    """The protocol of `/v1/messages`."""

    paths: ClassVar[tuple[str, ...]] = ("/v1/messages", "/messages")
    counting: ClassVar[tuple[str, ...]] = ("/v1/messages/count_tokens", "/messages/count_tokens")

    def read_request(self, body: Json, path: str = "") -> CheckedRequest:
        limit = positive_number(body.get("max_tokens"))
        if limit is None and path not in self.counting:
            raise BadRequest("max_tokens: Field required")
        given = list_of(body.get("messages"), "messages")
        if not given:
            raise BadRequest("messages: at least one message is required")
        for number, message in enumerate(given):
            _check(message, f"messages.{number}")
        schema = schema_in(body, "output_config", "format", "schema") or schema_in(body, "output_format", "schema")
        stream = body.get("stream") is True
        request = request_of(
            self.dialect.read_request(dict(body)), body, stream=stream, max_tokens=limit, schema=schema
        )
        check_pairs(request.messages)
        return checked_demand(request)

    def full_answer(self, played: PacedAnswer, request: CheckedRequest, ident: str) -> dict[str, Any]:
        answer = played.answer
        content: list[dict[str, Any]] = []
        if answer.reasoning:
            content.append({"type": "thinking", "thinking": answer.reasoning, "signature": SIGNATURE})
        if answer.text:
            content.append({"type": "text", "text": answer.text})
        content += [{**_tool_use(call), "input": input_of(call)} for call in answer.calls]
        reason = REASONS[answer.reason] if played.finishes else None
        message = {**_message(request, ident), "content": content, "stop_reason": reason}
        return {**message, **self.reported(answer.usage)}

    def stream(self, played: PacedAnswer, request: CheckedRequest, ident: str) -> Iterator[StreamedEvent]:
        """The answer as the events of a message."""
        answer, pace = played.answer, played.pace
        usage = answer.usage or ReportedUsage(0, 0)
        started = {**_message(request, ident), **self.reported(usage._replace(completion=1))}
        yield _event(pace.delay, "message_start", message=started)
        yield _event(pace.delay, "ping")
        at, index, block = pace.delay, -1, ""
        for piece in answer_pieces(answer, pace):
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
        """The body of an error, in Anthropic's words."""
        other = _ERRORS[500 if refusal.status >= 500 else 400]
        kind, text = _KINDS.get(refusal.kind) or _ERRORS.get(refusal.status, other)
        message = refusal.detail or text.format(model=model, asked=refusal.asked, limit=refusal.limit)
        return {"type": "error", "error": {"type": kind, "message": message}}

    def error_event(self) -> bytes:
        return encoded_event(self.error(Refusal(529), ""), "error")

    def late_error_event(self, error: dict[str, Any], status: int) -> bytes:
        """Turn the body of an error into an event."""
        return encoded_event(error, "error")

    def counted(self, tokens: int) -> dict[str, Any]:
        """The answer to a request that only counts tokens."""
        return {"input_tokens": tokens}

    def model(self, name: str) -> dict[str, Any]:
        return {"type": "model", "id": name, "display_name": name, "created_at": "1970-01-01T00:00:00Z"}

    def models(self) -> dict[str, Any]:
        data = [self.model(name) for name in MODELS]
        return {"data": data, "has_more": False, "first_id": MODELS[0], "last_id": MODELS[-1]}


# Reading


def _check(message: Json, where: str) -> None:
    role, content = message.get("role"), message.get("content")
    if role not in ("user", "assistant", "system"):
        raise BadRequest(f"{where}.role: expected user, assistant or system, got {role!r}")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    blocks = list_of(content, f"{where}.content")
    if not blocks and role != "system":  # clients send empty system messages
        raise BadRequest(f"{where}.content: expected text or a list of blocks")
    for number, block in enumerate(blocks):
        if block.get("type") == "text" and not str(block.get("text") or "").strip():
            raise BadRequest(f"{where}.content.{number}: text content blocks must be non-empty")


# Writing


def _message(request: CheckedRequest, ident: str) -> dict[str, Any]:
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
    return StreamedEvent(at, encoded_event({"type": kind, **body}, kind))


def _closed(at: float, index: int, block: str) -> Iterator[StreamedEvent]:
    if block == "reasoning":
        signed = {"type": "signature_delta", "signature": SIGNATURE}
        yield _event(at, "content_block_delta", index=index, delta=signed)
    if block:
        yield _event(at, "content_block_stop", index=index)


def _block(piece: AnswerPiece, answer: WrittenAnswer) -> dict[str, Any]:
    match piece.kind:
        case "reasoning":
            return {"type": "thinking", "thinking": "", "signature": ""}
        case "text":
            return {"type": "text", "text": ""}
    return {**_tool_use(answer.calls[piece.number]), "input": {}}


def _tool_use(call: WrittenCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.call_id, "name": call.tool}


def _delta(piece: AnswerPiece) -> dict[str, str]:
    match piece.kind:
        case "reasoning":
            return {"type": "thinking_delta", "thinking": piece.text}
        case "text":
            return {"type": "text_delta", "text": piece.text}
    return {"type": "input_json_delta", "partial_json": piece.text}
