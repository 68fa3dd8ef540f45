"""How well requests of recorded sessions are estimated from the reports before them, format by format.

Transcripts come from the folders that `WORKBENCH_TRACES` names (several with the system's separator between them), else
from a folder beside the repository; without any there is nothing to measure, but for one made up here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

from bench.harness import Row, Scale, Target
from workbench.config.errors import WorkbenchError
from workbench.context.policy_names import RECORDED
from workbench.log.events import AssistantMessage, Body, Compaction, Setting, ToolCall, ToolResult, Usage, UserMessage
from workbench.sources.options import Options
from workbench.sources.recorded import RecordedSession
from workbench.sources.services import Services
from workbench.sources.source import Source, as_source, file_logs, number_events, setting_in
from workbench.traces.formats import read_file

BESIDE = Path(__file__).parents[3] / "shared" / "traces"
FOLDERS = [Path(each) for each in os.environ.get("WORKBENCH_TRACES", "").split(os.pathsep) if each] or [BESIDE]
LARGE = 2_000
"""Tokens of a report below which an error in percent says little."""


def run(scale: Scale) -> Iterator[Row]:
    """Errors of estimates in percent; below that, how far our size before a recorded compaction is off."""
    errors: dict[str, list[float]] = {}
    compactions: dict[str, list[float]] = {}
    with Services() as services:
        for source in (made_up(), *(transcripts() if scale.repeats > 1 else ())):
            session = RecordedSession(services, Options(), source)
            name = setting_in(source.events, RECORDED)
            errors.setdefault(name, []).extend(estimate_errors(session))
            compactions.setdefault(name, []).extend(compaction_errors(session, source))
    for name, found in sorted(errors.items()):
        if len(found) > 1:
            yield percent(f"next request, {name} ({len(found):,}), median error", median(found), 3)
            yield percent(f"next request, {name} ({len(found):,}), nine of ten", quantiles(found, n=10)[-1], 10)
    for name, found in sorted(compactions.items()):
        if found:
            yield percent(f"before compaction, {name} ({len(found)}), largest error", max(found), 5)


def percent(name: str, share: float, at_most: float) -> Row:
    """An error as a row."""
    error = max(share * 100, 1e-6)
    return Row(name, error, "%", 100.0, "the report", error / 100, Target("at most", at_most / 100))


def estimate_errors(session: RecordedSession) -> list[float]:
    """Of each request, estimated from the earlier ones alone."""
    found = []
    for lesson in session.lessons:
        reported = lesson.mark.reported or 0
        if lesson.estimated is not None and reported >= LARGE:
            found.append(abs(lesson.estimated / reported - 1))
    return found


def compaction_errors(session: RecordedSession, source: Source) -> list[float]:
    """Our size of what was compacted, beside the figure that the tool itself wrote down."""
    found = []
    for event in source.events:
        if isinstance(event.body, Compaction):
            before = event.body.meta.get("tokens_before")
            learnt = any(lesson.mark.upto < event.seq for lesson in session.lessons)
            if isinstance(before, int) and before and learnt:
                found.append(abs(session.plan_upto(event.seq - 1).size / before - 1))
    return found


def transcripts() -> Iterator[Source]:
    """All conversations of all files that can be read."""
    for folder in FOLDERS:
        for path in sorted(each for each in folder.rglob("*") if each.is_file() and ".wire" not in each.suffixes):
            try:
                logs = file_logs(*read_file(str(path)))
            except WorkbenchError:
                continue
            for log in logs:
                yield as_source(path.name, log, is_file=True)


def made_up() -> Source:
    """A session whose reports grow by 500 tokens a request, and begin with 5,000 that are in no file."""
    bodies: list[Body] = [Setting("model", "made-up"), UserMessage("go on")]
    for step in range(40):
        text = " ".join(f"{step}:{number}" for number in range(50 + 13 * (step % 7)))
        bodies += [ToolCall(f"c{step}", "read", "{}", f"r{step}"), Usage("made-up", 0, 5_000 + 500 * step)]
        bodies += [ToolResult(f"c{step}", text)]
    bodies += [AssistantMessage("done", "r"), Setting(RECORDED, "made up")]
    return as_source("made up", number_events(bodies), is_file=True)
