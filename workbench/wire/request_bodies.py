"""The body of a request, put together again from what the log keeps: its parts, and the requests it goes on from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.log.events import Request
from workbench.wire.parts import join


def message_hashes(request: Request, earlier: Mapping[int, Request]) -> list[str]:
    """The hashes of all messages of a request, in order; `earlier` has requests by their events."""
    chain = [request]
    while chain[-1].base:
        chain.append(earlier[chain[-1].base])
    found: list[str] = []
    for each in reversed(chain):
        del found[each.keep :]
        found.extend(each.messages)
    return found


def body_of(request: Request, parts: Mapping[str, Any], earlier: Mapping[int, Request]) -> dict[str, Any]:
    """What was sent; `parts` are by hash, `earlier` has requests by their events."""
    return join(
        request.dialect,
        parts[request.system] if request.system else None,
        parts[request.tools] if request.tools else None,
        [parts[name] for name in message_hashes(request, earlier)],
        {"model": request.model, **request.parameters},
        request.cache_marks,
    )
