"""What was undone or cleared in another agent is gone under every policy; what it left out to make room is not."""

from __future__ import annotations

import pytest

from support.logs import number
from support.talk import iteration, words
from workbench.context.policy_names import RECORDED
from workbench.lab.replay.lab_source import LabSource
from workbench.lab.replay.replayed_session import undone_by
from workbench.lab.values import PolicyRun
from workbench.log.events import AssistantMessage, Body, Override, Setting, UserMessage
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.sources.source import as_source

SAID: tuple[Body, ...] = (
    UserMessage("go"),
    *iteration("a", f"{words(400)} the port is 48213"),
    UserMessage("and more"),
    *iteration("b", words(400)),
)
"""Events 1 to 6."""


def run(policy: str, *bodies: Body) -> PolicyRun:
    events = number([*bodies, Setting(RECORDED, "test")])
    return LabSource(Services(), Options(), as_source("made", events)).run_policy(policy)


def undone(*decisions: Override) -> frozenset[int]:
    return undone_by(number([*SAID, *decisions, UserMessage("now"), AssistantMessage("yes", "z")]))


def test_who_goes_back_leaves_out_what_came_last() -> None:
    assert len(SAID) == 6
    assert undone(Override("exclude", 4, 6)) == {7}
    assert undone(Override("exclude", 1, 6)) == {7}
    assert undone(Override("exclude", 4, 4), Override("exclude", 5, 6)) == {7, 8}
    assert undone(Override("exclude", 2, 3), Override("exclude", 1, 1), Override("exclude", 4, 6)) == {7, 8, 9}


def test_who_makes_room_leaves_out_what_came_before() -> None:
    assert undone(Override("exclude", 1, 3)) == frozenset()
    assert undone(Override("mask", 4, 6)) == frozenset()


def test_who_goes_back_twice_goes_back_from_there() -> None:
    events = number([*SAID, Override("exclude", 4, 6), UserMessage("so"), Override("exclude", 1, 3)])
    assert undone_by(events) == {7}
    events = number([*SAID, Override("exclude", 4, 6), UserMessage("so"), Override("exclude", 1, 8)])
    assert undone_by(events) == {7, 9}


@pytest.mark.parametrize("policy", [RECORDED, "confirm", "layers"])
def test_it_is_sent_under_no_policy_and_not_missed_under_any(policy: str) -> None:
    end = (UserMessage("now"), AssistantMessage("It is 48213.", "z"))
    made = run(policy, *SAID, Override("exclude", 1, 6), *end)
    assert made.points[-1].tokens == run(policy, *end).points[-1].tokens
    assert made.misses == ()


def test_what_was_left_out_to_make_room_is_there_under_another_policy() -> None:
    end = (UserMessage("now"), AssistantMessage("It is done.", "z"))
    made, recorded = (run(policy, *SAID, Override("exclude", 1, 3), *end) for policy in ("confirm", RECORDED))
    assert made.points[-1].tokens > recorded.points[-1].tokens + 300
