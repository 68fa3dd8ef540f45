"""`workbench compactions` and `workbench undo`: what was summarised, what comes next, and the way back.

`compactions --json` prints

    {"session", "policy", "model", "mode", "headless_mode", "tokens", "window",
     "decision": {"action", "trigger", "why", "question", "digest"},
     "checks": [{"trigger", "fired", "why", "measured", "limit"}],
     "next": {"trigger", "limit", "turns", "why"},
     "history": [{"event", "id", "at", "from", "to", "status", "by", "trigger", "why", "model", "made_by",
                  "prompt_hash", "seconds", "cost", "ratio", "request_ratio", "score", "tokens_before", "tokens_after",
                  "source_tokens", "summary_tokens", "kept_tokens", "facts_kept", "facts_lost", "events", "first_at",
                  "last_at", "first_turn", "last_turn", "summary", "inside": [the same again]}],
     "failures": [{"event", "kind", "message"}],
     "metrics": {"made", "by_trigger", "by_status", "digests", "failures", "seconds", "ratios", "scores", "freed",
                 "cost", "uncosted"}}

where `inside` are the compactions that one has replaced, `by` is the event that replaced or reverted it, and `seconds`,
`ratios` and `scores` are null or {"of", "least", "mean", "most"}. What a compaction did not note is null. `undo --json`
prints

    {"redo", "changes": [{"event", "target", "kind", "what"}], "tokens_before", "tokens_after", "window"}

with the total tokens of the plan before and after.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import structs

from workbench.cli.options import options_of
from workbench.cli.sources import read_source_with_notes
from workbench.compaction.forecast import Forecast, forecast_compaction, next_step
from workbench.compaction.metrics import CompactionMetrics, FigureSpread, count_metrics
from workbench.compaction.record import STATUS_NAMES, CompactionRecord, read_record
from workbench.compaction.triggers import decide_compaction
from workbench.compaction.undo import (
    NestedCompaction,
    UndoChange,
    compaction_tree,
    redo_change,
    undo_all_compactions,
    undo_change,
)
from workbench.compaction.values import CompactionDecision, TriggerCheck
from workbench.config.errors import WrongCall
from workbench.config.text import print_json, printable, table, when
from workbench.context.plan import ContextPlan
from workbench.context.policy import CompactionPolicy
from workbench.context.setup import Setup
from workbench.log.events import Compaction, Event
from workbench.models.ledger import Ledger
from workbench.sources.services import Services
from workbench.sources.source import Source, as_source
from workbench.sources.source_setups import opening_setup

# workbench compactions


def run_compactions(options: argparse.Namespace) -> int:
    """Print the status, the history and the counters of a session's compactions."""
    with Services() as services:
        source = read_source_with_notes(services, options.session)
        setup = opening_setup(services, options_of(options), source)
        plan = setup.plan(source.events, live=source.live)
        growth = Ledger.from_events(source.events, services.catalogue).growth
    found = read_record(source.events)
    policy = setup.loaded.policy.compaction
    over = not source.live
    decision = decide_compaction(plan, source.events, found, policy, headless=False, turn_over=over)
    coming = forecast_compaction(plan, source.events, found, policy, growth=growth, turn_over=over)
    if options.json:
        print_json(_as_json(source, setup, plan, found, decision, coming))
    else:
        for line in _lines(setup, plan, found, decision, coming):
            print(line)
    return 0


def _as_json(
    source: Source,
    setup: Setup,
    plan: ContextPlan,
    found: CompactionRecord,
    decision: CompactionDecision,
    coming: Forecast,
) -> dict[str, Any]:
    policy = setup.loaded.policy.compaction
    values = decision._asdict()
    return {
        "session": source.name,
        "policy": plan.policy,
        "model": plan.model or None,
        "mode": policy.mode,
        "headless_mode": _headless_mode(policy),
        "tokens": plan.size,
        "window": plan.limits.window,
        "decision": {key: values[key] for key in ("action", "trigger", "why", "question", "digest")},
        "checks": [_check_json(check) for check in decision.checks.all],
        "next": coming._asdict(),
        "history": [_node_json(node) for node in compaction_tree(found)],
        "failures": [{"event": one.seq, "kind": one.kind, "message": one.message} for one in found.failures],
        "metrics": _metrics_json(count_metrics(found)),
    }


def _check_json(check: TriggerCheck) -> dict[str, Any]:
    return {key: getattr(check, key) for key in ("trigger", "fired", "why", "measured", "limit")}


def _headless_mode(policy: CompactionPolicy) -> str:
    return (policy.headless_mode or "confirm") if policy.mode == "confirm" else policy.mode


def _node_json(node: NestedCompaction) -> dict[str, Any]:
    event, status, by, details = node.entry
    assert isinstance(event.body, Compaction)
    first, last = node.entry.range
    return {
        "event": event.seq,
        "id": event.id,
        "at": event.at,
        "from": first,
        "to": last,
        "status": status,
        "by": by,
        **structs.asdict(details),
        "summary": event.body.summary,
        "inside": [_node_json(inner) for inner in node.inside],
    }


def _metrics_json(counted: CompactionMetrics) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in CompactionMetrics.__struct_fields__:
        value = getattr(counted, name)
        found[name] = value._asdict() if isinstance(value, FigureSpread) else value
    return found


# In lines


