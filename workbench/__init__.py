"""Workbench: see what the model sees.

The library: `plan` a request, keep a `Context` for a loop, `open` a session. docs/library.md shows each of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.config.errors import WorkbenchError
    from workbench.context.items import Item
    from workbench.library.context import Context
    from workbench.library.plain_values import BadMessage
    from workbench.library.plans import DoesNotFit, Plan, plan
    from workbench.library.setups import ChosenPolicy, count, policy
    from workbench.library.summaries import CompactionResult

__all__ = (
    "BadMessage",
    "ChosenPolicy",
    "CompactionResult",
    "Context",
    "DoesNotFit",
    "Item",
    "Plan",
    "WorkbenchError",
    "count",
    "plan",
    "policy",
)

_PLACES = {
    "BadMessage": "workbench.library.plain_values",
    "ChosenPolicy": "workbench.library.setups",
    "CompactionResult": "workbench.library.summaries",
    "Context": "workbench.library.context",
    "DoesNotFit": "workbench.library.plans",
    "Item": "workbench.context.items",
    "Plan": "workbench.library.plans",
    "WorkbenchError": "workbench.config.errors",
    "count": "workbench.library.setups",
    "plan": "workbench.library.plans",
    "policy": "workbench.library.setups",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: the program and its tests import parts of the package alone."""
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module 'workbench' has no attribute {name!r}")
    found = getattr(import_module(place), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted((*globals(), *__all__))
