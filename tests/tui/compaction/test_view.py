"""The panel's value: a thin log says what the whole log says, and taking events in one by one changes nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.drafts import appended, compactor, drafted, work
from support.logs import logs, number
from support.talk import preset, turns
from tui.compaction.long_talk import talk
from tui.compaction.views import SETUP, figures_of, log, seen, summary
from workbench.compaction.forecast import forecast_compaction
from workbench.compaction.preview import preview_rows
from workbench.compaction.record import read_record
from workbench.compaction.selection import select_range
from workbench.compaction.triggers import decide_compaction
from workbench.compaction.values import CompactionRefused
from workbench.config.errors import Refused
from workbench.context.plan import ContextPlan
from workbench.context.policy import CompactionPolicy
from workbench.log.events import AssistantMessage, Body, Compaction, Event, Failure, Revert, Usage, UserMessage
from workbench.views.compaction_values import CompactionMark, Curve
from workbench.views.compaction_view import POINTS, audit_again, thinned_curve

POLICIES = [preset(name).compaction for name in ("workbench", "codex", "sliding", "window", "confirm")]


attempts: st.SearchStrategy[Body] = st.sampled_from(
    [
        Failure("compaction", "timeout: no"),
        Failure("compaction", "nothing: no"),
        Failure("connection", "nothing answers"),
        Usage("scripted", 90, 100, upto=1),
        Usage("scripted", 80, None, upto=1),
        UserMessage("hello"),
        AssistantMessage("hi", "r9"),
    ]
)


@settings(max_examples=60)
@given(logs(12), st.lists(attempts, max_size=6), st.sampled_from(POLICIES), st.booleans(), st.integers(1, 5))
def test_the_thin_log_always_says_what_the_whole_log_says(
    events: list[Event], more: list[Body], policy: CompactionPolicy, over: bool, step: int
) -> None:
    events = number([*(event.body for event in events), *more])
    thin = figures_of(events, step=step).events()
    assert len(thin) <= len(events)
    whole, found = read_record(events), read_record(thin)
    assert found == whole
    plan = SETUP.plan(events)
    assert decide_compaction(plan, thin, found, policy, headless=False, turn_over=over) == decide_compaction(
        plan, events, whole, policy, headless=False, turn_over=over
    )
    assert forecast_compaction(plan, thin, found, policy, turn_over=over) == forecast_compaction(
        plan, events, whole, policy, turn_over=over
    )
    assert _cut(thin, plan, policy) == _cut(events, plan, policy)


def _cut(events: Sequence[Event], plan: ContextPlan, policy: CompactionPolicy) -> object:
    try:
        return select_range(plan, events, policy, SETUP.limits, SETUP.counter)
    except CompactionRefused as refused:
        return str(refused)


@given(
    st.lists(st.integers(0, 10**6), min_size=1, max_size=3_000),
    st.lists(st.tuples(st.integers(0, 2_999), st.booleans()), max_size=5),
    st.integers(2, 700),
)
def test_a_thinned_curve_keeps_now_the_highest_and_every_mark(
    sizes: list[int], marks: list[tuple[int, bool]], most: int
) -> None:
    curve = Curve(tuple(sizes), tuple(CompactionMark(at % len(sizes), undone) for at, undone in marks), len(sizes))
    thin = thinned_curve(curve, most)
    assert len(thin.sizes) <= most
    assert thin.sizes[-1] == sizes[-1]
    assert max(thin.sizes) == max(sizes)
    assert {mark.undone for mark in thin.marks} == {mark.undone for mark in curve.marks}
    assert all(0 <= mark.at < len(thin.sizes) for mark in thin.marks)
    assert thinned_curve(curve, len(sizes)) is curve


def test_the_curve_has_one_size_a_turn_and_one_more_before_a_compaction() -> None:
    bodies: list[Body] = [UserMessage("a"), Usage("m", 5, 10), Usage("m", 15, 20), AssistantMessage("b", "r")]
    bodies += [Compaction(1, 4, "so far"), Usage("m", 6, 7), UserMessage("c"), Usage("m", 8, None), Revert(5)]
    figures = figures_of(number(bodies))
    curve = figures.curve(read_record(figures.events()), 30, 100, 200)
    assert curve == Curve((20, 7, 8, 30), (CompactionMark(0, True),), 2, 100, 200, ends=(3, 6, 8))


def test_a_log_of_a_hundred_thousand_events_leaves_a_short_curve_and_a_short_log() -> None:
    bodies: list[Body] = []
    for at in range(12_500):
        bodies += [UserMessage("q"), *[AssistantMessage("a", f"r{at}")] * 6, Usage("m", at, at)]
    figures = figures_of(number(bodies), step=50_000)
    assert len(figures.events()) == 12_501
    assert len(figures.curve(read_record(figures.events()), 5, 0, 0).sizes) <= POINTS


def test_an_empty_session_has_nothing_to_compact_and_says_why() -> None:
    made = seen([])
    assert made.nothing == "the conversation is empty"
    assert made.last is None
    assert made.metrics.made == 0
    assert made.curve.sizes == (made.tokens,)


def test_a_failure_is_shown_until_a_compaction_comes_after_it() -> None:
    bodies = [*turns(3, 50), Failure("compaction", "timeout: the model took too long")]
    made = seen(number(bodies))
    assert made.failed is not None
    assert made.failed.kind == "timeout"
    assert seen(number([*bodies, Compaction(1, 2, "so far")])).failed is None


async def test_a_compaction_looked_at_later_has_the_audit_it_was_made_with() -> None:
    made = compactor()
    events = number(work(8))
    draft = await drafted(made, events, digest=True)
    log = appended(events, made.body(draft))
    entry = read_record(log).entries[0]
    looked = audit_again(made.setup, log, entry)
    assert looked.lost == draft.audit.lost
    assert looked.kept == len(draft.audit.kept)
    assert looked.summary == draft.summary
    assert {fact.event for fact in looked.lost} == set(looked.seqs)
    again = await drafted(made, [*log, *_later(work(6, first=9), len(log))], digest=True)
    longer = appended([*log, *_later(work(6, first=9), len(log))], made.body(again))
    second = audit_again(made.setup, longer, read_record(longer).entries[1])
    assert second.lost == again.audit.lost
    assert second.forgotten == again.audit.forgotten


async def test_of_an_encrypted_summary_nobody_says_what_it_lost() -> None:
    log = number([*work(4), Compaction(1, 6, "[the summary is encrypted]", meta={"made_by": "Codex", "sealed": True})])
    with pytest.raises(
        Refused, match="encrypted: the model can read it, but what it kept and lost cannot be shown here"
    ):
        audit_again(compactor().setup, log, read_record(log).entries[0])


def _later(bodies: Sequence[Body], after: int) -> list[Event]:
    return [Event(seq, f"e{seq:05d}", 0, body) for seq, body in enumerate(bodies, after + 1)]


@pytest.mark.parametrize("over", [True, False])
def test_it_says_what_comes_next_and_what_can_be_undone(over: bool) -> None:
    made = seen(number([*turns(3, 50), Compaction(1, 2, "so far")]), turn_over=over)
    assert made.mode == "confirm"
    assert [name for name, _ in made.decision.checks.named] == ["threshold", "left out", "overflow"]
    assert (made.metrics.made, made.metrics.by_status.get("reverted", 0)) == (1, 0)
    assert made.last is not None
    assert made.forecast.limit == 16_000
    assert made.curve.limit == 16_000


def test_what_would_be_summarised_has_the_figures_of_the_preview() -> None:
    events = log([*talk(8), summary(3, 6)])
    preview = compactor().preview(events, "manual")
    assert preview.selected.previous, "a summary is part of it"
    [(_, said), *_] = preview_rows(preview)
    would = seen(events).would.partition(", and keep")[0]
    assert said.startswith(f"{would}: ")
    assert f" and 1 earlier summary with {preview.source_tokens:,} tokens, events " in would


@settings(max_examples=40)
@given(st.integers(0, 7), st.integers(0, 6), st.booleans())
def test_the_pane_always_says_what_the_question_says(size: int, summarised: int, open_turn: bool) -> None:
    bodies: list[Body] = talk(size)
    bodies += [Compaction(1, len(bodies) * summarised // 6, "so far")] if summarised and bodies else []
    events = log([*bodies, UserMessage("and now?")] if open_turn else bodies)
    shown = seen(events)
    if shown.nothing:
        with pytest.raises(CompactionRefused, match=re.escape(f"nothing to compact: {shown.nothing}")):
            compactor(made=SETUP).preview(events, "manual")
    else:
        compactor(made=SETUP).preview(events, "manual")
        assert shown.would
