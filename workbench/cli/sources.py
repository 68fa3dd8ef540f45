"""Reads the session or file that a command names, and prints notes about it."""

from __future__ import annotations

import sys

from workbench.config.text import counted, printable
from workbench.log.events import Failure, Setting
from workbench.sources.foreign import NOT_APPLIED
from workbench.sources.services import Services
from workbench.sources.source import Source
from workbench.traces.references import SUB_AGENTS, split_ref, sub_agents_words


def read_source_with_notes(services: Services, ref: str) -> Source:
    """Read a session or a file. Prints which parts of a file are not applied, and its sub-agents."""
    source = services.source(ref)
    last = source.events[-1].body if source.is_file and source.events else None
    if isinstance(last, Failure) and last.category == NOT_APPLIED:
        print(printable(f"· {last.message}"), file=sys.stderr)
    settings = (event.body for event in reversed(source.events) if isinstance(event.body, Setting))
    noted = next((body.value for body in settings if body.key == SUB_AGENTS), None)
    if source.is_file and isinstance(noted, dict):
        print(printable(f"· {sub_agents_words(noted, split_ref(ref)[0])}"), file=sys.stderr)
    return source


def print_masked(many: int) -> None:
    """Say how many secrets an export masked."""
    print(f"· {counted(many, 'secret')} masked", file=sys.stderr)
