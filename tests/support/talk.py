"""Conversations of known size, and their plans: what the tests of this folder share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from support.logs import number
from workbench.context.budget import Limits
from workbench.context.items import Item
from workbench.context.load import load_policy
from workbench.context.plan import ContextPlan
from workbench.context.planner import plan
from workbench.context.policy import Policy
from workbench.context.render import render_messages
from workbench.log.events import AssistantMessage, Body, Compaction, ToolCall, ToolResult, UserMessage
from workbench.models.tokens import counter_named

COUNTER = counter_named("o200k_base")
ROOMY = Limits(1_000_000, "option", 0, 0)
"""Room for everything: what is cut here is cut by its own cap."""


def words(tokens: int, word: str = "alpha") -> str:
    """A text of exactly so many tokens; the word is one token, alone and behind a blank."""
    return " ".join([word] * tokens)


def preset(name: str, *sets: str) -> Policy:
    """A preset as it ships, with knobs set on top."""
    return load_policy(name, sets=sets, env={}, folder=Path("no-such-folder")).policy


def iteration(call_id: str, result: str) -> list[Body]:
    """One assistant message with one call, and its result."""
    return [ToolCall(call_id, "read_file", f'{{"path": "{call_id}"}}', call_id), ToolResult(call_id, result)]


def iterations(results: Sequence[str], prefix: str = "call") -> list[Body]:
    """Iteration groups `call1`, `call2`, ... with these results."""
    return [body for at, result in enumerate(results, 1) for body in iteration(f"{prefix}{at}", result)]


def turns(count: int, tokens: int = 1, first: int = 1) -> list[Body]:
    """Finished turns of a question and an answer, each of so many tokens."""
    found: list[Body] = []
    for at in range(first, first + count):
        found += [UserMessage(words(tokens, "question")), AssistantMessage(words(tokens, "answer"), f"reply{at}")]
    return found


def named_turns(numbers: Iterable[int]) -> list[Body]:
    """Finished turns whose messages are `q1`, `a1`, `q2`, ..."""
    return [body for at in numbers for body in (UserMessage(f"q{at}"), AssistantMessage(f"a{at}", f"reply{at}"))]


def summary_of(policy: Policy, first: int, last: int, text: str, **more: Any) -> Compaction:
    """A compaction of the events `first` to `last` as the policy would write it."""
    knobs = policy.compaction
    return Compaction(
        first, last, text, place=knobs.place, preface=knobs.preface, acknowledgement=knobs.acknowledgement, **more
    )


def planned(bodies: Sequence[Body], policy: Policy, limits: Limits = ROOMY, *, live: bool = False) -> ContextPlan:
    """The plan of a log."""
    return plan(number(bodies), policy, limits, COUNTER, live=live)


def spoken(made: ContextPlan) -> list[tuple[str, Any]]:
    """Role and content of every message of the request."""
    return [(message["role"], message["content"]) for message in render_messages(made)]


def rows_of(made: ContextPlan, kind: str) -> list[Item]:
    """The rows of one kind."""
    return [row for row in made.items if row.kind == kind]


def results(made: ContextPlan) -> list[Item]:
    """The tool results, sent or not."""
    return rows_of(made, "tool_result")


def states(rows: Iterable[Item]) -> list[str]:
    """What became of them."""
    return [row.state for row in rows]
