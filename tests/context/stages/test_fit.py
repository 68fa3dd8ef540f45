"""Fit: the longest results of a request that is too large are cut until it fits."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.logs import limits, logs, number, policies
from support.talk import COUNTER, ROOMY, iteration, iterations, planned, preset, results, spoken, states, turns, words
from support.validity import problems
from workbench.context.budget import Limits
from workbench.context.planner import Planner, plan
from workbench.context.policy import Policy
from workbench.context.policy_names import PRESETS, RECORDED
from workbench.context.render import render_messages
from workbench.context.stages.fit import LEAST, common_cap
from workbench.log.events import Body, Event, ImagePart, Override, TextPart, ToolCall, ToolResult, UserMessage

WINDOW = Limits(12_000, "option", 3_000, 0, 600)
NAMES = [name for name in PRESETS if name != RECORDED]
MARKER = re.compile(r"\[truncated: kept \S+ ~(\d+) of ~(\d+) tokens \(\w+\)\] \[id (\S+)\]")


@pytest.mark.parametrize("name", NAMES)
def test_under_every_preset_a_result_larger_than_the_window_is_cut_to_what_fits(name: str) -> None:
    log = [*turns(2), UserMessage("go"), *iteration("a", "\n".join(["one line of a long file"] * 3_000))]
    made = planned(log, preset(name), WINDOW)
    assert made.verdict.fits
    assert problems(render_messages(made)) == []
    [result] = results(made)
    assert result.state == "truncated"
    assert result.edits[-1].after == result.tokens


@pytest.mark.parametrize("name", ["sliding", "window", "confirm"])
def test_the_marker_has_the_id_and_true_numbers_and_the_reason_has_its_own(name: str) -> None:
    made = planned([UserMessage("go"), *iteration("a", words(12_671))], preset(name), WINDOW)
    [result] = results(made)
    kept, of, shown = MARKER.search(result.text or "").groups()  # type: ignore[union-attr]
    assert (int(of), shown) == (12_671, result.id)
    assert abs(int(kept) - (result.text or "").count("alpha")) <= 2
    [edit] = result.edits
    assert (edit.stage, edit.state, edit.before, edit.after) == ("fit", "truncated", 12_671, result.tokens)
    assert re.fullmatch(
        r"the request has 12,\d+ tokens and 9,000 fit; 12,671 tokens of this result became [\d,]+", edit.why
    )
    assert made.totals.tokens <= WINDOW.target, "the answer has its room"
    assert made.cut_to_fit == edit.before - edit.after
    assert made.overflows


def test_layers_cuts_a_result_of_7204_in_a_window_of_8000() -> None:
    made = planned(
        [UserMessage("go"), *iteration("a", words(7_204))], preset("layers"), Limits(8_000, "option", 2_000, 800, 400)
    )
    assert made.verdict.fits
    assert states(results(made)) == ["truncated"]


def test_the_longest_are_cut_to_the_same_length_and_short_ones_stay() -> None:
    sizes = (50, 900, 6_000, 300, 7_000)
    made = planned([UserMessage("go"), *iterations([words(size) for size in sizes])], preset("sliding"), WINDOW)
    found = results(made)
    assert states(found) == ["sent", "sent", "truncated", "sent", "truncated"]
    long, longer = found[2].tokens, found[4].tokens
    assert abs(long - longer) <= 8


def test_what_is_cut_is_missing_in_the_slot_that_it_was_in() -> None:
    for log in ([UserMessage("go")], [UserMessage("go"), *iteration("b", words(9_000))]):
        made = planned([UserMessage("look"), *iteration("a", words(12_671)), *log], preset("confirm"), WINDOW)
        assert made.cut_to_fit
        for slot in ("history", "turn"):
            assert getattr(made.budget, slot) == sum(row.tokens for row in made.items if row.slot == slot)


def test_what_is_pinned_is_not_cut() -> None:
    log = [UserMessage("go"), *iteration("a", words(5_000)), *iteration("b", words(9_000)), Override("pin", 2, 3)]
    pinned, other = results(planned(log, preset("sliding"), WINDOW))
    assert (pinned.state, other.state) == ("sent", "truncated")


def test_nothing_is_cut_where_that_would_not_be_enough() -> None:
    log = [UserMessage(words(11_500)), *iteration("a", words(400))]
    made = planned(log, preset("sliding"), WINDOW)
    assert made.verdict.status == "too_large"
    assert states(results(made)) == ["sent"]
    assert made.cut_to_fit == 0


def test_what_was_recorded_is_shown_as_it_was_sent() -> None:
    made = planned([UserMessage("go"), *iteration("a", words(12_671))], preset(RECORDED), WINDOW)
    assert states(results(made)) == ["sent"]


def test_the_pictures_of_a_result_go_where_its_text_alone_is_not_enough() -> None:
    picture = ImagePart("data:image/png;base64,iVBORw0KGgo=", "high")
    log: list[Body] = [
        UserMessage("go"),
        ToolCall("a", "read_file", "{}", "a"),
        ToolResult("a", (TextPart(words(11_000)), picture, picture)),
    ]
    made = planned(log, preset("sliding"), WINDOW)
    assert made.verdict.fits
    assert states(results(made)) == ["truncated"]


def test_room_for_the_smallest_answer_is_enough_where_the_reserve_does_not_fit() -> None:
    log = [UserMessage(words(9_500)), *iteration("a", words(4_000))]
    made = planned(log, preset("sliding"), WINDOW)
    assert made.verdict.fits
    assert WINDOW.target < made.totals.tokens <= WINDOW.capacity


@given(st.lists(st.integers(0, 5_000), max_size=30), st.integers(1, 20_000))
def test_a_common_cap_saves_enough_and_not_more_than_it_must(sizes: list[int], excess: int) -> None:
    cap = common_cap(sizes, excess)
    least = sum(max(0, size - LEAST) for size in sizes)
    assert (cap is None) == (least < excess)
    if cap is not None:
        assert cap >= LEAST
        assert sum(max(0, size - cap) for size in sizes) >= excess
        assert sum(max(0, size - cap - 1) for size in sizes) < excess


@given(logs(), policies(), limits)
def test_cut_results_are_within_the_window_and_say_so(log: list[Event], policy: Policy, budget: Limits) -> None:
    made = plan(log, policy, budget, COUNTER)
    cut = [row for row in made.items if any(edit.stage == "fit" for edit in row.edits)]
    assert bool(cut) == (made.cut_to_fit > 0)
    assert not cut or made.totals.tokens <= budget.capacity
    assert made.totals.tokens + made.cut_to_fit > budget.capacity or not cut
    for row in cut:
        assert (row.kind, row.state, row.pinned) == ("tool_result", "truncated", False)
        assert row.id in (row.text or "")
        assert row.tokens < row.edits[-1].before
    assert made.cut_to_fit == sum(row.edits[-1].before - row.edits[-1].after for row in cut)


@given(st.lists(st.integers(50, 3_000), min_size=1, max_size=6), st.integers(600, 6_000), st.sampled_from(NAMES))
def test_cutting_to_fit_is_the_same_one_event_at_a_time(sizes: list[int], window: int, name: str) -> None:
    log = number([*turns(2, 40), UserMessage("go"), *iterations([words(size) for size in sizes])])
    budget = Limits(window, "option", window // 4, 0, window // 20)
    growing = Planner(preset(name), budget, COUNTER)
    for upto, event in enumerate(log, 1):
        growing.append_event(event)
        assert growing.plan() == plan(log[:upto], preset(name), budget, COUNTER)
    assert any(content == words(1, "question") or "go" in str(content) for _, content in spoken(growing.plan()))


def test_room_enough_leaves_all_of_it_alone() -> None:
    for name, size in product(NAMES, (10, 500)):
        made = planned([UserMessage("go"), *iteration("a", words(size))], preset(name), ROOMY)
        assert made.cut_to_fit == 0
