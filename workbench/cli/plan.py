"""`workbench plan`: what the model would see of a session or a file, and why."""

from __future__ import annotations

import argparse
import shutil
import sys
from typing import Any

from workbench.cli.options import options_of
from workbench.cli.sources import read_source
from workbench.config.errors import Refused, WrongCall
from workbench.config.text import fit, print_json, printable, table
from workbench.context.items import SIGNS, Item
from workbench.context.plan import ContextPlan
from workbench.context.render import request
from workbench.context.setup import Setup
from workbench.session.services import Services
from workbench.session.source import Source, as_source


def run(options: argparse.Namespace) -> int:
    """Print the plan as a table, as JSON, or as the request itself."""
    with Services() as services:
        source = read_source(services, options.source)
        if options.at is not None:
            source = _upto(source, options.at)
        setup = services.set_up(options_of(options), source)
        made = setup.plan(source.events, live=source.live)
        if options.request:
            if not made.verdict.fits:
                raise Refused(
                    f"does not fit: {made.verdict.why}" if made.verdict.status == "too_large" else made.verdict.why
                )
            print_json(request(made))
        elif options.json:
            print_json(as_json(made, options.full))
        else:
            _print_table(made, setup, source, options.full)
    return Refused.exit_code if made.verdict.status == "too_large" else 0


def _upto(source: Source, seq: int) -> Source:
    last = source.events[-1].seq if source.events else 0
    if not 0 <= seq <= last:
        raise WrongCall(f"--at: expected a seq from 0 to {last}, got {seq}")
    return as_source(source.name, source.events[:seq], is_file=source.is_file)


def as_json(made: ContextPlan, full: bool = False) -> dict[str, Any]:
    """The plan in the documented form."""
    return {
        "model": made.model or None,
        "window": made.limits.window,
        "window_source": made.limits.window_source,
        "policy": made.policy,
        "verdict": {"fits": made.verdict.fits, "why": made.verdict.why},
        "budget": made.budget._asdict(),
        "totals": made.totals._asdict(),
        "max_output": made.max_output,
        "warnings": list(made.warnings),
        "items": [_item_json(row, full) for row in made.rows],
    }


def _item_json(row: Item, full: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": row.id,
        "seq": row.seq,
        "turn": row.turn,
        "slot": row.slot,
        "role": row.role,
        "kind": row.kind,
        "tool": row.tool,
        "state": row.state,
        "tokens": row.tokens,
        "original_tokens": row.original_tokens,
        "exact": row.exact,
        "pinned": row.pinned,
        "edits": [edit._asdict() for edit in row.edits],
        "text": row.text,
    }
    return {**found, "original": row.original} if full else found


def _print_table(made: ContextPlan, setup: Setup, source: Source, full: bool) -> None:
    columns = shutil.get_terminal_size((120, 24)).columns if sys.stdout.isatty() and not full else 0
    rows = [_table_row(row, None if full else 160) for row in made.rows]
    header = ("seq", "turn", "who", "tokens", "of", "state", "what")
    print("\n".join(table(header, rows, frozenset({0, 1, 3, 4}), columns)) if rows else "(no items)")
    print()
    for line in summary(made, setup, source):
        print(fit(line, columns) if columns else line)


def _table_row(row: Item, most: int | None) -> tuple[str, ...]:
    why = row.edits[-1].why if row.edits else ""
    text = printable(row.text if row.text is not None else row.original)[:most]
    said = f"{why} | {text}" if why else text
    return (
        "–" if row.seq is None else str(row.seq),
        str(row.turn),
        printable(row.who),
        f"{'' if row.exact else '~'}{row.tokens:,}",
        f"{row.original_tokens:,}" if row.original_tokens != row.tokens else "",
        f"{SIGNS[row.state]} {row.state}{' ⚑' if row.pinned else ''}",
        said,
    )


def summary(made: ContextPlan, setup: Setup, source: Source) -> list[str]:
    """The lines under the table: model, policy, budget, verdict."""
    limits = made.limits
    guess = " (a guess: nobody knows this model)" if limits.window_source == "guess" else f" ({limits.window_source})"
    parts = [f"{name} {value:,}" for name, value in made.budget._asdict().items() if value]
    sent = sum(row.in_request for row in made.rows)
    model = printable(made.model) if made.model else "none named"
    lines = [
        f"source   {printable(source.name)}",
        f"model    {model} · window {limits.window:,}{guess} · {setup.counter.note}",
        f"policy   {printable(made.policy)}",
        f"budget   {' · '.join(parts)}",
        f"totals   {made.totals.tokens:,} tokens in {sent} of {len(made.rows)} items "
        f"({made.totals.items:,} content + {made.totals.framing:,} framing; whole: {made.totals.original_tokens:,})",
        f"verdict  {made.verdict.status.replace('_', ' ')}: {made.verdict.why}",
    ]
    return [*lines, *(f"warning  {warning}" for warning in made.warnings)]
