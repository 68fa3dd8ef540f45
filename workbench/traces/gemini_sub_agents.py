"""The sub-agents of Gemini CLI: chats in a folder next to the session that is named by the session's id.

Their files say only `kind: subagent`. Their names are in the calls of `invoke_agent`, in the order in which the files
begin.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import islice
from typing import Any

from workbench.log.events import Request, Usage
from workbench.traces.building import Recording, SubAgentReport
from workbench.traces.companion_files import MOST
from workbench.wire.values import dict_in, list_in, text_in

_CALL = "invoke_agent"


def gemini_sub_agent_files(path: str, session: str) -> list[str]:
    """The chats of a session's sub-agents."""
    if not session or os.path.basename(session) != session or session.startswith("."):
        return []
    try:
        with os.scandir(os.path.join(os.path.dirname(path) or ".", session)) as entries:
            return sorted(islice((each.path for each in entries if each.name.endswith(".jsonl")), MOST))
    except OSError:
        return []


def names_in(lines: Sequence[Any], count: int) -> list[str]:
    """The names of so many sub-agents, from the calls that started them; empty if the numbers differ."""
    calls = {text_in(call, "id"): call for value in lines for call in list_in(value, "toolCalls")}
    started = [call for call in calls.values() if text_in(call, "name") == _CALL]
    names = [text_in(dict_in(call, "args"), "agent_name") for call in started]
    return names if len(names) == count else [""] * count


def gemini_reports(recording: Recording, agent: str, name: str) -> list[SubAgentReport]:
    """The reported requests of a sub-agent."""
    return [
        SubAgentReport(at, Request("gemini", body.model, "sub-agent", agent, name=name), body)
        for body, at in zip(recording, recording.times, strict=True)
        if isinstance(body, Usage)
    ]
