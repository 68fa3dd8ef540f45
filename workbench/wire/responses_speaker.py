"""Answers requests as OpenAI's Responses API does, also over websockets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, ClassVar

from workbench.models.reply_parts import ReportedUsage
from workbench.wire.answers import AnswerPiece, PacedAnswer, Refusal, WrittenAnswer, WrittenCall, answer_pieces
from workbench.wire.chat_speaker import ChatSpeaker, error_json
from workbench.wire.checked_requests import (
    BadRequest,
    CheckedRequest,
    Json,
    freeform_text,
    positive_number,
    request_of,
    schema_in,
    unpaired,
)
from workbench.wire.dialect import Dialect
from workbench.wire.earlier_responses import EARLIER, EarlierResponses, UnknownResponse, input_items
from workbench.wire.speaking import SocketSpeaker, StreamedEvent, encoded_event
from workbench.wire.tool_demands import checked_demand
from workbench.wire.values import dict_in

INCOMPLETE = {"length": "max_output_tokens", "refused": "content_filter"}

ENCRYPTED = "cmVoZWFyc2Fs"
"""The encrypted reasoning, if a request asks for it. Clients send it back. It is base64, like OpenAI's own."""

_ITEMS = {"reasoning": "reasoning", "text": "message"}
"""The type of item for a kind of piece; all other pieces belong to a call."""
_OWN = "functions"
"""The namespace of tools that have no other. Calls do not name it."""


class ResponsesSpeaker(ChatSpeaker, SocketSpeaker):
    """The protocol of `/v1/responses`. Models and errors have the same form as in chat."""

    paths: ClassVar[tuple[str, ...]] = ("/v1/responses", "/responses")
    counting: ClassVar[tuple[str, ...]] = ("/v1/responses/input_tokens", "/responses/input_tokens")

    always_reports = True

    def __init__(self, dialect: Dialect) -> None:
        super().__init__(dialect)
        self._earlier = EarlierResponses()

    def read_request(self, body: Json, path: str = "") -> CheckedRequest:
        """Read and check a request's body, with the items of the response that it continues."""
        given = body.get("input")
        if not isinstance(given, str | list) and not (given is None and body.get("generate") is False):
            raise BadRequest("input: expected text or a list of items")
        if isinstance(given, list) and not all(isinstance(item, Mapping) for item in given):
            raise BadRequest("input: expected a list of objects")
        try:
            body = {**self._earlier.resolved(body), EARLIER: body.get(EARLIER)}  # the response repeats this id
        except UnknownResponse as unknown:
            raise BadRequest(f"Previous response with id {str(unknown)!r} not found.") from None
        if not input_items(body) and body.get("generate") is not False:
            raise BadRequest("input: expected at least one item")
        schema = schema_in(body, "text", "format", "schema")
        limit = positive_number(body.get("max_output_tokens"))
        stream = body.get("stream") is True
        request = request_of(
            self.dialect.read_request(dict(body)), body, stream=stream, max_tokens=limit, schema=schema
        )
        calls, results = unpaired(request.messages)
        if calls:
            raise BadRequest(f"No tool output found for function call {calls[0]}.")
        if results:
            raise BadRequest(f"No tool call found for function call output with call_id {results[0]}.")
        return checked_demand(request)

    def full_answer(self, played: PacedAnswer, request: CheckedRequest, ident: str) -> dict[str, Any]:
        output = _output(played.answer, request, ident)
        reason = played.answer.reason if played.finishes else ""
        made = {**_response(request, ident, reason, output), **self.reported(played.answer.usage)}
        self._earlier.remember_response(request.body, made)
        return made

    def stream(self, played: PacedAnswer, request: CheckedRequest, ident: str) -> Iterator[StreamedEvent]:
        """The answer as server-sent events."""
        for at, body in self.events(played, request, ident):
            yield StreamedEvent(at, encoded_event(body, body["type"]))

    def events(
        self, played: PacedAnswer, request: CheckedRequest, ident: str
    ) -> Iterator[tuple[float, dict[str, Any]]]:
        """The numbered events of a response, and the time at which each is due."""
        for number, (at, body) in enumerate(self._events(played, request, ident)):
            yield at, {**body, "sequence_number": number}

    def _events(
        self, played: PacedAnswer, request: CheckedRequest, ident: str
    ) -> Iterator[tuple[float, dict[str, Any]]]:
        answer, at = played.answer, played.pace.delay
        begun = _response(request, ident, "", [])
        yield at, {"type": "response.created", "response": begun}
        yield at, {"type": "response.in_progress", "response": begun}
        output = _output(answer, request, ident)
        grouped = groupby(answer_pieces(answer, played.pace), lambda each: (_ITEMS.get(each.kind, "call"), each.number))
        for index, (_, group) in enumerate(grouped):
            found = list(group)
            at = found[-1].at
            yield from _item(output[index], index, found)
        if played.finishes:
            made = self.full_answer(played, request, ident)
            yield at, {"type": f"response.{made['status']}", "response": made}

    def prewarmed(self, request: CheckedRequest, ident: str, tokens: int) -> Iterator[dict[str, Any]]:
        """The answer to a request that only prepares the next one: nothing is generated."""
        made = {**_response(request, ident, "stop", []), **self.reported(ReportedUsage(tokens, 0))}
        self._earlier.remember_response(request.body, made)
        yield {"type": "response.created", "response": {**made, "status": "in_progress"}, "sequence_number": 0}
        yield {"type": "response.completed", "response": made, "sequence_number": 1}

    def counted(self, tokens: int) -> dict[str, Any]:
        """The answer to a request that only counts tokens."""
        return {"object": "response.input_tokens", "input_tokens": tokens}

    def error_event(self) -> bytes:
        return encoded_event(self.error_frame(Refusal(500), ""), "error")

    def late_error_event(self, body: dict[str, Any], status: int) -> bytes:
        """Turn the body of an error into an event, with its fields repeated at the top level."""
        error = dict_in(body, "error")
        flat = {key: error.get(key) for key in ("code", "message", "param")}
        return encoded_event({"type": "error", "status": status, **body, **flat}, "error")

    def error_frame(self, refusal: Refusal, model: str) -> dict[str, Any]:
        """An error as an event of a websocket, which has no HTTP status."""
        error = error_json(refusal, model)
        flat = {key: error["error"][key] for key in ("code", "message", "param")}
        waiting = {} if refusal.wait is None else {"headers": {"retry-after": str(refusal.wait)}}
        return {"type": "error", "status": refusal.status, **error, **flat, **waiting}


