"""Policy files of the user's own: written from what was changed on the screen, and read back before they count."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from workbench.agent.tools.files import replace_file
from workbench.config.errors import Refused, WorkbenchError, WrongCall
from workbench.config.paths import config_dir
from workbench.config.settings import read_toml
from workbench.context.knobs import TOOLS, as_toml, find, flatten
from workbench.context.load import PRESETS, load_policy

_HEAD = "# Written by Workbench. What is not set here is as in the policy that it extends.\n"
_WORDS = ("extends", "name", "description")


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
        raise Refused(f"{path}: is there already")
    words: dict[str, Any] = {"extends": ref}
    values = dict(knobs)
    if path.exists() and Path(ref) == path:
        table = read_toml(path)
        words = {word: table.pop(word) for word in _WORDS if word in table}
        values = {**dict(flatten(table)), **values}
    before = path.read_bytes() if path.exists() else None
    try:
        replace_file(path, "".join(_written(words, values)).encode())
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


def _written(words: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[str]:
    yield _HEAD
    for word, text in words.items():
        yield f"{word} = {as_toml(text)}\n"
    tables: dict[str, list[str]] = {}
    for name, value in values.items():
        table, _, key = name.rpartition(".")
        if table.startswith(f"{TOOLS}."):
            table = f"{TOOLS}.{json.dumps(table.removeprefix(f'{TOOLS}.'), ensure_ascii=False)}"
        tables.setdefault(table, []).append(f"{key} = {as_toml(find(name).check(value))}\n")
    for table, lines in tables.items():
        yield f"\n[{table}]\n"
        yield from lines
