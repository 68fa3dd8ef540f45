"""Sends spans to a collector, or writes them to a file, with the encoders of the opentelemetry packages.

They are in the extra `otel`. Headers, certificates and timeouts come from their variables, such as
`OTEL_EXPORTER_OTLP_HEADERS`.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from workbench.config.distribution import installed_version
from workbench.config.errors import WorkbenchError, WrongCall
from workbench.config.optional_packages import import_optional
from workbench.traces.genai_spans import GenAiSpan
from workbench.traces.otlp import EXTRA, otlp_json
from workbench.wire.speaking import to_json

PATH: Final = "/v1/traces"
MOST_SPANS: Final = 64
"""Spans that are sent together."""
MOST_CHARACTERS: Final = 2_000_000
"""Characters of their attributes, after which no more are sent together."""
_SECONDS: Final = 5
"""How long a collector may take to accept a connection."""
_LOG: Final = "opentelemetry.exporter.otlp.proto.http"


def is_address(target: str) -> bool:
    """Whether spans go to a collector and not to a file."""
    return target.startswith(("http://", "https://"))


def traces_address(target: str) -> str:
    """The address of a collector, with the path of OTLP. Raises WrongCall for a text that is not an address."""
    parts = urlsplit(target) if is_address(target) else None
    if parts is None or not parts.hostname or any(map(str.isspace, target)):
        raise WrongCall(f"--otlp: {target}: expected the address of a collector such as http://127.0.0.1:4318")
    return target if parts.path.endswith(PATH) else target.rstrip("/") + PATH


def _imported(module: str) -> Any:
    return import_optional(module, "--otlp", EXTRA)


def check_installed() -> None:
    """Raise WrongCall if the packages of the extra are missing."""
    for module in ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http.trace_exporter"):
        _imported(module)


def readable_span(span: GenAiSpan) -> Any:
    """A span as the SDK of OpenTelemetry has it."""
    trace, sdk = _imported("opentelemetry.trace"), _imported("opentelemetry.sdk.trace")
    scopes, resources = _imported("opentelemetry.sdk.util.instrumentation"), _imported("opentelemetry.sdk.resources")
    flags = trace.TraceFlags(trace.TraceFlags.SAMPLED)
    status = trace.Status(trace.StatusCode.ERROR, span.problem) if span.problem else trace.Status()
    return sdk.ReadableSpan(
        span.name,
        trace.SpanContext(span.trace, span.id, is_remote=False, trace_flags=flags),
        resource=resources.Resource({"service.name": "workbench"}),
        attributes=span.attributes,
        kind=trace.SpanKind.CLIENT,
        status=status,
        start_time=span.start,
        end_time=span.end,
        instrumentation_scope=scopes.InstrumentationScope("workbench", installed_version()),
    )


def otlp_lines(spans: Iterable[GenAiSpan]) -> Iterator[str]:
    """Lines of JSON, each a request of OTLP, as the file exporter of the collector writes them."""
    encoder = _imported("opentelemetry.exporter.otlp.proto.common.trace_encoder")
    for batch in _batches(spans):
        yield to_json(otlp_json(encoder.encode_spans([readable_span(span) for span in batch])))


def send_spans(address: str, spans: Iterable[GenAiSpan]) -> int:
    """Send spans to a collector. Returns how many were sent; raises WorkbenchError if it does not accept them."""
    module = _imported("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    _check_answers(address)
    exporter = module.OTLPSpanExporter(address)
    done = _imported("opentelemetry.sdk.trace.export").SpanExportResult.SUCCESS
    sent = 0
    with _Complaints() as complaints:
        for batch in _batches(spans):
            if exporter.export([readable_span(span) for span in batch]) is not done:
                raise WorkbenchError(f"{address}: {complaints.last or 'the spans were not accepted'}")
            sent += len(batch)
    exporter.shutdown()
    return sent


def _check_answers(address: str) -> None:
    """Raise WorkbenchError if nobody listens there: the exporter would try again for many seconds."""
    parts = urlsplit(address)
    if parts.scheme in getproxies() and not proxy_bypass(parts.hostname or ""):
        return  # the proxy connects, and reports what failed
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname, port), timeout=_SECONDS).close()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise WorkbenchError(f"{address}: no collector answers there ({why})") from None


def span_processor(address: str) -> Any:
    """A processor of the SDK that sends spans from a thread of its own; spans that it has no room for are dropped."""
    module = _imported("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    export = _imported("opentelemetry.sdk.trace.export")
    return export.BatchSpanProcessor(
        module.OTLPSpanExporter(address), max_queue_size=MOST_SPANS, max_export_batch_size=8, schedule_delay_millis=1000
    )


def _batches(spans: Iterable[GenAiSpan]) -> Iterator[Sequence[GenAiSpan]]:
    batch: list[GenAiSpan] = []
    size = 0
    for span in spans:
        batch.append(span)
        size += sum(len(value) for value in span.attributes.values() if isinstance(value, str))
        if len(batch) >= MOST_SPANS or size > MOST_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class _Complaints(logging.Handler):
    """Keeps what the exporter logs: it returns no reason for a failure."""

    def __init__(self) -> None:
        super().__init__()
        self.last = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.last = record.getMessage()

    def __enter__(self) -> _Complaints:
        log = logging.getLogger(_LOG)
        log.addHandler(self)
        self._propagated, log.propagate = log.propagate, False
        return self

    def __exit__(self, *_: object) -> None:
        log = logging.getLogger(_LOG)
        log.removeHandler(self)
        log.propagate = self._propagated
