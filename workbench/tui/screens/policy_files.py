"""Policy files of the user's own: written from what was changed on the screen, and read back before they count."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.agent.tools.files import replace_file
from workbench.config.errors import Refused, WorkbenchError, WrongCall
from workbench.config.paths import config_dir
from workbench.config.tables import read_toml
from workbench.context.knobs import TOOLS, find
from workbench.context.load import PRESETS, load_policy

_HEAD = "# Written by Workbench. What is not set here is as in the policy that it extends.\n"


def path_of(name: str) -> Path:
    """Where a policy of this name lies; raises WrongCall for what cannot be one."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,40}", name):
        raise WrongCall(f"{name or 'nothing'}: expected a name of letters, digits, - and _")
    if name in PRESETS:
        raise WrongCall(f"{name}: is a preset; expected another name")
    return config_dir() / "policies" / f"{name}.toml"


def save(name: str, ref: str, knobs: Mapping[str, Any], *, over: bool = False) -> Path:
    """Write a policy that extends `ref` with these knobs; raises WorkbenchError.

    `over`: a file that is there may be replaced. One that is to extend itself keeps what it extended before, and what
    it set.
    """
    path = path_of(name)
    if path.exists() and not over:
        raise Refused(f"{path}: already exists")
    before = path.read_bytes() if path.exists() else None
    try:
        replace_file(path, _written(path if path.exists() and Path(ref) == path else None, ref, knobs).encode())
        load_policy(str(path), env={})
    except WorkbenchError:
        _put_back(path, before)
        raise
    except OSError as error:
        raise WrongCall(f"{path}: cannot be written: {error.strerror or error}") from None
    return path


def _put_back(path: Path, before: bytes | None) -> None:
    """A policy that cannot be read must not stay."""
    if before is None:
        path.unlink(missing_ok=True)
    else:
        replace_file(path, before)


def _written(file: Path | None, ref: str, knobs: Mapping[str, Any]) -> str:
    """The file with these knobs set, all else as the user wrote it; without one, a new file that extends `ref`."""
    import tomlkit  # late: most sessions save nothing

    if file is None:
        document = tomlkit.parse(_HEAD)
        document["extends"] = ref
    else:
        read_toml(file)  # says what is wrong with it
        document = tomlkit.parse(file.read_bytes().decode("utf-8-sig"))
    for name, value in knobs.items():
        checked = find(name).check(value)
        if name in document:  # a knob may stand there under its whole name, in quotes
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
    """The tables that a knob stands in, and its key; the name of a tool may hold dots."""
    table, _, key = name.rpartition(".")
    if table.startswith(f"{TOOLS}."):
        return (*TOOLS.split("."), table.removeprefix(f"{TOOLS}.")), key
    return (table,), key
