"""The policy that the turns of our own session were planned with, if the log's other settings do not show it.

The command line's policy, knobs and reserve apply to that run only. The requests were still made with them, so past
requests are planned with them as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from workbench.log.events import Event, Setting

PLANNED_UNDER = "planned under"
"""The key of the setting."""


class PlannedUnder(NamedTuple):
    """A policy, and what was set on top of it."""

    policy: str = ""
    """As the user asked for it; empty: not asked for."""
    knobs: tuple[str, ...] = ()
    reserve: int | None = None
    """Tokens kept for the answer; None: from the policy."""

    @property
    def setting(self) -> Setting:
        return Setting(PLANNED_UNDER, {"policy": self.policy, "knobs": list(self.knobs), "reserve": self.reserve})


def planned_under(events: Iterable[Event]) -> PlannedUnder | None:
    """What the last turn of a log was planned with; None: the log's other settings apply."""
    found: PlannedUnder | None = None
    for event in events:
        match event.body:
            case Setting(key=key, value=dict() as value) if key == PLANNED_UNDER:
                found = _from_value(value)
    return found


def _from_value(value: dict[str, object]) -> PlannedUnder:
    policy, knobs, reserve = (value.get(name) for name in PlannedUnder._fields)
    return PlannedUnder(
        policy if isinstance(policy, str) else "",
        tuple(map(str, knobs)) if isinstance(knobs, list | tuple) else (),
        reserve if isinstance(reserve, int) and reserve >= 0 else None,
    )
