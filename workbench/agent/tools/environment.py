"""The user's settings for variables that hold keys."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from workbench.config.tables import Table

VariableNames = Annotated[
    tuple[Annotated[str, Meta(pattern=r"\A[^=\0]+\Z")], ...],
    Meta(description='a list of names of variables such as ["GH_TOKEN"]'),
]


class ToolSettings(Table, frozen=True):
    pass_env: VariableNames = ()
    """Variables that commands may see although their names look like those of keys."""
