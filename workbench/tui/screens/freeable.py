"""What a request could do without: the largest items, and those that are no longer needed.

Independent of widgets. The items are masked, which one key undoes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import nlargest
from typing import Literal, NamedTuple

from workbench.config.text import counted, percent, printable
from workbench.context.items import SIGNS, Item
from workbench.context.plan import ContextPlan
from workbench.context.stages.mask import LEAST_TOKENS
from workbench.context.tool_lines import item_line
from workbench.lab.caching import CacheUse, request_price
from workbench.lab.replay.lab_source import LabSource
from workbench.lab.waste.costs import CarriedWaste, WasteReport
from workbench.lab.waste.output import in_dollars, waste_name
from workbench.log.events import Event, OverrideAction, SlotContent, SystemMessage
from workbench.models.catalogue import ModelInfo
from workbench.session.open_session import OpenSession
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.sources.source import as_source
from workbench.tui.inspector.overrides import OverridePreview, ProposedOverrides, propose_overrides, why_not
from workbench.tui.widgets.cells import fit_cells
from workbench.views.context_view import SessionQueries, merge_overrides

FreeOrder = Literal["unneeded", "largest"]
Freeable = CarriedWaste | Item
"""An item of either order."""
ORDERS: tuple[FreeOrder, ...] = ("unneeded", "largest")
MOST = 10
WORTH = 0.01
"""From this share of the window on, a large item is proposed, and not only listed."""
WHO, KIND = 16, 11
"""Cells for the speaker, and for why it is no longer needed."""
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
    """The open log at the time of the query."""

    events: list[Event]
    model: str
    is_file: bool
    info: ModelInfo


def asked_about(opened: OpenSession) -> FreeableLog:
    """Make the value; call it in the session's thread."""
    setup = opened.setup
    return FreeableLog(list(opened.events), setup.model, opened.session is None, setup.info)


# The largest


def largest_items(plan: ContextPlan, count: int = MOST) -> list[Item]:
    """The largest items that can be masked, the largest first, in one pass."""
    return nlargest(count, _maskable(plan), key=lambda row: row.tokens)


def worth_freeing(items: Sequence[Freeable], window: int) -> frozenset[int]:
    """The indexes of the items to propose."""
    return frozenset(at for at, row in enumerate(items) if row.tokens >= window * WORTH)


def _maskable(plan: ContextPlan) -> Iterator[Item]:
    """The items that can be masked, without those that are pinned, masked, or needed for the next answer.

    The last are the messages of the current turn, and results that the model has not answered yet.
    """
    fresh: list[Item] = []
    for row in plan.items.sent_items():
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
    """All waste of the log, sent or not. Call it in a thread."""
    source = as_source("", asked.events, is_file=asked.is_file)
    return LabSource(services, Options(model=asked.model), source).waste


def still_sent(report: WasteReport, plan: ContextPlan) -> list[CarriedWaste]:
    """The waste in a request, the largest first, without pinned items.

    The item that replaced it has to be in the request, too: otherwise it is the only copy.
    """
    wanted = {seq for item in report.items for seq in (item.event, item.by)}
    rows = {row.seq: row for row in plan.items.sent_items() if row.seq in wanted and row.state != "masked"}
    found = []
    for item in report.items:
        row = rows.get(item.event)
        if row is not None and item.by in rows and not row.pinned and item.tokens >= LEAST_TOKENS:
            found.append(item)
    return sorted(found, key=lambda item: (-item.tokens, item.event))


def freeing_decisions(
    items: Sequence[CarriedWaste], event: Callable[[int], Event | None]
) -> list[tuple[int, OverrideAction]]:
    """Mask results; exclude calls that are waste together with their results, and duplicate definitions."""
    found: list[tuple[int, OverrideAction]] = []
    for item in items:
        known = event(item.event)
        is_defined = known is not None and isinstance(known.body, SlotContent | SystemMessage)
        found.append((item.event, "exclude" if item.pair or is_defined else "mask"))
    return found


# Both


def line_of(item: Freeable, width: int) -> str:
    """An item in one line of `width` cells."""
    if isinstance(item, Item):
        who = fit_cells(printable(item.who), WHO)
        return f"{item.tokens:>8,}  {SIGNS[item.state]} #{item.seq:<5} {who}  {item_line(item)}"
    figures = f"{item.tokens:>7,} {item.carried:>10,} {in_dollars(item.cost):>7}"
    start = f"{fit_cells(item.kind, KIND)} {figures}  #{item.event} "
    return start + waste_name(item, max(1, width - len(start)))


def choice_of(items: Sequence[Freeable], queries: SessionQueries) -> ProposedOverrides:
    """The overrides for the chosen items, as few as possible. Raises WorkbenchError."""
    waste = [item for item in items if isinstance(item, CarriedWaste)]
    if not waste:
        return propose_overrides("mask", [item for item in items if isinstance(item, Item)], queries)
    return ProposedOverrides(
        tuple(merge_overrides(queries, freeing_decisions(waste, queries.event))), len(waste), "mask"
    )


def masking_figures(made: OverridePreview, plan: ContextPlan, items: Sequence[Freeable], info: ModelInfo) -> str:
    """What masking would free, and what it costs once."""
    freed, again = made.effect.freed, made.effect.rewritten
    waste = [item for item in items if isinstance(item, CarriedWaste)]
    window, used = (percent(freed / max(whole, 1), 1) for whole in (plan.limits.window, plan.size))
    saved = request_price(info, CacheUse(freed, 0), 0)
    whole, cached = (request_price(info, use, 0) for use in (CacheUse(0, again), CacheUse(again, 0)))
    once = None if whole is None or cached is None else whole - cached
    shares = f"{used} of the request, {window} of the window"
    lines = [
        f"mask {counted(made.choice.rows, 'item')}: frees {freed:,} tokens per request ({shares})"
        f"{in_dollars(saved, ', {} each')}",
        f"once: {again:,} cached tokens are read again{in_dollars(once, ', {} more than from the cache')}",
    ]
    if waste:
        carried = sum(item.carried for item in waste)
        lines.append(f"so far carried as {carried:,} tokens{in_dollars(_cost(waste), ', {}')}")
    return "\n".join(lines)


def _cost(items: Sequence[CarriedWaste]) -> float | None:
    costs = [item.cost for item in items if item.cost is not None]
    return sum(costs) if len(costs) == len(items) else None


def held_words(items: Sequence[Freeable], plan: ContextPlan) -> str:
    """The size of the chosen items in a past request."""
    tokens = sum(item.tokens for item in items)
    return f"{counted(len(items), 'item')}, {tokens:,} tokens: {percent(tokens / max(plan.size, 1), 1)} of this request"
