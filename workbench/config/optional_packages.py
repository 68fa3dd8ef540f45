"""Packages of the program's extras, imported when something needs them; the error says how to install them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from workbench.config.distribution import extra_command
from workbench.config.errors import WrongCall


def import_optional(module: str, what: str, extra: str) -> Any:
    """Import a module now. Raises WrongCall if it is missing: `what` needs it, and this extra brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        if error.name and error.name.partition(".")[0] != package:
            package = error.name
        raise WrongCall(f"{what}: expected the package {package}; {extra_command(extra)} brings it") from None


def is_installed(module: str) -> bool:
    """Whether a module could be imported. Does not import it."""
    try:
        return find_spec(module) is not None
    except ValueError:  # an import failed before and left None in sys.modules
        return False


@contextmanager
def packages_of_extra(extra: str, what: str) -> Iterator[None]:
    """For the imports of a module that is of no use without them: a missing package is an ImportError that names the
    extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{what}: expected the package {error.name}; {extra_command(extra)} brings it", name=error.name
        ) from None
