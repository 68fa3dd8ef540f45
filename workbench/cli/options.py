"""From the words of the command line to the options of a session: `argparse` ends here."""

from __future__ import annotations

import argparse

from workbench.sources.options import Options


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
        follow=bool(said.get("follow")),
    )
