"""What observers of a session get: the latest state, all that was put together at once, and nothing is lost."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from itertools import pairwise
from typing import Any, cast, get_type_hints

from hypothesis import given
from hypothesis import strategies as st

from workbench.config.errors import WorkbenchError
from workbench.session.observable import INTERVAL, Notice, ObservableSession, SessionChanges, SessionState
from workbench.views.values import Activity, LiveAnswer, LiveCall


class Clock:
    """A loop whose time passes when the test says so."""

    def __init__(self) -> None:
        self.now = 0.0
        self.due: list[tuple[float, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now

    def call_soon_threadsafe(self, act: Callable[[], None]) -> None:
        self.due.append((self.now, act))

    def call_later(self, wait: float, act: Callable[[], None]) -> None:
        self.due.append((self.now + wait, act))

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while ready := [each for each in self.due if each[0] <= end]:
            first = min(ready, key=lambda each: each[0])
            self.due.remove(first)
            self.now = max(self.now, first[0])
            first[1]()
        self.now = end


Step = tuple[float, int]


@given(st.lists(st.tuples(st.floats(0, 0.2), st.integers(0, 3)), max_size=60))
def test_the_last_value_always_arrives_and_never_twice_within_an_interval(steps: list[Step]) -> None:
    clock, seen = Clock(), list[tuple[float, SessionState]]()
    updates = ObservableSession(cast(Any, clock))
    updates.observe(lambda _, after: seen.append((clock.now, after)))
    last = ""
    for wait, number in steps:
        clock.run(wait)
        last = f"{number} {clock.now}"
        updates.change_state(title=last, queue=(last,))
    clock.run(1)
    assert updates.is_clear
    assert all(later - earlier >= INTERVAL * 0.999 for (earlier, _), (later, _) in pairwise(seen))
    assert all(state.queue == (state.title,) for _, state in seen)
    assert not steps or seen[-1][1].title == last


def test_what_comes_after_a_pause_is_shown_at_once() -> None:
    clock, seen = Clock(), list[float]()
    updates = ObservableSession(cast(Any, clock))
    updates.observe(lambda *_: seen.append(clock.now))
    for _ in range(3):
        clock.run(1)
        updates.change_state(activity=Activity())
        clock.run(0)
    assert seen == [1.0, 2.0, 3.0]


def test_every_notice_is_told_in_order() -> None:
    clock, told = Clock(), list[Notice]()
    updates = ObservableSession(cast(Any, clock))
    updates.listen(told.append)
    for number in range(5):
        updates.show_notice(Notice(str(number)))
    clock.run(1)
    assert [notice.text for notice in told] == ["0", "1", "2", "3", "4"]


def test_a_screen_that_is_gone_is_no_error() -> None:
    class Gone(Clock):
        def call_soon_threadsafe(self, act: Callable[[], None]) -> None:
            raise RuntimeError("the loop is closed")

    updates = ObservableSession(cast(Any, Gone()))
    updates.change_state(title="x")
    assert updates.is_clear


def test_whoever_waits_hears_after_each_update_and_after_a_poke() -> None:
    clock, heard = Clock(), list[str]()
    updates = ObservableSession(cast(Any, clock), lambda: heard.append("look"))
    updates.observe(lambda *_: heard.append("update"))
    updates.change_state(title="x")
    clock.run(1)
    assert heard == ["update", "look"]
    updates.call_updated()
    clock.run(1)
    assert heard == ["update", "look", "look"], "it shows nothing"
    assert updates.is_clear


def test_all_observers_see_the_same_states_and_a_late_one_finds_the_present_state() -> None:
    clock = Clock()
    updates = ObservableSession(cast(Any, clock))
    first, late = list[tuple[SessionState, SessionState]](), list[tuple[SessionState, SessionState]]()
    updates.observe(lambda *states: first.append(states))
    updates.change_state(title="x", folder="~/x")
    assert updates.state == SessionState(), "nothing changes before the observers hear of it"
    clock.run(1)
    updates.observe(lambda *states: late.append(states))
    assert updates.state == SessionState(title="x", folder="~/x")
    updates.change_state(title="y")
    clock.run(1)
    assert late == [(SessionState(title="x", folder="~/x"), SessionState(title="y", folder="~/x"))]
    assert first == [(SessionState(), late[0][0]), *late]


def test_an_observer_that_another_one_unsubscribes_is_not_called_any_more() -> None:
    clock, called = Clock(), list[str]()
    updates = ObservableSession(cast(Any, clock))

    def first(before: SessionState, after: SessionState) -> None:
        called.append("first")
        leave()

    updates.observe(first)
    leave = updates.observe(lambda *_: called.append("second"))
    updates.observe(lambda *_: called.append("third"))
    for title in "xy":
        updates.change_state(title=title)
        clock.run(1)
    assert called == ["first", "third", "first", "third"]


def test_an_observer_that_fails_keeps_no_other_from_the_change_and_is_told_of() -> None:
    clock, called, told = Clock(), list[str](), list[Notice]()
    updates = ObservableSession(cast(Any, clock))

    def broken(before: SessionState, after: SessionState) -> None:
        raise WorkbenchError(f"cannot show {after.title}")

    updates.observe(broken)
    updates.observe(lambda _, after: called.append(after.title))
    updates.listen(told.append)
    updates.change_state(title="x")
    clock.run(1)
    assert called == ["x"]
    assert told == [Notice("cannot show x", "error")]


def test_an_observer_that_is_gone_is_not_kept_alive() -> None:
    class Pane:
        def changed(self, before: SessionState, after: SessionState) -> None:
            pass

    updates, pane = ObservableSession(cast(Any, Clock())), Pane()
    leave, seen = updates.observe(pane.changed), weakref.ref(pane)
    leave()
    del pane, leave
    assert seen() is None


def test_whatever_is_part_of_the_state_can_be_put_with_the_same_type() -> None:
    assert get_type_hints(SessionChanges) == get_type_hints(SessionState)


CALLS = (
    LiveCall("1", "read_file", "{}", "writing"),
    LiveCall("2", "read_file", "{}", "asking"),
    LiveCall("3", "read_file", "{}", "running"),
)


@given(st.booleans(), st.booleans(), st.lists(st.sampled_from(CALLS), max_size=3))
def test_of_a_coming_answer_what_is_written_is_not_in_the_log_yet(
    has_text: bool, has_reasoning: bool, calls: list[LiveCall]
) -> None:
    live = LiveAnswer("1", "why" * has_reasoning, "because" * has_text, tuple(calls))
    writing = tuple(call for call in calls if call.state == "writing")
    found = SessionState(live=live).unlogged
    assert found == (live._replace(calls=writing) if has_text or has_reasoning or writing else None)
    assert SessionState().unlogged is None
