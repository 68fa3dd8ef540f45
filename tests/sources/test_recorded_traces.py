"""Real transcripts of other agents: every request adds up to what its provider reported."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.recordings import FOLDER, readable_files
from support.rests import AFTER, as_table, measured
from workbench.log.events import Compaction, Usage
from workbench.sources.options import Options
from workbench.sources.recorded import RecordedSession
from workbench.sources.services import Services
from workbench.sources.source import Source, as_source, file_logs
from workbench.traces.formats import read_file

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="no transcripts here")


def transcripts() -> Iterator[Source]:
    for path in readable_files():
        for log in file_logs(*read_file(str(path)))[:10]:
            yield as_source(path.name, log, is_file=True)


def test_rows_and_remainder_are_what_was_reported() -> None:
    reports = 0
    with Services() as services:
        for source in transcripts():
            session = RecordedSession(services, Options(), source)
            assert len({mark.usage for mark in session.marks if mark.usage}) == sum(
                isinstance(event.body, Usage) for event in source.events
            ), f"{source.name}: a report without a request"
            for each in session.listed:
                if each.mark.reported is not None:
                    reports += 1
                    assert each.tokens + (each.unattributed or 0) == each.mark.reported, source.name
            shown = session.place(None)
            if shown is not None:
                assert session.plan(shown).size == session.marks[shown].reported, source.name
    assert reports > 500


def test_nothing_is_cut_but_what_the_other_agent_cut() -> None:
    with Services() as services:
        for source in transcripts():
            session = RecordedSession(services, Options(), source)
            shown = session.place(None)
            if shown is None:
                continue
            for row in session.plan(shown).items:
                if row.state in ("truncated", "dropped"):
                    ours = row.edits[-1].stage != "normalise" and "before it was sent" not in row.edits[-1].why
                    assert not ours, (source.name, row.edits)


def test_the_size_before_a_compaction_is_the_tools_own() -> None:
    seen = 0
    with Services() as services:
        for source in transcripts():
            session = RecordedSession(services, Options(), source)
            for event in source.events:
                before = event.body.meta.get("tokens_before") if isinstance(event.body, Compaction) else None
                learnt = any(lesson.mark.upto < event.seq for lesson in session.lessons)
                if isinstance(before, int) and before and learnt:
                    seen += 1
                    ours = session.plan_upto(event.seq - 1).size
                    assert ours == pytest.approx(before, rel=0.05), (source.name, event.seq)
    assert seen


NOT_HELD = {"otel"}
"""Spans whose contents are cut off or left out: what was sent is not in the file."""


def test_reports_are_explained_by_rows_fixed_part_and_thinking() -> None:
    found = measured()
    said = "\n".join(as_table(found))
    for tool, figures in found.items():
        assert not figures.left or tool in NOT_HELD or figures.close >= 0.9, f"{tool}\n{said}"
        assert figures.worst <= 0.03, f"{tool}: rows sum to far more than was sent\n{said}"
    after = [error for figures in found.values() for error in figures.after]
    assert sum(abs(error) <= AFTER for error in after) >= 0.9 * len(after), said
