"""`workbench explain`: what the answer to a recorded request depended on, found by leaving items out."""

from __future__ import annotations

import argparse
import asyncio
import sys

from workbench.cli.asking import NEEDS_YES, require_confirmation
from workbench.cli.options import options_of
from workbench.cli.sources import read_source_with_notes
from workbench.config.text import counted, line_width, print_json
from workbench.config.values import replace
from workbench.explain.asking import AskedCounts
from workbench.explain.explaining import prepare_explanation, send_and_explain
from workbench.explain.output import explanation_json, explanation_lines
from workbench.explain.saving import masking_saving
from workbench.explain.values import ExplainWish
from workbench.sources.services import Services


def run_explain(options: argparse.Namespace) -> int:
    """Ask if it costs something, search, and print the units by importance; the exit code is 1 if it ended early."""
    wish = ExplainWish(
        number=options.at,
        grain="groups" if options.groups else "items",
        method=options.method,
        tries=options.tries,
        budget=options.budget,
        most=options.requests,
        alike=options.alike,
        to=options.to,
        send_key=options.send_key,
        fresh=options.fresh,
    )
    with Services() as services:
        source = read_source_with_notes(services, options.source)
        asked = options_of(options)
        job = prepare_explanation(services, asked, source, wish)
        if not options.yes and not job.is_free:
            require_confirmation(job.question, declined="nothing was sent", unasked=f"{job.question} {NEEDS_YES}")
        show = None if options.json or not sys.stderr.isatty() else _show_progress
        found = asyncio.run(send_and_explain(services, job, show))
        if show:
            print(file=sys.stderr)
        saving = masking_saving(services, replace(asked, model=""), source, job, found)
    if options.json:
        print_json(explanation_json(job, found, saving))
    else:
        print("\n".join(explanation_lines(job, found, saving, line_width())))
    return 0 if found.complete else 1


def _show_progress(counts: AskedCounts) -> None:
    print(f"\r· {counted(counts.sent, 'request')}, ${counts.cost:.4f}", end="", file=sys.stderr, flush=True)
