"""When a compaction is due by turns, and before history would be dropped."""

from __future__ import annotations

from itertools import count

import pytest

from support.deciding import decision, failure, look, sized
from support.logs import number
from support.requirements import requirement
from support.talk import COUNTER, ROOMY, iteration, iterations, planned, preset, turns, words
from workbench.compaction.record import read_record
from workbench.compaction.triggers import check_triggers, decide_compaction
from workbench.context.budget import Limits
from workbench.context.planner import plan
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Event,
    Failure,
    Revert,
    UserMessage,
)

DOCUMENTS = ("codex", "sliding", "window", "confirm")


# Turns: the document's examples, theta 5 and omega 2


def test_turns_since_the_last_compaction_are_told() -> None:
    policy = preset("sliding").compaction
    four, five = (look(sized(1, 10_000), turns(done), policy)["turns"] for done in (4, 5))
    assert (four.fired, four.why) == (False, "4 of 5 turns since the beginning")
    assert (five.fired, five.why) == (True, "5 of 5 turns since the beginning")
    log = [*turns(5), Compaction(1, 10, "s"), *turns(4, first=6)]
    assert look(sized(1, 10_000), log, policy)["turns"].why == "4 of 5 turns since the last compaction"


@requirement("sliding", "trigger", "it is looked at once a turn is over")
def test_a_turn_that_is_going_on_does_not_count() -> None:
    policy = preset("sliding").compaction
    log = [*turns(4), UserMessage("and now?")]
    assert not look(sized(1, 10_000), log, policy, turn_over=False)["turns"].fired
    assert look(sized(1, 10_000), log, policy, turn_over=True)["turns"].fired


DOWN = Failure("connection", "nothing answers")


@requirement("sliding", "trigger", "turns that failed are not counted")
@pytest.mark.parametrize(
    ("failed", "counted"),
    [
        ([UserMessage("q"), DOWN], 0),
        ([UserMessage("q"), AssistantMessage("half of", "r", finish="broken"), DOWN], 0),
        ([UserMessage("q"), *iteration("call", "x"), DOWN], 0),
        ([UserMessage("q"), DOWN, AssistantMessage("asked again", "r")], 1),
        ([UserMessage("q"), DOWN, UserMessage("q")], 1),
        ([UserMessage("q"), AssistantMessage("a", "r"), DOWN], 1),
        ([UserMessage("q"), AssistantMessage("half of", "r", finish="cancelled")], 1),
    ],
    ids=["no answer", "broken", "after a call", "then answered", "then asked anew", "after the answer", "stopped"],
)
def test_a_turn_that_failed_does_not_count(failed: list[Body], counted: int) -> None:
    check = look(sized(1, 10_000), [*turns(4), *failed], preset("sliding").compaction)["turns"]
    assert (check.measured, check.fired) == (4 + counted, counted == 1)


@requirement("sliding", "trigger", "a turn that ended in an error triggers no compaction")
@pytest.mark.parametrize("name", ["sliding", "codex", "window", "workbench"])
def test_a_turn_that_failed_triggers_nothing_but_the_next_one_does(name: str) -> None:
    policy = preset(name, "compaction.headless_mode='auto'").compaction
    log = [*turns(6, 2_000), UserMessage("q"), DOWN]
    made = planned(log, preset(name), Limits(26_000, "option", 0, 0))
    found = decision(made, log, policy)
    assert (found.action, found.trigger) == ("none", "turns" if name == "sliding" else "threshold")
    assert found.why.endswith("; not done, because the turn failed")
    assert decision(made, [*log, UserMessage("q")], policy, turn_over=False).action == "compact"


def test_a_request_that_is_too_long_is_seen_to_though_the_turn_failed() -> None:
    log = [*turns(6, 2_000), UserMessage("q"), Failure("does_not_fit", "too long")]
    made = planned(log, preset("sliding"), Limits(20_000, "option", 0, 0))
    assert decision(made, log, preset("sliding").compaction).trigger == "overflow"


@requirement("sliding", "trigger", "3 turns make no compaction, 5 make one, 12 make two")
@pytest.mark.parametrize(
    ("rounds", "ranges"), [(3, []), (5, [(1, 5)]), (10, [(1, 5), (4, 10)]), (12, [(1, 5), (4, 10)])]
)
def test_3_5_10_and_12_turns_with_theta_5_and_omega_2(rounds: int, ranges: list[tuple[int, int]]) -> None:
    policy = preset("sliding")
    events: list[Event] = []
    opened: list[int] = []
    made: list[tuple[int, int]] = []

    def append(body: Body) -> None:
        events.append(Event(len(events) + 1, f"e{len(events)}", 0, body))

    for turn in range(1, rounds + 1):
        opened.append(len(events) + 1)
        append(UserMessage(f"q{turn}"))
        found = decide_compaction(
            plan(events, policy, ROOMY, COUNTER, live=True),
            events,
            read_record(events),
            policy.compaction,
            headless=True,
            turn_over=False,
        )
        assert found.action == "none", "an open turn finishes nothing"
        append(AssistantMessage(f"a{turn}"))
        seen = read_record(events)
        found = decide_compaction(
            plan(events, policy, ROOMY, COUNTER), events, seen, policy.compaction, headless=True, turn_over=True
        )
        if found.action == "compact":
            assert found.trigger == "turns"
            new = sum(seq <= seen.covered for seq in opened)
            first = max(1, new + 1 - policy.compaction.overlap)
            append(Compaction(opened[first - 1], len(events), "s"))
            made.append((first, turn))
    assert made == ranges


