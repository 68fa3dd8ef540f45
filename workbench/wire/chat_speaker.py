"""Answers requests as OpenAI's chat completions API does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from workbench.wire.answers import AnswerPiece, PacedAnswer, Refusal, WrittenAnswer, WrittenCall, answer_pieces
from workbench.wire.checked_requests import (
    BadRequest,
    CheckedMessage,
    CheckedRequest,
    Json,
    check_pairs,
    checked_content,
    freeform_json,
    freeform_text,
    function_of,
    list_of,
    positive_number,
    schema_in,
)
from workbench.wire.speaking import MODELS, DialectSpeaker, StreamedEvent, encoded_event
from workbench.wire.tool_demands import checked_demand

REASONS = {"stop": "stop", "length": "length", "tool_calls": "tool_calls", "refused": "content_filter"}

_ERRORS: dict[int, tuple[str, str | None, str]] = {
    401: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    403: (
        "invalid_request_error",
        "unsupported_country_region_territory",
        "Country, region, or territory not supported.",
    ),
    404: (
        "invalid_request_error",
        "model_not_found",
        "The model `{model}` does not exist or you do not have access to it.",
    ),
    413: ("invalid_request_error", "request_too_large", "The request body is too large."),
    429: ("requests", "rate_limit_exceeded", "Rate limit reached for {model}. Please try again in {wait}s."),
    500: ("server_error", None, "The server had an error while processing your request. Sorry about that!"),
    503: ("server_error", None, "The engine is currently overloaded, please try again later."),
    529: ("server_error", None, "The engine is currently overloaded, please try again later."),
}
_CONTEXT = (
    "This model's maximum context length is {limit} tokens. However, your messages resulted in {asked} tokens. "
    "Please reduce the length of the messages."
)
_QUOTA = "You exceeded your current quota, please check your plan and billing details."
_POLICY = "Your request was rejected as a result of our safety system."


class ChatSpeaker(DialectSpeaker):
    """The protocol of `/v1/chat/completions`."""

    paths: ClassVar[tuple[str, ...]] = ("/v1/chat/completions", "/chat/completions", "/v1beta/openai/chat/completions")
    always_reports = False

    def read_request(self, body: Json, path: str = "") -> CheckedRequest:
        given = list_of(body.get("messages"), "messages")
        if not given:
            raise BadRequest("messages: expected at least one message")
        messages = [_message(each, f"messages[{number}]") for number, each in enumerate(given)]
        check_pairs(messages)
        options = body.get("stream_options")
        request = CheckedRequest(
            tuple(messages),
            tuple(list_of(body.get("tools"), "tools")),
            model=str(body.get("model") or "rehearsal"),
            stream=body.get("stream") is True,
            include_usage=isinstance(options, Mapping) and options.get("include_usage") is True,
            max_tokens=positive_number(body.get("max_completion_tokens") or body.get("max_tokens")),
            schema=schema_in(body, "response_format", "json_schema", "schema"),
            body=body,
        )
        return checked_demand(request)

    def full_answer(self, played: PacedAnswer, request: CheckedRequest, ident: str) -> dict[str, Any]:
        """The answer as one chat completion."""
        answer = played.answer
        message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
        if answer.reasoning:
            message["reasoning_content"] = answer.reasoning
        if answer.calls:
            message["tool_calls"] = [_called(call, request) for call in answer.calls]
        choice = {"index": 0, "message": message, "finish_reason": REASONS[answer.reason] if played.finishes else None}
        body = {**_envelope(request, ident, "chat.completion"), "choices": [choice]}
        return {**body, **self.reported(answer.usage)}

    def stream(self, played: PacedAnswer, request: CheckedRequest, ident: str) -> Iterator[StreamedEvent]:
        """The answer as chunks of a chat completion."""
        answer = played.answer
        envelope = _envelope(request, ident, "chat.completion.chunk")

        def chunk(at: float, delta: dict[str, Any], reason: str | None = None) -> StreamedEvent:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
            return StreamedEvent(at, encoded_event({**envelope, "choices": [choice]}))

        at = played.pace.delay
        yield chunk(at, {"role": "assistant", "content": ""})
        for piece in answer_pieces(answer, played.pace):
            at = piece.at
            delta = delta_json(piece, answer)
            if piece.kind in ("call", "arguments") and request.is_freeform(answer.calls[piece.number].tool):
                if piece.kind == "arguments":  # the pieces are JSON, but a freeform tool gets plain text
                    continue
                delta = {"tool_calls": [{"index": piece.number, **_called(answer.calls[piece.number], request)}]}
            yield chunk(at, delta)
        if not played.finishes:
            return
        yield chunk(at, {}, REASONS[answer.reason])
        if request.include_usage and answer.usage:
            yield StreamedEvent(at, encoded_event({**envelope, "choices": [], **self.reported(answer.usage)}))
        yield StreamedEvent(at, b"data: [DONE]\n\n")

    def error(self, refusal: Refusal, model: str) -> dict[str, Any]:
        """The body of an error, in OpenAI's words."""
        return error_json(refusal, model)

    def error_event(self) -> bytes:
        return encoded_event(error_json(Refusal(500), ""))

    def counted(self, tokens: int) -> dict[str, Any]:
        """A form made up here: this API has no request that only counts tokens."""
        return {"input_tokens": tokens}

    def model(self, name: str) -> dict[str, Any]:
        return {"id": name, "object": "model", "created": 0, "owned_by": "workbench"}

    def models(self) -> dict[str, Any]:
        return {"object": "list", "data": [self.model(name) for name in MODELS]}


