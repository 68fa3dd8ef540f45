"""Opening another agent's session goes through its log once for the newest requests, the next one and the planner."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support.logs import logs
from support.random_cases import few_cases
from workbench.context.policy_names import RECORDED
from workbench.log.events import AssistantMessage, Body, Compaction, Event, Override, Setting, Usage, UserMessage
from workbench.sources.options import Options
from workbench.sources.recorded import RecordedSession
from workbench.sources.services import Services
from workbench.sources.source import Source, as_source, number_events
from workbench.sources.source_setups import make_setup

LATER: tuple[Body, ...] = (UserMessage("and then?"), Override("mask", 1, 3), Compaction(1, 4, "what was said"))


def source_of(log: list[Event], sizes: list[int]) -> Source:
    bodies: list[Body] = []
    for number, event in enumerate(log):
        bodies.append(event.body)
        if isinstance(event.body, AssistantMessage):
            bodies.append(Usage("m", 0, sizes[number % len(sizes)]))
    events = number_events([*bodies, Setting("model", "gpt-4o"), Setting(RECORDED, "pi")])
    return as_source("file", events, is_file=True)


@few_cases()
@given(
    logs(most=14),
    st.lists(st.integers(1, 300_000), min_size=1, max_size=5),
    st.sampled_from([RECORDED, "workbench"]),
    st.booleans(),
    st.booleans(),
)
def test_a_shared_planner_plans_what_a_new_one_does(
    log: list[Event], sizes: list[int], policy: str, live: bool, listed_first: bool
) -> None:
    source, services = source_of(log, sizes), Services()
    session = RecordedSession(services, Options(), source)
    if listed_first:
        assert [each.number for each in session.listed] == list(range(1, len(session.marks) + 1))
    setup = make_setup(services, Options(), source, policy, (), session)
    shared, alone = session.planner(setup, live=live), setup.planner(source.events, live=live)
    assert shared.plan() == alone.plan()
    for body in LATER:
        event = Event(len(alone.events) + 1, f"later{len(alone.events)}", 0, body)
        shared.append_event(event)
        alone.append_event(event)
        assert shared.plan() == alone.plan()
    again = RecordedSession(services, Options(), source)
    for at in range(len(session.marks)):
        assert session.plan(at) == again.plan(at), "nor does it change what was recorded"


def test_the_record_is_counted_by_one_counter() -> None:
    talk: list[Body] = [UserMessage("hi"), AssistantMessage("hello", "r1"), Usage("gpt-4o", 0, 1_000)]
    services, source = Services(), as_source("file", number_events([*talk, Setting(RECORDED, "pi")]), is_file=True)
    session = RecordedSession(services, Options(), source)
    for policy in (RECORDED, "workbench"):
        setup = make_setup(services, Options(), source, policy, (), session)
        assert setup.plain.counter is session.setup(source.model).plain.counter
        assert setup.counts_like(session.setup(source.model)) == (policy == RECORDED)
