"""Figures for the status line, the composer and the `/tokens` report."""

from __future__ import annotations

from pathlib import Path

from workbench.agent.mentions import with_files
from workbench.compaction.forecast import in_turns
from workbench.compaction.triggers import compacts_at, size_limit
from workbench.config.text import percent
from workbench.context.plan import ContextPlan
from workbench.context.setup import Setup
from workbench.log.events import text_of
from workbench.models.catalogue import is_local
from workbench.models.framing import MESSAGE
from workbench.models.ledger import Ledger
from workbench.session.open_session import OpenSession
from workbench.views.alerts import AlertFigures
from workbench.views.compaction_values import CompactionView
from workbench.views.values import DraftCost, Status, WindowUse

Rows = list[tuple[str, str]]
"""A report: names and values."""


def status_figures(opened: OpenSession, plan: ContextPlan) -> Status:
    """The values of the status line."""
    setup, ledger = opened.setup, opened.ledger
    last = ledger.latest
    cached = last.cached / last.prompt if last is not None and last.reported and last.prompt else None
    made = Status(
        tokens=plan.size,
        window=plan.limits.window,
        window_source=plan.limits.window_source,
        max_output=plan.max_output,
        response=last.completion if last else 0,
        cost=ledger.total.known_cost,
        cached=cached,
        model=setup.model or "no model",
        policy=opened.policy,
        what_if=opened.view == "what-if",
        prompt=opened.last_prompt,
    )
    if opened.is_rehearsed:
        return made._replace(ready="rehearsal")
    if is_local(setup.model):
        return made._replace(ready="local")
    return made._replace(ready="no key") if opened.lacks_key else made


def alert_figures(opened: OpenSession, status: Status) -> AlertFigures:
    """What alerts are made from. Of another agent's session, the last request counts as it was reported."""
    tokens = opened.last_prompt if opened.recorded is not None and opened.last_prompt else status.tokens
    is_known = status.window > 0 and status.window_source not in ("guess", "fallback")
    share = tokens / status.window if is_known else None
    name = opened.name if opened.session is not None else Path(opened.name).name
    return AlertFigures(opened.identity, name, share, opened.compactions, opened.failures)


def draft_cost(setup: Setup, plan: ContextPlan, text: str) -> DraftCost:
    """The tokens that a message would add, with the files that it mentions, and the tokens that are left then."""
    if not text.strip():
        return DraftCost(0, plan.size, plan.limits.capacity - plan.totals.tokens, free=plan.budget.free)
    count = setup.counter.count(text_of(with_files(text, Path.cwd())))
    more = count.tokens + round(MESSAGE * setup.counter.framing)
    room = plan.limits.capacity - plan.totals.tokens - more
    return DraftCost(count.tokens, plan.size + more, room, count.exact, plan.budget.free - more)


def tokens_report(opened: OpenSession, plan: ContextPlan, view: CompactionView | None) -> Rows:
    """The rows of `/tokens`. `view` is the compaction panel's value, so both show the same figures."""
    limits, ledger = plan.limits, opened.ledger
    use = WindowUse(plan.size, limits.window)
    share = percent(use.share, 1)
    growth = view.forecast.growth if view is not None else ledger.growth
    rows = [
        ("used", f"{use.tokens:,} of {limits.window:,} tokens ({share}) in the next request"),
        ("window", f"{limits.window:,} ({limits.window_source}), {_kept(plan)} kept for the answer"),
        *_turns(ledger, growth),
        ("next", view.next if view is not None else "not known yet"),
        ("compaction", _threshold(opened, plan)),
        ("window full", _full(plan, growth)),
        ("cost", _cost(ledger)),
        ("counted by", opened.setup.counter.note),
    ]
    return [*rows, ("calibration", ledger.calibration_words(opened.setup.model))]


def _kept(plan: ContextPlan) -> str:
    wished, left = plan.limits.reserve, plan.budget.reserve
    return f"{left:,} of {wished:,}" if left < wished else f"{wished:,}"


def _full(plan: ContextPlan, growth: float | None) -> str:
    """In how many turns the window is full."""
    if growth is None:
        return GROWTH_UNKNOWN
    return in_turns(turns_that_fit(plan, growth)) or "not soon: the context does not grow"


def _turns(ledger: Ledger, growth: float | None) -> Rows:
    if not ledger.turns or ledger.average_turn is None:
        return [("latest turn", "no request yet")]
    latest = ledger.turns[max(ledger.turns)]
    grows = (
        "" if growth is None else f"; the context {'grows' if growth > 0 else 'shrinks'} by {abs(growth):,.0f} a turn"
    )
    return [
        ("latest turn", f"{latest.prompt:,} in, {latest.completion:,} out, {_requests(latest.requests)}"),
        ("average turn", f"{ledger.average_turn:,.0f} tokens in and out{grows}"),
    ]


def turns_that_fit(plan: ContextPlan, growth: float | None) -> int | None:
    """How many more turns of the average size fit; None if unknown, or if the context does not grow."""
    if growth is None or growth <= 0:
        return None
    return max(0, int((plan.limits.target - plan.totals.tokens) / growth))


GROWTH_UNKNOWN = "unknown: how fast the context grows is not known yet"
MEASURED = {"plan": "", "since_compaction": " of events since the last compaction", "reported": " of the last prompt"}


def _threshold(opened: OpenSession, plan: ContextPlan) -> str:
    """When the policy compacts, and the smaller size from which on a request would leave too little for the answer."""
    policy, window = opened.setup.loaded.policy.compaction, plan.limits.window
    limit, most = size_limit(policy, window), compacts_at(policy, plan)
    share = percent(limit / max(window, 1))
    by_size = f"from {limit:,} tokens{MEASURED[policy.measure]} on ({share})" if limit else ""
    by_turns = f"every {policy.turns:,} turns" if policy.turns else ""
    when = ", or ".join(filter(None, (by_size, by_turns)))
    if not when or not policy.automatic:
        return f"{opened.policy} does not compact by itself"
    sooner = f"; already at {most:,}, as a longer request would leave too little for the answer" if most < limit else ""
    return f"{opened.policy} compacts {when}{sooner}"


def _cost(ledger: Ledger) -> str:
    total = ledger.total
    if not total.requests:
        return "nothing yet"
    if total.known_cost is None:
        return f"unknown: no price is known for {_requests(total.requests)}"
    known = f"${total.known_cost:.4f} in {_requests(total.requests)}"
    return known if not total.uncosted else f"{known}, of which {total.uncosted:,} have no known price"


def _requests(count: int) -> str:
    return "1 request" if count == 1 else f"{count:,} requests"
