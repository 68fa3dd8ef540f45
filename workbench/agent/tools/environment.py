"""What programs that the model starts inherit: the environment without the user's keys."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Annotated

from msgspec import Meta

from workbench.config.tables import Table
from workbench.models.endpoints import is_secret_name

VariableNames = Annotated[
    tuple[Annotated[str, Meta(pattern=r"\A[^=\0]+\Z")], ...],
    Meta(description='a list of names of variables such as ["GH_TOKEN"]'),
]


class ToolSettings(Table, frozen=True):
    """The `[tools]` table."""

    pass_env: VariableNames = ()
    """Variables named like keys that commands may see."""


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
