"""Figures for the status line, the composer and the `/tokens` report."""

from __future__ import annotations

from pathlib import Path

from workbench.agent.mentions import with_files
from workbench.compaction.triggers import compacts_at
from workbench.context.plan import ContextPlan
from workbench.context.setup import Setup
from workbench.log.events import text_of
from workbench.models.catalogue import is_local
from workbench.models.framing import MESSAGE
from workbench.models.ledger import Ledger
from workbench.session.open_session import OpenSession
from workbench.session.values import DraftCost, Status

Rows = list[tuple[str, str]]
"""A report: what, and how much."""


def status(opened: OpenSession, plan: ContextPlan) -> Status:
    """The line at the bottom."""
    setup, ledger = opened.setup, opened.ledger
    last = ledger.rows[-1] if ledger.rows else None
    cost = ledger.total.cost if ledger.total.requests > ledger.total.uncosted or not ledger.rows else None
    cached = last.cached / last.prompt if last is not None and last.reported and last.prompt else None
    made = Status(
        tokens=plan.totals.tokens,
        window=plan.limits.window,
        window_source=plan.limits.window_source,
        max_output=plan.max_output,
        response=last.completion if last else 0,
        cost=cost,
        cached=cached,
        model=setup.model or "no model",
        policy=opened.policy,
    )
    if opened.stands_in:
        return made._replace(ready="rehearsal")
    if is_local(setup.model):
        return made._replace(ready="local")
    return made._replace(ready="no key") if opened.lacks_key else made


def draft_cost(setup: Setup, plan: ContextPlan, text: str) -> DraftCost:
    """What a message would add, with the files that it mentions, and what is left then."""
    if not text.strip():
        return DraftCost(0, plan.totals.tokens, plan.limits.capacity - plan.totals.tokens)
    tokens, exact = setup.counter.count(text_of(with_files(text, Path.cwd())))
    total = plan.totals.tokens + tokens + MESSAGE
    return DraftCost(tokens, total, plan.limits.capacity - total, exact)


def tokens_report(opened: OpenSession, plan: ContextPlan) -> Rows:
    """What `/tokens` shows."""
    limits, ledger = plan.limits, opened.ledger
    used = plan.totals.tokens
    share = f"{used / limits.window:.1%}".replace("%", " %") if limits.window else "unknown"
    rows = [
        ("used", f"{used:,} of {limits.window:,} tokens ({share})"),
        ("window", f"{limits.window:,} ({limits.window_source}), {_kept(plan)} kept for the answer"),
        *_turns(ledger),
        ("turns left", _left(ledger, plan)),
        ("compaction", _threshold(opened, plan)),
        ("cost", _cost(ledger)),
        ("counted by", opened.setup.counter.note),
    ]
    calibration = ledger.calibration(opened.setup.model)
    return [*rows, ("calibration", calibration.why)]


def _kept(plan: ContextPlan) -> str:
    wished, left = plan.limits.reserve, plan.budget.reserve
    return f"{left:,} of {wished:,}" if left < wished else f"{wished:,}"


def _turns(ledger: Ledger) -> Rows:
    if not ledger.turns or ledger.average_turn is None:
        return [("latest turn", "no request yet")]
    latest = ledger.turns[max(ledger.turns)]
    growth = ledger.growth
    grows = "" if growth is None else f"; the context grows by {growth:,.0f} a turn"
    return [
        ("latest turn", f"{latest.prompt:,} in, {latest.completion:,} out, {_requests(latest.requests)}"),
        ("average turn", f"{ledger.average_turn:,.0f} tokens in and out{grows}"),
    ]


def _left(ledger: Ledger, plan: ContextPlan) -> str:
    limits = plan.limits
    left = ledger.turns_remaining(limits.window, limits.reserve, limits.margin, plan.totals.tokens)
    return "unknown before two turns can be compared" if left is None else f"about {left:,}"


def _threshold(opened: OpenSession, plan: ContextPlan) -> str:
    limit = compacts_at(opened.setup.loaded.policy.compaction, plan.limits.window)
    if not limit:
        return f"{opened.policy} does not compact by size"
    share = f"{limit / plan.limits.window:.0%}".replace("%", " %")
    return f"{opened.policy} compacts from {limit:,} tokens on ({share})"


def _cost(ledger: Ledger) -> str:
    total = ledger.total
    if not total.requests:
        return "nothing yet"
    known = f"${total.cost:.4f} in {_requests(total.requests)}"
    return known if not total.uncosted else f"{known}, of which {total.uncosted:,} have no known price"


def _requests(count: int) -> str:
    return "1 request" if count == 1 else f"{count:,} requests"
