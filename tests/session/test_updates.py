"""The queue of updates: the latest of each value, what belongs together together, and never the last one lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from workbench.session.updates import INTERVAL, Notice, UpdateQueue
from workbench.session.values import Activity


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
    clock, seen = Clock(), list[tuple[float, Mapping[str, Any]]]()
    updates = UpdateQueue(lambda changes, _: seen.append((clock.now, changes)), cast(Any, clock))
    last = ""
    for wait, number in steps:
        clock.run(wait)
        last = f"{number} {clock.now}"
        updates.put(title=last, queue=(last,))
    clock.run(1)
    assert updates.is_clear
    assert all(later - earlier >= INTERVAL * 0.999 for (earlier, _), (later, _) in pairwise(seen))
    assert all(changes["queue"] == (changes["title"],) for _, changes in seen)
    assert not steps or seen[-1][1]["title"] == last


def test_what_comes_after_a_pause_is_shown_at_once() -> None:
    clock, seen = Clock(), list[float]()
    updates = UpdateQueue(lambda *_: seen.append(clock.now), cast(Any, clock))
    for _ in range(3):
        clock.run(1)
        updates.put(activity=Activity())
        clock.run(0)
    assert seen == [1.0, 2.0, 3.0]


def test_every_notice_is_told_in_order() -> None:
    clock, told = Clock(), list[Notice]()
    updates = UpdateQueue(lambda _, notices: told.extend(notices), cast(Any, clock))
    for number in range(5):
        updates.tell(Notice(str(number)))
    clock.run(1)
    assert [notice.text for notice in told] == ["0", "1", "2", "3", "4"]


def test_a_screen_that_is_gone_is_no_error() -> None:
    class Gone(Clock):
        def call_soon_threadsafe(self, act: Callable[[], None]) -> None:
            raise RuntimeError("the loop is closed")

    updates = UpdateQueue(lambda *_: None, cast(Any, Gone()))
    updates.put(title="x")
    assert updates.is_clear


def test_whoever_waits_hears_after_each_update_and_after_a_poke() -> None:
    clock, heard = Clock(), list[str]()
    updates = UpdateQueue(lambda *_: heard.append("update"), cast(Any, clock), lambda: heard.append("look"))
    updates.put(title="x")
    clock.run(1)
    assert heard == ["update", "look"]
    updates.poke()
    clock.run(1)
    assert heard == ["update", "look", "look"], "a poke shows nothing"
    assert updates.is_clear