# Before history is dropped


def test_workbench_acts_before_history_is_dropped_though_the_threshold_is_out_of_reach() -> None:
    policy = preset("workbench")
    budget = Limits(4_000, "option", 1_000, 0)
    for rounds in count(1):
        log = turns(rounds, 100)
        made = planned(log, policy, budget)
        if any(row.state == "dropped" for row in made.items):
            break
    assert not look(made, log, policy.compaction)["threshold"].fired, "3,200 of 4,000 can never be reached"
    before = decision(planned(turns(rounds - 1, 100), policy, budget), turns(rounds - 1, 100), policy.compaction)
    now = decision(made, log, policy.compaction)
    assert (before.action, now.action, now.trigger) == ("none", "compact", "threshold")
    dropped = sum(row.state == "dropped" for row in made.items)
    total = made.totals.tokens
    size = f"the request has {total:,} of the 3,000 that leave the answer its room"
    assert now.why == f"{dropped} messages of history are left out; {size}"


def test_workbench_acts_before_iterations_of_the_turn_are_dropped() -> None:
    policy = preset("workbench", "truncation.strategy=none", "masking.keep_last=0", "masking.keep_first=0")
    log: list[Body] = [UserMessage("go"), *iterations([words(300)] * 9)]
    made = planned(log, policy, Limits(3_000, "option", 750, 0))
    gone = len({row.unit for row in made.items if row.state == "dropped"})
    assert gone > 0
    found = decision(made, log, policy.compaction, turn_over=False)
    assert found.action == "compact"
    assert found.why.startswith(f"{gone} iteration groups of the turn left out; the request has ")


def test_in_one_long_turn_nothing_is_dropped_however_often_it_outgrows_the_window() -> None:
    policy = preset("workbench", "masking.keep_last=0", "masking.keep_first=0")
    budget = Limits(4_000, "option", 1_000, 0)
    log: list[Body] = [UserMessage("go")]
    made = 0
    for at in range(30):
        log += iteration(f"call{at}", words(300))
        if (
            decision(planned(log, policy, budget, live=True), log, policy.compaction, turn_over=False).action
            == "compact"
        ):
            log.append(Compaction(2, len(log) - 2, "what was done"))
            made += 1
        sent = planned(log, policy, budget, live=True)
        assert not [row for row in sent.items if row.state == "dropped"], "it would be sent like this"
    assert made == 3, "when it has to be, and not more often"


def test_in_one_long_turn_a_failed_attempt_is_not_repeated_with_every_iteration() -> None:
    policy = preset("workbench", "masking.keep_last=0", "masking.keep_first=0")
    limits = Limits(4_000, "option", 1_000, 0)
    begun: list[Body] = [UserMessage("go"), *iterations([words(300)] * 12)]
    failed = [*begun, failure("freed"), *iteration("x", "y")]
    found = decision(planned(failed, policy, limits), failed, policy.compaction, turn_over=False)
    assert found.action == "none"
    assert "cool-down" in found.why
    idle = [*begun, failure("nothing"), *iteration("x", "y")]
    found = decision(planned(idle, policy, limits), idle, policy.compaction, turn_over=False)
    assert found.action != "none", "then no attempt was made, and there is an iteration more to summarise"


def test_after_an_undo_the_next_message_does_not_bring_the_compaction_back() -> None:
    policy = preset("workbench")
    limits = Limits(4_000, "option", 1_000, 0)
    log: list[Body] = [*turns(40, 100), Compaction(1, 70, "s"), Revert(81)]
    cases: list[tuple[list[Body], str]] = [([], "none"), ([UserMessage("q")], "none"), (turns(1), "compact")]
    for following, action in cases:
        now = [*log, *following]
        made = planned(now, policy, limits)
        assert any(row.state == "dropped" for row in made.items)
        found = decision(made, now, policy.compaction, turn_over=len(following) != 1)
        assert found.action == action
        assert ("cool-down" in found.why) == (action == "none")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_documents_presets_drop_nothing_and_stay_literal(name: str) -> None:
    policy = preset(name)
    log = turns(4, 100)
    made = planned(log, policy, Limits(100_000, "option", 99_000, 0))
    left_out = check_triggers(made, number(log), read_record(number(log)), policy.compaction).left_out
    assert not left_out.fired
    total = made.totals.tokens
    assert left_out.why == f"nothing is left out; the request has {total:,} of the 1,000 that leave the answer its room"
