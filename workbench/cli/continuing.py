"""`workbench continue`: start a new session from a summary of another."""

from __future__ import annotations

import argparse
import sys

from workbench.cli.compact import BY_HAND, audit_json, print_progress, print_warnings
from workbench.cli.options import options_of
from workbench.compaction.continuation import SessionSummary
from workbench.compaction.progress import ignore_progress
from workbench.config.folders import work_folder
from workbench.config.signals import run_for_result
from workbench.config.text import print_json, printable_lines
from workbench.session import continuing
from workbench.session.continuing import EarlierSession
from workbench.sources.services import Services
from workbench.traces.reading import read_transcript_text


def run_continue(options: argparse.Namespace) -> int:
    """Create a session that starts with a summary of another."""
    with Services() as services:
        earlier = continuing.earlier_session(services, options_of(options), options.session)
        made = None if options.summary else run_for_result(_summarised(services, options, earlier))
        summary = made.summary if made else read_transcript_text(options.summary)[1]
        if options.dry_run:
            _show(made, summary, "", earlier.id, options.json)
            return 0
        with services.store.create(continuing.first_bodies(earlier, summary, made), folder=work_folder()) as session:
            _show(made, summary, session.id, earlier.id, options.json)
    return 0


async def _summarised(services: Services, options: argparse.Namespace, earlier: EarlierSession) -> SessionSummary:
    report = ignore_progress if options.json else print_progress
    made = await continuing.summarise_earlier_session(
        services, options_of(options), earlier, digest=options.digest, progress=report
    )
    print_warnings(made.problems)
    return made


def _show(made: SessionSummary | None, summary: str, session: str, origin: str, as_object: bool) -> None:
    if as_object:
        print_json(
            {
                "session": session or None,
                "continued_from": origin,
                "summary": summary,
                "made_by": made.made_by if made else BY_HAND,
                "audit": audit_json(made.audit) if made else None,
                "problems": list(made.problems) if made else [],
            }
        )
        return
    print("\n".join(printable_lines(summary)))
    if session:
        print(f"session {session}, continued from {origin}", file=sys.stderr)
