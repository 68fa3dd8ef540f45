"""The user's own policy files: written from changes on the screen, and read back to check them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.config.errors import Refused, WorkbenchError, WrongCall
from workbench.config.foreign_files import read_regular_file
from workbench.config.paths import config_dir
from workbench.config.text import printable
from workbench.config.writing import replace_file
from workbench.context.load import load_policy
from workbench.context.policy_names import PRESETS
from workbench.context.policy_text import policy_text


def policy_path(name: str) -> Path:
    """The path of a policy with this name. Raises WrongCall for an impossible name."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,40}", name):
        raise WrongCall(f"{name or 'nothing'}: expected a name of letters, digits, - and _")
    if name in PRESETS:
        raise WrongCall(f"{name}: is a preset; expected another name")
    return config_dir() / "policies" / f"{name}.toml"


def short_policy_name(ref: str) -> str:
    """The name of a policy. For a file: its name without the folder, which would differ on another machine."""
    return printable(re.split(r"[/\\]", ref)[-1].removesuffix(".toml"))


def save_policy(name: str, ref: str, knobs: Mapping[str, Any], *, over: bool = False) -> Path:
    """Write a policy that extends `ref` with these knobs; raises WorkbenchError.

    `over`: an existing file may be replaced. A policy that is to extend itself keeps what it extended before, and its
    own knobs.
    """
    path = policy_path(name)
    if path.exists() and not over:
        raise Refused(f"{path}: already exists")
    itself = path if path.exists() and Path(ref) == path else None
    target = path.resolve()
    try:
        before = read_regular_file(target) if path.exists() else None
        replace_file(target, policy_text(ref, knobs, file=itself).encode())
        try:
            load_policy(str(path), env={})
        except WorkbenchError:
            _put_back(target, before)
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
