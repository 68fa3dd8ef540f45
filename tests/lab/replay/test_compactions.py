"""Compactions on the way of a replay: what they cover may be forgotten, and nothing is different for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.logs import number
from support.random_cases import few_cases
from support.talk import iteration, words
from workbench.compaction.triggers import decide_compaction
from workbench.compaction.values import CompactionDecision
from workbench.context.plan import ContextPlan
from workbench.lab.replay import compactions
from workbench.lab.replay.compactions import LabLog
from workbench.lab.replay.lab_source import LabSource
from workbench.lab.values import PolicyRun
from workbench.log.events import AssistantMessage, Body, Event, Setting, SystemMessage, UserMessage
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.sources.source import as_source

COMPACTING = ("workbench", "codex", "sliding", "window", "confirm")
KNOBS = (
    (),
    ("compaction.update=false",),
    ("compaction.update=false", "compaction.selection=sliding", "compaction.overlap=1"),
    ("compaction.selection=turns", "compaction.keep_turns=2"),
    ("masking.keep_first=0", "masking.keep_last=1", "masking.scope=session", "masking.min_tokens=0"),
    ("compaction.keep_user_tokens=200",),
)


@st.composite
def sessions(draw: st.DrawFn) -> list[Body]:
    """Turns with iterations of any length, now and then one without an answer or an id that comes again."""
    bodies: list[Body] = [Setting("model", "gpt-4o"), *draw(st.sampled_from([[], [SystemMessage("be brief")]]))]
    for turn in range(draw(st.integers(4, 12))):
        bodies.append(UserMessage(words(draw(st.sampled_from([3, 60, 300])), f"turn {turn}, src/t{turn}.py")))
        for step in range(draw(st.integers(0, 3))):
            name = draw(st.sampled_from([f"c{turn}.{step}", f"c{turn}.{step}", f"c{turn}.{step}", "again"]))
            bodies += iteration(name, words(draw(st.sampled_from([5, 200, 500])), f"src/t{turn // 2}.py"))
        if draw(st.integers(0, 5)):
            bodies.append(AssistantMessage(f"done with src/t{max(0, turn - 3)}.py", f"d{turn}"))
    return bodies


def _replayed(events: list[Event], policy: str, knobs: tuple[str, ...]) -> PolicyRun:
    with Services() as services:
        return LabSource(services, Options(window=3_000), as_source("made", events)).run_policy(policy, knobs)


@few_cases()
@given(sessions(), st.sampled_from(COMPACTING), st.sampled_from(KNOBS))
def test_what_is_forgotten_is_never_needed_again(bodies: list[Body], policy: str, knobs: tuple[str, ...]) -> None:
    events = number(bodies)
    made = _replayed(events, policy, knobs)
    with patch.object(LabLog, "forget_summarised", lambda _: None):
        assert made == _replayed(events, policy, knobs)


@pytest.mark.parametrize("policy", COMPACTING)
def test_a_long_session_is_forgotten_but_for_its_end(policy: str) -> None:
    bodies: list[Body] = [Setting("model", "gpt-4o")]
    for turn in range(60):
        bodies += [
            UserMessage(f"look at {turn}"),
            *iteration(f"c{turn}", words(300)),
            AssistantMessage("done", f"d{turn}"),
        ]
    lengths: list[int] = []
    forget = LabLog.forget_summarised

    def noting(log: LabLog) -> None:
        forget(log)
        lengths.append(len(log.planner.events))

    with patch.object(LabLog, "forget_summarised", noting):
        made = _replayed(number(bodies), policy, ())
    assert len(made.compactions) >= 4
    assert max(lengths) < len(bodies) / 3


def test_nobody_decides_before_there_are_turns_enough() -> None:
    bodies: list[Body] = [Setting("model", "gpt-4o")]
    for turn in range(8):
        bodies += [
            UserMessage(f"look at {turn}"),
            *iteration(f"c{turn}", words(300)),
            AssistantMessage("x", f"d{turn}"),
        ]
    asked: list[int] = []

    def noting(plan: ContextPlan, events: Sequence[Event], *more: Any, **options: Any) -> CompactionDecision:
        asked.append(sum(isinstance(event.body, UserMessage) for event in events))
        return decide_compaction(plan, events, *more, **options)

    with patch.object(compactions, "decide_compaction", noting):
        made = _replayed(number(bodies), "sliding", ("compaction.turns=4", "compaction.threshold=0"))
    assert made.compactions
    assert asked[0] == 4
