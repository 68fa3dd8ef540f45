"""Workbench: see what the model sees.

The library: `plan` a request, keep a `Context` for a loop, `open` a session. docs/library.md shows each of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from workbench.config.errors import WorkbenchError
    from workbench.context.items import Item
    from workbench.library.context import Context
    from workbench.library.lab_results import LabResult
    from workbench.library.plain_values import BadMessage
    from workbench.library.plans import DoesNotFit, Plan
    from workbench.library.plans import plan_messages as plan
    from workbench.library.sessions import LoggedSession as Session
    from workbench.library.sessions import open_logged_session as open  # noqa: A004 - as `gzip.open`
    from workbench.library.setups import ChosenPolicy, count, policy
    from workbench.library.summaries import CompactionResult

__all__ = (
    "BadMessage",
    "ChosenPolicy",
    "CompactionResult",
    "Context",
    "DoesNotFit",
    "Item",
    "LabResult",
    "Plan",
    "Session",
    "WorkbenchError",
    "count",
    "open",
    "plan",
    "policy",
)

_PLACES = {
    "BadMessage": ("workbench.library.plain_values", "BadMessage"),
    "ChosenPolicy": ("workbench.library.setups", "ChosenPolicy"),
    "CompactionResult": ("workbench.library.summaries", "CompactionResult"),
    "Context": ("workbench.library.context", "Context"),
    "DoesNotFit": ("workbench.library.plans", "DoesNotFit"),
    "Item": ("workbench.context.items", "Item"),
    "LabResult": ("workbench.library.lab_results", "LabResult"),
    "Plan": ("workbench.library.plans", "Plan"),
    "Session": ("workbench.library.sessions", "LoggedSession"),
    "WorkbenchError": ("workbench.config.errors", "WorkbenchError"),
    "count": ("workbench.library.setups", "count"),
    "open": ("workbench.library.sessions", "open_logged_session"),
    "plan": ("workbench.library.plans", "plan_messages"),
    "policy": ("workbench.library.setups", "policy"),
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: the program and its tests import parts of the package alone."""
    if name == "__version__":
        from workbench.config.distribution import installed_version

        return installed_version()
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module 'workbench' has no attribute {name!r}")
    module, there = place
    found = getattr(import_module(module), there)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted((*globals(), *__all__))
