"""Codex: the use of the requests in a rollout. `traces/codex` describes the format.

A `token_count` is repeated if nothing was asked in between. A fork begins with a copy of the other thread's lines; the
totals that are counted from the beginning of the thread are the same in both, so they name the request.
"""

from __future__ import annotations

import os
from typing import Any

from workbench.traces.building import epoch_milliseconds
from workbench.traces.codex_sub_agents import started_by
from workbench.usage.records import CompactionUse, RateLimit, RequestUse, SessionUse
from workbench.usage.usage_lines import lines_with
from workbench.wire.values import dict_in, json_text, number_in, text_in

_SIGNS = (
    *(b'"token_count"', b'"token_usage_record"', b'"turn_context"', b'"session_meta"', b'"compacted"'),
    b'_call"',
)
_MOST_USED = 1e6
"""The largest believable share of a limit, in per cent."""
_MOST_TOOLS = 50
"""Calls of an answer that are remembered."""


def new_codex_session(agent: str, path: str) -> SessionUse:
    """A session that nothing was read of yet."""
    return SessionUse(agent, os.path.basename(path).removesuffix(".jsonl"), f"{path}#1")


def add_codex_lines(used: SessionUse, data: bytes) -> None:
    """Add what some lines report."""
    start = int(used.state.get("start", "0"))
    for value in lines_with(data, _SIGNS):
        kind, payload = text_in(value, "type"), dict_in(value, "payload")
        if kind == "session_meta":
            _add_header(used, value, payload)
            start = int(used.state.get("start", "0"))
        elif kind == "turn_context":
            used.state["model"] = text_in(payload, "model") or used.state.get("model", "")
            used.folder = used.folder or text_in(payload, "cwd")
        elif start and number_in(value, "ordinal") < start:
            continue
        elif kind == "compacted":
            at = epoch_milliseconds(value.get("timestamp"))
            used.compactions.append(CompactionUse(at, used.state.get("model", "")))
            used.state["compacted"] = "1"
        elif kind == "response_item" and text_in(payload, "type").endswith("_call"):
            calls = used.state.get("tools", "").split("\n")
            name = text_in(payload, "name") or text_in(payload, "type").removesuffix("_call")
            used.state["tools"] = "\n".join([*calls[-_MOST_TOOLS:], name.replace("\n", " ")])
        elif kind == "token_usage_record":
            used.state["records"] = "1"
            _add_report(used, value, dict_in(payload, "usage"), text_in(payload, "response_id"))
        elif kind == "event_msg" and text_in(payload, "type") == "token_count":
            _add_count(used, value, payload)


def _add_header(used: SessionUse, value: dict[str, Any], payload: dict[str, Any]) -> None:
    if "header" in used.state:  # a fork has a copy of the other's
        return
    used.state["header"] = "1"
    used.session = text_in(payload, "id") or used.session
    used.folder = text_in(payload, "cwd")
    used.belongs_to = started_by(value)
    used.copied_from = text_in(payload, "forked_from_id")
    used.state["start"] = str(number_in(payload, "subagent_history_start_ordinal"))


def _add_count(used: SessionUse, value: dict[str, Any], payload: dict[str, Any]) -> None:
    at = epoch_milliseconds(value.get("timestamp"))
    used.limits = _limits(dict_in(payload, "rate_limits"), at) or used.limits
    info = dict_in(payload, "info")
    total, last = json_text(info.get("total_token_usage")), dict_in(info, "last_token_usage")
    if not info:
        return
    if "compacted" in used.state and not number_in(last, "input_tokens"):
        del used.state["compacted"]  # this is only the size of what is left
    elif last and total != used.state.get("total") and "records" not in used.state:
        _add_report(used, value, last, total)
    used.state["total"] = total


def _add_report(used: SessionUse, value: dict[str, Any], report: dict[str, Any], key: str) -> None:
    prompt, out = number_in(report, "input_tokens"), number_in(report, "output_tokens")
    tools = tuple(filter(None, used.state.pop("tools", "").split("\n")))
    if prompt or out:
        made = RequestUse(
            epoch_milliseconds(value.get("timestamp")),
            used.state.get("model", ""),
            prompt,
            number_in(report, "cached_input_tokens"),
            number_in(report, "cache_write_input_tokens"),
            0,
            out,
            None,
            key,
            used.session if used.belongs_to else "",
            tools,
        )
        used.requests.append(made)


def _limits(found: dict[str, Any], at: int) -> list[RateLimit]:
    limits = []
    for each in (dict_in(found, "primary"), dict_in(found, "secondary")):
        used, minutes = each.get("used_percent"), number_in(each, "window_minutes")
        if minutes and isinstance(used, int | float) and 0 <= used < _MOST_USED:
            limits.append(RateLimit(minutes, float(used), epoch_milliseconds(each.get("resets_at")), at))
    return limits
