"""What programs that the model starts inherit: the environment without the user's keys."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from workbench.config.errors import WrongCall
from workbench.config.settings import escaped_name, shown
from workbench.models.endpoints import is_secret_name


def without_keys(passed: Iterable[str] = (), environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment without variables that are named like keys; `passed` are names or patterns of some that stay."""
    patterns = tuple(passed)
    return {name: value for name, value in environ.items() if not is_secret_name(name) or _is_passed(name, patterns)}


def chosen(passed: Iterable[str], environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables with these names or patterns and no others."""
    patterns = tuple(passed)
    return {name: value for name, value in environ.items() if _is_passed(name, patterns)}


def _is_passed(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def check_names(value: Any, where: str) -> tuple[str, ...]:
    """Names of variables; raises WrongCall that begins with `where` for anything else."""
    good = isinstance(value, list | tuple) and all(
        isinstance(each, str) and each and "=" not in each and "\0" not in each for each in value
    )
    if not good:
        raise WrongCall(f'{where}: expected a list of names of variables such as ["GH_TOKEN"], got {shown(value)}')
    return tuple(value)


def check_config(table: Mapping[str, Any], origin: str = "config.toml") -> tuple[str, ...]:
    """The `[tools]` table: which variables named like keys commands may see. Raises WrongCall for anything else."""
    for key in table:
        if key != "pass_env":
            raise WrongCall(f"{origin}: tools.{escaped_name(key)}: no such key; expected pass_env")
    return check_names(table.get("pass_env", ()), f"{origin}: tools.pass_env")
