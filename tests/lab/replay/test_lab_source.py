"""A session replayed under a policy: every request as planning it from scratch would have it, and what was missed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.logs import iterations, number
from support.talk import iteration, words
from workbench.config.errors import Refused
from workbench.context.policy_names import RECORDED
from workbench.lab.replay.lab_source import LabSource
from workbench.lab.running.tasks import all_policies
from workbench.lab.values import PolicyRun
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Event,
    Override,
    Setting,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.sources.source import as_source

MODEL = Setting("model", "gpt-4o")


def source(bodies: Sequence[Body], window: int = 0) -> LabSource:
    events = number([MODEL, *bodies])
    return LabSource(Services(), Options(window=window or None), as_source("made", events))


def run(bodies: Sequence[Body], policy: str, *knobs: str, window: int = 0) -> PolicyRun:
    return source(bodies, window).run_policy(policy, knobs)


def told(made: PolicyRun) -> list[tuple[str, int, int]]:
    return [(miss.fact, miss.used, miss.held) for miss in made.misses]


KEEP_ONE = (
    "masking.keep_first=0",
    "masking.keep_last=1",
    "masking.scope=session",
    "masking.min_tokens=0",
    "masking.batch_tokens=0",
    "compaction.mode=off",
)


# Every request


@given(st.lists(iterations(), min_size=1, max_size=8), st.sampled_from(["layers", "workbench"]), st.booleans())
def test_a_replay_is_what_planning_every_prefix_from_scratch_is(
    parts: list[list[Body]], policy: str, new_turns: bool
) -> None:
    bodies: list[Body] = [UserMessage("go")]
    for part in parts:
        bodies += [*part, *([UserMessage("more")] if new_turns else [])]
    lab = source(bodies, 4_000)
    knobs = ("masking.keep_first=0", "masking.keep_last=1", "compaction.mode=off")
    made, setup = lab.run_policy(policy, knobs), lab.setup(policy, knobs)
    events = lab.without_decisions
    scratch = [setup.plan([each for each in events if each.seq <= mark.upto]) for mark in lab.marks]
    assert [point.tokens for point in made.points] == [plan.size for plan in scratch]
    assert [point.fits for point in made.points] == [plan.verdict.fits for plan in scratch]
    assert made.peak == max((plan.size for plan in scratch), default=0)
    assert made.invalid == 0


@given(st.lists(iterations(), min_size=1, max_size=6), st.data())
def test_what_is_masked_from_a_request_on_is_whole_before_it(parts: list[list[Body]], data: st.DataObject) -> None:
    lab = source([UserMessage("go"), *(body for part in parts for body in part)])
    first = data.draw(st.integers(1, len(lab.marks)))
    earlier = [each for each in lab.source.events if each.seq <= lab.marks[first - 1].upto]
    results = [each.seq for each in earlier if isinstance(each.body, ToolResult)]
    masked = data.draw(st.sets(st.sampled_from(results)) if results else st.just(set()))
    sent, made, setup = lab.run_policy(RECORDED), lab.run_masked(first, masked), lab.setup(RECORDED)
    for at, (mark, before, now) in enumerate(zip(lab.marks, sent.points, made.points, strict=True), 1):
        events = [each for each in lab.source.events if each.seq <= mark.upto]
        place = len(earlier)
        masks = [Event(place, "mask", 0, Override("mask", seq, seq)) for seq in sorted(masked)] if at >= first else []
        assert now.tokens == setup.plan([*events[:place], *masks, *events[place:]]).size
        assert at >= first or now.tokens == before.tokens


@pytest.mark.parametrize("policy", all_policies())
def test_any_request_of_a_replay_can_be_planned_alone(policy: str) -> None:
    bodies: list[Body] = []
    for turn in range(9):
        bodies += [
            UserMessage(f"look at {turn}"),
            *iteration(f"c{turn}", words(900, f"w{turn}")),
            AssistantMessage("done", f"d{turn}"),
        ]
    lab = source(bodies, 8_000)
    made = lab.run_policy(policy)
    assert policy == RECORDED or policy == "layers" or made.compactions, "some are behind a compaction"
    assert [lab.plan_request(point.request, policy).size for point in made.points] == [
        point.tokens for point in made.points
    ]


def test_who_does_not_wait_any_more_can_have_it_stopped() -> None:
    lab = source([UserMessage("go"), AssistantMessage("done")])
    lab.stopped = True
    with pytest.raises(Refused):
        lab.run_policy("workbench")


@pytest.mark.parametrize("policy", all_policies())
def test_a_session_that_is_short_is_the_same_under_every_policy(policy: str) -> None:
    log: list[Body] = [UserMessage("go"), *iteration("a", "done"), AssistantMessage("That is it.", "z")]
    made = run(log, policy)
    assert (len(made.points), made.overflows, made.compactions, made.misses) == (2, 0, (), ())
    assert made.tokens == run(log, "confirm").tokens


def test_what_was_reported_is_what_was_sent() -> None:
    log: list[Body] = [
        UserMessage("go"),
        *iteration("a", "done"),
        Usage("gpt-4o", 40, prompt=5_000, cached=1_024, completion=9),
        AssistantMessage("That is it.", "z"),
        Usage("gpt-4o", 60, prompt=6_000, cached=4_992, completion=7),
    ]
    made = run(log, RECORDED)
    assert [(point.tokens, point.cache_read) for point in made.points] == [(5_000, 1_024), (6_000, 4_992)]
    assert made.cost == pytest.approx((3_976 + 1_008) * 2.5e-6 + 6_016 * 1.25e-6 + 16 * 1e-5)


def test_a_request_that_does_not_fit_is_counted() -> None:
    log: list[Body] = [UserMessage(words(3_000)), AssistantMessage("no", "a")]
    assert run(log, "confirm", "compaction.mode=off", window=2_000).overflows == 1


# Needed later


@pytest.mark.parametrize("policy", all_policies())
def test_the_limit_that_a_session_was_held_in_holds_under_every_policy(policy: str) -> None:
    bodies: list[Body] = [
        UserMessage("go"),
        AssistantMessage("done"),
        Setting("knobs", ["budget.max_input_tokens=16000"]),
    ]
    assert run(bodies, policy).window == 16_000
    assert run(bodies, policy, window=20_000).window == 20_000, "somebody asks for another"


def planted() -> list[Body]:
    return [
        UserMessage("find the port"),
        *iteration("a", f"{words(40)} the port is 48213 in conf/live/eu.toml"),
        *iteration("b", words(40)),
        *iteration("c", words(40)),
        AssistantMessage("The port is 48213, as conf/live/eu.toml says.", "z"),
    ]


def test_a_fact_that_was_masked_and_is_used_is_missed_with_both_places() -> None:
    made = run(planted(), "workbench", *KEEP_ONE)
    assert sorted(told(made)) == [("48213", 9, 4), ("conf/live/eu.toml", 9, 4)]
    assert [point.misses for point in made.points] == [0, 0, 0, 2]


def test_nothing_is_missed_where_nothing_was_taken_away() -> None:
    assert told(run(planted(), "confirm")) == []


def test_what_another_item_still_holds_is_not_missed() -> None:
    log = planted()
    log[0] = UserMessage("find the port in conf/live/eu.toml")
    assert told(run(log, "workbench", *KEEP_ONE)) == [("48213", 9, 4)]


def test_what_the_model_says_for_the_first_time_is_not_missed() -> None:
    log = planted()
    log[-1] = AssistantMessage("I write src/new/thing.py with 77123 lines.", "z")
    assert told(run(log, "workbench", *KEEP_ONE)) == []


def test_what_was_said_once_more_is_there_again() -> None:
    log: list[Body] = [*planted(), UserMessage("really?"), AssistantMessage("Yes, 48213.", "y")]
    assert len(told(run(log, "workbench", *KEEP_ONE))) == 2


FACTS = ("src/app.py", "load_it", "48213", "conf/x.toml", "KeyMissingError", "77123")
said = st.lists(st.sampled_from((*FACTS, "plain", "words")), max_size=4).map(" ".join)


@st.composite
def talks(draw: st.DrawFn) -> list[Body]:
    bodies: list[Body] = [UserMessage(draw(said) or "go")]
    for at in range(draw(st.integers(1, 8))):
        if draw(st.integers(0, 4)) == 0:
            bodies += [AssistantMessage(draw(said) or "well", f"m{at}"), UserMessage(draw(said) or "more")]
        path = draw(st.sampled_from(FACTS))
        result = f"{draw(said)} {words(draw(st.integers(0, 60)))} {draw(said)}"
        bodies += [ToolCall(f"c{at}", "f", f'{{"path": "{path}"}}', f"r{at}"), ToolResult(f"c{at}", result)]
    return [*bodies, AssistantMessage(draw(said) or "done", "last")]


@given(talks(), st.sampled_from(["layers", "workbench"]), st.integers(0, 2), st.sampled_from([20, 1_000]))
def test_what_is_missed_is_what_looking_at_every_row_of_every_request_tells(
    bodies: list[Body], policy: str, keep: int, cap: int
) -> None:
    knobs = (
        *KEEP_ONE,
        f"masking.keep_last={keep}",
        "truncation.strategy=head",
        f"truncation.max_tokens={cap}",
        "history.mode=fit",
        "history.max_tokens=60",
    )
    lab = source(bodies, 3_000)
    made, setup, events = lab.run_policy(policy, knobs), lab.setup(policy, knobs), lab.without_decisions
    expected = []
    for nth, (mark, following) in enumerate(pairwise([*lab.marks, None]), 1):
        assert mark is not None
        before = [event for event in events if event.seq <= mark.upto]
        rows = [row for row in setup.plan(before).items if row.in_request and row.text and row.state != "masked"]
        there = {fact for row in rows for fact in lab.needs.held_in(row.text or "")}
        past = {fact for event in before for fact in lab.needs.holds.get(event.seq, ())}
        upto = following.upto if following is not None else len(events)
        used = {fact for event in events[mark.upto : upto] for fact in lab.needs.uses.get(event.seq, ())}
        expected += [(nth, lab.needs.facts[fact].text) for fact in sorted((used & past) - there)]
    assert sorted((miss.request, miss.fact) for miss in made.misses) == sorted(expected)
    for miss in made.misses:
        holder = next(event for event in events if event.seq == miss.held)
        assert miss.fact in str(holder.body)


@pytest.mark.parametrize(("cap", "missed"), [(30, ["48213"]), (400, [])])
def test_what_a_cut_left_is_not_missed(cap: int, missed: list[str]) -> None:
    result = f"the name is src/first.py {words(100)} the port is 48213 {words(100)}"
    log: list[Body] = [UserMessage("go"), *iteration("a", result), AssistantMessage("src/first.py uses 48213", "z")]
    knobs = ("truncation.strategy=head", f"truncation.max_tokens={cap}")
    assert [miss.fact for miss in run(log, "layers", *knobs).misses] == missed


def test_what_a_summary_kept_is_not_missed() -> None:
    log: list[Body] = [
        UserMessage("look at src/kept.py and src/lost.py"),
        AssistantMessage("I did.", "a"),
        UserMessage("next"),
        Compaction(2, 3, "they looked at src/kept.py"),
        AssistantMessage("Both src/kept.py and src/lost.py are fine.", "b"),
    ]
    made = source(log)
    assert made.known_otherwise == {(6, "path", "src/lost.py")}
    assert told(made.run_policy(RECORDED)) == []


def test_what_the_model_knew_from_elsewhere_is_no_miss_of_any_policy() -> None:
    log: list[Body] = [
        UserMessage("look at src/lost.py"),
        *iteration("c1", f"src/kept.py {words(300)}"),
        Compaction(2, 2, "they looked at a file"),
        *iteration("c2", words(300)),
        AssistantMessage("Both src/kept.py and src/lost.py are fine.", "b"),
    ]
    made = source(log)
    assert [fact for _, _, fact in made.known_otherwise] == ["src/lost.py"]
    assert [miss.fact for miss in made.run_policy("workbench", KEEP_ONE).misses] == ["src/kept.py"]
    assert told(run(log, "confirm")) == [], "what its agent summarised is there for another policy"


# Compactions on the way


def test_a_policy_compacts_where_it_would_have() -> None:
    log: list[Body] = []
    for at in range(30):
        log += [
            UserMessage(f"turn {at}: {words(100)}"),
            AssistantMessage(f"done src/part{at}.py {words(100)}", f"r{at}"),
        ]
    made = run(log, "window", window=6_000)
    assert made.compactions
    assert made.peak <= 6_000
    assert made.overflows == 0
    first = made.compactions[0]
    assert first.tokens_after < first.tokens_before
    sizes = [point.tokens for point in made.points]
    assert any(later < before for before, later in pairwise(sizes))
    assert all(later > before for before, later in pairwise([point.tokens for point in run(log, RECORDED).points]))
