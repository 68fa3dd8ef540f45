"""Codex: the use of the requests in a rollout. `traces/codex` describes the format.

A `token_count` is repeated if nothing was asked in between. A fork begins with a copy of the other thread's lines; the
totals that are counted from the beginning of the thread are the same in both, so they name the request.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from msgspec import Raw
from msgspec.structs import fields

from workbench.traces.codex_sub_agents import started_by
from workbench.traces.times_and_costs import epoch_milliseconds
from workbench.usage.codex_report_lines import (
    CodexInfo,
    CodexLimits,
    CodexPayload,
    CodexReport,
    codex_limits,
    codex_line,
)
from workbench.usage.records import CompactionUse, RateLimit, RequestUse, SessionUse
from workbench.usage.usage_lines import parsed_line
from workbench.wire.values import dict_in, number_in, text_in

_REPORTS = ("total_token_usage", "last_token_usage")
_FIGURES = tuple(each.encode_name for each in fields(CodexReport))
_MOST_USED = 1e6
"""The largest believable share of a limit, in per cent."""
_MOST_TOOLS = 50
"""Calls of an answer that are remembered."""


def new_codex_session(agent: str, path: str) -> SessionUse:
    """A session that nothing was read of yet."""
    return SessionUse(agent, os.path.basename(path).removesuffix(".jsonl"), f"{path}#1")


def add_codex_lines(used: SessionUse, lines: Iterable[bytearray]) -> None:
    """Add what some lines report."""
    start = int(used.state.get("start", "0"))
    limits: list[tuple[Raw, str | None]] = []
    for raw in lines:
        line = codex_line(raw)
        if line is None:
            _add_other_line(used, raw, start)
            start = int(used.state.get("start", "0"))
        elif line.ordinal < start:
            continue
        elif line.type == "event_msg":
            payload = line.payload
            limits.append((payload.rate_limits, line.timestamp))
            if payload.info is not None:
                _add_count(used, line.timestamp, payload.info)
        else:
            _add_call(used, line.payload)
    for raw_limits, timestamp in reversed(limits):
        found = codex_limits(raw_limits)
        if found is not None:
            used.limits = _limits(found, epoch_milliseconds(timestamp)) or used.limits
            break


def _add_other_line(used: SessionUse, raw: bytearray, start: int) -> None:
    """A line that names the session, the model or the like, or one with a value of an unexpected type."""
    value = parsed_line(raw)
    if value is None:
        return
    kind, payload = text_in(value, "type"), dict_in(value, "payload")
    if kind == "session_meta":
        _add_header(used, value, payload)
    elif kind == "turn_context":
        used.state["model"] = text_in(payload, "model") or used.state.get("model", "")
        used.folder = used.folder or text_in(payload, "cwd")
    elif start and number_in(value, "ordinal") < start:
        return
    elif kind == "compacted":
        at = epoch_milliseconds(value.get("timestamp"))
        used.compactions.append(CompactionUse(at, used.state.get("model", "")))
        used.state["compacted"] = "1"
    elif kind == "response_item" and text_in(payload, "type").endswith("_call"):
        _add_call(used, CodexPayload(text_in(payload, "type"), text_in(payload, "name")))
    elif kind == "token_usage_record":
        used.state["records"] = "1"
        _add_report(used, value.get("timestamp"), _report(dict_in(payload, "usage")), text_in(payload, "response_id"))
    elif kind == "event_msg" and text_in(payload, "type") == "token_count":
        info = dict_in(payload, "info")
        reports = [_report(found) if (found := dict_in(info, key)) else None for key in _REPORTS]
        if info:
            _add_count(used, value.get("timestamp"), CodexInfo(*reports))


def _report(value: dict[str, Any]) -> CodexReport:
    return CodexReport(*(number_in(value, name) for name in _FIGURES))


def _add_call(used: SessionUse, call: CodexPayload) -> None:
    state, name = used.state, call.name or call.type.removesuffix("_call")
    if "\n" in name:
        name = name.replace("\n", " ")
    if "tools" in state:
        name = "\n".join([*state["tools"].split("\n")[-_MOST_TOOLS:], name])
    state["tools"] = name


def _add_header(used: SessionUse, value: dict[str, Any], payload: dict[str, Any]) -> None:
    if "header" in used.state:  # a fork has a copy of the other's
        return
    used.state["header"] = "1"
    used.session = text_in(payload, "id") or used.session
    used.folder = text_in(payload, "cwd")
    used.belongs_to = started_by(value)
    used.copied_from = text_in(payload, "forked_from_id")
    used.state["start"] = str(number_in(payload, "subagent_history_start_ordinal"))


def _add_count(used: SessionUse, timestamp: Any, info: CodexInfo) -> None:
    state, last, thread = used.state, info.last, info.of_thread or CodexReport()
    total = f"{thread.prompt} {thread.out} {thread.total}"
    if "compacted" in state and (last is None or last.prompt <= 0):
        del state["compacted"]  # this is only the size of what is left
    elif last is not None and total != state.get("total") and "records" not in state:
        _add_report(used, timestamp, last, total)
    state["total"] = total


def _add_report(used: SessionUse, timestamp: Any, report: CodexReport, key: str) -> None:
    state = used.state
    tools = state.pop("tools", "")
    prompt, cached, written, out = report.prompt, report.cached, report.written, report.out
    if prompt < 0 or cached < 0 or written < 0 or out < 0:
        prompt, cached, written, out = max(0, prompt), max(0, cached), max(0, written), max(0, out)
    if prompt or out:
        names = tuple([each for each in tools.split("\n") if each]) if tools else ()
        helper = used.session if used.belongs_to else ""
        at, model = epoch_milliseconds(timestamp), state.get("model", "")
        used.requests.append(RequestUse(at, model, prompt, cached, written, 0, out, None, key, helper, names))


def _limits(found: CodexLimits, at: int) -> list[RateLimit]:
    return [
        RateLimit(each.minutes, float(each.used), epoch_milliseconds(each.resets_at), at)
        for each in (found.primary, found.secondary)
        if each is not None and each.minutes and each.minutes > 0
        if each.used is not None and 0 <= each.used < _MOST_USED
    ]
