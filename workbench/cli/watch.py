"""`workbench watch`: the session of another agent, followed while it grows.

`watch --json` prints a line for what there is and one for every change of the file, until it is interrupted:

    {"source", "change", "events", "requests", "model", "tokens", "window", "share", "cached", "cost", "exact",
     "missing"}

where `change` is opened, grown, replaced or gone; `tokens` is what was reported for the last request of the
conversation, or our estimate where nothing was, `share` that part of the window, `cached` the share of it that came
from the provider's cache; `exact` says whether that request is in the file, and `missing` how many of its tokens are
not. What is not known is null.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from dataclasses import replace
from time import sleep
from typing import Any

from workbench.cli.options import options_of
from workbench.config.errors import WrongCall
from workbench.config.folders import work_folder
from workbench.config.text import print_json, printable
from workbench.context.load import RECORDED
from workbench.live.choosing import agents_called, choose
from workbench.log.errors import NotFound
from workbench.log.events import Setting
from workbench.log.store import Store
from workbench.session import figures
from workbench.session.context_view import Exactness
from workbench.session.open_session import OpenSession
from workbench.session.options import Options
from workbench.session.services import Services
from workbench.session.source import names_file

RECENT = 20
"""Sessions of a folder among which one that passes through the proxy is looked for."""


def run(arguments: argparse.Namespace) -> int:
    """On the full screen, or as lines of JSON."""
    options = replace(options_of(arguments), follow=True)
    with Services() as services:
        ref, note = _found(services, arguments.wanted)
        if arguments.json:
            if note:
                print(printable(f"· {note}"), file=sys.stderr)
            return _print_changes(services, options, ref)
    from workbench.tui import start  # late, as everything of the screen

    return start.run(ref, options, note=note)


def _found(services: Services, wanted: str) -> tuple[str, str]:
    """What to open, and what to say about it."""
    if wanted and names_file(wanted):
        return wanted, ""
    here = work_folder().path
    passing = through_proxy(services.store, agents_called(wanted) if wanted else [], here)
    if passing and (not wanted or agents_called(wanted)):
        return passing, "recorded by the proxy, as it was sent"
    try:
        chosen = choose(services.agents.find(here), wanted, here)
    except WrongCall:
        with suppress(NotFound):
            return services.store.info(wanted).id, ""
        raise
    return chosen.session.ref, chosen.note


def through_proxy(store: Store, agents: list[str], here: str) -> str:
    """The session of this folder that an agent's requests become at this moment; empty where there is none."""
    for info in store.list(limit=RECENT, folder=here):
        session = store.session(info.id, write=False)
        first = session.events(0, 1)
        who = first[0].body if first else None
        recorded = isinstance(who, Setting) and who.key == RECORDED and (not agents or who.value in agents)
        if recorded and session.is_written:
            return info.id
    return ""


def _print_changes(services: Services, options: Options, ref: str) -> int:
    # late: the screen imports them itself, behind its first frame
    from workbench.session.following import GONE, LOOK, REPLACED, follow_file, follow_session
    from workbench.session.opening import open_source

    follower = follow_file(ref) if names_file(ref) else follow_session(services.store, ref)
    last = _described(open_source(services, options, ref))  # what is wrong with the file ends the command
    print_json({"source": ref, "change": "opened", **last}, None)
    sign = ""
    with suppress(KeyboardInterrupt):
        while True:
            look = follower.look(lambda: open_source(services, options, ref))
            now = last if look.read is None else _described(look.read)
            if now != last:
                print_json({"source": ref, "change": "replaced" if look.sign == REPLACED else "grown", **now}, None)
            elif look.sign == GONE != sign:
                print_json({"source": ref, "change": "gone", **now}, None)
            last, sign = now, look.sign
            sleep(LOOK)
    return 0


def _described(opened: OpenSession) -> dict[str, Any]:
    if opened.session is not None:
        opened.session.close()  # looking on takes nobody's right to write
    recorded, status = opened.recorded, figures.status(opened, opened.plan)
    newest = recorded.newest if recorded is not None else None
    if recorded is None or newest is None:
        tokens, known, mark = status.tokens, None, None
    else:
        mark, plan = opened.requests.marks[newest], recorded.plan(newest)
        tokens, known = plan.size, Exactness.of(mark, plan)
    window = None if status.window_source in ("guess", "fallback") else status.window
    return {
        "events": len(opened.events),
        "requests": len(opened.requests.marks),
        "model": opened.setup.model or None,
        "tokens": tokens,
        "window": window,
        "share": round(tokens / window, 4) if window else None,
        "cached": round(mark.cached / mark.reported, 4) if mark is not None and mark.reported else None,
        "cost": None if status.cost is None else round(status.cost, 6),
        "exact": known.exact if known is not None else None,
        "missing": known.missing if known is not None else None,
    }
