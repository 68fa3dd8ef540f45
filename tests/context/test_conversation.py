"""The conversation: looked at under other overrides and compactions, it is what it would have been with them."""

from __future__ import annotations

from itertools import chain

from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import structs

from support.logs import logs, number, policies
from support.talk import COUNTER, ROOMY, named_turns
from workbench.config.values import replace
from workbench.context import fold
from workbench.context.control import CONTROL, InEffect, in_effect
from workbench.context.conversation import Conversation
from workbench.context.fold import Preconditions
from workbench.context.measure import Meter
from workbench.context.policy import Policy
from workbench.context.view import fate_of
from workbench.log.events import (
    AgentCut,
    AssistantMessage,
    Body,
    Compaction,
    Event,
    KeptEvent,
    Reasoning,
    ToolCall,
    ToolResult,
    UserMessage,
)


def built(meter: Meter, ground: Preconditions, events: list[Event]) -> tuple[Conversation, bool]:
    """A conversation made event by event, and whether all had their places."""
    made = Conversation(meter, ground)
    with made.measured_once():
        placed = [made.add_event(event) for event in events if type(event.body) not in CONTROL]
    return made, all(placed)


def ground_of(effective: InEffect, of: Conversation) -> Preconditions:
    """What stands, for the events of a conversation."""
    found = fold.compaction_coverage(effective, of.cells, of.units, of.latest)
    return Preconditions(effective.overrides, found.cover, found.kept)


def seen(made: Conversation) -> object:
    """What a conversation says of its cells and what it costs."""
    view = made.view()
    cells = [(fate_of(cell, view), cell.partner, cell.wire_id, cell.original_tokens) for cell in made.cells]
    sums = [made.sums.cost_of(at) for at in range(len(made.units))]
    return (
        cells,
        sums,
        made.sums.cost,
        made.held,
        len(made.results),
        view.masked.upto,
        made.original_tokens,
        made.repairs,
    )


AGENT_CUT = AgentCut("truncated", "claude-code", "9 lines left out")
IDS = st.sampled_from(["a", "b", "a_2", "é", ""])
REPLIES = st.sampled_from(["", "r1", "r2"])
WORDS = st.sampled_from(["", " ", "short", "long enough for a policy that keeps little of a result; " * 40])
CALLS = st.builds(
    ToolCall, IDS, st.sampled_from(["", "ls"]), st.sampled_from(["{}", '{"path": "a.py"}', "[1]"]), REPLIES
)
RESULTS = st.builds(ToolResult, IDS, WORDS, cut=st.sampled_from([None, AGENT_CUT]))


def pair(call: ToolCall, result: ToolResult) -> list[Body]:
    """A call and its result."""
    return [call, replace(result, call_id=call.call_id)]


STEPS = st.one_of(
    st.builds(pair, CALLS, RESULTS),
    st.lists(CALLS | RESULTS, max_size=2),
    st.just([UserMessage("go on")]),
    REPLIES.map(lambda reply: [AssistantMessage("I look.", reply)]),
    REPLIES.map(lambda reply: [Reasoning("hm", reply)]),
)


@given(st.lists(STEPS, max_size=12), policies())
@example([[ToolCall("a", "ls", "[1]"), ToolResult("a", "x")]], Policy("plain"))
@example([[ToolCall("a", "ls", "{}"), ToolCall("b", "ls", "{}"), ToolResult("b", "x")]], Policy("plain"))
@example([[AssistantMessage("I look.", "r1"), ToolCall("a", "ls", "{}", "r1"), ToolResult("a", "x")]], Policy("plain"))
@example([[ToolResult("a", "early"), ToolCall("a", "ls", "{}", "r1"), ToolResult("a", "x")]], Policy("plain"))
def test_a_call_and_its_result_together_are_what_they_are_one_by_one(steps: list[list[Body]], policy: Policy) -> None:
    meter, events = Meter(policy, ROOMY, COUNTER, "", "openai"), number([*chain.from_iterable(steps)])
    together = Conversation(meter, Preconditions())
    with together.measured_once():
        placed = together.add_events(events)
    apart, all_placed = built(meter, Preconditions(), events)
    assert placed == all_placed
    if placed:
        assert seen(together) == seen(apart)
        assert list(map(structs.asdict, together.cells)) == list(map(structs.asdict, apart.cells))
        assert list(map(structs.asdict, together.units)) == list(map(structs.asdict, apart.units))
        assert (together.last_group, together.begins_with_user) == (apart.last_group, apart.begins_with_user)


