"""Takes spans that instrumented agents export to the proxy: OTLP over HTTP, `POST /v1/traces`.

What becomes part of a session are the calls of models; all other spans are accepted and forgotten.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from aiohttp import web

from workbench.config.background import in_background
from workbench.config.errors import WrongCall
from workbench.proxy.recorder import Recorder
from workbench.proxy.unpacking import MOST_VALUES, BodyTooLarge, check_count, checked_size, too_large, unpacked_body
from workbench.traces.llm_calls import LlmCall
from workbench.traces.otlp import NotOtlp, decoded_request, fields_in
from workbench.traces.span_attributes import attributes_of, spans_of
from workbench.traces.spans import calls_in_spans
from workbench.wire.streams import parsed_json
from workbench.wire.values import dict_in, list_in, text_in

PATH: Final = "/v1/traces"
PROTOBUF: Final = "application/x-protobuf"
JSON: Final = "application/json"
_UNKNOWN: Final = "unknown_service"


class TracedCall(NamedTuple):
    """A call of a model from a span."""

    client: str
    """The agent: the name of its service, or of what traced it."""
    call: LlmCall


async def receive_spans(incoming: web.BaseRequest, recorder: Recorder | None, largest: int) -> web.Response:
    """Record the calls among the spans of a request, and answer it; a request that cannot be read gets one sentence."""
    kind = incoming.content_type
    if incoming.method != "POST":
        return _refusal(405, f"{incoming.method} {PATH}: expected POST")
    if kind not in (PROTOBUF, JSON):
        return _refusal(415, f"Content-Type: expected {PROTOBUF} or {JSON}, got {kind}")
    if recorder is None:
        return _refusal(501, "this proxy records nothing, and takes no spans")
    try:
        body = await _body(incoming, largest)
        calls = await in_background(_read, body, incoming.headers.get("Content-Encoding", ""), kind, largest)
    except BodyTooLarge as error:
        return _refusal(413, f"the spans are not recorded: {error}")
    except NotOtlp as error:
        return _refusal(400, str(error))
    except WrongCall as error:
        return _refusal(415, f"{error}. Or export {JSON}: OTEL_EXPORTER_OTLP_PROTOCOL=http/json, where it is supported")
    for each in calls:
        recorder.record_call(each.client, each.call)
    return web.Response(body=b"" if kind == PROTOBUF else b"{}", content_type=kind)


async def _body(incoming: web.BaseRequest, largest: int) -> bytes:
    parts, size = [], 0
    async for chunk in incoming.content.iter_any():
        size += len(chunk)
        if size > largest:
            raise BodyTooLarge(too_large(largest))
        parts.append(chunk)
    return b"".join(parts)


def _read(body: bytes, encoding: str, kind: str, largest: int) -> list[TracedCall]:
    data = unpacked_body(body, encoding, largest)
    if kind == PROTOBUF:
        check_count(len(data), lambda: fields_in(data, MOST_VALUES))
        request: Any = decoded_request(data)
    else:
        request = parsed_json(checked_size(data))
    if not isinstance(request, dict) or not isinstance(request.get("resourceSpans", []), list):
        raise NotOtlp("the body is no ExportTraceServiceRequest: expected an object with resourceSpans")
    return [call for resource in list_in(request, "resourceSpans") for call in _calls_of(resource)]


def _calls_of(resource: Any) -> list[TracedCall]:
    found = calls_in_spans(spans_of({"resourceSpans": [resource]}))
    client = _client_of(resource)
    return [TracedCall(client, call) for call in sorted(found.calls, key=lambda each: each.at) if call.asked]


def _client_of(resource: Any) -> str:
    service = text_in(attributes_of(dict_in(resource, "resource")), "service.name")
    if service and not service.startswith(_UNKNOWN):
        return service
    scopes = (text_in(dict_in(each, "scope"), "name") for each in list_in(resource, "scopeSpans"))
    return next((name.rpartition(".")[2] for name in scopes if name), "OpenTelemetry")


def _refusal(status: int, message: str) -> web.Response:
    return web.json_response({"message": message}, status=status)
