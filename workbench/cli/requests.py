"""`workbench requests`: what was sent to a model, request by request.

`requests --json` prints

    {"requests": [{"number", "seq", "purpose", "agent", "name", "model", "reported", "tokens", "unattributed",
                   "beside": {"fixed", "thinking", "unexplained"}, "exact",
                   "instead_of", "held": {"rule", "why", "took", "end"}}],
     "savings": {"changed", "not_sent", "spread", "batches", "cache_lost"}}

where `number` is what `plan --nth` takes, `seq` the event of the request or the first of its answer, `purpose` is
turn, side, sub-agent or compaction, `name` what it was for where that is known better (title, counting), `reported`,
`unattributed` and `beside`, which is what the latter consists of, are null where the provider's report is not known,
and `exact` says whether the request itself was recorded, and not only what it was made from. `instead_of` is the `seq`
of what the agent asked, where this was sent in its place; that one did not reach the model. `held` is null where it
did not wait at a breakpoint; `took` are milliseconds, and `end` is as_it_was, changed, answered (by hand), expired or
gone. `savings` is null where nothing was sent in place of something else.
"""

from __future__ import annotations

import argparse
from typing import Any

from workbench.cli.options import options_of
from workbench.cli.plan import outside_rows_json
from workbench.cli.sources import read_source_with_notes
from workbench.config.text import print_json, printable, table
from workbench.sources.own_requests import OwnRequests
from workbench.sources.recorded import ListedRequest, RecordedSession
from workbench.sources.savings import session_savings
from workbench.sources.services import Services
from workbench.views.transcript import hold_words

COUNTED = "(in brackets: the request is whole, and the provider counted so many tokens more or fewer than we do)"


def run_requests(options: argparse.Namespace) -> int:
    """Print the requests as a table, or as JSON."""
    with Services() as services:
        source = read_source_with_notes(services, options.source)
        recorded = RecordedSession(services, options_of(options), source)
        own = None if source.recorded else OwnRequests(services, source.events)
        listed, spread = recorded.listed if own is None else own.listed(recorded.marks), recorded.spread
    if options.json:
        saved = session_savings(listed, spread)
        print_json(
            {"requests": [_as_json(each) for each in listed], "savings": None if saved is None else saved._asdict()}
        )
    elif not listed:
        print("(no requests)")
    else:
        header = ("nth", "seq", "purpose", "model", "reported", "rows", "not in rows", "exact", "")
        print("\n".join(table(header, [_table_row(each) for each in listed], frozenset({0, 1, 4, 5, 6}), 0)))
        if any(each.mark.exact and each.unattributed is not None for each in listed):
            print(f"\n{COUNTED}")
        if (saved := session_savings(listed, spread)) is not None:
            print(f"\n{saved}")
    return 0


def _as_json(each: ListedRequest) -> dict[str, Any]:
    mark = each.mark
    return {
        "number": each.number,
        "seq": mark.seq,
        "purpose": mark.purpose,
        "agent": mark.agent or None,
        "name": mark.name or None,
        "model": mark.model or None,
        "reported": mark.reported,
        "tokens": each.tokens,
        "unattributed": each.unattributed,
        "beside": None if each.unattributed is None else outside_rows_json(each.known_rest, each.unattributed),
        "exact": mark.exact,
        "instead_of": mark.instead_of or None,
        "held": None if mark.hold is None else {key: getattr(mark.hold, key) for key in ("rule", "why", "took", "end")},
    }


def _table_row(each: ListedRequest) -> tuple[str, ...]:
    mark = each.mark
    instead = f"in place of {mark.instead_of}" if mark.instead_of else ""
    who = ", ".join(filter(None, (printable(mark.who), instead)))
    return (
        str(each.number),
        str(mark.seq),
        f"{mark.purpose} ({who})" if who else mark.purpose,
        printable(mark.model) or "–",
        "–" if mark.reported is None else f"{mark.reported:,}",
        f"{each.tokens:,}" if each.tokens else "–",
        "–" if each.unattributed is None else f"({each.unattributed:+,})" if mark.exact else f"{each.unattributed:,}",
        "yes" if mark.exact else "",
        hold_words(mark.hold) if mark.hold is not None else "",
    )
