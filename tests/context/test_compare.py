"""Two plans side by side: what is freed, and from where on the prompt is written again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support import logs
from support.talk import COUNTER, iterations, planned, preset, turns, words
from workbench.context.budget import Limits
from workbench.context.compare import plan_effect, request_changes, same_start
from workbench.context.planner import plan
from workbench.context.policy import Policy
from workbench.context.render import render_messages
from workbench.log.events import AssistantMessage, Event, Override, OverrideAction, UserMessage
from workbench.models.framing import REPLY_PRIMING

POLICY = preset("confirm")
TALK = [UserMessage("why?"), *iterations([words(100), words(200), words(50)]), AssistantMessage("so", "z"), *turns(2)]


@given(logs.logs(), logs.policies(), logs.limits, st.integers(1, 12), st.sampled_from(["pin", "mask", "exclude"]))
def test_the_parts_add_up_whatever_is_decided(
    log: list[Event], policy: Policy, limits: Limits, at: int, action: OverrideAction
) -> None:
    before = plan(log, policy, limits, COUNTER)
    decided = Event(len(log) + 1, "decision", 0, Override(action, at, at))
    after = plan([*log, decided], policy, limits, COUNTER)
    found = plan_effect(before, after)
    assert found.freed == before.totals.tokens - after.totals.tokens
    assert (found.first_changed is None) == (render_messages(before) == render_messages(after))
    if found.first_changed is None:
        assert found.rewritten == 0
    else:
        assert 0 <= found.first_changed <= min(before.totals.tokens, after.totals.tokens)
        assert found.rewritten == max(0, before.totals.tokens - REPLY_PRIMING - found.first_changed)


@given(logs.logs(), logs.policies(), logs.limits)
def test_the_same_plan_changes_nothing(log: list[Event], policy: Policy, limits: Limits) -> None:
    made = plan(log, policy, limits, COUNTER)
    again = plan(log, policy, limits, COUNTER)
    assert plan_effect(made, again) == (0, None, 0)
    assert request_changes(made, again).marks == {}


def test_a_mask_frees_what_it_hides_and_keeps_the_cache_before_it() -> None:
    before = planned(TALK, POLICY)
    after = planned([*TALK, Override("mask", 5, 5)], POLICY)
    found = plan_effect(before, after)
    masked = after.items[4]
    assert masked.state == "masked"
    assert found.freed == 200 - masked.tokens
    ahead = sum(row.tokens for row in before.items[:4])
    assert found.first_changed is not None
    assert ahead < found.first_changed < ahead + 60, "what stands before it, and the framing of four messages"


def test_what_a_file_lacks_is_the_beginning_of_the_request_and_stays_cached() -> None:
    before = planned(TALK, POLICY)
    after = planned([*TALK, Override("exclude", 1, 1)], POLICY)
    found = plan_effect(before.as_reported(before.totals.tokens + 5_000), after.as_reported(None, 5_000))
    assert found.first_changed is not None
    assert found.first_changed >= 5_000
    assert found.first_changed + found.rewritten + REPLY_PRIMING == before.totals.tokens + 5_000


def test_what_is_added_at_the_end_rewrites_nothing_else() -> None:
    before = planned(TALK, POLICY)
    after = planned([*TALK, UserMessage("and now?")], POLICY)
    found = request_changes(before, after)
    assert set(found.marks.values()) == {"added"}
    assert (found.added.items, found.changed.items, found.gone.items) == (1, 0, 0)
    assert found.effect.rewritten == 0, "the cache has all of the request before"


def test_what_changed_and_went_is_marked_with_its_tokens() -> None:
    before = planned(TALK, POLICY)
    after = planned([*TALK, Override("mask", 5, 5), Override("exclude", 7, 7)], POLICY)
    found = request_changes(before, after)
    assert found.marks == {"e00005": "changed", "e00006": "gone", "e00007": "gone"}
    assert found.changed.tokens == after.items[4].tokens - 200
    assert found.gone.tokens == sum(before.items[at].tokens for at in (5, 6))


def test_a_row_that_grows_at_its_end_is_kept_as_far_as_it_is_the_same() -> None:
    one = planned([UserMessage(words(100))], POLICY)
    two = planned([UserMessage(words(100) + " " + words(100, "beta"))], POLICY)
    found = plan_effect(one, two)
    assert found.first_changed is not None
    assert 90 <= found.first_changed <= 110


@given(st.text("ab", max_size=60), st.text("ab", max_size=60))
def test_the_common_beginning_is_found(one: str, other: str) -> None:
    size = same_start(one, other)
    assert one[:size] == other[:size]
    assert size in (len(one), len(other)) or one[size] != other[size]


def test_what_was_reported_beside_the_rows_is_compared_where_both_were_reported() -> None:
    plan = planned(TALK, POLICY)
    before, after = plan.as_reported(9_000), plan.as_reported(4_000)
    assert request_changes(before, after).outside_items == -5_000
    assert request_changes(after, before).outside_items == 5_000
    assert request_changes(plan, after).outside_items == 0
