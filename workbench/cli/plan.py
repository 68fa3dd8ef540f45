"""`workbench plan`: what the model would see of a session or a file, and why."""

from __future__ import annotations

import argparse
import sys
from functools import cache, lru_cache
from typing import Any

from workbench.cli.options import options_of
from workbench.cli.sources import read_source_with_notes
from workbench.config.errors import Refused
from workbench.config.garbage import collector_paused
from workbench.config.text import fit_columns, line_width, print_json, print_plain_json, printable, table_lines
from workbench.context.items import SIGNS, Item, State, state_words
from workbench.context.plan import ContextPlan
from workbench.context.plan_json import item_json, plan_json
from workbench.context.render import render_request
from workbench.lab.replay.what_if import find_any_plan
from workbench.log.events import Failure
from workbench.models.calibration import Calibration, TokensOutsideRows
from workbench.sources.found_plans import FoundPlan
from workbench.sources.recorded import BY_HAND
from workbench.sources.services import Services
from workbench.sources.source import Source
from workbench.views.context_view import unattributed_words


def run_plan(options: argparse.Namespace) -> int:
    """Print the plan as a table, as JSON, or as the request itself."""
    with Services() as services, collector_paused():
        source = read_source_with_notes(services, options.source)
        found = find_any_plan(services, source, options_of(options), options.nth, options.at)
        made = found.plan
        if options.request:
            if not made.verdict.fits:
                raise Refused(
                    f"does not fit: {made.verdict.why}" if made.verdict.status == "too_large" else made.verdict.why
                )
            body = found.body or render_request(made)
            if body.get("messages") == []:
                raise Refused("there is nothing to send")
            print_plain_json(body)
            if not found.body and not made.whole and made.unattributed > 0:
                note = f"about {made.unattributed:,} of {made.size:,} tokens are not in the file, nor in this request"
                print(f"· {note}", file=sys.stderr)
        elif options.json:
            print_json(plan_as_json(found, options.full))
        else:
            _print_table(found, options.full)
    return Refused.exit_code if made.verdict.status == "too_large" else 0


def plan_as_json(found: FoundPlan, full: bool = False) -> dict[str, Any]:
    """The plan as JSON; `docs/json.md` describes the keys."""
    made, learnt = found.plan, found.setup.calibration
    return {
        **plan_json(made),
        "view": found.view,
        "request": found.number,
        "reported": found.reported,
        "unattributed": made.unattributed if made.reported is not None or learnt else None,
        "beside": outside_rows_json(made.known_rest, made.unattributed) if made.reported is not None else None,
        "calibration": None if learnt is None else calibration_json(learnt),
        "items": [item_json(row, full) for row in made.items],
    }


def outside_rows_json(known: TokensOutsideRows, unattributed: int) -> dict[str, int]:
    """As JSON: what is known about the tokens of a request that are in no row, and how many remain unexplained."""
    return {**known._asdict(), "unexplained": unattributed - known.tokens}


def calibration_json(learnt: Calibration) -> dict[str, Any]:
    """As JSON: how we correct our counts, learnt from a session's reports."""
    spread = None if learnt.spread is None else round(learnt.spread, 4)
    return {
        "factor": round(learnt.factor, 4),
        "fixed": learnt.fixed,
        "extra_framing": round(learnt.extra, 4),
        "thinking": learnt.thinking,
        "spread": spread,
        "samples": learnt.samples,
        "why": learnt.why,
    }


def _print_table(found: FoundPlan, full: bool) -> None:
    made = found.plan
    columns = 0 if full else line_width()
    rows, sent = [], 0
    for item in made.items:
        rows.append(_table_row(item, None if full else 160))
        sent += item.in_request
    if made.unattributed:
        rows.append(("–", "", "–", f"{made.unattributed:,}", "", "  sent", _rest(made)))
    header = ("seq", "turn", "who", "tokens", "of", "state", "what")
    lines = table_lines(header, rows, frozenset({0, 1, 3, 4}), columns) if rows else ["(no items)"]
    sys.stdout.writelines(f"{line}\n" for line in lines)
    print()
    for line in _summary_lines(found, sent):
        print(fit_columns(line, columns) if columns else line)


def _table_row(row: Item, most: int | None) -> tuple[str, ...]:
    why = row.edits[-1].why if row.edits else ""
    text = printable(row.text if row.text is not None else row.original, most)
    shown = f"{why} | {text}" if why else text
    return (
        "–" if row.seq is None else str(row.seq),
        str(row.turn),
        _who_cell(row.who),
        f"{'' if row.exact else '~'}{row.tokens:,}",
        f"{row.original_tokens:,}" if row.original_tokens != row.tokens else "",
        _state_cell(row.state, row.pinned),
        shown,
    )


@lru_cache(1024)
def _who_cell(who: str) -> str:
    return printable(who)


@cache
def _state_cell(state: State, pinned: bool) -> str:
    return f"{SIGNS[state]} {state_words(state)}{' ⚑' if pinned else ''}"


def _rest(made: ContextPlan) -> str:
    return f"{'' if made.whole or made.unattributed < 0 else 'not in this file: '}{unattributed_words(made)}"


def _view_words(found: FoundPlan) -> str:
    made = found.plan
    which = f"request {found.number:,} of {found.requests:,}" if found.number else "the next request"
    if found.view == "what-if":
        reported = f"; {found.reported:,} were reported for it" if found.reported else ""
        return f"what-if: {which} under {printable(made.policy)}{reported}"
    if made.reported is None:
        if found.number:
            return f"recorded: {which}; {BY_HAND if found.by_hand else 'nothing was reported for it'}"
        return "recorded: all of it; no request was reported" if found.source.recorded else which
    return f"recorded: {which}; {made.reported:,} tokens reported"


def _summary_lines(found: FoundPlan, sent: int) -> list[str]:
    """The lines under the table: model, policy, budget, verdict; `sent`: how many items are in the request."""
    made, setup, source = found.plan, found.setup, found.source
    limits = made.limits
    guess = " (a guess: unknown model)" if limits.window_source == "guess" else f" ({limits.window_source})"
    names = {"unattributed": "not in file"}
    parts = [f"{names.get(name, name)} {value:,}" for name, value in made.budget._asdict().items() if value]
    aside = sum(made.items.asides.values())
    never = f", {aside:,} more are never sent" if aside else ""
    model = printable(made.model) if made.model else "none named"
    lines = [
        f"source   {printable(source.name)}",
        f"view     {_view_words(found)}",
        f"model    {model} · window {limits.window:,}{guess} · {setup.counter.note}",
        f"policy   {printable(made.policy)}",
        f"budget   {' · '.join(parts)}",
        f"totals   {made.totals.tokens:,} tokens in {sent:,} of {len(made.items) - aside:,} items{never} "
        f"({made.totals.items:,} content + {made.totals.framing:,} framing, which is roles and separators; "
        f"{made.totals.original_tokens:,} before cuts)",
        f"verdict  {made.verdict.status.replace('_', ' ')}: {made.verdict.why}",
    ]
    if setup.calibration is not None and setup.calibration.samples:
        lines.insert(-1, f"counts   {setup.calibration.why}")
    return [*lines, *(f"warning  {warning}" for warning in (*made.warnings, *_skipped(source)))]


def _skipped(source: Source) -> list[str]:
    """In one line, the parts of a file that could not be read."""
    messages = [event.body.message for event in source.events if isinstance(event.body, Failure)]
    skipped = [printable(each) for each in messages if each.startswith("skipped: ")]
    return [f"{skipped[0]}{f', and {len(skipped) - 1:,} more like it' if len(skipped) > 1 else ''}"] if skipped else []
