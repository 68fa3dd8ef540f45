"""The window that a complaint of the provider leaves us with, and what is said of failures."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.models.failures import LEAST_WINDOW, Category, ModelFailure


def too_long(limit: int | None = None, asked: int | None = None) -> ModelFailure:
    return ModelFailure("context_too_long", "no.", limit=limit, asked=asked)


def test_the_providers_figure_is_taken() -> None:
    assert too_long(8_192).window(10_000, 128_000) == (8_192, True)


def test_a_provider_that_counts_more_tokens_than_we_do_is_followed_in_ours() -> None:
    assert too_long(10_000, 12_500).window(10_000, 10_000) == (8_000, True)


@pytest.mark.parametrize(
    ("limit", "asked"),
    [(None, None), (0, None), (1, 5), (LEAST_WINDOW - 1, None), (200_000, None), (200_000, 150_000), (2**40, 2**60)],
)
def test_without_a_figure_that_can_be_true_a_smaller_request_is_a_guess(limit: int | None, asked: int | None) -> None:
    assert too_long(limit, asked).window(10_000, 128_000) == (9_000, False)


SIZES = st.integers(0, 10_000_000)


@given(st.none() | SIZES, st.none() | SIZES, st.integers(1, 10_000_000), st.integers(1, 10_000_000))
def test_the_window_always_shrinks_and_one_that_lasts_is_never_absurd(
    limit: int | None, asked: int | None, sent: int, room: int
) -> None:
    window = sent + room
    found = too_long(limit, asked).window(sent, window)
    assert 1 <= found.tokens <= max(window - 1, 1)
    assert not found.named or found.tokens >= min(LEAST_WINDOW, window // 2)


@pytest.mark.parametrize("category", get_args(Category))
def test_no_failure_promises_what_is_over_or_did_not_happen(category: Category) -> None:
    said = str(ModelFailure(category, "no."))
    for promise in ("tries again", "is planned again", "is kept"):
        assert promise not in said


def test_the_wait_that_the_provider_asks_for_and_the_tries_are_told() -> None:
    failure = ModelFailure("rate_limit", "Slow down.", wait=3_600)
    assert "asks to wait 3,600 s" in str(failure)
    failure.tries = 5
    assert "Given up after 5 tries." in str(failure)
