"""`workbench export --otlp`: the requests of a session as spans, in a file or sent to a collector."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from itertools import chain

from workbench.cli.sources import print_masked, read_source_with_notes
from workbench.config.errors import WrongCall
from workbench.config.output_files import STANDARD, OutputFile
from workbench.config.text import counted, printable
from workbench.config.values import replace
from workbench.config.variables import known_keys
from workbench.lab.result_files import ResultFile
from workbench.proxy.redaction import Redactor
from workbench.sources.model_calls import model_calls
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.traces.genai_spans import GenAiSpan, genai_span
from workbench.traces.otlp_export import check_installed, is_address, otlp_lines, send_spans, traces_address
from workbench.wire.values import json_text, parsed


def run_export_otlp(options: argparse.Namespace) -> int:
    """Write or send the spans, and say how many there are."""
    address = traces_address(options.otlp) if is_address(options.otlp) else ""
    output = OutputFile(options.otlp, "--otlp")
    if not address:
        ResultFile("otlp", options.otlp).check_writable()
    check_installed()
    with Services() as services:
        source = read_source_with_notes(services, options.session)
        calls = model_calls(services, Options(), source)  # one by one: together they may be large
        first = next(calls, None)
        if first is None:
            raise WrongCall(f"{options.session}: there are no requests to export")
        spans = map(genai_span, chain([first], calls))
        redactor = Redactor(known_keys()) if options.redact else None
        if redactor is not None:
            spans = map(partial(_redacted_span, redactor), spans)
        if address:
            print(f"sent {counted(send_spans(address, spans), 'span')} to {printable(address)}")
        elif output.name == STANDARD:
            sys.stdout.writelines(f"{line}\n" for line in otlp_lines(spans))
        else:
            with output.writing() as file:
                file.writelines(f"{line}\n".encode() for line in otlp_lines(spans))
    if redactor is not None:
        print_masked(redactor.count)
    return 0


def _redacted_span(redactor: Redactor, span: GenAiSpan) -> GenAiSpan:
    """The span with its secrets masked. Attributes that are JSON stay JSON."""
    return replace(
        span,
        name=redactor.redact(span.name),
        attributes={key: _redacted_value(redactor, value) for key, value in span.attributes.items()},
        problem=redactor.redact(span.problem),
    )


def _redacted_value(redactor: Redactor, value: str | int) -> str | int:
    if not isinstance(value, str):
        return value
    inside = parsed(value)
    return redactor.redact(value) if isinstance(inside, str) else json_text(redactor.redact_json(inside))
