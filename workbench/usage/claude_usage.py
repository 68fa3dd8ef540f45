"""Claude Code: the use of the requests in a session's file. `traces/claude_code` describes the format.

A reply is several lines with the same id, each with the report so far; the last one counts. A session that was resumed
or forked by an older version begins with a copy of the lines before; ids of reply and request are the same there.
The replies of a sub-agent are in its own file, and some versions repeat them in the session (`progress`); where the
file is gone, they are known from there.
"""

from __future__ import annotations

import os
from typing import Any

from workbench.traces.building import epoch_milliseconds, known_cost
from workbench.traces.claude_sub_agents import is_of_sub_agent
from workbench.usage.records import CompactionUse, RequestUse, SessionUse
from workbench.usage.usage_lines import lines_with
from workbench.wire.anthropic import kept_an_hour
from workbench.wire.values import dict_in, list_in, number_in, text_in

_SIGNS = (b'"usage"', b'"compact_boundary"')
_SUB_AGENTS, _BEFORE, _COMPACTS = "subagents", "agent-", "acompact-"


def new_claude_session(agent: str, path: str) -> SessionUse:
    """A session that nothing was read of yet. Files of sub-agents belong to their session."""
    folder, name = os.path.split(path)
    session = name.removesuffix(".jsonl")
    if not session.startswith(_BEFORE):
        return SessionUse(agent, session, f"{path}#1")
    above, inner = os.path.split(folder)
    helper = session.removeprefix(_BEFORE)
    if inner != _SUB_AGENTS:  # the first line with a report says whose it is
        return SessionUse(agent, session, path, state={"helper": helper})
    owner = os.path.basename(above)
    return SessionUse(agent, owner, f"{above}.jsonl#1", state={"helper": helper, "owner": owner})


def add_claude_lines(used: SessionUse, data: bytes) -> None:
    """Add what some lines report."""
    places = {each.key: at for at, each in enumerate(used.requests)}
    for value in lines_with(data, _SIGNS):
        kind = text_in(value, "type")
        if kind == "assistant":
            _add_reply(used, value, places)
        elif kind == "progress":
            _add_reply(used, _sub_agents_line(value), places)
        elif kind == "system" and text_in(value, "subtype") == "compact_boundary":
            model = used.requests[-1].model if used.requests else ""
            used.compactions.append(CompactionUse(epoch_milliseconds(value.get("timestamp")), model))


def _sub_agents_line(value: dict[str, Any]) -> dict[str, Any]:
    """The line of a sub-agent that a session repeats; an empty one if it repeats none."""
    data = dict_in(value, "data")
    line = dict_in(data, "message")
    if text_in(line, "type") != "assistant":
        return {}
    named = {"agentId": text_in(data, "agentId"), "cwd": text_in(value, "cwd"), "isSidechain": True}
    return {**line, **named, "sessionId": text_in(value, "sessionId")}


def _add_reply(used: SessionUse, value: dict[str, Any], places: dict[str, int]) -> None:
    message = dict_in(value, "message")
    made = _reply(used, value, message, dict_in(message, "usage"))
    if made is None:
        return
    used.folder = used.folder or text_in(value, "cwd")
    if "helper" in used.state and "owner" not in used.state:
        used.session = used.state["owner"] = text_in(value, "sessionId") or used.session
    before = places.get(made.key) if made.key else None
    if before is None:
        places[made.key] = len(used.requests)
        used.requests.append(made)
    else:
        used.requests[before] = made._replace(tools=used.requests[before].tools + made.tools)


def _reply(
    used: SessionUse, value: dict[str, Any], message: dict[str, Any], report: dict[str, Any]
) -> RequestUse | None:
    cached, written = number_in(report, "cache_read_input_tokens"), number_in(report, "cache_creation_input_tokens")
    prompt, out = number_in(report, "input_tokens") + cached + written, number_in(report, "output_tokens")
    model = text_in(message, "model")
    if not (prompt or out) or model == "<synthetic>" or value.get("isApiErrorMessage"):
        return None
    name, request = text_in(message, "id"), text_in(value, "requestId")
    helper = used.state.get("helper", "") or (text_in(value, "agentId") or "?" if is_of_sub_agent(value) else "")
    return RequestUse(
        epoch_milliseconds(value.get("timestamp")),
        model,
        prompt,
        cached,
        written,
        kept_an_hour(report),
        out,
        known_cost(value.get("costUSD")),
        f"{name} {request}" if name else "",
        "" if helper.startswith(_COMPACTS) else helper,
        tuple(text_in(each, "name") for each in list_in(message, "content") if text_in(each, "type") == "tool_use"),
    )
