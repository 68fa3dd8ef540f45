"""Reading text and replacing files, as every tool does it."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from workbench.agent.tools.base import ToolFailure

SNIFF_BYTES = 8192
"""A NUL among so many first bytes means that a file is not text; git decides the same way."""


def check_regular(path: Path, name: str) -> os.stat_result:
    """What the disk says of a file; raises ToolFailure where it is none. Opening a pipe would wait for ever."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        raise ToolFailure(f"{name}: no such file{_similar(path)}") from None
    if stat.S_ISDIR(found.st_mode):
        raise ToolFailure(f"{name}: is a folder; use list_files")
    if not stat.S_ISREG(found.st_mode):
        raise ToolFailure(f"{name}: is a device or a pipe, not a file")
    return found


def _similar(path: Path) -> str:
    """Names beside a missing file that differ in case or ending alone."""
    with suppress(OSError):
        near = [each for each in os.listdir(path.parent) if each.lower().split(".")[0] == path.stem.lower()]
        if near:
            return f"; there is {', '.join(sorted(near)[:3])}"
    return ""


def refuse_binary(start: bytes, name: str, size: int) -> None:
    """Raise ToolFailure for a file that is not text."""
    if b"\0" in start[:SNIFF_BYTES]:
        raise ToolFailure(f"{name}: is a binary file of {size} bytes, not text; a command may tell more about it")


def replace_file(path: Path, data: bytes) -> None:
    """Put a file in place at once: whoever reads sees the old one or the new one. Mode and owner are kept."""
    path.parent.mkdir(parents=True, exist_ok=True)
    before: os.stat_result | None = None
    with suppress(FileNotFoundError):
        before = os.stat(path)
    passing = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.tmp")
    handle = os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with open(handle, "wb") as file:
            file.write(data)
            if before is not None:
                with suppress(OSError):  # only root may give files away
                    os.fchown(file.fileno(), before.st_uid, before.st_gid)
                os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
            file.flush()
            os.fsync(file.fileno())
        os.replace(passing, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(passing)
        raise
