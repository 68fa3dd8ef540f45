"""An agent's report on its last request, read from the end of its file with the format's own reader."""

from __future__ import annotations

import json
import re

from msgspec import Struct

from workbench.config.errors import WorkbenchError
from workbench.config.values import replace
from workbench.log.events import Usage
from workbench.traces import mini_swe_agent
from workbench.traces.building import Recording
from workbench.traces.format_kinds import read_by, recognised
from workbench.traces.formats import json_formats
from workbench.traces.reading import read_json
from workbench.wire.chat import chat_usage

MOST_REPORTS = 8
"""Reports to read at the end; the last one with figures counts."""
_REPORT = re.compile(rb'"(?:usage|usageMetadata|tokens|last_token_usage)"\s*:\s*\{')
_WINDOW = re.compile(rb'"(?:model_context_window|contextWindow|context_window)"\s*:\s*(\d{1,9})\b')


class LastReport(Struct, frozen=True):
    """The provider's figures for the last request, as the agent recorded them."""

    prompt: int
    cached: int = 0
    completion: int = 0
    cost: float | int | None = None
    model: str = ""
    window: int = 0
    """From the agent; 0 if it does not record it."""


def format_of(head: bytes) -> str:
    """The agent that wrote a file with this beginning; empty if unknown."""
    whole = head[: head.rfind(b"\n")] if b"\n" in head else head
    text = whole.decode("utf-8", "replace")
    try:
        document = read_json("", text, skip=True)
        return next((each.name for each in json_formats() if recognised(each, document)), "")
    except (WorkbenchError, RecursionError):
        return ""


def last_report(agent: str, lines: list[bytes]) -> LastReport | None:
    """The report in the last, whole lines of a transcript; None if there is none."""
    with_report = [number for number, line in enumerate(lines) if _REPORT.search(line)][-MOST_REPORTS:]
    if not with_report:
        return None
    # The last line with a report is mostly enough. Some formats need its reply too, and an error's report is empty.
    if agent == mini_swe_agent.NAME:  # one object of many lines
        found = _of_object(b"\n".join(lines[with_report[-1] :]))
    else:
        found = report_in(_read_lines(agent, [lines[with_report[-1]]])) or report_in(
            _read_lines(agent, lines[with_report[0] :])
        )
    windows = [int(each[1]) for number in with_report if (each := _WINDOW.search(lines[number]))]
    return found and replace(found, window=windows[-1] if windows else 0)


def _of_object(text: bytes) -> LastReport | None:
    """A report in OpenAI's format, which begins in the first line."""
    json_text = text[text.index(b"{") :].decode("utf-8", "replace")
    try:
        used = chat_usage(json.JSONDecoder().raw_decode(json_text)[0], "")
    except (ValueError, RecursionError):
        return None
    return report_in([Recording([used])]) if used is not None else None


def _read_lines(agent: str, lines: list[bytes]) -> list[Recording]:
    text = b"\n".join(lines).decode("utf-8", "replace")
    try:
        form = next((each for each in json_formats() if each.name == agent), None)
        found = None if form is None else read_by(form, read_json(agent, text, skip=True), text)
    except (WorkbenchError, RecursionError):
        return []
    return found or []


def report_in(recordings: list[Recording]) -> LastReport | None:
    """The last report with figures."""
    found = [body for recording in recordings for body in recording if isinstance(body, Usage) and body.prompt]
    if not found:
        return None
    last = found[-1]
    return LastReport(last.prompt or 0, last.cached, last.completion, last.cost, last.model)