@given(logs(), policies(), st.data())
def test_a_conversation_under_other_compactions_is_the_one_that_was_built_with_them(
    events: list[Event], policy: Policy, data: st.DataObject
) -> None:
    """From none to some, and from those to others; and the one before is left alone."""
    meter = Meter(policy, ROOMY, COUNTER, "", "openai")
    now, placed = built(meter, Preconditions(), events)
    if not placed:
        return
    controls = [event for event in events if type(event.body) in CONTROL]
    last = len(events)
    for at in range(data.draw(st.integers(1, 2))):
        first = data.draw(st.integers(1, max(1, last)))
        kept = data.draw(st.lists(st.integers(1, max(1, last)), max_size=3, unique=True))
        body = Compaction(
            first, last, "so far", tuple(KeptEvent(seq, data.draw(st.sampled_from(["", "in part"]))) for seq in kept)
        )
        controls.append(Event(last + 1 + at, f"compaction{at}", 0, body))
        ground = ground_of(in_effect(controls), now)
        before = seen(now)
        made = now.with_preconditions(ground)
        assert seen(made) == seen(built(meter, ground, events)[0])
        assert seen(now) == before
        now = made


def test_without_some_units_the_others_stay_as_they_were() -> None:
    """Turns without their first message are part of the turn before. What would split a unit is not possible."""
    calls: list[Body] = [UserMessage("go"), ToolCall("c1", "read", "{}", "r1"), ToolResult("c1", "x")]
    events = number([*named_turns([1, 2, 3]), *calls])
    whole, _ = built(Meter(Policy(), ROOMY, COUNTER, "", "openai"), Preconditions(), events)
    assert whole.without({8}) is None
    left = whole.without({2, 3, 5, 6})
    assert left is not None
    assert [cell.event.seq for cell in left.cells] == [1, 4, 7, 8, 9]
    assert [cell.turn for cell in left.cells] == [1, 1, 2, 2, 2]
    assert [left.units[at].cells for at in left.openers[1:]] == [[0], [2]]
    assert (left.turn, left.last_group, left.original_tokens) == (
        2,
        3,
        sum(cell.original_tokens for cell in left.cells),
    )


@given(logs(), policies(), st.data())
def test_a_conversation_knows_whether_a_user_message_begins_it(
    events: list[Event], policy: Policy, data: st.DataObject
) -> None:
    """While it grows, and without some of its units."""
    now = Conversation(Meter(policy, ROOMY, COUNTER, "", "openai"), Preconditions())
    for event in events:
        if type(event.body) not in CONTROL and now.add_event(event):
            assert now.begins_with_user == user_is_first(now)
    gone = data.draw(st.sets(st.integers(0, len(now.units))))
    left = now.without([cell.seq for cell in now.cells if cell.unit in gone])
    if left is not None:
        assert left.begins_with_user == user_is_first(left)


def user_is_first(made: Conversation) -> bool:
    """Whether the first unit is a user message, or there is none."""
    return not made.units or isinstance(made.cells[made.units[0].cells[0]].event.body, UserMessage)


def test_what_is_never_sent_is_in_no_unit() -> None:
    events = number([UserMessage("go"), Reasoning("hm"), ToolCall("c1", "read", "{}", "r1"), ToolResult("c1", "x")])
    for ground in (Preconditions(), Preconditions(ordered=len(events))):
        made, _ = built(Meter(Policy(), ROOMY, COUNTER, "", "openai"), ground, events)
        assert made.cells[1].unit < 0
        assert made.units_within(range(1, 3)) == {0}
        assert made.units_within(range(2, 5)) == {1}
