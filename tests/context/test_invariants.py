"""The invariants of the design, for random logs, policies and budgets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support.logs import limits, logs, policies
from support.requirements import requirement
from support.validity import problems
from workbench.context.budget import Limits
from workbench.context.items import IN_REQUEST
from workbench.context.planner import Planner, plan
from workbench.context.policy import Policy
from workbench.context.render import render_messages, render_request
from workbench.log.events import (
    AgentCut,
    AssistantMessage,
    Body,
    Compaction,
    Event,
    Override,
    Revert,
    ToolCall,
    ToolResult,
    UserMessage,
)
from workbench.models.tokens import counter_named

COUNTER = counter_named("o200k_base")
ANSWERED: list[Body] = [UserMessage("how many?"), AssistantMessage("three", "three")]


@requirement("layers", "pairs", "a call and its result are never parted")
@given(logs(), policies(), limits)
def test_the_request_is_valid_for_every_provider(log: list[Event], policy: Policy, budget: Limits) -> None:
    made = plan(log, policy, budget, COUNTER)
    assert problems(render_messages(made)) == []


@requirement("layers", "request", "what is sent fits the window, before each call")
@given(logs(), policies(), limits)
def test_a_plan_is_within_its_budget_or_says_why_not(log: list[Event], policy: Policy, budget: Limits) -> None:
    made = plan(log, policy, budget, COUNTER)
    least = min(budget.reserve, budget.least)
    assert made.verdict.fits == (made.totals.tokens + budget.margin + least <= budget.window)
    assert made.verdict.fits == (made.budget.free >= 0)
    assert made.verdict.why
    assert least <= made.budget.reserve <= budget.reserve
    assert render_request(made).get("max_tokens", made.budget.reserve) == made.budget.reserve
    if policy.history.mode == "fit" and policy.turn.drop_groups and not made.verdict.fits:
        # Nothing that could give way was sent: of the history only what is held (pinned, or kept by a compaction, and
        # the user messages that open their turns), of the turn only its user message and its last iteration.
        held = {row.turn for row in made.items if row.pinned or _is_kept(row.seq, log)}
        history = [row for row in made.items if row.in_request and row.slot == "history" and row.seq is not None]
        assert all(row.turn in held for row in history)


def _is_kept(seq: int | None, log: list[Event]) -> bool:
    compactions = [event.body for event in log if isinstance(event.body, Compaction)]
    return any(kept.seq == seq for body in compactions for kept in body.kept)


@given(logs(), policies(), limits)
def test_rows_without_their_reasons_are_the_same_rows(log: list[Event], policy: Policy, budget: Limits) -> None:
    made = plan(log, policy, budget, COUNTER).items
    bare = made.without_reasons()
    assert [row for row in bare if row.seq is not None and row.unit >= 0 and row.edits] == []
    assert [row._replace(edits=()) for row in bare] == [row._replace(edits=()) for row in made]
    assert [bare[at] for at in range(len(bare))] == list(bare)


@requirement("codex", "counting", "each item has its own count, and the sum is what is used")
@given(logs(), policies(), limits)
def test_sums_and_rows_agree(log: list[Event], policy: Policy, budget: Limits) -> None:
    made = plan(log, policy, budget, COUNTER)
    rows = list(made.items)
    assert made.totals.items == sum(row.tokens for row in rows)
    assert made.totals.tokens == made.totals.items + made.totals.framing
    assert made.totals.original_tokens == sum(row.original_tokens for row in rows)
    assert made.budget.window == budget.window
    for slot in ("system", "instructions", "memory", "tools", "summaries", "history", "turn"):
        assert getattr(made.budget, slot) == sum(row.tokens for row in rows if row.slot == slot), slot
    for row in rows:
        assert (row.text is not None) == (row.state in IN_REQUEST)
        assert row.state in IN_REQUEST or row.tokens == 0
        assert row.state == "sent" or row.edits, "every change has its reason"
    assert len({row.id for row in rows}) == len(rows)


@given(logs(), policies(), limits)
def test_what_the_rows_show_as_sent_is_what_is_in_the_request(log: list[Event], policy: Policy, budget: Limits) -> None:
    made = plan(log, policy, budget, COUNTER)
    assert list(made.items.sent_items()) == [row for row in made.items if row.in_request]
    assert [made.items[at] for at in range(len(made.items))] == list(made.items)
    wire = render_messages(made)
    calls = [call for message in wire for call in message.get("tool_calls", [])]
    shown = [row for row in made.items if row.in_request and row.kind == "tool_call"]
    assert [(call["id"], call["function"]["arguments"]) for call in calls] == [(row.call_id, row.text) for row in shown]
    results = [(message["tool_call_id"], message["content"]) for message in wire if message["role"] == "tool"]
    rows = [row for row in made.items if row.in_request and row.kind == "tool_result"]
    assert [call_id for call_id, _ in results] == [row.call_id for row in rows]
    for (_, content), row in zip(results, rows, strict=True):
        if isinstance(content, str):
            assert content == row.text


@given(logs(most=14), policies(), limits, st.booleans())
def test_incremental_planning_equals_planning_from_scratch(
    log: list[Event], policy: Policy, budget: Limits, live: bool
) -> None:
    growing = Planner(policy, budget, COUNTER, live=live)
    earlier = []
    for end, event in enumerate(log, 1):
        growing.append_event(event)
        made = growing.plan()
        assert made == plan(log[:end], policy, budget, COUNTER, live=live)
        earlier.append((made, growing.plan(), list(made.items), list(made.items.sent_items())))
    for made, unread, rows, sent in earlier:
        assert list(made.items) == rows, "a plan does not change when the session goes on"
        assert unread == made, "nor does one at which nobody has looked so far"
        assert list(made.items.sent_items()) == sent


@given(logs(), policies(), limits)
def test_planning_is_deterministic(log: list[Event], policy: Policy, budget: Limits) -> None:
    assert plan(log, policy, budget, COUNTER) == plan(log, policy, budget, COUNTER)


@given(logs(), policies(), limits, st.data())
def test_a_reverted_compaction_leaves_no_trace(
    log: list[Event], policy: Policy, budget: Limits, data: st.DataObject
) -> None:
    before = plan(log, policy, budget, COUNTER)
    at = len(log) + 1
    first, last = sorted((data.draw(st.integers(1, at)), data.draw(st.integers(1, at))))
    log = [*log, Event(at, "c", 0, Compaction(first, last, "all of it")), Event(at + 1, "v", 0, Revert(at))]
    assert plan(log, policy, budget, COUNTER) == before


@requirement("layers", "history", "the user's current message is never cut or left out")
@given(logs(), policies(), limits)
def test_the_latest_user_message_is_whole_while_its_turn_is_open(
    log: list[Event], policy: Policy, budget: Limits
) -> None:
    said = (UserMessage, AssistantMessage, ToolCall)
    last = next((event for event in reversed(log) if isinstance(event.body, said)), None)
    latest = max((event.seq for event in log if isinstance(event.body, UserMessage)), default=None)
    if latest is None or last is None or isinstance(last.body, AssistantMessage):
        return
    row = next(row for row in plan(log, policy, budget, COUNTER).items if row.seq == latest)
    if not any(isinstance(event.body, Compaction) and _was_over(log, latest, event) for event in log):
        assert row.state == _untouched(log, latest)


def _untouched(log: list[Event], seq: int) -> str:
    """The state of an item that no stage touched: what its agent had left of it is shown as that."""
    cut = getattr(log[seq - 1].body, "cut", None)
    return cut.state if isinstance(cut, AgentCut) else "sent"


def _was_over(log: list[Event], latest: int, made: Event) -> bool:
    """Whether the model may have answered the latest message before a compaction."""
    between = log[latest : made.seq]
    return latest < made.seq and any(isinstance(event.body, AssistantMessage) for event in between)


@given(logs(), policies(), limits)
def test_once_answered_it_is_history_like_any_other(log: list[Event], policy: Policy, budget: Limits) -> None:
    log = [*log, *(Event(len(log) + at, f"n{at}", 0, body) for at, body in enumerate(ANSWERED, 1))]
    asked, end = len(log) - 1, len(log) + 1
    excluded = Event(end, "x", 0, Override("exclude", asked, asked))
    compacted = Event(end, "c", 0, Compaction(asked, asked + 1, "all of it"))
    for event, state in ((excluded, "excluded"), (compacted, "summarised")):
        (row,) = [row for row in plan([*log, event], policy, budget, COUNTER).items if row.seq == asked]
        assert row.state == state
    reopened = Event(end, "r", 0, Override("exclude", asked + 1, asked + 1))
    (row,) = [row for row in plan([*log, reopened], policy, budget, COUNTER).items if row.seq == asked]
    assert row.state == "sent", "an answer that is taken out leaves its question open"


@given(logs(), policies(), limits)
def test_pinned_items_pass_every_stage_untouched(log: list[Event], policy: Policy, budget: Limits) -> None:
    for row in plan(log, policy, budget, COUNTER).items:
        if row.pinned and row.state not in ("aside", "dropped"):
            assert row.seq is not None
            assert row.state == _untouched(log, row.seq)
            if row.kind == "message" and row.original.strip():
                assert row.text == row.original
        if row.pinned and row.state == "dropped":
            assert row.edits[0].stage == "normalise"


@given(logs(), policies(), limits)
def test_what_an_agent_had_cut_is_never_shown_as_sent_under_any_policy(
    log: list[Event], policy: Policy, budget: Limits
) -> None:
    for row in plan(log, policy, budget, COUNTER).items:
        body = log[row.seq - 1].body if row.seq else None
        if isinstance(body, ToolResult | UserMessage) and body.cut is not None and row.unit >= 0:
            assert row.state != "sent"
            if row.in_request and row.edits:
                assert f"by {body.cut.by} before it was sent" in row.edits[0].why


@given(logs(), policies(), limits)
def test_excluded_items_leave_with_their_pair(log: list[Event], policy: Policy, budget: Limits) -> None:
    rows = list(plan(log, policy, budget, COUNTER).items)
    states: dict[str, set[str]] = {}
    for row in rows:
        if row.call_id and row.kind in ("tool_call", "tool_result"):
            states.setdefault(row.call_id, set()).add("excluded" if row.state == "excluded" else "in")
    assert all(len(found) == 1 for found in states.values())


@requirement("layers", "log", "the whole history stays available for audit")
@requirement("sliding", "log", "events are never changed or deleted")
@given(logs(), policies(), limits)
def test_no_event_is_changed_or_lost(log: list[Event], policy: Policy, budget: Limits) -> None:
    copy = list(log)
    rows = list(plan(log, policy, budget, COUNTER).items)
    assert log == copy
    seqs = [row.seq for row in rows if row.seq is not None]
    assert len(seqs) == len(set(seqs))
    said = {e.seq for e in log if not isinstance(e.body, (Compaction, Revert, Override)) and _is_row(e)}
    assert said == {seq for seq in seqs if seq in said}


def _is_row(event: Event) -> bool:
    return type(event.body).__name__ not in ("Setting", "SlotContent")


@given(logs(most=14), policies(), limits)
def test_time_travel_is_planning_a_prefix(log: list[Event], policy: Policy, budget: Limits) -> None:
    for end in range(len(log)):
        rows = plan(log[:end], policy, budget, COUNTER).items
        assert all(row.seq is None or row.seq <= end for row in rows)


@given(logs(), policies(), limits)
def test_the_number_of_dropped_groups_is_what_the_items_say(log: list[Event], policy: Policy, budget: Limits) -> None:
    made = plan(log, policy, budget, COUNTER)
    dropped = {row.unit for row in made.items if row.edits and row.edits[-1].stage == "groups"}
    assert made.items.dropped_groups == len(dropped)
