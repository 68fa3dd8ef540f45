"""From one plan to the next: what is told of a growing log equals what comparing whole plans tells."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from support.logs import limits, logs, number, policies
from support.random_cases import few_cases
from support.talk import COUNTER, ROOMY, iteration, planned, preset, turns, words
from workbench.context.budget import Limits
from workbench.context.items import Item, State
from workbench.context.plan import ContextPlan
from workbench.context.planner import Planner
from workbench.context.policy import HistoryPolicy, MaskingPolicy, Policy
from workbench.context.steps import PlanStep, PlanSteps
from workbench.log.events import Body, Compaction, Event, UserMessage
from workbench.models.framing import REPLY_PRIMING


@few_cases()
@given(st.data(), logs(), policies(), limits)
def test_what_became_of_every_cell_is_known_at_every_step(
    data: st.DataObject, events: list[Event], policy: Policy, room: Limits
) -> None:
    planner = Planner(policy, room, COUNTER)
    steps, states, at = PlanSteps(), dict[int, State](), 0
    while at < len(events):
        upto = data.draw(st.integers(at + 1, len(events)))
        planner.extend(events[at:upto])
        at = upto
        step = steps.step(planner)
        for change in step.changes:
            assert states.get(change.cell.seq) == change.before
            states[change.cell.seq] = change.after
        scratch = Planner(policy, room, COUNTER, events=events[:upto]).plan()
        assert step.plan == scratch
        rows = {row.seq: row.state for row in scratch.items if row.seq is not None and row.slot in ("history", "turn")}
        assert {seq: state for seq, state in states.items() if seq in rows} == rows


@given(logs(), policies(), limits, st.integers(1, 4))
def test_what_two_requests_begin_with_is_what_their_rows_begin_with(
    events: list[Event], policy: Policy, room: Limits, stride: int
) -> None:
    planner = Planner(policy, room, COUNTER)
    steps, before = PlanSteps(), None
    for at in range(0, len(events), stride):
        planner.extend(events[at : at + stride])
        step = steps.step(planner)
        if before is not None:
            least, most = shared(before, step.plan)
            assert least <= step.same <= most
        before = step.plan


def said(row: Item) -> tuple[object, ...]:
    return row.text, row.role, row.kind, row.tool, row.call_id


def shared(before: ContextPlan, after: ContextPlan) -> tuple[int, int]:
    """The tokens of the rows that two requests begin with: at least, of the same items and without what is around
    them; at most, of whatever reads the same, with all that can be around it and a part of the next row."""
    least = most = 0
    same_items = True
    for was, row in zip(before.items.sent_items(), after.items.sent_items(), strict=False):
        most += row.tokens + 30
        if said(was) != said(row):
            break
        same_items = same_items and was.id == row.id
        least += row.tokens * same_items
    return least, most + 30


def followed(bodies: Sequence[Body], policy: Policy, room: Limits = ROOMY) -> list[PlanStep]:
    planner = Planner(policy, room, COUNTER)
    steps, found = PlanSteps(), []
    for event in number(bodies):
        planner.append_event(event)
        found.append(steps.step(planner))
    return found


def test_a_request_that_only_grows_begins_with_the_whole_of_the_one_before() -> None:
    log: list[Body] = [*turns(3, 20), UserMessage("go"), *iteration("a", words(30)), *iteration("b", words(30))]
    found = followed(log, Policy())
    for before, step in pairwise(found):
        if not any(row.id.endswith(".result") for row in before.plan.items):  # what stands in for a result leaves
            assert step.same == before.plan.totals.tokens - REPLY_PRIMING
        assert [change.before for change in step.changes] == [None]


def test_a_result_that_is_masked_is_where_two_requests_part() -> None:
    policy = Policy(masking=MaskingPolicy(keep_first=0, keep_last=1, scope="session"))
    log: list[Body] = [UserMessage("go"), *iteration("a", words(50)), *iteration("b", words(50))]
    last = followed(log, policy)[-1]
    assert [(change.cell.seq, change.before, change.after) for change in last.changes] == [
        (3, "sent", "masked"),
        (5, None, "sent"),
    ]
    ahead = planned(log[:2], policy).totals.tokens - planned(log[:2], policy).items[-1].tokens
    assert COUNTER.count("go").tokens < last.same < ahead + REPLY_PRIMING


def test_what_a_compaction_covers_is_told_once() -> None:
    log: list[Body] = [*turns(2, 20), UserMessage("go"), Compaction(1, 4, "what happened")]
    last = followed(log, Policy())[-1]
    assert [(change.cell.seq, change.after) for change in last.changes] == [(seq, "summarised") for seq in range(1, 5)]
    assert last.same == 0


def test_of_a_cut_turn_two_requests_share_what_the_user_asked_and_not_what_came_after() -> None:
    calls = [each for number in range(9) for each in iteration(f"c{number}", words(200))]
    policy = Policy(history=HistoryPolicy("fit", 900, notice=False))
    found = followed([UserMessage("ask"), *calls, *turns(9, 100)], policy)
    for before, step in pairwise(found):
        least, most = shared(before.plan, step.plan)
        assert least <= step.same <= most


def test_the_message_that_opens_a_cut_turn_leaves_with_the_last_of_it() -> None:
    log: list[Body] = []
    for turn in range(3):
        calls = [iteration(f"c{turn}{number}", words(20)) for number in range(4)]
        log += [UserMessage(f"ask {turn}"), *(body for call in calls for body in call)]
    found = followed(log, preset("workbench", "history.max_tokens=100"))
    first = [change.after for step in found for change in step.changes if change.cell.seq == 1]
    assert first == ["sent", "dropped"]
    assert {row.seq: row.state for row in found[-1].plan.items}[1] == "dropped"
