"""How much thinking came before a request."""

from __future__ import annotations

from workbench.log.events import Body, Compaction, Event, Reasoning, Usage, UserMessage
from workbench.models.calibration import PastThinking
from workbench.sources.thinking import ThinkingSoFar


def thinking(*bodies: Body) -> ThinkingSoFar:
    events = [Event(seq, str(seq), 0, body) for seq, body in enumerate(bodies, 1)]
    reports = [event.seq for event in events if isinstance(event.body, Usage)]
    return ThinkingSoFar(events, reports, lambda text: len(text.split()))


def report(reasoning: int = 0) -> Usage:
    return Usage("m", 0, 100, completion=5, reasoning=reasoning)


def test_a_turn_begins_with_no_thinking_of_its_own() -> None:
    so_far = thinking(UserMessage("a"), report(30), UserMessage("b"), report(5))
    assert [so_far.before(seq) for seq in range(5)] == [
        PastThinking(),
        PastThinking(),
        PastThinking(30, 30),
        PastThinking(0, 30),
        PastThinking(5, 35),
    ]


def test_thinking_that_nobody_reported_is_counted_by_its_text() -> None:
    so_far = thinking(UserMessage("a"), Reasoning("one two three", "r"), report(), report())
    assert so_far.before(3) == so_far.before(4) == PastThinking(3, 3)


def test_a_compaction_takes_the_thinking_away() -> None:
    so_far = thinking(UserMessage("a"), report(30), Compaction(1, 2, "short"))
    assert so_far.before(3) == PastThinking()
