"""What a provider's cache would have had, and the price."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.lab.caching import HOUR, LEAST, CacheRules, CacheUse, cache_rules, minutes_kept, request_price
from workbench.log.events import Usage
from workbench.models.catalogue import Catalogue

MINUTE = 60_000


@given(st.integers(0, 100_000), st.integers(0, 100_000), st.integers(0, 10 * MINUTE), st.sampled_from([1, 64, 128]))
def test_every_token_is_read_or_written_or_plain(size: int, same: int, idle: int, step: int) -> None:
    use = CacheRules(step).cache_use(size, same, idle)
    assert sum(use) == size
    assert min(use) >= 0
    assert use.read <= min(size, same)
    assert use.read == 0 or (same >= LEAST and idle <= 5 * MINUTE)


@pytest.mark.parametrize(
    ("model", "same", "idle", "read"),
    [
        ("gpt-4o", 5_000, 0, 4_992),
        ("claude-sonnet-4-5", 5_000, 0, 5_000),
        ("claude-sonnet-4-5", 1_000, 0, 0),
        ("claude-sonnet-4-5", 5_000, 6 * MINUTE, 0),
    ],
)
def test_providers_have_their_own_rules(model: str, same: int, idle: int, read: int) -> None:
    assert cache_rules(Catalogue().find_model(model)).cache_use(6_000, same, idle) == CacheUse(read, 6_000 - read)


def test_what_is_kept_for_an_hour_is_read_after_minutes_and_costs_more_to_write() -> None:
    claude = Catalogue().find_model("claude-sonnet-4-5")
    rules = cache_rules(claude, HOUR)
    assert rules.cache_use(6_000, 5_000, 59 * MINUTE) == CacheUse(5_000, 1_000, 0, hour=1_000)
    assert rules.cache_use(6_000, 5_000, 61 * MINUTE) == CacheUse(0, 6_000, 0, hour=6_000)
    assert request_price(claude, CacheUse(0, 1_000, 0, hour=1_000), 0) == pytest.approx(0.006)


@pytest.mark.parametrize(("hours", "minutes"), [((), 5), ((0, 0), 5), ((0, 9_000), 60), ((400, 100), 5)])
def test_an_agent_keeps_its_cache_as_long_as_it_keeps_most_of_it(hours: tuple[int, ...], minutes: int) -> None:
    assert minutes_kept(Usage("m", 0, 2_000, cache_write=500 + hour, cache_hour=hour) for hour in hours) == minutes


def test_what_is_written_costs_more_where_the_provider_says_so() -> None:
    claude, gpt = Catalogue().find_model("claude-sonnet-4-5"), Catalogue().find_model("gpt-4o")
    assert request_price(claude, CacheUse(1_000, 1_000, 1_000), 100) == pytest.approx(0.0003 + 0.00375 + 0.003 + 0.0015)
    assert request_price(gpt, CacheUse(1_000, 1_000, 1_000), 100) == pytest.approx(0.00125 + 0.0025 + 0.0025 + 0.001)
