"""Answers requests as Gemini's API does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from workbench.wire.answers import AnswerPiece, PacedAnswer, Refusal, WrittenCall, answer_pieces
from workbench.wire.checked_requests import (
    BadRequest,
    CheckedRequest,
    Json,
    input_of,
    list_of,
    positive_number,
    request_of,
    unpaired,
)
from workbench.wire.speaking import MODELS, DialectSpeaker, StreamedEvent, encoded_event
from workbench.wire.tool_demands import checked_demand
from workbench.wire.values import either

REASONS = {"stop": "STOP", "length": "MAX_TOKENS", "tool_calls": "STOP", "refused": "SAFETY"}

SIGNATURE = "cmVoZWFyc2Fs"
"""The signature of the thought behind a call. Clients send it back with the call. It is base64, like Google's own."""

LIMITS = {"inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536}

_ERRORS = {
    400: ("INVALID_ARGUMENT", "Request contains an invalid argument."),
    401: ("UNAUTHENTICATED", "Request had invalid authentication credentials."),
    403: ("PERMISSION_DENIED", "The caller does not have permission."),
    404: ("NOT_FOUND", "models/{model} is not found for API version v1beta."),
    413: ("INVALID_ARGUMENT", "Request payload size exceeds the limit."),
    429: ("RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
    500: ("INTERNAL", "An internal error has occurred."),
    503: ("UNAVAILABLE", "The model is overloaded. Please try again later."),
    529: ("UNAVAILABLE", "The model is overloaded. Please try again later."),
}
_KINDS = {
    "context": (
        "INVALID_ARGUMENT",
        "The input token count ({asked}) exceeds the maximum number of tokens allowed ({limit}).",
    ),
    "quota": ("RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details."),
    "policy": ("INVALID_ARGUMENT", "The prompt was blocked: PROHIBITED_CONTENT."),
}
_VERSIONS = ("/v1beta", "/v1")


class GeminiSpeaker(DialectSpeaker):
    """The protocol of `/v1beta/models/MODEL:generateContent`."""

    paths: ClassVar[tuple[str, ...]] = tuple(
        f"{version}/models/{{model}}:{verb}"
        for version in _VERSIONS
        for verb in ("generateContent", "streamGenerateContent")
    )
    counting: ClassVar[tuple[str, ...]] = tuple(f"{version}/models/{{model}}:countTokens" for version in _VERSIONS)

    def read_request(self, body: Json, path: str = "") -> CheckedRequest:
        """Read and check a request's body. The path has the model, and whether the answer is streamed."""
        model, _, verb = path.rpartition("/")[2].partition(":")
        inner = body.get("generateContentRequest")
        body = inner if isinstance(inner, Mapping) else body
        if not list_of(body.get("contents"), "contents"):
            raise BadRequest("* GenerateContentRequest.contents: contents is not specified")
        config = either(body, "generationConfig")
        config = config if isinstance(config, Mapping) else {}
        schema = next((config[key] for key in _SCHEMAS if isinstance(config.get(key), Mapping)), None)
        if schema is None and either(config, "responseMimeType") == "application/json":
            schema = {"type": "object"}
        request = request_of(
            self.dialect.read_request(dict(body)),
            body,
            model=model or "rehearsal",
            stream=verb == "streamGenerateContent",
            max_tokens=positive_number(either(config, "maxOutputTokens")),
            schema=schema,
        )
        if any(unpaired(request.messages)):
            raise BadRequest(
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn."
            )
        return checked_demand(request)

    def full_answer(self, played: PacedAnswer, request: CheckedRequest, ident: str) -> dict[str, Any]:
        answer = played.answer
        parts: list[dict[str, Any]] = []
        if answer.reasoning:
            parts.append({"text": answer.reasoning, "thought": True})
        if answer.text:
            parts.append({"text": answer.text})
        parts += [_call(call) for call in answer.calls]
        reason = REASONS[answer.reason] if played.finishes else ""
        return {**_content(request, ident, parts, reason), **self.reported(answer.usage)}

    def stream(self, played: PacedAnswer, request: CheckedRequest, ident: str) -> Iterator[StreamedEvent]:
        """The answer as pieces of a candidate. A call is sent whole; the last piece has the finish reason."""
        found = list(_parts(played))
        for number, (at, part) in enumerate(found, 1):
            last = number == len(found) and played.finishes
            reason = REASONS[played.answer.reason] if last else ""
            reported = self.reported(played.answer.usage if last else None)
            yield StreamedEvent(at, encoded_event({**_content(request, ident, [part], reason), **reported}))

    def error(self, refusal: Refusal, model: str) -> dict[str, Any]:
        """The body of an error, in Google's words."""
        other = _ERRORS[500 if refusal.status >= 500 else 400]
        status, text = _KINDS.get(refusal.kind) or _ERRORS.get(refusal.status, other)
        message = refusal.detail or text.format(model=model, asked=refusal.asked, limit=refusal.limit)
        found: dict[str, Any] = {"code": refusal.status, "message": message, "status": status}
        if refusal.wait is not None:
            retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{refusal.wait}s"}
            found["details"] = [retry]
        return {"error": found}

    def error_event(self) -> bytes:
        return encoded_event(self.error(Refusal(503), ""))

    def counted(self, tokens: int) -> dict[str, Any]:
        """The answer to a request that only counts tokens."""
        return {"totalTokens": tokens}

    def model(self, name: str) -> dict[str, Any]:
        methods = ["generateContent", "countTokens"]
        return {"name": f"models/{name}", "displayName": name, **LIMITS, "supportedGenerationMethods": methods}

    def models(self) -> dict[str, Any]:
        return {"models": [self.model(name) for name in MODELS]}


_SCHEMAS = ("responseJsonSchema", "responseSchema", "response_json_schema", "response_schema")


def _content(request: CheckedRequest, ident: str, parts: list[dict[str, Any]], reason: str) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if reason:
        candidate["finishReason"] = reason
    return {"candidates": [candidate], "modelVersion": request.model, "responseId": ident}


def _parts(played: PacedAnswer) -> Iterator[tuple[float, dict[str, Any]]]:
    found: list[AnswerPiece] = list(answer_pieces(played.answer, played.pace))
    for number, piece in enumerate(found):
        following = found[number + 1] if number + 1 < len(found) else None
        if piece.kind in ("call", "arguments"):
            if following is None or following.number != piece.number:
                yield piece.at, _call(played.answer.calls[piece.number])
        else:
            yield piece.at, {"text": piece.text, **({"thought": True} if piece.kind == "reasoning" else {})}
    if not found:
        yield played.pace.delay, {"text": ""}


def _call(call: WrittenCall) -> dict[str, Any]:
    function = {"id": call.call_id, "name": call.tool, "args": input_of(call)}
    return {"functionCall": function, "thoughtSignature": SIGNATURE}
