"""`workbench waste`: what a session carries and no longer needs, piece by piece.

`waste --json` prints

    {"source", "model", "requests", "tokens", "carried", "cost",
     "kinds": [{"kind", "items", "tokens", "carried", "cost"}], "tools": [{"tool", "items", ...}],
     "items": [{"kind", "event", "tool", "line", "tokens", "since", "by", "pair", "request", "requests", "carried",
                "cost"}]}

where `carried` is the tokens in all requests that carried a piece as waste, `since` the event that made it waste, and
`by` the event that has its content now or replaced it.
"""

from __future__ import annotations

import argparse

from workbench.cli.options import options_of
from workbench.config.text import counted, line_width, print_json, printable
from workbench.lab.replay.lab_source import LabSource
from workbench.lab.waste.output import waste_json, waste_lines, waste_table
from workbench.sources.services import Services


def run_waste(options: argparse.Namespace) -> int:
    """Print what could be removed without a loss."""
    with Services() as services:
        source = services.source(options.source)
        lab = LabSource(services, options_of(options), source)
        report, requests = lab.waste, len(lab.marks)
    if options.json:
        print_json({"source": options.source, "model": source.model or None, "requests": requests} | waste_json(report))
        return 0
    model = f", {source.model}" if source.model else ""
    print(printable(f"{options.source}: {counted(requests, 'request')}{model}") + "\n")
    width = line_width()
    shown = [*waste_table(report, width), "", *waste_lines(report, width)] if report.items else ["no waste found"]
    print("\n".join(shown))
    return 0
