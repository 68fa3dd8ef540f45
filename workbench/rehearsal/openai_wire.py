"""OpenAI's dialect: chat completions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workbench.models.reply_parts import Reported
from workbench.rehearsal.answers import Answer, Call, Pace, Piece, pieces
from workbench.rehearsal.faults import Refusal
from workbench.rehearsal.request import Json, Request, from_openai
from workbench.rehearsal.wire import MODELS, Frame, event

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

    def read(self, body: Json) -> Request:
        """The request in a body."""
        return from_openai(body)

    def whole(self, answer: Answer, request: Request, ident: str, finish: bool = True) -> dict[str, Any]:
        """A chat completion."""
        message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
        if answer.reasoning:
            message["reasoning_content"] = answer.reasoning
        if answer.calls:
            message["tool_calls"] = message_calls(answer)
        choice = {"index": 0, "message": message, "finish_reason": REASONS[answer.reason] if finish else None}
        body = {**_envelope(request, ident, "chat.completion"), "choices": [choice]}
        return {**body, "usage": usage_json(answer.usage)} if answer.usage else body

    def frames(self, answer: Answer, pace: Pace, request: Request, ident: str, finish: bool = True) -> Iterator[Frame]:
        """Chunks of a chat completion."""
        envelope = _envelope(request, ident, "chat.completion.chunk")

        def chunk(at: float, delta: dict[str, Any], reason: str | None = None) -> Frame:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
            return Frame(at, event({**envelope, "choices": [choice]}))

        at = pace.delay
        yield chunk(at, {"role": "assistant", "content": ""})
        for piece in pieces(answer, pace):
            at = piece.at
            yield chunk(at, delta_json(piece, answer))
        if not finish:
            return
        yield chunk(at, {}, REASONS[answer.reason])
        if request.include_usage and answer.usage:
            yield Frame(at, event({**envelope, "choices": [], "usage": usage_json(answer.usage)}))
        yield Frame(at, b"data: [DONE]\n\n")

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

    def error_frame(self) -> bytes:
        """An error as a chunk."""
        return event(_error(_ERRORS[500][2], "server_error", None))

    def models(self) -> dict[str, Any]:
        """The list of models."""
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "workbench"} for name in MODELS]
        return {"object": "list", "data": data}


def _envelope(request: Request, ident: str, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{ident}", "object": kind, "created": 0, "model": request.model}


def _begun(call: Call) -> dict[str, Any]:
    return {"id": call.call_id, "type": "function", "function": {"name": call.tool, "arguments": ""}}


def _function(call: Call) -> dict[str, str]:
    return {"name": call.tool, "arguments": call.arguments}


def delta_json(piece: Piece, answer: Answer) -> dict[str, Any]:
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


def message_calls(answer: Answer) -> list[dict[str, Any]]:
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
