"""OpenAI's dialect: chat completions."""

from __future__ import annotations

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
    function_of,
    list_of,
)

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


class OpenAI:
    """The protocol of `/v1/chat/completions`."""

    paths: tuple[str, ...] = ("/v1/chat/completions", "/chat/completions")
    header = ""

    def read(self, body: Json) -> RehearsalRequest:
        """The request in a body."""
        given = list_of(body.get("messages"), "messages")
        if not given:
            raise BadRequest("messages: expected at least one message")
        messages = [_message(each, f"messages[{number}]") for number, each in enumerate(given)]
        check_pairs(messages)
        options = body.get("stream_options")
        limit = body.get("max_completion_tokens") or body.get("max_tokens")
        return RehearsalRequest(
            tuple(messages),
            tuple(list_of(body.get("tools"), "tools")),
            model=str(body.get("model") or "rehearsal"),
            stream=body.get("stream") is True,
            include_usage=isinstance(options, Mapping) and options.get("include_usage") is True,
            max_tokens=limit if isinstance(limit, int) and limit > 0 else None,
        )

    def whole(self, played: PlayedAnswer, request: RehearsalRequest, ident: str) -> dict[str, Any]:
        """A chat completion."""
        answer = played.answer
        message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
        if answer.reasoning:
            message["reasoning_content"] = answer.reasoning
        if answer.calls:
            message["tool_calls"] = message_calls(answer)
        choice = {"index": 0, "message": message, "finish_reason": REASONS[answer.reason] if played.finishes else None}
        body = {**_envelope(request, ident, "chat.completion"), "choices": [choice]}
        return {**body, "usage": usage_json(answer.usage)} if answer.usage else body

    def stream(self, played: PlayedAnswer, request: RehearsalRequest, ident: str) -> Iterator[StreamedEvent]:
        """Chunks of a chat completion."""
        answer = played.answer
        envelope = _envelope(request, ident, "chat.completion.chunk")

        def chunk(at: float, delta: dict[str, Any], reason: str | None = None) -> StreamedEvent:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
            return StreamedEvent(at, event({**envelope, "choices": [choice]}))

        at = played.pace.delay
        yield chunk(at, {"role": "assistant", "content": ""})
        for piece in pieces(answer, played.pace):
            at = piece.at
            yield chunk(at, delta_json(piece, answer))
        if not played.finishes:
            return
        yield chunk(at, {}, REASONS[answer.reason])
        if request.include_usage and answer.usage:
            yield StreamedEvent(at, event({**envelope, "choices": [], "usage": usage_json(answer.usage)}))
        yield StreamedEvent(at, b"data: [DONE]\n\n")

    def error(self, refusal: Refusal, model: str) -> dict[str, Any]:
        """An error as OpenAI words it."""
        match refusal.kind:
            case "context":
                text = _CONTEXT.format(limit=refusal.limit, asked=refusal.asked)
                return _error(text, "invalid_request_error", "context_length_exceeded", "messages")
            case "quota":
                return _error(_QUOTA, "insufficient_quota", "insufficient_quota")
            case "policy":
                return _error(_POLICY, "invalid_request_error", "content_policy_violation")
        other = (
            _ERRORS[500] if refusal.status >= 500 else ("invalid_request_error", None, "The request is not accepted.")
        )
        kind, code, text = _ERRORS.get(refusal.status, other)
        return _error(refusal.detail or text.format(model=model, wait=refusal.wait), kind, code)

    def error_event(self) -> bytes:
        """An error as a chunk."""
        return event(_error(_ERRORS[500][2], "server_error", None))

    def models(self) -> dict[str, Any]:
        """The list of models."""
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "workbench"} for name in MODELS]
        return {"object": "list", "data": data}


# Reading


def _message(message: Json, where: str) -> RehearsalMessage:
    role = message.get("role")
    if role not in ("system", "developer", "user", "assistant", "tool"):
        raise BadRequest(f"{where}.role: expected system, developer, user, assistant or tool, got {role!r}")
    text, images = content_of(message.get("content"), f"{where}.content")
    calls = tuple(
        _call(each, f"{where}.tool_calls[{number}]")
        for number, each in enumerate(list_of(message.get("tool_calls"), f"{where}.tool_calls"))
    )
    if role == "tool" and not isinstance(message.get("tool_call_id"), str):
        raise BadRequest(f"{where}.tool_call_id: expected the id of a call")
    if message.get("content") is None and not calls:
        raise BadRequest(f"{where}.content: expected text or a list of parts, got null")
    call_id = str(message.get("tool_call_id") or "")
    return RehearsalMessage(role, text, calls, call_id, name=str(message.get("name") or ""), images=images)


def _call(call: Json, where: str) -> RehearsedCall:
    function = function_of(call)
    name, arguments = function.get("name"), function.get("arguments", "")
    if not isinstance(name, str) or not name or not isinstance(arguments, str):
        raise BadRequest(f"{where}.function: expected a name and arguments as text")
    return RehearsedCall(name, arguments, str(call.get("id") or ""))


# Writing


def _envelope(request: RehearsalRequest, ident: str, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{ident}", "object": kind, "created": 0, "model": request.model}


def _begun(call: RehearsedCall) -> dict[str, Any]:
    return {"id": call.call_id, "type": "function", "function": {"name": call.tool, "arguments": ""}}


def _function(call: RehearsedCall) -> dict[str, str]:
    return {"name": call.tool, "arguments": call.arguments}


def delta_json(piece: AnswerPiece, answer: RehearsedAnswer) -> dict[str, Any]:
    """A piece as the delta of a chunk."""
    match piece.kind:
        case "reasoning":
            return {"reasoning_content": piece.text}
        case "text":
            return {"content": piece.text}
        case "call":
            return {"tool_calls": [{"index": piece.number, **_begun(answer.calls[piece.number])}]}
        case "arguments":
            return {"tool_calls": [{"index": piece.number, "function": {"arguments": piece.text}}]}


def message_calls(answer: RehearsedAnswer) -> list[dict[str, Any]]:
    """The calls of a whole message."""
    return [{**_begun(call), "function": _function(call)} for call in answer.calls]


def usage_json(usage: Reported) -> dict[str, Any]:
    """Usage in OpenAI's form, where cached tokens are a part of the prompt's."""
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning, "audio_tokens": 0},
    }


def _error(text: str, kind: str, code: str | None, param: str | None = None) -> dict[str, Any]:
    return {"error": {"message": text, "type": kind, "param": param, "code": code}}
