"""References to a file, or to one of the conversations in it (`talks.json#2` is the second of that file), and the
settings in a log about its file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from workbench.config.text import counted, whole_number

LEFT_OUT = "left out"
"""The setting that counts, by kind, entries of a file known to be no part of the conversation."""
SUB_AGENTS = "sub-agents"
"""The setting that names the conversations of a session's sub-agents, by their numbers in the file."""
_NAMED = 5
"""Sub-agents that are named in a line."""


def split_ref(ref: str) -> tuple[str, int | None]:
    """A file's path and the number of the conversation; None without a number."""
    found = re.fullmatch(r"(.+)#(\d+)", ref)
    if found and not is_file(ref):
        return found[1], whole_number(found[2])
    return ref, None


def is_file(path: str) -> bool:
    """Whether it can be read: a file, a pipe, a device."""
    try:
        return Path(path).exists() and not Path(path).is_dir()
    except (OSError, ValueError):  # an impossible file name
        return False


def sub_agents_words(found: Mapping[str, str], path: str) -> str:
    """In one line: the sub-agents of the session in a file, each with the reference that opens it."""
    named = [f"{path}#{number} ({name})" for number, name in list(found.items())[:_NAMED]]
    more = ", ..." if len(found) > _NAMED else ""
    return f"{counted(len(found), 'sub-agent')}: {', '.join(named)}{more}"
