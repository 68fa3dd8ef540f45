"""Turns parsed arguments into the options of a session. No code below this uses `argparse`."""

from __future__ import annotations

import argparse

from workbench.sources.options import Options


def options_of(arguments: argparse.Namespace) -> Options:
    """The options of a session. An argument that the command does not have counts as not given."""
    given = vars(arguments)
    return Options(
        model=given.get("model") or "",
        policy=given.get("policy") or "",
        knobs=tuple(given.get("set") or ()),
        window=given.get("window"),
        reserve=given.get("reserve"),
        api_base=given.get("api_base") or "",
        fallbacks=tuple(given.get("fallback") or ()),
        allow=tuple(given.get("allow") or ()),
        without=tuple(given.get("without") or ()),
        follow=bool(given.get("follow")),
        notify=given.get("notify"),
    )
