"""Claude Code: the use of the requests in a session's file. `traces/claude_code` describes the format.

A reply is several lines with the same id, each with the report so far; the last one counts. A session that was resumed
or forked by an older version begins with a copy of the lines before; ids of reply and request are the same there.
The replies of a sub-agent are in its own file, and some versions repeat them in the session (`progress`); where the
file is gone, they are known from there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from workbench.config.values import replace
from workbench.models.known_costs import known_cost
from workbench.traces.written_times import epoch_milliseconds
from workbench.usage.claude_report_lines import ClaudeLine, ClaudeMessage, ClaudeReport, claude_line
from workbench.usage.records import CompactionUse, RequestUse, SessionUse
from workbench.usage.usage_lines import parsed_line

_SUB_AGENTS, _FILE_PREFIX, _COMPACTS = "subagents", "agent-", "acompact-"


def new_claude_session(agent: str, path: str) -> SessionUse:
    """A session that nothing was read of yet. Files of sub-agents belong to their session."""
    folder, name = os.path.split(path)
    session = name.removesuffix(".jsonl")
    if not session.startswith(_FILE_PREFIX):
        return SessionUse(agent, session, f"{path}#1")
    above, inner = os.path.split(folder)
    sub_agent = session.removeprefix(_FILE_PREFIX)
    if inner != _SUB_AGENTS:  # the first line with a report says whose it is
        return SessionUse(agent, session, path, state={"sub_agent": sub_agent})
    owner = os.path.basename(above)
    return SessionUse(agent, owner, f"{above}.jsonl#1", state={"sub_agent": sub_agent, "owner": owner})


def add_claude_lines(used: SessionUse, lines: Iterable[bytearray]) -> None:
    """Add what some lines report."""
    replies = _Replies(used)
    for raw in lines:
        line = claude_line(raw) or _odd_line(raw)
        if line is None:
            continue
        if line.type == "assistant":
            replies.add_line(line)
        elif line.type == "progress":
            replies.add_line(_sub_agents_line(line))
        elif line.type == "system" and line.subtype == "compact_boundary":
            replies.add_last_reply()
            model = used.requests[-1].model if used.requests else ""
            used.compactions.append(CompactionUse(epoch_milliseconds(line.timestamp), model))
    replies.add_last_reply()


def _odd_line(raw: bytearray) -> ClaudeLine | None:
    value = parsed_line(raw)
    if value is None:
        return None
    from workbench.usage.odd_claude_lines import odd_claude_line  # late: there are few of them

    return odd_claude_line(value)


def _sub_agents_line(line: ClaudeLine) -> ClaudeLine:
    """The line of a sub-agent that a session repeats; an empty one if it repeats none."""
    inner = line.data.message if line.data is not None else None
    if line.data is None or inner is None or inner.type != "assistant":
        return ClaudeLine()
    return replace(inner, is_sidechain=True, agent_id=line.data.agent_id, cwd=line.cwd, session_id=line.session_id)


class _Replies:
    """Puts the lines of a reply together, which follow each other as a rule, and adds it once they end."""

    def __init__(self, used: SessionUse) -> None:
        self._used = used
        self._places = {each.key: at for at, each in enumerate(used.requests)}
        self._sub_agent = used.state.get("sub_agent", "")
        self._has_owner = "sub_agent" not in used.state or "owner" in used.state
        self._line, self._message, self._report = ClaudeLine(), ClaudeMessage(), ClaudeReport()
        """The line that counts."""
        self._tools: list[str] = []

    def add_line(self, line: ClaudeLine) -> None:
        """Add a line of a reply, if it has a report."""
        message = line.message
        report = message.usage if message is not None else None
        if message is None or report is None or message.model == "<synthetic>" or line.is_error:
            return
        if report.out <= 0 and report.cached <= 0 and report.fresh <= 0 and report.written <= 0:
            return
        used, blocks, last = self._used, message.content, self._message
        if not used.folder:
            used.folder = line.cwd or ""
        if not self._has_owner:
            used.session = used.state["owner"] = line.session_id or used.session
            self._has_owner = True
        goes_on = message.id and message.id == last.id and line.request_id == self._line.request_id
        if not goes_on:
            self.add_last_reply()
            self._tools = []
        if type(blocks) is list:
            for each in blocks:
                if each.type == "tool_use" and each.name:
                    self._tools.append(each.name)
        if not goes_on or message.stop_reason is not None or last.stop_reason is None:
            self._line, self._message, self._report = line, message, report

    def add_last_reply(self) -> None:
        """Add the reply whose lines came last."""
        line, message, report = self._line, self._message, self._report
        fresh, cached, written, out = report.fresh, report.cached, report.written, report.out
        if fresh < 0 or cached < 0 or written < 0 or out < 0:
            fresh, cached, written, out = max(0, fresh), max(0, cached), max(0, written), max(0, out)
        prompt = fresh + cached + written
        if not (prompt or out):  # none came yet
            return
        self._message, self._report = ClaudeMessage(), ClaudeReport()
        sub_agent = self._sub_agent
        if not sub_agent and (line.is_sidechain or line.parent):
            sub_agent = line.agent_id or "?"
        made = RequestUse(
            epoch_milliseconds(line.timestamp),
            message.model or "",
            prompt,
            cached,
            written,
            max(0, report.kept.hour) if report.kept is not None else 0,
            out,
            known_cost(line.cost),
            f"{message.id} {line.request_id or ''}" if message.id else "",
            "" if sub_agent.startswith(_COMPACTS) else sub_agent,
            tuple(self._tools),
            message.stop_reason is None,
        )
        self._add_request(made)

    def _add_request(self, made: RequestUse) -> None:
        requests = self._used.requests
        before = self._places.get(made.key) if made.key else None
        if before is None:
            self._places[made.key] = len(requests)
            requests.append(made)
            return
        known = requests[before]
        made.tools = known.tools + made.tools
        if made.is_unfinished and not known.is_unfinished:
            known.tools = made.tools
        else:
            requests[before] = made
