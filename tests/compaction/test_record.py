"""The record: what a log says about compactions, read from its events alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.deciding import failure
from support.logs import logs, number
from support.requirements import requirement
from support.talk import named_turns
from workbench.compaction.metrics import count_metrics
from workbench.compaction.record import (
    CompactionDetails,
    CompactionRecord,
    CompactionRecordReader,
    read_details,
    read_record,
)
from workbench.context.control import in_effect
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Event,
    Failure,
    Override,
    Revert,
    ToolCall,
    UserMessage,
)


def compaction(first: int, last: int, **meta: Any) -> Compaction:
    return Compaction(first, last, "so far", meta=meta)


def statuses(bodies: list[Body]) -> list[tuple[int, str, int | None]]:
    return [(entry.event.seq, entry.status, entry.by) for entry in read_record(number(bodies)).entries]


def test_an_empty_log_has_an_empty_record() -> None:
    found = read_record([])
    assert (found.entries, found.failures, found.covered, found.tried, found.turns) == ((), (), 0, 0, 0)
    assert count_metrics(found).made == 0


# What became of a compaction


def test_a_compaction_stands_until_it_is_replaced_or_reverted() -> None:
    talk = named_turns([1, 2, 3, 4])
    assert statuses([*talk, compaction(1, 4)]) == [(9, "standing", None)]
    assert statuses([*talk, compaction(1, 4), compaction(1, 6)]) == [(9, "replaced", 10), (10, "standing", None)]
    assert statuses([*talk, compaction(1, 4), Revert(9)]) == [(9, "reverted", 10)]
    assert statuses([*talk, compaction(1, 4), Revert(9), Revert(10)]) == [(9, "standing", None)]


def test_a_replaced_one_stands_again_when_its_replacement_is_reverted() -> None:
    log = [*named_turns([1, 2, 3]), compaction(1, 2), compaction(1, 4), Revert(8)]
    assert statuses(log) == [(7, "standing", None), (8, "reverted", 9)]


def test_of_several_later_ranges_the_first_one_replaced_it() -> None:
    log = [*named_turns([1, 2, 3]), compaction(1, 2), compaction(1, 4), compaction(1, 6)]
    assert statuses(log) == [(7, "replaced", 8), (8, "replaced", 9), (9, "standing", None)]


@given(logs(most=16))
def test_what_the_record_calls_standing_is_what_the_plan_uses(log: list[Event]) -> None:
    found = read_record(log)
    stands = in_effect([event for event in log if isinstance(event.body, (Compaction, Revert, Override))]).compactions
    assert found.active == stands
    assert {entry.event.seq for entry in found.entries if entry.status == "standing"} == {e.seq for e in stands}
    assert found.counted == sum(entry.status != "reverted" for entry in found.entries)
    assert len(found.entries) == sum(isinstance(event.body, Compaction) for event in log)


# What has happened since


def test_turns_count_from_the_end_of_the_range_that_stands() -> None:
    talk = named_turns([1, 2, 3])
    assert read_record(number(talk)).turns == 3
    found = read_record(number([*talk, compaction(1, 4), *named_turns([4])]))
    assert (found.covered, found.turns) == (4, 2)
    reverted = read_record(number([*talk, compaction(1, 4), *named_turns([4]), Revert(7)]))
    assert (reverted.covered, reverted.turns) == (0, 4)


def test_a_range_that_claims_to_reach_beyond_its_compaction_does_not() -> None:
    found = read_record(number([*named_turns([1]), compaction(1, 99), *named_turns([2])]))
    assert (found.covered, found.turns) == (2, 1)


@pytest.mark.parametrize(
    ("last", "tried", "reshaped"),
    [
        ([], 7, 7),
        ([Revert(7)], 8, 8),
        ([Revert(7), Revert(8)], 9, 9),
        ([failure()], 8, 7),
        ([Failure("hook", "it broke")], 7, 7),
        ([Override("pin", 1, 1), Revert(8)], 7, 7),
        ([Revert(3)], 7, 7),
    ],
    ids=["made", "undone", "redone", "failed", "another failure", "another undo", "a revert of nothing"],
)
def test_the_cool_down_counts_from_the_last_compaction_undo_redo_or_failure(
    last: list[Body], tried: int, reshaped: int
) -> None:
    found = read_record(number([*named_turns([1, 2, 3]), compaction(1, 4), *last, UserMessage("next")]))
    assert (found.tried, found.reshaped, found.turns_since_tried) == (tried, reshaped, 1)


def test_failures_in_a_row_end_with_a_compaction() -> None:
    rows: list[Body] = [failure(), failure("model"), compaction(1, 2), failure("freed")]
    found = [read_record(number([*named_turns([1]), *rows[:count]])).failures_in_a_row for count in range(5)]
    assert found == [0, 1, 2, 0, 1]


def test_a_compaction_that_was_undone_was_still_a_success() -> None:
    assert read_record(number([*named_turns([1]), failure(), compaction(1, 2), Revert(4)])).failures_in_a_row == 0


def test_nothing_to_summarise_is_no_failure_of_the_breaker() -> None:
    found = read_record(number([*named_turns([1]), failure("nothing"), failure("nothing"), failure("nothing")]))
    assert found.failures_in_a_row == 0
    assert count_metrics(found).failures == {"nothing": 3}


@pytest.mark.parametrize("said", [UserMessage("so?"), AssistantMessage("well"), ToolCall("a", "run", "{}")])
def test_attempts_count_until_somebody_says_something(said: Body) -> None:
    log = [*named_turns([1]), failure(), compaction(1, 2)]
    assert read_record(number(log)).attempts == 2
    assert read_record(number([*log, said])).attempts == 0


def test_the_kind_of_a_failure_is_the_word_before_the_colon() -> None:
    bodies = [Failure("compaction", text) for text in ("too_long: 9,000 tokens: 2,000 allowed", "huh: what", "plain")]
    found = read_record(number(bodies)).failures
    assert [(one.kind, one.message) for one in found] == [
        ("too_long", "9,000 tokens: 2,000 allowed"),
        ("other", "huh: what"),
        ("other", "plain"),
    ]


# What a compaction noted about itself

FULL = {
    "trigger": "threshold",
    "why": "84,210 of 120,000",
    "model": "gpt-4o",
    "made_by": "gpt-4o",
    "prompt_hash": "abc",
    "seconds": 2.5,
    "cost": 0.01,
    "ratio": 12,
    "request_ratio": 2.5,
    "score": 0.75,
    "tokens_before": 1_000,
    "tokens_after": 400,
    "source_tokens": 720,
    "summary_tokens": 60,
    "kept_tokens": 10,
    "facts_kept": 3,
    "facts_lost": 1,
    "events": 20,
    "first_at": 1,
    "last_at": 2,
    "first_turn": 1,
    "last_turn": 5,
}


def test_every_note_is_read() -> None:
    found = read_details(FULL)
    assert {name: getattr(found, name) for name in CompactionDetails.__struct_fields__} == FULL
    assert found.freed == 600
    assert read_details({"tokens_before": 40, "tokens_after": 60}).freed == 0


JUNK = st.one_of(st.none(), st.booleans(), st.lists(st.integers()), st.just(float("inf")), st.just(10**400))


@given(st.dictionaries(st.sampled_from(sorted(FULL)), JUNK), st.sets(st.sampled_from(sorted(FULL))))
def test_what_is_absent_or_of_the_wrong_type_is_none(junk: dict[str, Any], absent: set[str]) -> None:
    found = read_details({**{name: value for name, value in FULL.items() if name not in absent}, **junk, "else": 1})
    for name, value in FULL.items():
        assert getattr(found, name) == (None if name in junk or name in absent else value)


def test_a_number_is_no_text_and_a_text_no_number() -> None:
    assert read_details({"trigger": 3, "tokens_before": "3", "events": 1.5, "cost": "1"}) == CompactionDetails()


# The counters


@requirement("codex", "shown", "compactions are counted, with their failures")
def test_metrics_count_by_trigger_kind_and_status() -> None:
    log: list[Body] = [
        *named_turns([1, 2, 3]),
        compaction(1, 2, **FULL),
        failure("empty"),
        failure("empty"),
        compaction(1, 4, **{**FULL, "trigger": "turns", "ratio": 4.0, "seconds": 1.5, "made_by": "digest"}),
        compaction(5, 6, **{**FULL, "cost": None}),
        Revert(11),
        compaction(5, 6),
        failure("larger"),
    ]
    found = count_metrics(read_record(number(log)))
    assert found.made == 4
    assert found.by_trigger == {"threshold": 2, "turns": 1, "unknown": 1}
    assert found.by_status == {"standing": 2, "replaced": 1, "reverted": 1}
    assert found.failures == {"empty": 2, "larger": 1}
    assert found.digests == 1
    assert found.seconds == pytest.approx((3, 1.5, 6.5 / 3, 2.5))
    assert found.ratios == pytest.approx((3, 4.0, 28 / 3, 12))
    assert found.freed == 1_200, "what was taken back frees nothing"
    assert found.cost == pytest.approx(0.02)
    assert found.uncosted == 2
    unknown = count_metrics(read_record(number([*named_turns([1]), compaction(1, 2)])))
    assert unknown.freed is None
    assert count_metrics(CompactionRecord()).freed == 0


# A log that grows


@given(logs(), st.data())
def test_a_log_read_in_pieces_gives_the_same_record_at_every_step(log: list[Event], data: st.DataObject) -> None:
    reader = CompactionRecordReader()
    while reader.length < len(log):
        upto = data.draw(st.integers(reader.length + 1, len(log)))
        reader.read_events(log[reader.length : upto])
        assert reader.record() == read_record(log[:upto])
