"""What another agent recorded: every request as it was sent, to the token that was reported."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.logs import logs
from support.random_cases import few_cases
from workbench.config.errors import WrongCall
from workbench.context.policy_names import RECORDED
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Event,
    Override,
    Reasoning,
    Request,
    RequestPart,
    Setting,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.models.calibration import Calibrator, ReportedSize
from workbench.sources.options import Options
from workbench.sources.recorded import RecordedSession
from workbench.sources.services import Services
from workbench.sources.source import as_source, number_events
from workbench.sources.source_setups import make_setup


def recorded(*bodies: Body, model: str = "gpt-4o") -> RecordedSession:
    events = number_events([*bodies, Setting("model", model), Setting(RECORDED, "pi")])
    return RecordedSession(Services(), Options(), as_source("file", events, is_file=True))


TURN = (
    UserMessage("read it"),
    Reasoning("hm", "r1"),
    ToolCall("c1", "read", "{}", "r1"),
    Usage("m", 0, 1_000),
    ToolResult("c1", "what it says"),
    AssistantMessage("done", "r2"),
    Usage("m", 0, 1_200),
)


def test_a_request_is_without_its_own_answer_and_results() -> None:
    session = recorded(*TURN)
    [thought] = [row for row in session.plan(1).items if row.kind == "reasoning"]
    assert thought.edits[0].why == "kept for reading; the log does not say if it was sent"
    texts = [[row.original for row in session.plan(at).items if row.in_request] for at in (0, 1)]
    assert texts == [["read it"], ["read it", "{}", "what it says"]]


def test_rows_and_what_is_in_none_add_up_to_the_report() -> None:
    session = recorded(*TURN)
    for at, reported in enumerate((1_000, 1_200)):
        plan = session.plan(at)
        assert plan.reported == reported
        assert plan.totals.tokens + plan.unattributed == plan.size == reported
        assert plan.budget.window == plan.limits.window
        assert plan.verdict.fits
    assert [each.tokens + (each.unattributed or 0) for each in session.listed] == [1_000, 1_200]


@given(logs(most=14), st.lists(st.integers(1, 300_000), min_size=1, max_size=5))
def test_for_every_request_of_any_log_rows_and_remainder_are_the_report(log: list[Event], sizes: list[int]) -> None:
    bodies: list[Body] = []
    for number, event in enumerate(log):
        if not isinstance(event.body, Usage):
            bodies.append(event.body)
            bodies += [Usage("m", 0, sizes[number % len(sizes)])] if isinstance(event.body, AssistantMessage) else []
    session = recorded(*bodies)
    for each in session.listed:
        plan = session.plan(each.number - 1)
        assert plan.totals.tokens == each.tokens, "walking through the log is planning the prefix"
        if each.mark.reported is not None:
            assert each.tokens + (each.unattributed or 0) == plan.size == each.mark.reported
            assert plan.budget.window == plan.limits.window


def test_nothing_is_cut_whatever_its_size() -> None:
    large = "word " * 60_000
    plan = recorded(
        UserMessage("go"),
        ToolCall("c", "t", "{}", "r1"),
        Usage("m", 0, 50),
        ToolResult("c", large),
        AssistantMessage("done", "r2"),
        Usage("m", 0, 400_000),
    ).plan(1)
    assert {row.state for row in plan.items if row.kind != "aside"} == {"sent"}
    assert plan.size == 400_000
    assert plan.verdict.fits, "what was sent fitted"


def test_the_last_request_of_the_conversation_is_the_one_that_is_shown() -> None:
    session = recorded(*TURN, Request("chat", "m", "side"), Usage("m", 0, 5, request=8))
    assert session.place(None) == 1
    assert session.place(3) == 2
    assert recorded(UserMessage("hi")).place(None) is None
    alone = recorded(UserMessage("go"), Request("chat", "m", "sub-agent"), Usage("m", 0, 5, request=2))
    assert alone.place(None) == 0, "the log of a sub-agent has no others"
    with pytest.raises(WrongCall, match=r"--nth: expected a number from 1 to 3, got 4"):
        session.place(4)
    with pytest.raises(WrongCall, match="none: it holds no request"):
        recorded(UserMessage("hi")).place(1)


def test_counts_are_calibrated_by_the_reports() -> None:
    bodies: list[Body] = []
    plain = 0
    for step in range(30):
        said = " ".join(f"word{step}x{number}" for number in range(200))
        bodies += [UserMessage(said), AssistantMessage("ok", f"r{step}")]
        totals = recorded(*(each for each in bodies if not isinstance(each, Usage))).plan(step).totals
        plain = totals.items
        bodies.append(Usage("gpt-4o", 0, 9_000 + totals.framing + round(1.4 * plain)))
    learnt = recorded(*bodies).calibration("gpt-4o")
    assert learnt.factor == pytest.approx(1.4, rel=0.02)
    assert learnt.fixed == pytest.approx(9_000, rel=0.05)
    plan = recorded(*bodies).plan(29)
    assert plan.totals.items == pytest.approx(1.4 * plain, rel=0.03)
    assert plan.unattributed == pytest.approx(9_000, rel=0.05)
    assert not any(row.exact for row in plan.items if row.in_request), "a calibrated count is an estimate"


# Requests that the log holds whole

SYSTEM = [{"type": "text", "text": "You are careful."}]
TOOLS = [{"name": "read", "description": "reads", "input_schema": {"type": "object", "properties": {}}}]
ASKED: dict[str, Any] = {"role": "user", "content": [{"type": "text", "text": "read it"}]}
CALLED = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "read", "input": {}}]}
GOT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "what it says"}]}
EXACT: tuple[Body, ...] = (
    UserMessage("read it"),
    *(RequestPart(name, value) for name, value in (("s", SYSTEM), ("t", TOOLS), ("m1", ASKED))),
    Request("anthropic", "claude-opus-4-5", system="s", tools="t", messages=("m1",), parameters={"max_tokens": 9}),
    ToolCall("c1", "read", "{}", "r1"),
    Usage("claude-opus-4-5", 0, 500, request=5),
    ToolResult("c1", "what it says"),
    *(RequestPart(name, value) for name, value in (("m2", CALLED), ("m3", GOT))),
    Request(
        "anthropic",
        "claude-opus-4-5",
        system="s",
        tools="t",
        base=5,
        keep=1,
        messages=("m2", "m3"),
        cache_marks=("system.0", "messages.2.0"),
    ),
    AssistantMessage("done", "r2"),
    Usage("claude-opus-4-5", 0, 700, request=11),
)


def test_a_request_that_the_log_holds_is_what_went_over_the_wire() -> None:
    session = recorded(*EXACT, model="claude-opus-4-5")
    assert [(each.exact, each.reported) for each in session.marks] == [(True, 500), (True, 700)]
    assert session.body(0) == {
        "model": "claude-opus-4-5",
        "max_tokens": 9,
        "system": SYSTEM,
        "tools": TOOLS,
        "messages": [ASKED],
    }
    second = session.body(1)
    assert second is not None
    assert second["system"] == [{**SYSTEM[0], "cache_control": {"type": "ephemeral"}}]
    assert [each["role"] for each in second["messages"]] == ["user", "assistant", "user"]
    assert second["messages"][2]["content"][0]["cache_control"] == {"type": "ephemeral"}


def test_a_system_prompt_that_is_a_message_is_one_row() -> None:
    prompt, asked = {"role": "system", "content": "be brief"}, {"role": "user", "content": "read it"}
    session = recorded(
        UserMessage("read it"),
        *(RequestPart(name, value) for name, value in (("s", prompt), ("m", asked))),
        Request("chat", "gpt-4o", messages=("s", "m")),
    )
    assert [row.text for row in session.plan(0).items if row.in_request] == ["be brief", "read it"]


def test_of_a_sub_agent_whose_requests_are_elsewhere_no_size_is_made_up() -> None:
    session = recorded(
        UserMessage("read it"),
        RequestPart("m", {"role": "user", "content": "read it"}),
        Request("chat", "gpt-4o", messages=("m",)),
        Request("chat", "gpt-4o", "sub-agent", "a1", "s2"),
    )
    turn, agent = session.listed
    assert turn.tokens > 0
    assert (agent.mark.purpose, agent.tokens) == ("sub-agent", 0)
    assert set(session.unreported) == {0}, "the turn has no report, and a size all the same"


def test_its_rows_are_its_own_contents_and_know_their_place_in_the_log() -> None:
    session = recorded(*EXACT, model="claude-opus-4-5")
    plan = session.plan(1)
    rows = [(row.slot, row.kind, row.seq, row.text) for row in plan.items if row.in_request]
    assert rows[0] == ("system", "message", None, "You are careful.")
    assert rows[1][:3] == ("tools", "tool_definition", None)
    assert rows[2:] == [
        ("turn", "message", 1, "read it"),
        ("turn", "tool_call", 6, "{}"),
        ("turn", "tool_result", 8, "what it says"),
    ]
    assert plan.size == 700
    assert [row.original for row in session.plan(0).items if row.slot == "turn"] == ["read it"]
    assert session.listed[1].tokens == plan.totals.tokens


def test_a_request_that_was_not_reported_is_estimated_with_what_the_others_taught() -> None:
    session = recorded(*TURN, UserMessage("and now?"), AssistantMessage("so", "r3"))
    plan = session.plan(2)
    assert plan.reported is None
    assert plan.unattributed == session.plan(1).unattributed > 1_000
    assert plan.verdict.why.startswith("about 1,2")
    assert plan.budget.window == plan.limits.window


def test_a_request_over_the_window_was_sent_all_the_same_and_says_so() -> None:
    plan = recorded(UserMessage("hi"), AssistantMessage("yes", "r"), Usage("m", 0, 5_000_000)).plan(0)
    assert plan.verdict.fits
    assert plan.verdict.why == "5,000,000 tokens were sent, more than the window of 128,000 holds"


def test_what_if_has_the_remainder_of_the_request_that_it_is_for() -> None:
    session = recorded(*TURN, model="m")
    for at in (0, 1):
        assert session.unattributed(at) == session.plan(at).unattributed
    assert session.unattributed(None) == session.calibration("m").rest


def test_sizes_under_a_policy_are_computed_again_only_when_the_log_has_grown() -> None:
    with Services() as services:
        source = as_source("file", number_events([*TURN, Setting(RECORDED, "pi")]), is_file=True)
        session = RecordedSession(services, Options(), source)
        setup = make_setup(services, Options(), source, "codex", (), session)
        sizes = session.sizes_under(setup)
        assert session.sizes_under(setup) is sizes
        source.events.append(Event(len(source.events) + 1, "more", 0, UserMessage("and now?")))
        assert session.sizes_under(setup)[:-1] == sizes[:-1]
        assert session.sizes_under(setup)[-1] > sizes[-1]


def test_a_recorded_compaction_covers_what_it_says_also_the_message_of_an_open_turn() -> None:
    session = recorded(
        UserMessage("go"),
        ToolCall("c1", "t", "{}", "r1"),
        Usage("m", 0, 900),
        ToolResult("c1", "found"),
        Compaction(1, 4, "so far"),
        ToolCall("c2", "t", "{}", "r2"),
        Usage("m", 0, 500),
    )
    assert [(row.kind, row.original) for row in session.plan(1).items if row.in_request] == [("summary", "so far")]


def test_what_another_agent_cleared_stands_in_its_own_words() -> None:
    session = recorded(
        UserMessage("go"),
        ToolCall("c1", "t", "{}", "r1"),
        ToolResult("c1", "a long result " * 50),
        Override("mask", 3, 3, "cleared", "[Old tool result content cleared]"),
        AssistantMessage("done", "r2"),
        Usage("m", 0, 90),
    )
    [masked] = [row for row in session.plan(1).items if row.state == "masked"]
    assert masked.text == "[Old tool result content cleared]"
    assert masked.tokens < 10


def test_thinking_is_part_of_a_request_that_is_held_whole() -> None:
    thought = {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm, well"}, *CALLED["content"]]}
    bodies = [
        RequestPart("m2", thought) if isinstance(body, RequestPart) and body.hash == "m2" else body for body in EXACT
    ]
    rows = [(row.kind, row.state, row.text) for row in recorded(*bodies, model="claude-opus-4-5").plan(1).items]
    assert ("reasoning", "sent", "hm, well") in rows


def test_where_all_of_a_request_is_held_the_factor_leaves_no_negative_part() -> None:
    made = Calibrator("m")
    for items, reported in ((10_000, 12_800), (11_000, 14_300), (15_000, 19_600), (16_000, 20_600)):
        made.add_report(ReportedSize(items, 0, reported))
    assert made.calibration.factor == pytest.approx(1.29, abs=0.02)
    assert abs(made.calibration.rest) < 500


@few_cases()
@given(logs(), st.lists(st.integers(0, 50_000), max_size=12), st.data())
def test_a_moment_has_one_size_whoever_asks(events: list[Event], reports: list[int], data: st.DataObject) -> None:
    bodies = [event.body for event in events]
    told = [each for pair in zip(bodies, (Usage("gpt-4o", 0, size) for size in reports), strict=False) for each in pair]
    session = recorded(*told, *bodies[len(reports) :])
    upto = data.draw(st.integers(0, len(session.events)))
    plan = session.plan_upto(upto)
    place = session.place_of(upto)
    if place is not None:
        assert plan.size == session.marks[place].reported
    end = len(session.events)
    if session.place_of(end) is None:
        assert session.plan_upto(end).size == session.next_size
        assert session.setup("gpt-4o").plan(session.events).size == session.next_size


def test_the_thinking_of_a_turn_is_told_apart_from_the_fixed_part() -> None:
    bodies: list[Body] = []
    thought = step = 0
    for turn in range(8):
        bodies.append(UserMessage(f"do {turn}"))
        thought = 0
        for _ in range(6):
            step += 1
            bodies += [ToolCall(f"c{step}", "t", "{}", f"r{step}"), ToolResult(f"c{step}", f"{step} " * (50 * step))]
            held = recorded(*bodies[:-2], model="gpt-4o").setup("gpt-4o").plan(number_events(bodies[:-2])).totals
            reported = 7_000 + held.tokens + thought
            bodies.insert(-1, Usage("gpt-4o", 0, reported, completion=400, reasoning=300 + 7 * step))
            thought += 300 + 7 * step
    session = recorded(*bodies)
    assert session.calibration("gpt-4o").thinking == "turn"
    for each in session.listed:
        assert each.unattributed is not None
        assert abs(each.unattributed - each.known_rest.tokens) <= 0.02 * (each.mark.reported or 0)
    assert max(each.known_rest.thinking for each in session.listed) > 1_000


def test_where_the_rows_have_too_much_the_next_request_says_so_as_well() -> None:
    text = "word " * 4_000
    bodies: list[Body] = []
    for at in range(6):
        bodies += [UserMessage(text), AssistantMessage("yes", f"r{at}"), Usage("gpt-4o", 0, 1_200 * (at + 1))]
    session = recorded(*bodies)
    plan = session.setup("gpt-4o").plan(session.events)
    assert session.next_size == plan.size
    assert plan.unattributed < 0
    assert "that the provider does not count" in plan.verdict.why
