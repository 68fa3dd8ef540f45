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
from workbench.traces.written_times import epoch_milliseconds
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
"""Calls that are remembered before the last one of an answer."""


def new_codex_session(agent: str, path: str) -> SessionUse:
    """A session that nothing was read of yet."""
    return SessionUse(agent, os.path.basename(path).removesuffix(".jsonl"), f"{path}#1")


def add_codex_lines(used: SessionUse, lines: Iterable[bytearray]) -> None:
    """Add what some lines report."""
    thread = _Thread(used)
    limits: list[tuple[Raw, str | None]] = []
    for raw in lines:
        line = codex_line(raw)
        if line is None:
            thread.add_other_line(raw)
            continue
        kind, payload = line.type, line.payload
        if kind == "turn_context":
            thread.add_context(payload.model, payload.cwd)
        elif line.ordinal < thread.start:
            continue
        elif kind == "event_msg" and payload.type == "token_count":
            limits.append((payload.rate_limits, line.timestamp))
            if payload.info is not None:
                thread.add_count(line.timestamp, payload.info)
        elif kind == "response_item" and payload.type.endswith("_call"):
            thread.add_call(payload)
        elif kind == "compacted":
            thread.add_compaction(line.timestamp)
        else:
            thread.add_other_line(raw)
    thread.keep_state()
    for raw_limits, timestamp in reversed(limits):
        found = codex_limits(raw_limits)
        if found is not None:
            used.limits = _limits(found, epoch_milliseconds(timestamp)) or used.limits
            break


class _Thread:
    """What has to be known of the lines before to read on."""

    def __init__(self, used: SessionUse) -> None:
        state = used.state
        self._used = used
        self.start = int(state.get("start", "0"))
        """The number of the first line that is no copy."""
        self._model, self._total = state.get("model", ""), state.get("total", "")
        self._has_header, self._has_records, self._is_compacted = (
            name in state for name in ("header", "records", "compacted")
        )
        self._tools = state["tools"].split("\n") if "tools" in state else []

    def keep_state(self) -> None:
        """Keep it in the session, for the next time."""
        found = {
            "header": "1" if self._has_header else "",
            "start": str(self.start or ""),
            "model": self._model,
            "total": self._total,
            "compacted": "1" if self._is_compacted else "",
            "records": "1" if self._has_records else "",
            "tools": "\n".join(self._tools),
        }
        self._used.state = {name: value for name, value in found.items() if value}

    def add_other_line(self, raw: bytearray) -> None:
        """A line that names the session, or one with a value of an unexpected type."""
        value = parsed_line(raw)
        if value is None:
            return
        kind, payload, timestamp = text_in(value, "type"), dict_in(value, "payload"), value.get("timestamp")
        if kind == "session_meta":
            self._add_header(value, payload)
        elif kind == "turn_context":
            self.add_context(text_in(payload, "model"), text_in(payload, "cwd"))
        elif self.start and number_in(value, "ordinal") < self.start:
            return
        elif kind == "compacted":
            self.add_compaction(timestamp)
        elif kind == "response_item" and text_in(payload, "type").endswith("_call"):
            self.add_call(CodexPayload(text_in(payload, "type"), text_in(payload, "name")))
        elif kind == "token_usage_record":
            self._has_records = True
            self._add_report(timestamp, _report(dict_in(payload, "usage")), text_in(payload, "response_id"))
        elif kind == "event_msg" and text_in(payload, "type") == "token_count":
            info = dict_in(payload, "info")
            reports = [_report(found) if (found := dict_in(info, key)) else None for key in _REPORTS]
            if info:
                self.add_count(timestamp, CodexInfo(*reports))

    def _add_header(self, value: dict[str, Any], payload: dict[str, Any]) -> None:
        used = self._used
        if self._has_header:  # a fork has a copy of the other's
            return
        self._has_header = True
        used.session = text_in(payload, "id") or used.session
        used.folder = text_in(payload, "cwd")
        used.belongs_to = started_by(value)
        used.copied_from = text_in(payload, "forked_from_id")
        self.start = number_in(payload, "subagent_history_start_ordinal")

    def add_context(self, model: str, folder: str) -> None:
        """From here on this model is asked."""
        self._model = model or self._model
        self._used.folder = self._used.folder or folder

    def add_compaction(self, timestamp: Any) -> None:
        """Add a compaction."""
        self._used.compactions.append(CompactionUse(epoch_milliseconds(timestamp), self._model))
        self._is_compacted = True

    def add_call(self, call: CodexPayload) -> None:
        """Remember a call for the report on its answer."""
        name = call.name or call.type.removesuffix("_call")
        if name:
            self._tools = [*self._tools[-_MOST_TOOLS:], name.replace("\n", " ")]

    def add_count(self, timestamp: Any, info: CodexInfo) -> None:
        """Add the last report of a `token_count`, if it is new."""
        last, whole = info.last, info.of_thread or CodexReport()
        total = f"{whole.prompt} {whole.out} {whole.total}"
        if self._is_compacted and (last is None or last.prompt <= 0):
            self._is_compacted = False  # this is only the size of what is left
        elif last is not None and total != self._total and not self._has_records:
            self._add_report(timestamp, last, total)
        self._total = total

    def _add_report(self, timestamp: Any, report: CodexReport, key: str) -> None:
        used, names = self._used, tuple(self._tools)
        if names:
            self._tools = []
        prompt, cached, written, out = report.prompt, report.cached, report.written, report.out
        if prompt < 0 or cached < 0 or written < 0 or out < 0:
            prompt, cached, written, out = max(0, prompt), max(0, cached), max(0, written), max(0, out)
        if prompt or out:
            sub_agent = used.session if used.belongs_to else ""
            at = epoch_milliseconds(timestamp)
            used.requests.append(
                RequestUse(at, self._model, prompt, cached, written, 0, out, None, key, sub_agent, names)
            )


def _report(value: dict[str, Any]) -> CodexReport:
    return CodexReport(*(number_in(value, name) for name in _FIGURES))


def _limits(found: CodexLimits, at: int) -> list[RateLimit]:
    return [
        RateLimit(each.minutes, float(each.used), epoch_milliseconds(each.resets_at), at)
        for each in (found.primary, found.secondary)
        if each is not None and each.minutes and each.minutes > 0
        if each.used is not None and 0 <= each.used < _MOST_USED
    ]
