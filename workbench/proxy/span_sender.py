"""Sends the recorded requests on as spans: to a collector, from the recorder's process."""

from __future__ import annotations

import logging

from workbench.proxy.sessions import OpenRequest, ReceivedAnswer, problem_of
from workbench.proxy.token_server import OncePerMinute
from workbench.traces.genai_spans import ModelCall, genai_span
from workbench.traces.otlp_export import readable_span, span_processor
from workbench.wire.dialects import DIALECTS, read_answer

_log = logging.getLogger("opentelemetry")


class SpanSender:
    """Sends spans in the background. A collector that is slow or gone holds up nothing: spans are dropped then."""

    def __init__(self, address: str) -> None:
        self._processor = span_processor(address)
        self._handler = logging.StreamHandler()
        self._handler.setFormatter(logging.Formatter(f"workbench proxy: --otlp {address}: %(message)s"))
        self._handler.addFilter(OncePerMinute())
        _log.addHandler(self._handler)
        _log.propagate = False

    def send_exchange(self, asked: OpenRequest, came: ReceivedAnswer) -> None:
        """Send a request with its answer, soon."""
        try:
            self._processor.on_end(readable_span(genai_span(exported_call(asked, came))))
        except Exception:  # whatever is wrong with one request, it is recorded all the same
            _log.warning("a request could not be made a span", exc_info=True)

    def close(self) -> None:
        """Send what is waiting."""
        self._processor.shutdown()
        _log.removeHandler(self._handler)
        _log.propagate = True


def exported_call(asked: OpenRequest, came: ReceivedAnswer) -> ModelCall:
    """A request as it was sent, with its answer."""
    dialect = DIALECTS[asked.stored.live.dialect]
    answered, used = read_answer(dialect.name, came.body) if came.body else ([], None)
    is_error = came.status >= 400 or came.status == 0
    body = asked.body if asked.sent is None else asked.sent
    return ModelCall(
        *(asked.stored.id, asked.event, dialect.name, body, [] if is_error else answered, used),
        asked.model,
        dialect.provider.name,
        asked.at,
        asked.at + (came.took or 0),
        asked.sender.name or asked.sender.agent or asked.sender.client,
        problem_of(came) if is_error or came.problem else "",
    )
