"""The window that a complaint of the provider leaves us with."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.models.failures import ModelFailure


def too_long(limit: int | None = None, asked: int | None = None) -> ModelFailure:
    return ModelFailure("context_too_long", "no.", limit=limit, asked=asked)


def test_the_providers_figure_is_taken() -> None:
    assert too_long(8_192).window(10_000, 128_000) == 8_192


def test_a_provider_that_counts_more_tokens_than_we_do_is_followed_in_ours() -> None:
    assert too_long(10_000, 12_500).window(10_000, 10_000) == 8_000


def test_without_a_figure_the_window_is_below_what_was_sent() -> None:
    assert too_long().window(10_000, 128_000) == 9_000


SIZES = st.integers(1, 10_000_000)


@given(st.none() | SIZES, st.none() | SIZES, SIZES, SIZES)
def test_the_window_always_shrinks_until_nothing_is_left(
    limit: int | None, asked: int | None, sent: int, room: int
) -> None:
    window = sent + room
    found = too_long(limit, asked).window(sent, window)
    assert 1 <= found <= max(window - 1, 1)
