"""The sub-agents of Codex: their own rollouts in the folder of the day, next to the session that started them.

- Its `session_meta` names who started it: `source.subagent.thread_spawn.parent_thread_id`, with the `agent_nickname`
  and the `agent_role` if it has them. Rollouts are named by the time they began, so those of sub-agents come after the
  session's.
- One that began as a fork of the session (`forked_from_id`) has a copy of the messages before, reports included.
  `subagent_history_start_ordinal` says where its own lines begin; without that, its requests are not counted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from workbench.config.foreign_files import open_regular_file
from workbench.log.events import Request, Usage
from workbench.traces.companion_files import MOST
from workbench.traces.written_times import epoch_milliseconds
from workbench.wire.values import dict_in, number_in, text_in

if TYPE_CHECKING:
    from workbench.traces.building import Recording, SubAgentReport

_ROLLOUT = "rollout-"
_HEAD = 65_536
"""Bytes in which a rollout says that it is a sub-agent's, even after its instructions."""
_LONGEST = 1_000_000
"""The most bytes of the first line after `_HEAD`."""
_SIGN = b'"thread_spawn"'


def started_by(header: Any) -> str:
    """The thread that started a sub-agent, from its `session_meta`; empty for another thread."""
    return text_in(_spawned(header), "parent_thread_id")


def codex_sub_agent_name(header: Any) -> str:
    spawned = _spawned(header)
    names = (text_in(spawned, key) for key in ("agent_nickname", "agent_role", "agent_type"))
    return next(filter(None, names), "") or text_in(dict_in(header, "payload"), "id")


def _spawned(header: Any) -> dict[str, Any]:
    return dict_in(dict_in(dict_in(dict_in(header, "payload"), "source"), "subagent"), "thread_spawn")


def copied_lines(lines: Sequence[Any]) -> int:
    """How many of the first lines of a rollout are copies of another thread's; all, if that is unknown."""
    header = dict_in(lines[0], "payload")
    start = number_in(header, "subagent_history_start_ordinal")
    if start:
        return next((at for at, value in enumerate(lines) if number_in(value, "ordinal") >= start), len(lines))
    return len(lines) if header.get("forked_from_id") and not header.get("history_base") else 0


def codex_sub_agent_files(path: str, thread: str) -> list[str]:
    """The rollouts of a thread's sub-agents, and of theirs."""
    folder, own = os.path.split(path)
    if not own.startswith(_ROLLOUT) or not thread:
        return []
    try:
        with os.scandir(folder or ".") as entries:
            later = (each.name for each in entries if each.name.startswith(_ROLLOUT) and each.name > own)
            names = sorted(islice(later, MOST))
    except OSError:
        return []
    threads, found = {thread}, []
    for name in names:
        header = sub_agents_header(os.path.join(folder, name), folder or ".")
        parent = started_by(header)
        if parent and parent in threads:
            threads.add(text_in(dict_in(header, "payload"), "id"))
            found.append(os.path.join(folder, name))
    return found


def sub_agents_header(path: str, folder: str) -> Any:
    """The first line of a rollout that may be a sub-agent's; None if it is surely none.

    `folder`: no link may lead out of it.
    """
    try:
        with open_regular_file(path, inside=folder) as file:
            head = file.read(_HEAD)
            if _SIGN not in head:
                return None
            return json.loads((head + file.readline(_LONGEST)).partition(b"\n")[0])
    except (OSError, ValueError, RecursionError):
        return None


def codex_reports(recording: Recording, header: Any) -> list[SubAgentReport]:
    """The reported requests of a sub-agent."""
    from workbench.traces.building import SubAgentReport  # late: who only counts reports builds no recordings

    thread = text_in(dict_in(header, "payload"), "id")
    return [
        SubAgentReport(
            at, Request("responses", body.model, "sub-agent", thread, name=codex_sub_agent_name(header)), body
        )
        for body, at in zip(recording, recording.times, strict=True)
        if isinstance(body, Usage)
    ]


def report_times(lines: Sequence[Any]) -> list[int]:
    """For each line of a rollout: the time of the next report after it; far in the future if there is none."""
    found: list[int] = []
    later = 1 << 62
    for value in reversed(lines):
        found.append(later)
        if _is_report(value):
            later = epoch_milliseconds(value.get("timestamp")) or later
    return found[::-1]


def _is_report(value: Any) -> bool:
    kind = text_in(value, "type")
    return kind == "token_usage_record" or text_in(dict_in(value, "payload"), "type") == "token_count"


def in_time(reports: Iterable[list[SubAgentReport]]) -> list[SubAgentReport]:
    """The reports of all sub-agents, the earliest first."""
    return sorted((each for one in reports for each in one), key=lambda each: each.at)