def _lines(
    setup: Setup, plan: ContextPlan, found: CompactionRecord, decision: CompactionDecision, coming: Forecast
) -> Iterator[str]:
    policy = setup.loaded.policy.compaction
    elsewhere = f", {_headless_mode(policy)} where nobody can be asked" if policy.mode == "confirm" else ""
    used = f"the next request has {plan.size:,} of {plan.limits.window:,} tokens"
    yield f"policy    {printable(plan.policy)}; mode {policy.mode}{elsewhere}; {used}"
    for name, check in decision.checks.named:
        yield f"{name:<10}{'fired' if check.fired else 'no'}: {check.why}"
    yield f"now       {_now(decision)}"
    yield f"next      {next_step(coming, decision, policy, plan.limits.window)}"
    yield ""
    rows = [row for node in compaction_tree(found) for row in _rows(node, 0)]
    header = ("event", "made", "events", "turns", "before", "after", "ratio", "kept", "trigger", "by", "state")
    yield from table(header, rows, frozenset({4, 5, 6, 7})) if rows else ["no compactions yet"]
    for failed in found.failures:
        yield f"event {failed.seq} failed, {failed.kind}: {printable(failed.message)}"
    yield from _counters(count_metrics(found))


def _now(decision: CompactionDecision) -> str:
    match decision.action:
        case "none":
            return f"nothing: {decision.why}"
        case "ask":
            return f"asks: {decision.question}"
        case "compact":
            return f"compacts{' without a model' if decision.digest else ''}: {decision.why}"


def _rows(node: NestedCompaction, depth: int) -> Iterator[tuple[str, ...]]:
    event, status, by, noted = node.entry
    first, last = node.entry.range
    cause = f" by {by}" if by is not None else ""
    yield (
        f"{'  ' * (depth - 1)}{'└ ' if depth else ''}{event.seq}",
        when(event.at),
        f"{first}–{last}" if first <= last else "–",
        "–" if noted.first_turn is None or noted.last_turn is None else f"{noted.first_turn}–{noted.last_turn}",
        "–" if noted.tokens_before is None else f"{noted.tokens_before:,}",
        "–" if noted.tokens_after is None else f"{noted.tokens_after:,}",
        "–" if noted.ratio is None else f"{noted.ratio:.1f}",
        "–" if noted.score is None else f"{noted.score:.0%}",
        printable(noted.trigger or "–"),
        printable(noted.made_by or noted.model or "–"),
        f"{STATUS_NAMES[status]}{cause}",
    )
    for inner in node.inside:
        yield from _rows(inner, depth + 1)


def _counters(counted: CompactionMetrics) -> Iterator[str]:
    if counted.made:
        yield ""
        yield f"made      {counted.made} ({_counts(counted.by_status)}), by trigger: {_counts(counted.by_trigger)}"
        freed = "not recorded" if counted.freed is None else f"{counted.freed:,} tokens"
        yield f"freed     {freed}; {counted.digests} without a model"
        unknown = f", and {counted.uncosted} at an unknown cost" if counted.uncosted else ""
        yield "cost      unknown" if counted.cost is None else f"cost      ${counted.cost:.4f}{unknown}"
        spreads = (
            ("seconds", counted.seconds, ".2f"),
            ("ratio", counted.ratios, ".1f"),
            ("kept", counted.scores, ".0%"),
        )
        for name, spread, form in spreads:
            if spread:
                yield f"{name:<10}{_spread(spread, form)}"
    if counted.failures:
        yield f"failures  {_counts(counted.failures)}"


def _spread(spread: FigureSpread, form: str) -> str:
    if spread.of == 1:
        return f"{spread.mean:{form}}"
    return f"{spread.least:{form}} to {spread.most:{form}}, {spread.mean:{form}} on average of {spread.of}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {printable(STATUS_NAMES.get(name, name))}" for name, count in sorted(counts.items()))


# workbench undo


def run_undo(options: argparse.Namespace) -> int:
    """Undo or redo the last compaction or override, a certain one, or all compactions."""
    if options.redo and options.all_compactions:
        raise WrongCall("--redo: expected one event to bring back, not --all-compactions")
    with Services() as services, services.store.session(options.session) as session:
        events = session.events()
        changes = _changes(events, options)
        setup = opening_setup(services, options_of(options), as_source(options.session, events))
        before = setup.plan(events)
        added = session.append(*(change.revert for change in changes))
        after = setup.plan([*events, *added])
    if options.json:
        print_json(_undo_json(options.redo, changes, added, before, after))
    else:
        for event, change in zip(added, changes, strict=True):
            print(f"event {event.seq}: {change.what}")
        was, now, window = before.size, after.size, after.limits.window
        print(f"the request: {was:,} → {now:,} of {window:,} tokens")
    return 0


def _changes(events: list[Event], options: argparse.Namespace) -> list[UndoChange]:
    if options.all_compactions:
        return undo_all_compactions(events)
    return redo_change(events, options.event) if options.redo else undo_change(events, options.event)


def _undo_json(
    again: bool, changes: list[UndoChange], added: tuple[Event, ...], before: ContextPlan, after: ContextPlan
) -> dict[str, Any]:
    return {
        "redo": again,
        "changes": [
            {
                "event": event.seq,
                "target": change.target.seq,
                "kind": "compaction" if isinstance(change.target.body, Compaction) else "override",
                "what": change.what,
            }
            for event, change in zip(added, changes, strict=True)
        ],
        "tokens_before": before.size,
        "tokens_after": after.size,
        "window": after.limits.window,
    }
