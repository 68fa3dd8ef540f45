"""What the open session carries and is no longer needed: chosen, and masked with one key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from workbench.config.text import counted
from workbench.context.plan import ContextPlan
from workbench.lab.caching import CacheUse, price
from workbench.lab.replay import LabSource
from workbench.lab.waste_costs import CarriedWaste, WasteReport
from workbench.lab.waste_reports import in_dollars, what
from workbench.log.events import Event, OverrideAction, SlotContent, SystemMessage
from workbench.models.catalogue import ModelInfo
from workbench.session.context_view import ContextView, SessionQueries, runs
from workbench.session.open_session import OpenSession
from workbench.session.options import Options
from workbench.session.services import Services
from workbench.session.source import as_source
from workbench.tui.inspector.largest import LEAST_TOKENS
from workbench.tui.inspector.masking import MaskScreen
from workbench.tui.inspector.overrides import OverridePreview, ProposedOverrides
from workbench.tui.widgets.cells import fit
from workbench.tui.widgets.host import Host

KIND = 11


class OpenWaste(NamedTuple):
    """What is open, as it was when somebody asked."""

    events: list[Event]
    model: str
    is_file: bool
    shown: ContextView
    info: ModelInfo


def asked_about(opened: OpenSession) -> OpenWaste:
    """Taken in the session's thread."""
    setup = opened.setup
    return OpenWaste(list(opened.events), setup.model, opened.session is None, opened.shown(), setup.info)


def report_of(asked: OpenWaste, services: Services) -> WasteReport:
    """All waste of the log, sent or not. For a thread."""
    source = as_source("", asked.events, is_file=asked.is_file)
    return LabSource(services, Options(model=asked.model), source).waste


def still_sent(report: WasteReport, plan: ContextPlan) -> list[CarriedWaste]:
    """The waste that the next request would carry, the largest first; what is pinned was wanted.

    What took its place has to be sent too: else it is the only copy that is left.
    """
    wanted = {seq for item in report.items for seq in (item.event, item.by)}
    rows = {row.seq: row for row in plan.rows.in_request() if row.seq in wanted and row.state != "masked"}
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


class WasteScreen(MaskScreen[CarriedWaste]):
    """Waste: mask it."""

    BINDING_GROUP_TITLE = "Waste"
    TITLE_LINE = "Waste: what is sent and is no longer needed"
    HEADER = f"    {'kind':{KIND}}  tokens    carried    cost  what"
    NOTHING = f"no waste: nothing of {LEAST_TOKENS} tokens or more that is sent was read again, overwritten or retried"

    def __init__(self, asked: OpenWaste, services: Services) -> None:
        super().__init__(asked.shown)
        self._asked = asked
        self._services = services

    def look(self) -> tuple[Sequence[CarriedWaste], frozenset[int]]:
        """All are proposed."""
        report = report_of(self._asked, self._services)
        items = still_sent(report, self.shown.plan)
        return items, frozenset(range(len(items)))

    def line(self, item: CarriedWaste, width: int) -> str:
        """Kind, tokens, what carrying it came to, and what it is."""
        figures = f"{item.tokens:>7,} {item.carried:>10,} {in_dollars(item.cost):>7}"
        start = f"{fit(item.kind, KIND)} {figures}  #{item.event} "
        return start + what(item, max(1, width - len(start)))

    def choice(self, items: Sequence[CarriedWaste], queries: SessionQueries) -> ProposedOverrides:
        """As few overrides as there can be."""
        found = runs(queries, decisions(items, queries.event))
        return ProposedOverrides(tuple(found), len(items), "mask")

    def effect(self, made: OverridePreview, items: Sequence[CarriedWaste]) -> str:
        """What it frees from now on, and what it costs once."""
        freed, again, info = made.effect.freed, made.effect.rewritten, self._asked.info
        saved = price(info, CacheUse(freed, 0), 0)
        whole, cached = (price(info, use, 0) for use in (CacheUse(0, again), CacheUse(again, 0)))
        once = None if whole is None or cached is None else whole - cached
        carried = sum(item.carried for item in items)
        many = counted(len(items), "item")
        return (
            f"mask {many}: {freed:,} tokens fewer per request{in_dollars(saved, ', {} each')}\n"
            f"once: {again:,} cached tokens are read anew{in_dollars(once, ', {} more than from the cache')}\n"
            f"so far carried as {carried:,} tokens{in_dollars(_cost(items), ', {}')}"
        )


def _cost(items: Sequence[CarriedWaste]) -> float | None:
    costs = [item.cost for item in items if item.cost is not None]
    return sum(costs) if len(costs) == len(items) else None


async def mask_waste(host: Host) -> None:
    """List it, and mask what is chosen. Of a file a session is made first, where the user agrees."""
    asked = await host.from_session(asked_about)
    made = await host.ask(WasteScreen(asked, host.services))
    if made is None or not await host.make_writable():
        return
    for at, wish in enumerate(made.choice.decisions):
        host.model.decide(*wish, joined=at > 0)
    freed = f"masked {counted(made.choice.rows, 'item')}, which frees {made.effect.freed:,} tokens"
    host.tell(f"{freed}; u undoes it")
