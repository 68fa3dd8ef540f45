"""The waste of all sessions whose use is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from workbench.config.errors import WorkbenchError
from workbench.config.text import counted
from workbench.lab.replay.kept_waste import KeptWaste
from workbench.lab.waste.costs import WasteReport
from workbench.lab.waste.output import in_dollars, merge_waste, waste_json, waste_lines
from workbench.sources.services import Services
from workbench.usage.usage_figures import UNKNOWN


class UsageWaste(NamedTuple):
    """The waste of each session by its id, and how many could not be read."""

    reports: Mapping[str, WasteReport]
    unread: int

    def waste_cells(self, session: str) -> tuple[str, str]:
        """The columns of a session: the tokens that its requests carried as waste, and their cost."""
        report = self.reports.get(session)
        if report is None:
            return UNKNOWN, UNKNOWN
        return f"{report.total.carried:,}", in_dollars(report.total.cost) or UNKNOWN

    def row_json(self, session: str) -> dict[str, Any]:
        """The same for programs."""
        report = self.reports.get(session)
        carried, cost = (None, None) if report is None else (report.total.carried, report.total.cost)
        return {"waste": carried, "waste_cost": None if cost is None else round(cost, 6)}

    def total_json(self) -> dict[str, Any]:
        """The sums of all of them, by kind and by tool."""
        about = {"sessions": len(self.reports), "unread": self.unread}
        return about | waste_json(merge_waste([*self.reports.values()]), items=False)

    def total_lines(self, width: int) -> list[str]:
        """The sums in a few lines."""
        found = waste_lines(merge_waste([*self.reports.values()]), width) or ["waste: none found"]
        whole = f"       in {counted(len(self.reports), 'session')}, each as a whole; `workbench waste SOURCE` lists it"
        missing = [f"       without {counted(self.unread, 'session')} that cannot be read"] if self.unread else []
        return [*found, whole, *missing]


def usage_waste(
    services: Services, refs: Mapping[str, str], begin: Callable[[int], None] = lambda _: None
) -> UsageWaste:
    """Find the waste of sessions; `refs`: what opens each. `begin` is called with the number of each, before it."""
    reports: dict[str, WasteReport] = {}
    with KeptWaste() as kept:
        for at, (session, ref) in enumerate(refs.items(), 1):
            begin(at)
            try:
                reports[session] = kept.session_waste(services, ref)
            except (WorkbenchError, OSError, RecursionError):
                continue
    return UsageWaste(reports, len(refs) - len(reports))