def error_json(refusal: Refusal, model: str) -> dict[str, Any]:
    """An error in the form that all of OpenAI's APIs use."""
    match refusal.kind:
        case "context":
            text = _CONTEXT.format(limit=refusal.limit, asked=refusal.asked)
            return _error(text, "invalid_request_error", "context_length_exceeded", "messages")
        case "quota":
            return _error(_QUOTA, "insufficient_quota", "insufficient_quota")
        case "policy":
            return _error(_POLICY, "invalid_request_error", "content_policy_violation")
    other = _ERRORS[500] if refusal.status >= 500 else ("invalid_request_error", None, "The request is not accepted.")
    kind, code, text = _ERRORS.get(refusal.status, other)
    return _error(refusal.detail or text.format(model=model, wait=refusal.wait), kind, code)


# Reading


def _message(message: Json, where: str) -> CheckedMessage:
    role = message.get("role")
    if role not in ("system", "developer", "user", "assistant", "tool"):
        raise BadRequest(f"{where}.role: expected system, developer, user, assistant or tool, got {role!r}")
    texts, images = checked_content(message.get("content"), f"{where}.content")
    calls = tuple(
        _call(each, f"{where}.tool_calls[{number}]")
        for number, each in enumerate(list_of(message.get("tool_calls"), f"{where}.tool_calls"))
    )
    if role == "tool" and not isinstance(message.get("tool_call_id"), str):
        raise BadRequest(f"{where}.tool_call_id: expected the id of a call")
    if message.get("content") is None and not calls:
        raise BadRequest(f"{where}.content: expected text or a list of parts, got null")
    call_id = str(message.get("tool_call_id") or "")
    name = str(message.get("name") or "")
    return CheckedMessage(role, "\n".join(texts), calls, call_id, name=name, images=images, texts=texts)


def _call(call: Json, where: str) -> WrittenCall:
    function = function_of(call)
    name, arguments = function.get("name"), function.get("arguments", "")
    if call.get("type") == "custom":
        arguments = freeform_json(str(function.get("input", "")))
    if not isinstance(name, str) or not name or not isinstance(arguments, str):
        raise BadRequest(f"{where}.function: expected a name and arguments as text")
    return WrittenCall(name, arguments, str(call.get("id") or ""))


# Writing


def _envelope(request: CheckedRequest, ident: str, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{ident}", "object": kind, "created": 0, "model": request.model}


def _begun(call: WrittenCall) -> dict[str, Any]:
    return {"id": call.call_id, "type": "function", "function": {"name": call.tool, "arguments": ""}}


def _called(call: WrittenCall, request: CheckedRequest) -> dict[str, Any]:
    """A whole call, in the form that a message has it."""
    if request.is_freeform(call.tool):
        return {
            "id": call.call_id,
            "type": "custom",
            "custom": {"name": call.tool, "input": freeform_text(call.arguments)},
        }
    return {**_begun(call), "function": {"name": call.tool, "arguments": call.arguments}}


def delta_json(piece: AnswerPiece, answer: WrittenAnswer) -> dict[str, Any]:
    """Convert a piece to the delta of a chunk."""
    match piece.kind:
        case "reasoning":
            return {"reasoning_content": piece.text}
        case "text":
            return {"content": piece.text}
        case "call":
            return {"tool_calls": [{"index": piece.number, **_begun(answer.calls[piece.number])}]}
        case "arguments":
            return {"tool_calls": [{"index": piece.number, "function": {"arguments": piece.text}}]}


def _error(text: str, kind: str, code: str | None, param: str | None = None) -> dict[str, Any]:
    return {"error": {"message": text, "type": kind, "param": param, "code": code}}
