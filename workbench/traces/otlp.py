"""Requests of OTLP over HTTP: `ExportTraceServiceRequest` as protobuf, and as the JSON that stands for it.

In that JSON the ids of traces and spans are hexadecimal, where protobuf's own JSON has base64. JSON needs no package;
protobuf needs those of the extra `otel`.
"""

from __future__ import annotations

from base64 import b64decode
from typing import Any, Final

from workbench.config.optional_packages import import_optional
from workbench.wire.values import list_in

EXTRA: Final = "otel"
_IDS: Final = ("traceId", "spanId", "parentSpanId")
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class NotOtlp(ValueError):
    """Raised for bytes that are no request of OTLP."""


def trace_service() -> Any:
    """The module of opentelemetry-proto that has the messages of a request. Raises WrongCall without the extra."""
    return _imported("opentelemetry.proto.collector.trace.v1.trace_service_pb2")


def _imported(module: str) -> Any:
    return import_optional(module, "OTLP as protobuf", EXTRA)


def decoded_request(data: bytes) -> dict[str, Any]:
    """A request in protobuf, as JSON. Raises NotOtlp, and WrongCall without the extra."""
    service, problems = trace_service(), _imported("google.protobuf.message")
    try:
        return otlp_json(service.ExportTraceServiceRequest.FromString(data))
    except (problems.DecodeError, ValueError, RecursionError) as error:
        raise NotOtlp("the body is no ExportTraceServiceRequest in protobuf") from error


def otlp_json(message: Any) -> dict[str, Any]:
    """A request, as a message of protobuf, in the JSON of OTLP."""
    found: dict[str, Any] = _imported("google.protobuf.json_format").MessageToDict(message, use_integers_for_enums=True)
    for resource in list_in(found, "resourceSpans"):
        for scope in list_in(resource, "scopeSpans"):
            for span in list_in(scope, "spans"):
                for each in (span, *list_in(span, "links")):
                    each |= {key: b64decode(each[key]).hex() for key in _IDS if key in each}
    return found


def fields_in(data: bytes, most: int) -> int:
    """How many fields a request in protobuf has, in all its messages; counting stops above `most`.

    A message of a few bytes takes a hundred in memory, so this is known before the request is decoded. Bytes that are
    no protobuf are counted as far as they can be read.
    """
    waiting = [(0, len(data), trace_service().ExportTraceServiceRequest.DESCRIPTOR)]
    count = 0
    while waiting and count <= most:
        at, end, kind = waiting.pop()
        while at < end and count <= most:
            count += 1
            tag, at = _varint(data, at, end)
            wire = tag & 7
            if wire == _BYTES:
                length, at = _varint(data, at, end)
                field = kind.fields_by_number.get(tag >> 3)
                if field is not None and field.message_type is not None and at + length <= end:
                    waiting.append((at, at + length, field.message_type))
                at += length
            elif wire == _VARINT:
                _, at = _varint(data, at, end)
            elif wire in (_FIXED64, _FIXED32):
                at += 8 if wire == _FIXED64 else 4
            else:
                break
    return count


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128 or shift > 63:
            break
    return value, at
