"""Which later requests of a session carried a unit, and so what the session would have saved without it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from workbench.explain.request_units import RequestUnit
from workbench.log.events import DialectName, Event, Request
from workbench.wire.dialects import DIALECTS
from workbench.wire.requests import RequestBodies


def carrying_requests(
    events: Sequence[Event], seq: int, dialect: DialectName, units: Sequence[RequestUnit]
) -> dict[int, int]:
    """By unit: how many requests carried it, from the one at `seq` on. Parts are compared by their hashes."""
    bodies = RequestBodies(events)
    first = bodies.request(seq)
    names = [_names(bodies, first, seq, unit) for unit in units]
    counts: Counter[str] = Counter()
    for event in events:
        if event.seq >= seq and isinstance(event.body, Request) and event.body.dialect == dialect:
            counts.update({event.body.system, event.body.tools, *bodies.hashes(event.seq)})
    return {
        unit.number: min((counts[name] for name in each), default=1) for unit, each in zip(units, names, strict=True)
    }


def _names(bodies: RequestBodies, request: Request, seq: int, unit: RequestUnit) -> set[str]:
    """The hashes of the parts that a unit is in."""
    hashes, made = bodies.hashes(seq), set[str]()
    for path in unit.paths:
        section, _, rest = path.partition(".")
        at = rest.partition(".")[0]
        if section == "messages" and at.isdecimal() and int(at) < len(hashes):
            made.add(hashes[int(at)])
        elif section == "tools":
            made.add(request.tools)
        elif section == "system" and DIALECTS[request.dialect].places[0]:
            made.add(request.system)
    return made - {""}
