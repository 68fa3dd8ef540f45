"""`workbench break`, `held` and `release`: the breakpoints of running proxies.

`held --json` prints

    {"held": [{"id", "pid", "rule", "why", "agent", "model", "dialect", "tokens", "window", "items", "new", "since",
               "until", "last", "fixed", "session", "first"}]}

where `since` and `until` are seconds since 1970, `items` and `new` are counts, `last` is how the last item begins,
`fixed` says why nothing else may be sent in its place, or is empty, `session` is what it is recorded in, and `first`
says that no earlier request of its conversation passed: then `new` is what the model has not answered yet.
`held ID --json` prints `{"held": {...}, "body": {...}, "new": [...], "pinned": [...], "policy": ...}`: the body as its
client wrote it (of a websocket's request that has only what is new: all of it), the paths of what is new and of what is
pinned in it, and the policy that it is sent under, if any. `break --json` prints
`{"proxies": [{"pid", "agent", "folder", "rules", "held"}]}`.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from msgspec import structs

from workbench.config.errors import WrongCall
from workbench.config.folders import shown_folder
from workbench.config.foreign_files import read_regular_file, read_to_end
from workbench.config.text import line_width, percent, print_json, printable, table
from workbench.config.values import replace
from workbench.models.calibrated_counts import estimator_for
from workbench.proxy import control
from workbench.proxy.breakpoints import parse_rule
from workbench.proxy.control import NONE_RUNS, HeldSummary, ReleaseOrder, RunningProxy
from workbench.wire.rewriting import items_in
from workbench.wire.streams import parsed_json

_LARGEST = 64 * 1024 * 1024
"""The most bytes to read from a file with a request's body."""


def run_break(options: argparse.Namespace) -> int:
    """Add breakpoints to all proxies, or remove them; then list them."""
    given = [str(parse_rule(rule)) for rule in options.rules]
    found = control.proxy_states()
    if (given or options.clear) and not found:
        raise WrongCall(NONE_RUNS)
    if given or options.clear:
        kept = (() if options.clear else state.rules for _, state in found)
        found = [
            (proxy, control.set_rules(proxy, [*rules, *given])) for (proxy, _), rules in zip(found, kept, strict=True)
        ]
    if options.json:
        proxies = [
            {
                "pid": proxy.pid,
                "agent": proxy.agent or None,
                "folder": proxy.folder,
                "rules": state.rules,
                "held": len(state.held),
            }
            for proxy, state in found
        ]
        print_json({"proxies": proxies})
        return 0
    rows = [
        (
            str(proxy.pid),
            proxy.agent or "–",
            shown_folder(proxy.folder),
            str(len(state.held)),
            ", ".join(state.rules) or "none",
        )
        for proxy, state in found
    ]
    heads = ("proxy", "agent", "folder", "held", "breakpoints")
    print(
        "\n".join(table(heads, [tuple(map(printable, row)) for row in rows], frozenset({3}), line_width()))
        if rows
        else f"({NONE_RUNS})"
    )
    return 0


def run_held(options: argparse.Namespace) -> int:
    """List the requests that wait, or the items of one."""
    if options.id:
        return _one(options)
    waiting = [(proxy, held) for proxy, state in control.proxy_states() for held in state.held]
    if options.json:
        print_json({"held": [_as_json(proxy, held) for proxy, held in waiting]})
    elif waiting:
        heads = ("id", "agent", "model", "tokens", "window", "waits", "breakpoint", "why")
        rows = [_row(held) for _, held in waiting]
        print("\n".join(table(heads, rows, frozenset({3, 4, 5}), line_width())))
    else:
        print("(nothing is held)")
    return 0


def run_release(options: argparse.Namespace) -> int:
    """Release a request: unchanged by default."""
    proxy, held = control.find_held(options.id)
    order = ReleaseOrder("as_it_was")
    if options.answer is not None:
        order = ReleaseOrder("answered", text=options.answer)
    elif options.body is not None:
        order = ReleaseOrder("changed", body=_read_body(options.body))
    order = replace(order, pin=tuple(options.pin))
    control.release_request(proxy, held.id, order)
    pinned = f", pinned {', '.join(order.pin)}" if order.pin else ""
    print(f"{held.id}: {order.end.replace('_', ' ')}{pinned}")
    return 0


def _one(options: argparse.Namespace) -> int:
    proxy, held = control.find_held(options.id)
    detail = control.detail_of(proxy, held.id)
    if options.json:
        details = {"body": detail.body, "new": detail.new, "pinned": detail.pinned, "policy": detail.policy or None}
        print_json({"held": _as_json(proxy, held), **details})
        return 0
    counter, new = estimator_for(held.model), frozenset(detail.new)
    rows = [
        (
            item.path,
            "pinned" if item.path in detail.pinned else "new" if item.path in new else "",
            item.kind,
            f"{counter.count(item.text).tokens:,}",
            printable(" ".join(f"{item.tool} {item.text}"[:400].split())),
        )
        for item in items_in(held.dialect, detail.body)
    ]
    print("\n".join(table(("path", "", "kind", "tokens", "text"), rows, frozenset({3}), line_width())))
    if held.fixed:
        print(f"({held.fixed})")
    return 0


def _read_body(name: str) -> dict[str, Any]:
    try:
        text = read_to_end(sys.stdin.buffer, _LARGEST) if name == "-" else read_regular_file(name, _LARGEST)
    except OSError as error:
        raise WrongCall(f"{name}: cannot be read: {error.strerror or error}") from error
    found = parsed_json(text)
    if not isinstance(found, dict):
        raise WrongCall(f"{name}: expected the body of a request, a JSON object")
    return found


def _row(held: HeldSummary) -> tuple[str, ...]:
    share = percent(held.tokens / held.window) if held.window else "–"
    waits = f"{max(0, round(time.time() - held.since)):,} s"
    cells = (held.id, held.agent or "–", held.model, f"~{held.tokens:,}", share, waits, held.rule, held.why)
    return tuple(map(printable, cells))


def _as_json(proxy: RunningProxy, held: HeldSummary) -> dict[str, Any]:
    return {"pid": proxy.pid, **structs.asdict(held)}
