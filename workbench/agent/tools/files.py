"""Checks that every tool makes before it reads or writes a file."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from workbench.agent.tools.base import ToolFailure
from workbench.config.foreign_files import NotRegularFile, open_regular_file

SNIFF_BYTES = 8192
"""A NUL in this many first bytes means that a file is not text; git uses the same rule."""


def open_for_tool(path: Path, name: str) -> BinaryIO:
    """Open a file for reading. Raises ToolFailure if it does not exist or is not a regular file."""
    try:
        return open_regular_file(path)
    except FileNotFoundError:
        raise ToolFailure(f"{name}: no such file{_similar(path)}") from None
    except NotRegularFile as error:
        hint = "; use list_files" if path.is_dir() else ""
        raise ToolFailure(f"{name}: {error.strerror}{hint}") from None


def _similar(path: Path) -> str:
    """Names in the folder of a missing file that differ only in case or endings; those with the same endings first."""
    wanted = path.name.lower()
    with suppress(OSError):
        near = [each for each in os.listdir(path.parent) if _without_endings(each) == _without_endings(wanted)]
        if near:
            near.sort(key=lambda name: (name.lower() != wanted, name))
            return f"; there is {', '.join(near[:3])}"
    return ""


def _without_endings(name: str) -> str:
    """A name in lower case, without what comes after its first dot; a dot that it begins with stays."""
    return name[:1].lower() + name[1:].lower().partition(".")[0]


def refuse_binary(start: bytes, name: str, size: int) -> None:
    """Raise ToolFailure for a file that is not text."""
    if b"\0" in start[:SNIFF_BYTES]:
        raise ToolFailure(f"{name}: is a binary file of {size} bytes, not text; a command may tell more about it")
