"""Recall across sessions: what a summary names can be read in the session that it was made from. Real stores."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given

from support.logs import logs, number
from workbench.agent.tools.base import ToolFailure
from workbench.agent.tools.peek import SPOKEN, excluded_events, peeked_events
from workbench.compaction.continuation import first_events
from workbench.log.errors import NotFound
from workbench.log.events import (
    CONTINUED_FROM,
    AssistantMessage,
    Body,
    Compaction,
    Event,
    Override,
    Setting,
    UserMessage,
)
from workbench.log.store import Store

TALK: list[Body] = [UserMessage("which port?"), AssistantMessage("9001"), UserMessage("a secret"), UserMessage("good")]


def stored(*given: Body) -> tuple[str, list[Event]]:
    """A session of the store, and its events."""
    with Store.open() as store, store.create(given) as session:
        return session.id, session.events()


def going_on(origin: str, *more: Body) -> tuple[str, list[Event]]:
    """A session that goes on from another."""
    return stored(*first_events(origin, "The port is known.", [Setting("title", "on")]), *more)


def texts(events: Sequence[Event], ref: str) -> list[str]:
    return [entry.text for entry in peeked_events(events, ref)]


def test_the_ids_of_the_session_before_are_understood() -> None:
    old, said = stored(*TALK)
    _, events = going_on(old, UserMessage("and now?"))
    assert texts(events, f"[id {said[1].id}]") == ["9001"]
    assert texts(events, f"{old}:2") == ["9001"]
    assert texts(events, f"{old}:1-2") == ["which port?", "9001"]
    assert texts(events, f"{old}:{said[1].id}") == ["9001"]


def test_the_session_before_and_the_summary_of_it_mean_all_that_was_said_there() -> None:
    old, _ = stored(*TALK)
    _, events = going_on(old, UserMessage("and now?"))
    everything = ["which port?", "9001", "a secret", "good"]
    assert texts(events, old) == everything
    summary = next(event for event in events if isinstance(event.body, Compaction))
    assert texts(events, summary.id) == everything


def test_bare_numbers_are_those_of_the_session_itself() -> None:
    old, _ = stored(*TALK)
    _, events = going_on(old, UserMessage("and now?"))
    assert texts(events, str(len(events))) == ["and now?"]
    assert texts(events, f"1-{len(events)}") == ["and now?"]


def test_what_was_excluded_there_stays_out_of_reach() -> None:
    old, said = stored(*TALK, Override("exclude", 3, 3))
    _, events = going_on(old)
    assert texts(events, old) == ["which port?", "9001", "good"]
    with pytest.raises(ToolFailure, match="the user has excluded it"):
        peeked_events(events, said[2].id)


def test_it_goes_back_as_far_as_there_are_sessions() -> None:
    first, said = stored(*TALK)
    second, more = going_on(first, UserMessage("second"))
    _, events = going_on(second, UserMessage("third"))
    assert texts(events, said[0].id) == ["which port?"]
    assert texts(events, more[-1].id) == ["second"]
    assert texts(events, second) == ["second"]
    assert texts(events, first) == texts(events, more[2].id) == ["which port?", "9001", "a secret", "good"]
    with pytest.raises(ToolFailure, match="there is no such item"):
        peeked_events(events, "1m0000000000x")


def test_a_session_that_is_gone_is_told_plainly() -> None:
    old, said = stored(*TALK)
    _, events = going_on(old)
    with Store.open() as store:
        store.delete(old)
    with pytest.raises(ToolFailure, match=f"the session {old}, which this one continues, cannot be read"):
        peeked_events(events, said[0].id)


def test_a_title_is_not_taken_for_a_session() -> None:
    stored(Setting("title", "on"), *TALK)
    events = number(first_events("on", "The port is known.", []))
    with pytest.raises(ToolFailure, match="cannot be read"):
        peeked_events(events, "on")


def test_no_other_session_is_within_reach() -> None:
    old, _ = stored(*TALK)
    other, said = stored(UserMessage("none of its business"))
    _, events = going_on(old)
    for ref in (other, said[0].id, f"{other}:1"):
        with pytest.raises(ToolFailure, match="there is no such item"):
            peeked_events(events, ref)


def test_sessions_that_go_on_from_each_other_come_to_an_end() -> None:
    both = {"a": number([Setting(CONTINUED_FROM, "b")]), "b": number([Setting(CONTINUED_FROM, "a")])}
    with pytest.raises(ToolFailure, match="there is no such item"):
        peeked_events(both["a"], "x", both.__getitem__)


@given(log=logs())
def test_every_event_is_read_there_as_it_was_here(log: list[Event]) -> None:
    events = [Event(seq, f"n{seq}", 0, body) for seq, body in enumerate(first_events("old", "A summary.", []), 1)]
    hidden = excluded_events(log)

    def earlier(session: str) -> Sequence[Event]:
        if session != "old":
            raise NotFound(session)
        return log

    for event in log:
        if isinstance(event.body, SPOKEN) and event.seq not in hidden:
            assert peeked_events(events, event.id, earlier) == peeked_events(log, event.id, earlier)
