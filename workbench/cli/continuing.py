"""`workbench continue`: go on from a summary of a session, in a new one."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence

from workbench.cli.compact import BY_HAND, audit_json, set_up_for, tell_progress, warn
from workbench.cli.options import options_of
from workbench.compaction.continuation import SessionSummary, first_events, summarise_session
from workbench.config.text import print_json, printable_lines
from workbench.context.setup import Setup
from workbench.log.events import Event, Setting
from workbench.session.connection import compactor_for
from workbench.session.services import Services
from workbench.session.source import as_source
from workbench.traces.reading import read_text


def run(options: argparse.Namespace) -> int:
    """Make a session that goes on from a summary of another."""
    with Services() as services:
        info = services.store.info(options.session)
        with services.store.session(info.id, write=False) as old:
            events = old.events()
        source = as_source(info.id, events)
        setup = set_up_for(services, options, source)
        made = None if options.summary else asyncio.run(_summarised(services, options, setup, events))
        summary = made.summary if made else read_text(options.summary)[1]
        if options.dry_run:
            _show(made, summary, "", info.id, options.json)
            return 0
        title = f"continued: {info.title}" if info.title else "continued"
        settings = [Setting("title", title), Setting("model", setup.model)]
        settings += [Setting("policy", source.policy)] if source.policy else []
        settings += [Setting("knobs", list(source.knobs))] if source.knobs else []
        with services.store.create(first_events(info.id, summary, settings, made, recall=setup.calls_tools)) as session:
            _show(made, summary, session.id, info.id, options.json)
    return 0


async def _summarised(
    services: Services, options: argparse.Namespace, setup: Setup, events: Sequence[Event]
) -> SessionSummary:
    tell = None if options.json else tell_progress
    async with compactor_for(services, options_of(options), setup, digest=options.digest) as compactor:
        made = await summarise_session(compactor, events, digest=options.digest, progress=tell)
    warn(made.problems)
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
