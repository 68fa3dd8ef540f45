"""What is typed to mean a file, or one of the conversations in it: `talks.json#2` is the second of that file."""

from __future__ import annotations

import re
from pathlib import Path

from workbench.config.text import whole_number


def split_ref(ref: str) -> tuple[str, int | None]:
    """A file's path and the number of the conversation that is meant; None where no number is named."""
    found = re.fullmatch(r"(.+)#(\d+)", ref)
    if found and not is_file(ref):
        return found[1], whole_number(found[2])
    return ref, None


def is_file(path: str) -> bool:
    """Whether there is something to read: a file, a pipe, a device."""
    try:
        return Path(path).exists() and not Path(path).is_dir()
    except (OSError, ValueError):  # a name no file can have
        return False