# Writing


def _response(request: CheckedRequest, ident: str, reason: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    """A response; without a reason it is still in progress."""
    why = INCOMPLETE.get(reason)
    body = {key: request.body.get(key) for key in ("instructions", "max_output_tokens", "temperature", "top_p")}
    return {
        "id": f"resp_{ident}",
        "object": "response",
        "created_at": 0,
        "status": "incomplete" if why else "completed" if reason else "in_progress",
        "error": None,
        "incomplete_details": {"reason": why} if why else None,
        **body,
        "model": request.model,
        "output": output,
        "parallel_tool_calls": request.body.get("parallel_tool_calls") is not False,
        EARLIER: request.body.get(EARLIER),
        "reasoning": {"effort": None, "summary": None},
        "store": request.body.get("store") is not False,
        "text": {"format": {"type": "text"}},
        "tool_choice": request.body.get("tool_choice") or "auto",
        "tools": request.body.get("tools") or [],
        "truncation": "disabled",
        "metadata": request.body.get("metadata") or {},
    }


def _output(answer: WrittenAnswer, request: CheckedRequest, ident: str) -> list[dict[str, Any]]:
    """The items of an answer, in the order of its pieces."""
    items: list[dict[str, Any]] = []
    if answer.reasoning:
        summary = [{"type": "summary_text", "text": answer.reasoning}]
        wanted = "reasoning.encrypted_content" in (request.body.get("include") or ())
        secret = {"encrypted_content": ENCRYPTED} if wanted else {}
        items.append({"type": "reasoning", "id": f"rs_{ident}", "summary": summary, **secret})
    if answer.text:
        items.append(
            {
                "type": "message",
                "id": f"msg_{ident}",
                "status": "completed",
                "role": "assistant",
                "content": [{"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}],
            }
        )
    return items + [_call(call, request, f"{ident}_{number}") for number, call in enumerate(answer.calls)]


def _call(call: WrittenCall, request: CheckedRequest, ident: str) -> dict[str, Any]:
    space, _, name = call.tool.rpartition(".")
    named = {"name": name, **({"namespace": space} if space not in ("", _OWN) else {})}
    common = {"status": "completed", "call_id": call.call_id, **named}
    if request.is_freeform(call.tool):
        return {"type": "custom_tool_call", "id": f"ctc_{ident}", **common, "input": freeform_text(call.arguments)}
    return {"type": "function_call", "id": f"fc_{ident}", **common, "arguments": call.arguments}


_EMPTY: dict[str, dict[str, Any]] = {
    "reasoning": {"summary": []},
    "message": {"status": "in_progress", "content": []},
    "function_call": {"status": "in_progress", "arguments": ""},
    "custom_tool_call": {"status": "in_progress", "input": ""},
}
"""The fields of an item when it begins."""


def _item(item: dict[str, Any], index: int, found: list[AnswerPiece]) -> Iterator[tuple[float, dict[str, Any]]]:
    first, last, kind = found[0].at, found[-1].at, item["type"]
    place = {"item_id": item["id"], "output_index": index}
    yield first, {"type": "response.output_item.added", "output_index": index, "item": {**item, **_EMPTY[kind]}}
    match kind:
        case "reasoning":
            yield from _part(
                found,
                {**place, "summary_index": 0},
                item["summary"][0],
                "reasoning_summary_part",
                "reasoning_summary_text",
            )
        case "message":
            yield from _part(found, {**place, "content_index": 0}, item["content"][0], "content_part", "output_text")
        case "function_call":
            name = "response.function_call_arguments"
            for piece in found[1:]:
                yield piece.at, {"type": f"{name}.delta", **place, "delta": piece.text}
            yield last, {"type": f"{name}.done", **place, "name": item["name"], "arguments": item["arguments"]}
        case "custom_tool_call":
            name = "response.custom_tool_call_input"
            yield last, {"type": f"{name}.delta", **place, "delta": item["input"]}
            yield last, {"type": f"{name}.done", **place, "input": item["input"]}
    yield last, {"type": "response.output_item.done", "output_index": index, "item": item}


def _part(
    found: list[AnswerPiece], place: dict[str, Any], part: dict[str, Any], whole: str, text: str
) -> Iterator[tuple[float, dict[str, Any]]]:
    """The events of an item's text."""
    logs: dict[str, Any] = {"logprobs": []} if "logprobs" in part else {}
    yield found[0].at, {"type": f"response.{whole}.added", **place, "part": {**part, "text": ""}}
    for piece in found:
        yield piece.at, {"type": f"response.{text}.delta", **place, "delta": piece.text, **logs}
    yield found[-1].at, {"type": f"response.{text}.done", **place, "text": part["text"], **logs}
    yield found[-1].at, {"type": f"response.{whole}.done", **place, "part": part}
