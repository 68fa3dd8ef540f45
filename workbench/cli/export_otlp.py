"""`workbench export --otlp`: the requests of a session as spans, in a file or sent to a collector."""

from __future__ import annotations

import argparse
import sys
from itertools import chain

from workbench.cli.sources import read_source_with_notes
from workbench.config.errors import WrongCall
from workbench.config.output_files import STANDARD, OutputFile
from workbench.config.text import counted, printable
from workbench.lab.result_files import ResultFile
from workbench.sources.model_calls import model_calls
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.traces.genai_spans import genai_span
from workbench.traces.otlp_export import check_installed, is_address, otlp_lines, send_spans, traces_address


def run_export_otlp(options: argparse.Namespace) -> int:
    """Write or send the spans, and say how many there are."""
    address = traces_address("--otlp", options.otlp) if is_address(options.otlp) else ""
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
        if address:
            print(f"sent {counted(send_spans(address, spans), 'span')} to {printable(address)}")
        elif output.name == STANDARD:
            sys.stdout.writelines(f"{line}\n" for line in otlp_lines(spans))
        else:
            with output.writing() as file:
                file.writelines(f"{line}\n".encode() for line in otlp_lines(spans))
    return 0
