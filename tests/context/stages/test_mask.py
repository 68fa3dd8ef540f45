"""Mask: the middle results become markers; with batches, only when that frees enough at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.requirements import requirement
from support.talk import ROOMY, iterations, planned, preset, results, rows_of, states, words
from workbench.config.values import replace
from workbench.context.policy import MaskingPolicy
from workbench.context.stages.mask import MaskWindow, mask_marker
from workbench.log.events import AssistantMessage, Compaction, Override, UserMessage

GO = UserMessage("go")


def feed(policy: MaskingPolicy, freed: list[int], window: int = 100_000) -> tuple[MaskWindow, list[range]]:
    """A window that has seen these results, and what each of them masked."""
    account = MaskWindow(policy, window)
    return account, [account.add_result(each) for each in freed]


keeps = st.integers(0, 4)
sizes = st.lists(st.integers(-20, 300), max_size=40)


@given(keeps, keeps, sizes)
def test_without_batches_all_but_the_first_and_the_last_are_masked(first: int, last: int, freed: list[int]) -> None:
    account, fresh = feed(MaskingPolicy(first, last), freed)
    masked = [number for each in fresh for number in each]
    expected = range(first, len(freed) - last) if first or last else range(0)
    assert masked == list(expected)
    assert account.upto == max(first, len(freed) - last) if first or last else account.upto == 0


@given(keeps, keeps, st.lists(st.integers(0, 300), max_size=40), st.integers(1, 1_000))
def test_a_batch_is_masked_at_once_and_as_soon_as_it_frees_enough(
    first: int, last: int, freed: list[int], batch: int
) -> None:
    account, fresh = feed(MaskingPolicy(first, last, batch_tokens=batch), freed)
    masked = [number for each in fresh for number in each]
    assert masked == list(range(first, account.upto)), "in order, none left out"
    assert all(sum(freed[number] for number in each) >= batch for each in fresh if each)
    if first or last:
        waiting = range(account.upto, len(freed) - last)
        assert sum(freed[number] for number in waiting) < batch
    else:
        assert not masked


@pytest.mark.parametrize(
    ("tokens", "ratio", "window", "batch"),
    [(20_000, 0.1, 1_000_000, 20_000), (20_000, 0.1, 50_000, 5_000), (700, 0.0, 50_000, 700)],
)
def test_the_smaller_of_tokens_and_share_holds(tokens: int, ratio: float, window: int, batch: int) -> None:
    policy = MaskingPolicy(0, 1, batch_tokens=tokens, batch_ratio=ratio)
    assert feed(policy, [batch - 1, 0], window)[0].upto == 0
    assert feed(policy, [batch, 0], window)[0].upto == 1


def test_without_a_batch_each_is_masked_whatever_the_share_says() -> None:
    assert feed(MaskingPolicy(0, 1, batch_tokens=0, batch_ratio=0.1), [1, 1, 0])[0].upto == 2
    made = planned([GO, *iterations([words(100)] * 9)], preset("workbench", "masking.batch_tokens=0"))
    assert states(results(made)) == ["sent"] * 2 + ["masked"] * 2 + ["sent"] * 5


@requirement(
    "layers",
    "masking",
    "every result between the first and the last is masked",
    decided="but for one that is smaller than its marker",
)
@given(st.lists(st.integers(1, 60), min_size=8, max_size=20), st.sampled_from([0, 30]))
def test_a_result_is_never_masked_into_something_larger(sizes: list[int], batch: int) -> None:
    policy = preset("layers", f"masking.batch_tokens={batch}")
    for row in results(planned([GO, *iterations([words(size) for size in sizes])], policy)):
        assert row.tokens <= row.original_tokens
        assert row.state == "masked" or row.text == row.original


def test_the_marker_has_the_size_and_the_id() -> None:
    assert mask_marker(12_000, "e7") == "[result masked — ~12000 tokens removed] [id e7]"


@requirement("layers", "masking", "masking is applied again before every request")
def test_masking_starts_from_the_log_each_time() -> None:
    log = [GO, *iterations([words(100)] * 9)]
    policy = preset("layers")
    once = planned(log, policy)
    assert planned(log, policy) == once
    wider = planned(log, preset("layers", "masking.keep_last=7"))
    assert set(states(results(wider))) == {"sent"}, "a masked result is not lost"


def test_the_size_is_the_one_before_truncation() -> None:
    made = planned([GO, *iterations([words(9_000)] * 8)], preset("layers"))
    row = results(made)[2]
    assert row.original_tokens == 9_000
    assert row.text is not None
    assert "~9000 tokens" in row.text
    assert [edit.stage for edit in row.edits] == ["truncate", "mask"]
    assert row.edits[1].before == row.edits[0].after <= 8_000
    assert row.edits[1].after == row.tokens


def test_the_reason_has_its_numbers() -> None:
    row = results(planned([GO, *iterations([words(100)] * 9)], preset("layers")))[3]
    assert row.edits[-1].why.startswith(
        "tool result 4 of 9 (of the turn): masking.keep_first and keep_last keep the first 2 and the last 5; 100 tokens"
    )


def test_the_reason_says_why_more_are_kept_than_the_setting_says() -> None:
    policy = preset("workbench", "masking.batch_tokens=300", "masking.batch_ratio=0")
    row = results(planned([GO, *iterations([words(101)] * 13)], policy))[3]
    assert row.state == "masked"
    assert (
        "keep the first 2 and at least the last 5, 7 at this point because it masks in batches that free 300 tokens "
        "(masking.batch_tokens); 101 tokens"
    ) in row.edits[-1].why
    smaller = preset("workbench", "masking.batch_tokens=900", "masking.batch_ratio=0.03")
    narrow = replace(ROOMY, window=10_000)
    row = results(planned([GO, *iterations([words(101)] * 13)], smaller, narrow))[3]
    assert "because it masks in batches that free 300 tokens (masking.batch_ratio)" in row.edits[-1].why


def test_the_reason_counts_what_can_be_masked_and_says_so() -> None:
    log = [GO, *iterations([words(100)] * 21), AssistantMessage("Done."), UserMessage("and now?")]
    whole = results(planned(log, preset("workbench", "masking.batch_tokens=0")))[2]
    assert whole.edits[-1].why.startswith("tool result 3 of 21 (not counting summarised ones): ")
    later = planned([*log, Compaction(1, 23, "eleven results")], preset("workbench", "masking.batch_tokens=0"))
    reasons = [row.edits[-1].why for row in results(later) if row.state == "masked"]
    assert reasons[0].startswith("tool result 3 of 10 (not counting summarised ones): ")


def test_calls_are_never_masked() -> None:
    made = planned([GO, *iterations([words(100)] * 9), Override("mask", 1, 19)], preset("layers"))
    assert set(states(rows_of(made, "tool_call"))) == {"sent"}
    assert set(states(results(made))) == {"masked"}


def test_small_results_are_left_alone_where_the_policy_says_so() -> None:
    policy = preset("layers", "masking.min_tokens=50")
    texts = [words(49), words(50)] * 5
    made = planned([GO, *iterations(texts)], policy)
    assert states(results(made)) == ["sent"] * 3 + ["masked", "sent"] + ["sent"] * 5


def test_an_unmasked_result_stays_and_the_others_do_not_move() -> None:
    log = [GO, *iterations([words(100)] * 9)]
    seq = results(planned(log, preset("layers")))[2].seq
    assert seq is not None
    made = planned([*log, Override("unmask", seq, seq)], preset("layers"))
    assert states(results(made)) == ["sent"] * 3 + ["masked"] + ["sent"] * 5


def test_a_result_that_another_agent_cleared_says_so() -> None:
    talk = [GO, *iterations([words(500), words(500)])]
    made = planned([*talk, Override("mask", 3, 3, "cleared by its agent")], preset("workbench"))
    first, second = results(made)
    assert first.edits[-1].why.startswith("cleared by its agent; 500 tokens replaced")
    assert (first.state, second.state) == ("masked", "sent")
