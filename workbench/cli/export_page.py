"""`workbench export --html`: a session, or one of its requests, as a page for a browser."""

from __future__ import annotations

import argparse

from workbench.cli.sources import print_masked, read_source_with_notes
from workbench.config.errors import WrongCall
from workbench.lab.result_files import ResultFile
from workbench.sources.services import Services
from workbench.views.session_page import make_session_page


def run_export_page(options: argparse.Namespace) -> int:
    """Write the page, and say how many secrets were masked if that was asked for."""
    if options.output is not None or options.format is not None:
        raise WrongCall("--html FILE names the file itself: expected neither --output nor --format")
    file = ResultFile("html", options.html)
    file.check_writable()
    with Services() as services:
        source = read_source_with_notes(services, options.session)
        page = make_session_page(services, source, options.request, redact=options.redact)
    with file.open_result() as target:
        target.write(page.html.encode("utf-8", "replace"))  # the name of a file need not be text
    if options.redact:
        print_masked(page.redacted)
    return 0
