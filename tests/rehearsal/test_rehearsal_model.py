"""The stand-in: its script, its figures, its ids."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.config.settings import Settings
from workbench.context.render import render_request as render
from workbench.context.setup import PlanOptions, set_up
from workbench.log.events import AssistantMessage, Body, SlotContent, SystemMessage, ToolCall, ToolResult, UserMessage
from workbench.models.catalogue import Catalogue
from workbench.models.reply_parts import ReportedUsage
from workbench.rehearsal.rehearsal_model import RehearsalModel
from workbench.rehearsal.script import Script
from workbench.rehearsal.usage import LONG, SAMPLE, SAMPLES, rehearsal_tokenizer
from workbench.sources.source import number_events
from workbench.wire.checked_requests import CheckedMessage, CheckedRequest
from workbench.wire.dialects import DIALECTS

DEFINITION = (
    '{"type": "function", "function": {"name": "read_file", "description": "Read a file.", "parameters": '
    '{"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}}'
)


def ask(*texts: str, **more: Any) -> CheckedRequest:
    return CheckedRequest(tuple(CheckedMessage("user", text) for text in texts), **more)


def test_steps_are_played_one_per_request_and_then_the_rules_answer() -> None:
    stand_in = RehearsalModel(Script([{"reply": "One."}, {"fault": "status 500"}, {"reply": "Two."}]))
    found = [stand_in.play(ask("hello")) for _ in range(4)]
    assert [played.answer.text[:4] for played in found] == ["One.", "", "Two.", "I am"]
    assert [played.refusal is None for played in found] == [True, False, True, True]
    assert stand_in.played == 3


def test_requests_for_a_summary_may_be_left_to_the_rules_and_take_no_step() -> None:
    wish = ask("We use port 8080.", "Summarise the conversation.")
    apart = RehearsalModel(Script([{"reply": "One."}], summaries=False))
    assert "8080" in apart.play(wish).answer.text
    assert apart.play(ask("hello")).answer.text == "One."
    assert RehearsalModel(Script([{"reply": "One."}])).play(wish).answer.text == "One."


def test_a_step_with_only_a_fault_or_a_pace_is_answered_by_rule() -> None:
    played = RehearsalModel(Script([{"fault": "cut", "speed": 30}])).play(ask("hello"))
    assert "rehearsal model" in played.answer.text
    assert played.pace.speed == 30


def test_the_report_is_the_plan_s_own_count() -> None:
    bodies: list[Body] = [
        SlotContent("system", "base", "You are terse."),
        SlotContent("tools", "read_file", DEFINITION),
        SystemMessage("Be kind."),
        UserMessage("read a.py", name="ada"),
        AssistantMessage("Reading.", reply="1"),
        ToolCall("c1", "read_file", '{"path": "a.py"}', reply="1"),
        ToolResult("c1", "x = 1\n" * 50),
    ]
    plan = set_up(PlanOptions(model="rehearsal"), Settings(), Catalogue()).plan(number_events(bodies))
    usage = RehearsalModel().play(DIALECTS["chat"].new_speaker().read_request(render(plan))).answer.usage
    assert usage is not None
    assert usage.prompt == plan.totals.tokens


def test_of_a_very_long_message_a_sample_is_counted_and_taken_for_all_of_it() -> None:
    def reported(text: str) -> int:
        found = RehearsalModel().play(ask(text)).answer.usage
        assert found is not None
        return found.prompt

    count = rehearsal_tokenizer("rehearsal")
    around = reported("") - count.count("").tokens
    just_short = ("word, " * LONG)[: LONG - 1]
    assert reported(just_short) == around + count.count(just_short).tokens
    step = 2 * LONG // SAMPLES
    long = ("All of it is counted by a part. " * LONG)[: 2 * LONG]
    assert reported(long) == pytest.approx(count.count(long).tokens, rel=0.03)
    unseen = "Ω§" * ((step - SAMPLE) // 2)
    spoilt = long[:SAMPLE] + unseen + long[SAMPLE + len(unseen) :]
    assert len(spoilt) == len(long)
    assert count.count(spoilt).tokens > 1.05 * count.count(long).tokens
    assert reported(spoilt) == reported(long), "what lies between the stretches is not looked at"


def test_what_the_previous_request_began_with_is_reported_as_cached_in_steps_of_128() -> None:
    stand_in = RehearsalModel()
    long = "word " * 1000
    cached = []
    for texts in ([long], [long, "more"], [long, "more", "and more"], [long[:2000] + "other"], ["else"]):
        usage = stand_in.play(ask(*texts)).answer.usage
        assert usage is not None
        cached.append(usage.cached)
        assert usage.cached <= usage.prompt
    assert cached == [0, 896, 896, 384, 0]


def test_a_step_can_set_the_figures_and_a_fault_can_withhold_them() -> None:
    script = Script([{"reply": "x", "usage": {"prompt": 9, "cache_write": 4}}, {"reply": "x", "fault": "no_usage"}])
    stand_in = RehearsalModel(script)
    assert stand_in.play(ask("hello")).answer.usage == ReportedUsage(9, 1, 0, 4, 0)
    assert stand_in.play(ask("hello")).answer.usage is None


def test_reasoning_is_counted_as_a_part_of_the_answer() -> None:
    usage = RehearsalModel(Script([{"reasoning": "one two three", "reply": "four"}])).play(ask("hello")).answer.usage
    assert usage is not None
    assert (usage.completion, usage.reasoning) == (4, 3)


def test_a_request_over_the_window_is_refused_with_both_sizes_and_costs_no_step() -> None:
    stand_in = RehearsalModel(Script([{"reply": "fits"}], window=100))
    played = stand_in.play(ask("word " * 200))
    assert played.refusal is not None
    assert (played.refusal.kind, played.refusal.limit) == ("context", 100)
    assert played.refusal.asked > 200
    assert stand_in.play(ask("short")).answer.text == "fits"


@given(st.text(max_size=400), st.text(max_size=100), st.integers(1, 60))
def test_an_answer_is_never_longer_than_the_request_allows(reply: str, reasoning: str, most: int) -> None:
    played = RehearsalModel(Script([{"reply": reply, "reasoning": reasoning}])).play(ask("hi", max_tokens=most))
    count = rehearsal_tokenizer("rehearsal").count
    assert count(played.answer.text).tokens + count(played.answer.reasoning).tokens <= most
    whole = played.answer.text == reply and played.answer.reasoning == reasoning
    assert played.answer.reason == ("stop" if whole else "length")


def test_ids_of_calls_are_the_same_for_the_same_request_and_never_come_again() -> None:
    call = {"calls": [{"tool": "a"}, {"tool": "a"}, {"tool": "a", "id": "own"}]}
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    seen: set[str] = set()
    one, other = RehearsalModel(Script([call] * 30)), RehearsalModel(Script([call] * 30))
    for _ in range(30):
        # Only the last group is still there, as after a cut: the ids must not depend on how much was dropped.
        request = (
            DIALECTS["chat"]
            .new_speaker()
            .read_request({"messages": [messages[0], *messages[-3:] * (len(messages) > 1)]})
        )
        calls = one.play(request).answer.calls[:2]
        assert calls == other.play(request).answer.calls[:2]
        ids = [each.call_id for each in calls]
        assert not seen & set(ids)
        assert len(set(ids)) == 2
        seen.update(ids)
        functions = [{"id": each.call_id, "function": {"name": "a", "arguments": "{}"}} for each in calls]
        messages.append({"role": "assistant", "content": None, "tool_calls": functions})
        messages += [{"role": "tool", "tool_call_id": each.call_id, "content": "same"} for each in calls]


def test_faults_in_the_answer_itself() -> None:
    stand_in = RehearsalModel(Script([{"reply": "abcd", "fault": name} for name in ("length", "refused", "slow 5")]))
    cut, refused, slow = (stand_in.play(ask("x")) for _ in range(3))
    assert (cut.answer.text, cut.answer.reason) == ("ab", "length")
    assert (refused.answer.text, refused.answer.reason) == ("", "refused")
    assert slow.pace.speed == 5
