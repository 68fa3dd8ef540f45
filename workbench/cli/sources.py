"""What the commands read: a session or a file, and what has to be said about it."""

from __future__ import annotations

import sys

from workbench.config.text import printable
from workbench.log.events import Failure
from workbench.session.foreign import NOT_APPLIED
from workbench.session.services import Services
from workbench.session.source import Source


def read_source(services: Services, ref: str) -> Source:
    """A session or a file; what a file says and is not applied is told."""
    source = services.source(ref)
    last = source.events[-1].body if source.is_file and source.events else None
    if isinstance(last, Failure) and last.category == NOT_APPLIED:
        print(printable(f"· {last.message}"), file=sys.stderr)
    return source
