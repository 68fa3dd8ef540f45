"""The packages of the extra `cluster`, imported when a command needs them; the error says how to install them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from workbench.config.distribution import extra_command
from workbench.config.errors import WrongCall

EXTRA = extra_command("cluster")


def import_extra(module: str, what: str) -> Any:
    """Import a module now. Raises WrongCall where it is missing: `what` needs it, and this is how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        if error.name and error.name.partition(".")[0] != package:
            package = error.name
        raise WrongCall(f"{what}: expected the package {package}; {EXTRA} brings it") from None


def has_extra(module: str) -> bool:
    """Whether a module could be imported. Does not import it."""
    try:
        return find_spec(module) is not None
    except ValueError:  # an import failed before and left None in sys.modules
        return False
