"""The packages of the extra `cluster`, imported when a command needs them; the error says how to install them."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from workbench.config.distribution import extra_command
from workbench.config.optional_packages import import_optional

EXTRA = extra_command("cluster")


def import_extra(module: str, what: str) -> Any:
    """Import a module now. Raises WrongCall where it is missing: `what` needs it, and this is how to install it."""
    return import_optional(module, what, "cluster")


def has_extra(module: str) -> bool:
    """Whether a module could be imported. Does not import it."""
    try:
        return find_spec(module) is not None
    except ValueError:  # an import failed before and left None in sys.modules
        return False
