"""Long sessions: a late request is planned without its beginning, and learning needs only the newest reports."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.logs import logs
from support.random_cases import few_cases
from workbench.context.policy_names import RECORDED
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Event,
    KeptEvent,
    Setting,
    Usage,
    UserMessage,
)
from workbench.sources import report_lessons
from workbench.sources.options import Options
from workbench.sources.recorded import RecordedSession
from workbench.sources.request_plans import RequestPlans
from workbench.sources.requests import RequestMark
from workbench.sources.services import Services
from workbench.sources.source import as_source, number_events
from workbench.wire.requests import RequestBodies


@few_cases()
@given(logs(most=14), logs(most=10), st.booleans(), st.booleans(), st.integers(0, 3))
def test_a_request_after_a_compaction_is_as_large_as_its_plan(
    before: list[Event], after: list[Event], asks_first: bool, keeps: bool, spared: int
) -> None:
    """Whatever comes before it: the compaction may spare the last events, keep a message, or split a pair."""
    bodies: list[Body] = [event.body for event in before]
    kept = (KeptEvent(1),) if keeps and bodies and isinstance(bodies[0], UserMessage) else ()
    bodies.append(Compaction(1, len(bodies) - spared, "what was said", kept=kept))
    bodies += [UserMessage("go on"), AssistantMessage("yes", "late")] if asks_first else []
    events = number_events([*bodies, *(event.body for event in after if not isinstance(event.body, Compaction))])
    with Services() as services:
        setup = services.set_up(Options(policy="recorded"), as_source("file", events, is_file=True)).plain
        for upto in range(len(before) + 1, len(events) + 1):
            found = RequestPlans(events, RequestBodies(events), lambda _: setup, sizes=True)
            assert found.totals(RequestMark(upto, 0))[:3] == setup.plan(events[:upto]).totals[:3]


def test_a_long_session_is_learnt_from_its_newest_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent changed: since then twice as much is reported around the same contents."""
    monkeypatch.setattr(report_lessons, "LEARNT_FROM", 5)
    bodies: list[Body] = [UserMessage("go")]
    for number in range(40):
        bodies.append(AssistantMessage("more words to count " * 20, f"r{number}"))
        if number != 3:
            bodies.append(Usage("gpt-4o", 0, (1_000 if number < 30 else 5_000) + 90 * number))
    events = number_events([*bodies, Setting("model", "gpt-4o"), Setting(RECORDED, "pi")])
    with Services() as services:
        session = RecordedSession(services, Options(), as_source("file", events, is_file=True))
        learnt = session.calibration("gpt-4o")
        assert (learnt.samples, [lesson.number for lesson in session.lessons]) == (5, [1, 2, 3, 4, 5])
        assert learnt.fixed == pytest.approx(5_000, rel=0.05)
        assert [*session.unreported] == [3], "a request before those is estimated, too"
        assert session.unreported[3] == session.plan(3).size > 5_000
        for at, mark in enumerate(session.marks):
            assert mark.reported is None or session.plan(at).size == mark.reported
