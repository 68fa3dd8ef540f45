"""Where the sub-agents of a session of Claude Code have their files. A list of them needs no reader."""

from __future__ import annotations

import os
from itertools import islice

from workbench.traces.companion_files import MOST

FOLDER = "subagents"
BEFORE, AFTER = "agent-", ".jsonl"


def claude_sub_agent_files(path: str) -> list[str]:
    """The files of a session's sub-agents; none if the path is no session."""
    if not path.endswith(AFTER):
        return []
    try:
        with os.scandir(os.path.join(path.removesuffix(AFTER), FOLDER)) as found:
            names = (each.path for each in found if each.name.startswith(BEFORE) and each.name.endswith(AFTER))
            return sorted(islice(names, MOST))
    except OSError:
        return []
