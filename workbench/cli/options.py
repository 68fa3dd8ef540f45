"""From the words of the command line to what they name and to the options of a session: `argparse` ends here."""

from __future__ import annotations

import argparse
import sys

from workbench.config.text import printable
from workbench.log.events import Failure
from workbench.session.foreign import NOT_APPLIED
from workbench.session.options import Options
from workbench.session.services import Services
from workbench.session.source import Source


def read_source(services: Services, ref: str) -> Source:
    """A session or a file; what a file says and is not applied is told."""
    source = services.source(ref)
    last = source.events[-1].body if source.is_file and source.events else None
    if isinstance(last, Failure) and last.category == NOT_APPLIED:
        print(printable(f"· {last.message}"), file=sys.stderr)
    return source


def options_of(arguments: argparse.Namespace) -> Options:
    """What the user asked for. Not every command takes everything; what it does not take was not said."""
    said = vars(arguments)
    return Options(
        model=said.get("model") or "",
        policy=said.get("policy") or "",
        knobs=tuple(said.get("set") or ()),
        window=said.get("window"),
        reserve=said.get("reserve"),
        api_base=said.get("api_base") or "",
        fallbacks=tuple(said.get("fallback") or ()),
        allow=tuple(said.get("allow") or ()),
        without=tuple(said.get("without") or ()),
    )
