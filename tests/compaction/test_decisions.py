"""Decisions: the mode says who decides, and whatever holds a fired trigger back is said in words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.deciding import decision, failure, sized
from support.requirements import requirement
from support.talk import planned, preset, turns
from workbench.compaction.triggers import compaction_question
from workbench.config.text import percent
from workbench.config.values import replace
from workbench.context.budget import Limits
from workbench.context.plan import ContextPlan
from workbench.context.policy import CompactionPolicy
from workbench.log.events import AssistantMessage, Body, Compaction, Revert, Usage, UserMessage

# Modes


def test_nothing_fired_is_nothing_to_do() -> None:
    found = decision(sized(10, 1_000), turns(1), preset("codex").compaction)
    assert (found.action, found.trigger, found.why) == ("none", None, "no trigger fired")


@requirement(
    "confirm",
    "trigger",
    "nothing is compacted without the user's consent; the program that shows the session has to ask",
)
@requirement(
    "confirm",
    "others",
    "a chat bot warns in a message instead of asking",
    decided="there is no chat bot; where nobody can be asked, nothing is done",
)
@pytest.mark.parametrize(
    ("mode", "headless_mode", "headless", "action"),
    [
        ("auto", None, True, "compact"),
        ("auto", None, False, "compact"),
        ("auto", "off", True, "compact"),
        ("confirm", None, False, "ask"),
        ("confirm", None, True, "none"),
        ("confirm", "auto", False, "ask"),
        ("confirm", "auto", True, "compact"),
        ("confirm", "manual", True, "none"),
        ("manual", None, False, "none"),
        ("manual", "auto", True, "none"),
        ("off", "auto", True, "none"),
        ("off", None, False, "none"),
    ],
)
def test_the_mode_says_who_decides(mode: Any, headless_mode: Any, headless: bool, action: str) -> None:
    policy = CompactionPolicy(mode=mode, headless_mode=headless_mode, threshold=0.5)
    found = decision(sized(900, 1_000), turns(1), policy, headless=headless)
    assert (found.action, found.trigger) == (action, "threshold")
    assert bool(found.question) == (action == "ask")
    if action == "none":
        assert found.why.startswith("900 of 1,000 = 90.0 % >= 50 %; not done")


@requirement("confirm", "shown", "the question has percentage, used tokens and window, in the documented words")
def test_the_question_has_the_figures() -> None:
    asked = "Context usage at 92% (117,760/128,000 tokens). Compact conversation?"
    assert compaction_question(117_760, 128_000) == asked
    log = [*turns(1), Usage("m", 1, 117_760)]
    assert decision(sized(9, 128_000), log, preset("confirm").compaction, headless=False).question == asked
    assert decision(sized(117_760, 128_000), [], preset("workbench").compaction, headless=False).question == asked


@given(st.integers(0, 10**7), st.integers(1, 10**7))
def test_the_question_rounds_as_every_other_line_does(tokens: int, window: int) -> None:
    said = percent(tokens / window).replace(" ", "")
    assert compaction_question(tokens, window).startswith(f"Context usage at {said} (")
    assert abs(float(said.rstrip("%")) - 100 * tokens / window) <= 0.5000001


# No compaction loop: a cool-down, a limit and a circuit breaker

AUTO = CompactionPolicy(mode="auto", threshold=0.5)


@requirement("sliding", "failures", "compactions cannot run in a loop")
def test_no_compaction_loop_a_cool_down() -> None:
    full = sized(900, 1_000)
    log: list[Body] = [*turns(3), Compaction(1, 4, "s")]
    at_once = decision(full, log, AUTO)
    assert at_once.action == "none"
    assert at_once.why.endswith(
        "held back by the cool-down: 0 of 1 turns since event 7 (a compaction, an undo or a failed attempt)"
    )
    log.append(UserMessage("next"))
    assert decision(full, log, AUTO, turn_over=False).action == "none", "the turn is not over"
    log.append(AssistantMessage("answer"))
    assert decision(full, log, AUTO).action == "compact"
    assert decision(full, log, replace(AUTO, cooldown_turns=2)).action == "none"


@pytest.mark.parametrize("last", [[Revert(7)], [Revert(7), Revert(8)], [failure()]], ids=["undo", "redo", "failure"])
def test_the_cool_down_holds_after_an_undo_and_a_failure_too(last: list[Body]) -> None:
    log = [*turns(3), Compaction(1, 4, "s"), *last]
    assert "cool-down" in decision(sized(900, 1_000), log, AUTO).why
    assert decision(sized(900, 1_000), [*log, *turns(1, first=4)], AUTO).action == "compact"


def test_no_cool_down_where_the_policy_has_none() -> None:
    log = [*turns(3), Compaction(1, 4, "s")]
    assert decision(sized(900, 1_000), log, replace(AUTO, cooldown_turns=0)).action == "compact"


def test_no_compaction_loop_a_circuit_breaker() -> None:
    log: list[Body] = [*turns(1), failure(), *turns(1, first=2)]
    assert decision(sized(900, 1_000), log, AUTO).action == "compact"
    log += [failure("model"), *turns(1, first=3)]
    held = decision(sized(900, 1_000), log, AUTO)
    assert held.action == "none"
    assert held.why.endswith(
        "held back by the circuit breaker: 2 failures in a row, and 2 open it (the last, event 6: model); "
        "a compaction by hand closes it"
    )
    by_hand = Compaction(1, 2, "s", meta={"trigger": "manual"})
    assert decision(sized(900, 1_000), [*log, by_hand, *turns(1, first=4)], AUTO).action == "compact"


def test_no_compaction_loop_when_every_attempt_fails() -> None:
    """However long the session, and however often it is looked at: no more attempts than the breaker allows."""
    log: list[Body] = []
    attempts = 0
    for turn in range(1, 30):
        log.append(UserMessage(f"q{turn}"))
        for turn_over in (False, False, True):
            if decision(sized(900, 1_000), log, AUTO, turn_over=turn_over).action == "compact":
                attempts += 1
                log.append(failure())
    assert attempts == AUTO.max_failures


def test_the_limit_per_session_counts_what_was_not_taken_back() -> None:
    policy = replace(AUTO, max_compactions=2)
    two: list[Body] = [*turns(3), Compaction(1, 2, "s"), Compaction(1, 4, "s"), *turns(1, first=4)]
    held = decision(sized(900, 1_000), two, policy)
    assert held.why.endswith("held back by the limit: 2 of 2 compactions in this session"), "the replaced one counts"
    assert decision(sized(900, 1_000), [*two, Revert(8), *turns(1, first=5)], policy).action == "compact"


def test_sliding_stops_after_5() -> None:
    policy = preset("sliding").compaction
    log: list[Body] = []
    for at in range(5):
        log += [*turns(5), Compaction(11 * at + 1, 11 * at + 10, "s")]
    found = decision(sized(1, 1_000_000), [*log, *turns(5)], policy)
    assert (found.action, found.trigger) == ("none", "turns")
    assert "5 of 5 compactions" in found.why


# Overflow: a full window never means a dead session


def too_long() -> ContextPlan:
    return planned(turns(3, 100), preset("codex"), Limits(300, "option", 30, 0))


def test_our_own_finding_that_a_request_is_too_long_is_an_overflow() -> None:
    made = too_long()
    found = decision(made, turns(3, 100), preset("codex").compaction)
    assert (found.action, found.trigger, found.digest) == ("compact", "overflow", False)
    assert found.why == f"{made.totals.tokens} tokens > 270, the most that a request may have"


def test_so_is_the_providers() -> None:
    found = decision(sized(80, 1_000), turns(1), AUTO, overflow=True)
    assert (found.action, found.trigger) == ("compact", "overflow")
    assert found.why == "the provider found 80 tokens too long; a request may have 1,000 by our count"


@requirement(
    "confirm",
    "failures",
    "without consent nothing is compacted, even in a full window",
    decided="where nobody can be asked, a request that is too long is: else the session would be dead",
)
@pytest.mark.parametrize(
    ("mode", "headless_mode", "headless", "action"),
    [
        ("auto", None, True, "compact"),
        ("confirm", None, False, "ask"),
        ("confirm", None, True, "compact"),
        ("confirm", "manual", True, "none"),
        ("manual", None, False, "ask"),
        ("manual", None, True, "none"),
        ("off", None, False, "none"),
    ],
)
def test_an_overflow_asks_where_it_can_and_acts_where_nobody_said_no(
    mode: Any, headless_mode: Any, headless: bool, action: str
) -> None:
    policy = CompactionPolicy(mode=mode, headless_mode=headless_mode)
    assert decision(sized(80, 100), turns(1), policy, headless=headless, overflow=True).action == action


def test_the_cool_down_does_not_hold_an_overflow() -> None:
    log = [*turns(3), Compaction(1, 4, "s"), UserMessage("next")]
    found = decision(sized(80, 100), log, AUTO, turn_over=False, overflow=True)
    assert (found.action, found.digest) == ("compact", False)


@pytest.mark.parametrize(
    ("policy", "log"),
    [
        (AUTO, [*turns(1), failure(), failure(), UserMessage("next")]),
        (replace(AUTO, max_compactions=1), [*turns(1), Compaction(1, 2, "s"), UserMessage("next")]),
    ],
    ids=["breaker", "limit"],
)
def test_an_overflow_behind_a_brake_falls_to_the_digest(policy: CompactionPolicy, log: list[Body]) -> None:
    found = decision(sized(80, 100), log, policy, turn_over=False, overflow=True)
    assert (found.action, found.digest) == ("compact", True)


@pytest.mark.parametrize("attempt", [Compaction(1, 2, "s"), failure("freed"), failure("nothing")])
def test_an_overflow_is_tried_twice_for_one_request_the_second_time_by_the_digest(attempt: Body) -> None:
    log: list[Body] = [*turns(1), UserMessage("next")]
    seen = []
    for _ in range(4):
        found = decision(sized(80, 100), log, AUTO, turn_over=False, overflow=True)
        seen.append((found.action, found.digest))
        log.append(attempt)
    assert seen[:2] == [("compact", False), ("compact", True)]
    assert [action for action, _ in seen[2:]] == ["none", "none"]
    assert "attempts for this request were made and it is still too long" in found.why
    assert decision(sized(80, 100), [*log, UserMessage("go on")], AUTO, overflow=True).action == "compact"
