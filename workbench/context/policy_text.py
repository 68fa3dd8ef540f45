"""A policy as the text of a file: what it extends, and the knobs that differ from that."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.config.foreign_files import read_small_text
from workbench.config.tables import read_toml
from workbench.context.knobs import TOOLS, find_knob

_HEAD = "# Written by Workbench. What is not set here is as in the policy that it extends.\n"


def policy_text(
    ref: str, knobs: Mapping[str, Any], *, file: Path | None = None, head: str = _HEAD, description: str = ""
) -> str:
    """A policy that extends `ref` with these knobs, below the comment `head`. Everything else in an existing `file`
    stays as the user wrote it."""
    import tomlkit  # late: most sessions save nothing

    if file is None:
        document = tomlkit.parse(head)
        document["extends"] = ref
        if description:
            document["description"] = description
    else:
        read_toml(file)  # raises if it is broken
        document = tomlkit.parse(read_small_text(file))
    for name, value in knobs.items():
        checked = find_knob(name).check_value(value)
        if name in document:  # a knob may be written under its full name, in quotes
            table, key = document, name
        else:
            path, key = _path(name)
            table = document
            for step in path:
                if step not in table:
                    table[step] = tomlkit.table(is_super_table=step != path[-1])
                table = table[step]
        table[key] = list(checked) if isinstance(checked, tuple) else checked
    return tomlkit.dumps(document)


def _path(name: str) -> tuple[tuple[str, ...], str]:
    """The tables of a knob, and its key; the name of a tool may contain dots."""
    table, _, key = name.rpartition(".")
    if table.startswith(f"{TOOLS}."):
        return (*TOOLS.split("."), table.removeprefix(f"{TOOLS}.")), key
    return (table,), key
