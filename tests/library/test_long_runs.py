"""An agent that works through several long turns in a small window: what no longer fits is summarised, not dropped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import workbench
from library.conversations import POLICIES, TOOLS

STEPS = 16
RESULT = "value = compute(other)\n" * 240


def iteration(number: int, calls: int = 1) -> list[dict[str, Any]]:
    """One answer with calls, and their results."""
    made = []
    for at in range(calls):
        function = {"name": "read", "arguments": json.dumps({"path": f"src/part{number}_{at}.py"})}
        made.append({"id": f"call_{number}_{at}", "type": "function", "function": function})
    results = [{"role": "tool", "tool_call_id": call["id"], "content": f"part {number}\n{RESULT}"} for call in made]
    return [{"role": "assistant", "content": None, "tool_calls": made}, *results]


def compact_if_due(context: workbench.Context) -> list[workbench.CompactionResult]:
    """What an agent's loop does before each request."""
    return [context.compact_now()] if context.due else []


@pytest.mark.parametrize(
    ("policy", "calls"),
    [
        pytest.param(policy, calls, marks=[] if calls == 1 or (policy, calls) == ("workbench", 4) else pytest.mark.wide)
        for policy in POLICIES
        if policy != "layers"
        for calls in (1, 4, 6)
    ],
)
def test_long_turns_are_summarised_and_never_dropped(policy: str, calls: int) -> None:
    context = workbench.Context(policy, window=12_000, tools=TOOLS, system="You are an agent.")
    dropped, refused, made = [], [], 0
    for turn in range(3):
        context.add(f"task {turn}")
        for step in range(STEPS):
            for result in compact_if_due(context):
                made += result.made
                refused += [] if result.made else [result.why]
            assert context.plan.fits
            dropped += [item.id for item in context.plan.items if item.state == "dropped"]
            context.extend(iteration(turn * STEPS + step, calls))
        context.add({"role": "assistant", "content": "done"})
    assert dropped == []
    assert calls > 1 or not refused
    assert made >= 3, "at least once per turn"


def test_two_turns_leave_something_to_summarise_though_the_policy_keeps_two() -> None:
    context = workbench.Context("workbench", window=12_000, compaction__keep_turns=2)
    for turn in range(2):
        context.add(f"task {turn}")
        for step in range(12):
            context.extend(iteration(turn * 12 + step))
    assert context.due
    assert context.compact_now().made
    users = [item for item in context.plan.items if item.role == "user" and item.kind != "summary"]
    assert {item.state for item in users} == {"sent"}, "the user's messages stay"


def test_nothing_to_compact_is_said_once_and_holds_nothing_back() -> None:
    """A first message that fills most of the window cannot be summarised; what follows it can."""
    context = workbench.Context("codex", window=16_000)
    context.add("read this\n" + "word " * 13_500)
    refused = [*compact_if_due(context), *compact_if_due(context)]
    assert [result.why.partition(":")[0] for result in refused] == ["nothing to compact"]
    made = []
    for number in range(20):
        context.extend(iteration(number))
        made += [result.made for result in compact_if_due(context)]
        assert not [item for item in context.plan.items if item.state == "dropped"]
    assert any(made)


def test_the_lab_counts_no_item_as_dropped_that_a_compaction_saved(tmp_path: Path) -> None:
    with workbench.Context("workbench", window=12_000, store=tmp_path / "run.db") as context:
        context.add("task")
        for step in range(STEPS):
            compact_if_due(context)
            context.request()
            context.extend(iteration(step, 2))
    session = workbench.open(tmp_path / "run.db")
    assert session.compactions
    [row] = session.lab(["workbench"], window=12_000).rows
    assert row["compactions"]
    assert row["dropped"] == 0
