"""What a request carries and could do without: the largest items, and those that are no longer needed.

Knows no widget. What is done with them is masking, which one key undoes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import nlargest
from typing import Literal, NamedTuple

from workbench.config.text import counted, percent, printable
from workbench.context.items import SIGNS, Item
from workbench.context.plan import ContextPlan
from workbench.context.tool_lines import item_line
from workbench.lab.caching import CacheUse, price
from workbench.lab.replay import LabSource
from workbench.lab.waste_costs import CarriedWaste, WasteReport
from workbench.lab.waste_reports import in_dollars, what
from workbench.log.events import Event, OverrideAction, SlotContent, SystemMessage
from workbench.models.catalogue import ModelInfo
from workbench.session.open_session import OpenSession
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.sources.source import as_source
from workbench.tui.inspector.overrides import OverridePreview, ProposedOverrides, choose, why_not
from workbench.tui.widgets.cells import fit
from workbench.views.context_view import SessionQueries, runs

FreeOrder = Literal["unneeded", "largest"]
Freeable = CarriedWaste | Item
"""An item of one order or the other."""
ORDERS: tuple[FreeOrder, ...] = ("unneeded", "largest")
MOST = 10
LEAST_TOKENS = 50
"""Of a smaller item the marker would leave little to free."""
WORTH = 0.01
"""The share of the window from which on a large item is proposed, and not only listed."""
WHO, KIND = 16, 11
"""Cells for who said it, and for why it is no longer needed."""
TITLES: dict[FreeOrder, str] = {
    "unneeded": "Free space: what is sent and no longer needed",
    "largest": "Free space: the largest items",
}
HEADERS: dict[FreeOrder, str] = {
    "unneeded": f"    {'kind':{KIND}}  tokens    carried    cost  what",
    "largest": f"    {'tokens':>8}  {'item':<8}{'who':<{WHO}}  what",
}
NOTHING: dict[FreeOrder, str] = {
    "unneeded": f"nothing of {LEAST_TOKENS} tokens or more that is sent was read again, overwritten or retried",
    "largest": f"nothing to mask: no item of {LEAST_TOKENS} tokens or more may be masked",
}


class FreeableLog(NamedTuple):
    """What is open, as it was when somebody asked."""

    events: list[Event]
    model: str
    is_file: bool
    info: ModelInfo


def asked_about(opened: OpenSession) -> FreeableLog:
    """Taken in the session's thread."""
    setup = opened.setup
    return FreeableLog(list(opened.events), setup.model, opened.session is None, setup.info)


# The largest


def largest(plan: ContextPlan, count: int = MOST) -> list[Item]:
    """The largest items that may be masked, the largest first: one pass over what is sent."""
    return nlargest(count, _maskable(plan), key=lambda row: row.tokens)


def worth(items: Sequence[Freeable], window: int) -> frozenset[int]:
    """The places of those that are worth it."""
    return frozenset(at for at, row in enumerate(items) if row.tokens >= window * WORTH)


def _maskable(plan: ContextPlan) -> Iterator[Item]:
    """All but what is pinned or masked already, what cannot be masked, and what the next answer is about.

    That is what was said in the current turn, and the results that the model has not answered yet.
    """
    fresh: list[Item] = []
    for row in plan.items.in_request():
        if row.role == "assistant":
            yield from fresh
            fresh = []
        if row.tokens < LEAST_TOKENS or row.pinned or row.state == "masked" or why_not("mask", row):
            continue
        if row.kind == "tool_result":
            fresh.append(row)
        elif row.slot != "turn":
            yield row


# What is no longer needed


def report_of(asked: FreeableLog, services: Services) -> WasteReport:
    """All waste of the log, sent or not. For a thread."""
    source = as_source("", asked.events, is_file=asked.is_file)
    return LabSource(services, Options(model=asked.model), source).waste


def still_sent(report: WasteReport, plan: ContextPlan) -> list[CarriedWaste]:
    """The waste that a request carries, the largest first; what is pinned was wanted.

    What took its place has to be sent too: else it is the only copy that is left.
    """
    wanted = {seq for item in report.items for seq in (item.event, item.by)}
    rows = {row.seq: row for row in plan.items.in_request() if row.seq in wanted and row.state != "masked"}
    found = []
    for item in report.items:
        row = rows.get(item.event)
        if row is not None and item.by in rows and not row.pinned and item.tokens >= LEAST_TOKENS:
            found.append(item)
    return sorted(found, key=lambda item: (-item.tokens, item.event))


def decisions(items: Sequence[CarriedWaste], event: Callable[[int], Event | None]) -> list[tuple[int, OverrideAction]]:
    """Results are masked. A call that is waste with its result is left out, and so is what is defined twice."""
    found: list[tuple[int, OverrideAction]] = []
    for item in items:
        known = event(item.event)
        is_defined = known is not None and isinstance(known.body, SlotContent | SystemMessage)
        found.append((item.event, "exclude" if item.pair or is_defined else "mask"))
    return found


# Both


def line_of(item: Freeable, width: int) -> str:
    """What is told of an item, in so many cells; what is longer is cut."""
    if isinstance(item, Item):
        who = fit(printable(item.who), WHO)
        return f"{item.tokens:>8,}  {SIGNS[item.state]} #{item.seq:<5} {who}  {item_line(item)}"
    figures = f"{item.tokens:>7,} {item.carried:>10,} {in_dollars(item.cost):>7}"
    start = f"{fit(item.kind, KIND)} {figures}  #{item.event} "
    return start + what(item, max(1, width - len(start)))


def choice_of(items: Sequence[Freeable], queries: SessionQueries) -> ProposedOverrides:
    """What is to be done with those that are chosen, in as few overrides as there can be. Raises WorkbenchError."""
    waste = [item for item in items if isinstance(item, CarriedWaste)]
    if not waste:
        return choose("mask", [item for item in items if isinstance(item, Item)], queries)
    return ProposedOverrides(tuple(runs(queries, decisions(waste, queries.event))), len(waste), "mask")


def figures(made: OverridePreview, plan: ContextPlan, items: Sequence[Freeable], info: ModelInfo) -> str:
    """What masking would free from now on, and what it costs once."""
    freed, again = made.effect.freed, made.effect.rewritten
    waste = [item for item in items if isinstance(item, CarriedWaste)]
    window, used = (percent(freed / max(whole, 1), 1) for whole in (plan.limits.window, plan.size))
    saved = price(info, CacheUse(freed, 0), 0)
    whole, cached = (price(info, use, 0) for use in (CacheUse(0, again), CacheUse(again, 0)))
    once = None if whole is None or cached is None else whole - cached
    shares = f"{used} of the request, {window} of the window"
    lines = [
        f"mask {counted(made.choice.rows, 'item')}: frees {freed:,} tokens per request ({shares})"
        f"{in_dollars(saved, ', {} each')}",
        f"once: {again:,} cached tokens are read anew{in_dollars(once, ', {} more than from the cache')}",
    ]
    if waste:
        carried = sum(item.carried for item in waste)
        lines.append(f"so far carried as {carried:,} tokens{in_dollars(_cost(waste), ', {}')}")
    return "\n".join(lines)


def _cost(items: Sequence[CarriedWaste]) -> float | None:
    costs = [item.cost for item in items if item.cost is not None]
    return sum(costs) if len(costs) == len(items) else None


def held_words(items: Sequence[Freeable], plan: ContextPlan) -> str:
    """What the chosen ones take of a request that is only looked at."""
    tokens = sum(item.tokens for item in items)
    return f"{counted(len(items), 'item')}, {tokens:,} tokens: {percent(tokens / max(plan.size, 1), 1)} of this request"
