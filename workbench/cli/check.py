"""`workbench check`: holds sessions to limits, for CI and for hooks that run before a commit.

`check --json` prints

    {"result": "ok" | "over" | "unknown" | "failed", "strict": bool, "limits": {"tokens", "share", "waste", "cost",
                                                                               "misses"},
     "sources": [{"source", "model", "requests", "policy",
                  "checks": [{"limit", "result", "figure", "most", "request", "event", "note"}]}],
     "failed": [{"source", "error"}]}

where `figure` is null where it is not known, and shares are between 0 and 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import structs

from workbench.cli.lab import named_policies, replay_corpus
from workbench.cli.options import options_of
from workbench.config.errors import WrongCall
from workbench.config.text import counted, fit_columns_end, line_width, percent, print_json, printable, table
from workbench.config.values import replace
from workbench.context.policy_names import RECORDED
from workbench.lab.limits import (
    LargestRequest,
    LimitCheck,
    LimitName,
    LimitResult,
    SessionLimits,
    check_limits,
    largest_request,
)
from workbench.lab.running.fetching import is_url
from workbench.lab.values import SourceRun
from workbench.sources.found_plans import find_plan
from workbench.sources.options import Options
from workbench.sources.services import Services

_OVER, _FAILED = 1, WrongCall.exit_code
_RESULTS: dict[LimitResult, str] = {"ok": "ok", "over": "OVER", "unknown": "unknown"}
_WHAT_COSTS = (
    "cost: the requests of the conversation itself, those without a report of their tokens estimated; "
    "`workbench usage` counts what was reported, and sub-agents too"
)
_MOST_DIGITS = 12
_OTHERS = 64
"""The width that the other columns need to be readable."""


class CheckedSource(NamedTuple):
    """A session and what the checks found."""

    run: SourceRun
    checks: Sequence[LimitCheck]


def run_check(options: argparse.Namespace) -> int:
    """Check every source against every limit, and print what was found."""
    limits = SessionLimits(
        options.max_tokens, options.max_share, options.max_waste, options.max_cost, options.max_misses
    )
    if limits == SessionLimits():
        raise WrongCall("expected at least one limit, as in --max-share 80% (see workbench check --help)")
    asked = replace(options_of(options), policy="")
    with Services() as services:
        _warn_of_unknown_model(asked.model, services)
        refs = [RECORDED, *([options.policy] if options.policy not in (None, RECORDED) else [])]
        outcomes = list(replay_corpus(options, asked, named_policies(refs, asked, services), services))
        runs = [run for outcome in outcomes for run in outcome.runs]
        found = [CheckedSource(run, check_limits(run, limits, _largest(run, asked, services))) for run in runs]
    failed = [(each.task.source, each.error) for each in outcomes if each.error and not each.is_other]
    if options.json:
        print_json(_as_json(found, limits, failed, options.strict))
    else:
        _print_report(found, failed, options.strict)
    over = any(_is_over(each, options.strict) for source in found for each in source.checks)
    return _FAILED if failed else _OVER if over else 0


def _warn_of_unknown_model(name: str, services: Services) -> None:
    """A model that was mistyped has no price and no window, and what is not known counts as kept."""
    info = services.catalogue.find_model(name)
    if not name or info.input_price is not None or info.window_source not in ("guess", "fallback"):
        return
    close = services.catalogue.close_matches(name)[:2]
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    print(f"· --model {printable(name)}: no such model is known{hint}", file=sys.stderr)


def _largest(run: SourceRun, asked: Options, services: Services) -> LargestRequest | None:
    """The largest request; if nothing was sent yet, the next one, as `workbench plan` shows it."""
    found = largest_request(run.runs[-1])
    if found is not None or is_url(run.source):
        return found
    policy = "" if len(run.runs) == 1 else run.runs[-1].policy
    plan = find_plan(services, services.source(run.source), replace(asked, policy=policy)).plan
    window = None if plan.limits.window_source == "guess" else plan.limits.window
    return LargestRequest(plan.size, window, note="the next request")


def _is_over(check: LimitCheck, strict: bool) -> bool:
    return check.result == "over" or (strict and check.result == "unknown")


def _as_json(
    found: Sequence[CheckedSource], limits: SessionLimits, failed: Sequence[tuple[str, str]], strict: bool
) -> dict[str, Any]:
    results = {each.result for source in found for each in source.checks}
    worst = next((each for each in ("over", "unknown") if each in results), "ok")
    return {
        "result": "failed" if failed else worst,
        "strict": strict,
        "limits": structs.asdict(limits),
        "sources": [
            {
                "source": run.source,
                "model": run.model or None,
                "requests": run.requests,
                "policy": run.runs[-1].policy,
                "checks": [_check_json(each) for each in checks],
            }
            for run, checks in found
        ],
        "failed": [{"source": name, "error": error} for name, error in failed],
    }


def _check_json(check: LimitCheck) -> dict[str, Any]:
    figure = check.figure if not isinstance(check.figure, float) else round(check.figure, 6)
    return check._asdict() | {"figure": figure, "result": check.result, "note": check.note or None}


def _print_report(found: Sequence[CheckedSource], failed: Sequence[tuple[str, str]], strict: bool) -> None:
    columns = line_width()
    rows = [
        (
            _RESULTS[check.result],
            _short_name(source.run.source, columns),
            check.limit,
            *figures_shown(check),
            _where(check),
        )
        for source in found
        for check in source.checks
    ]
    if rows:
        about = ["", *([_WHAT_COSTS] if any(row[2] == "cost" for row in rows) else [])]
        header = ("", "source", "limit", "figure", "most", "where")
        print("\n".join([*table(header, rows, frozenset({3, 4}), columns), *about]))
    print(_sum_line(found, failed, strict))


def _short_name(source: str, columns: int) -> str:
    """The name of a source, cut at its beginning where a terminal is narrow; 0 columns: any number."""
    return fit_columns_end(printable(source), max(16, columns - _OTHERS)) if columns else printable(source)


def figures_shown(check: LimitCheck) -> tuple[str, str]:
    """The figure and its limit, with enough digits to tell them apart."""
    for more in range(_MOST_DIGITS):
        most, figure = _shown(check.limit, check.most, more), _shown(check.limit, check.figure, more)
        if figure != most or check.figure == check.most:
            break
    return figure, most


def _shown(limit: LimitName, value: float | None, more: int) -> str:
    """`more`: digits in addition to the usual ones."""
    if value is None:
        return "–"
    if limit in ("share", "waste"):
        return percent(value, 1 + more)
    return f"${value:,.{2 + more}f}" if limit == "cost" else f"{value:,.0f}"


def _where(check: LimitCheck) -> str:
    place = f"request {check.request:,} (event {check.event})" if check.request else ""
    return printable("; ".join(filter(None, (place, check.note))))


def _sum_line(found: Sequence[CheckedSource], failed: Sequence[tuple[str, str]], strict: bool) -> str:
    checks = [check for source in found for check in source.checks]
    over, unknown = (sum(check.result == result for check in checks) for result in ("over", "unknown"))
    parts = [f"{counted(len(found), 'session')}, {counted(len(checks), 'figure')}", f"{over:,} over the limit"]
    if unknown:
        counts = "counted as over" if strict else "counted as ok; --strict counts such figures as over"
        parts.append(f"{unknown:,} not known ({counts})")
    if failed:
        parts.append(f"{counted(len(failed), 'source')} could not be read")
    return "; ".join(parts)
