"""What the turns of a session of ours were planned under, where its log would not tell it otherwise.

What the command line says of the policy, its knobs and the reserve holds for that run alone. Requests were made under
it all the same, and are planned so when one looks back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from workbench.log.events import Event, Setting

PLANNED_UNDER = "planned under"
"""The setting that says it."""


class PlannedUnder(NamedTuple):
    """A policy, and what was set on top of it."""

    policy: str = ""
    """As it was asked for; empty: nobody asked for one."""
    knobs: tuple[str, ...] = ()
    reserve: int | None = None
    """Tokens kept for the answer; None: as the policy says."""

    @property
    def setting(self) -> Setting:
        """As it stands in the log."""
        return Setting(PLANNED_UNDER, {"policy": self.policy, "knobs": list(self.knobs), "reserve": self.reserve})


def planned_under(events: Iterable[Event]) -> PlannedUnder | None:
    """What the last turn of a log was planned under; None: what the log's other settings say."""
    found: PlannedUnder | None = None
    for event in events:
        match event.body:
            case Setting(key=key, value=dict() as value) if key == PLANNED_UNDER:
                found = _read(value)
    return found


def _read(value: dict[str, object]) -> PlannedUnder:
    policy, knobs, reserve = (value.get(name) for name in PlannedUnder._fields)
    return PlannedUnder(
        policy if isinstance(policy, str) else "",
        tuple(map(str, knobs)) if isinstance(knobs, list | tuple) else (),
        reserve if isinstance(reserve, int) and reserve >= 0 else None,
    )
