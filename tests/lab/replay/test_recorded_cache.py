"""What reports show of the provider's cache holds under every policy: one that changes nothing costs what was paid."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.replay.test_lab_source import KEEP_ONE
from lab.replay.test_unattributed import lab
from support.recordings import file_cases
from support.talk import iteration, words
from workbench.context.policy_names import RECORDED
from workbench.lab.caching import CacheUse
from workbench.lab.replay.lab_source import LabSource
from workbench.lab.replay.recorded_cache import RecordedCache, ReportedRequest, reported_use
from workbench.lab.values import PolicyRun
from workbench.log.events import Body, Compaction, Override, Revert, Usage, UserMessage
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.sources.source import Source

MODEL = "claude-sonnet-4-5"
tokens = st.integers(0, 50_000)


def session(uses: Sequence[tuple[int, int, int]]) -> LabSource:
    """Iterations of 300 words, each with what was read, written and neither."""
    said: list[Body] = [UserMessage(words(2_000))]
    for at, (read, written, plain) in enumerate(uses):
        said += iteration(f"c{at}", words(300, f"w{at}"))
        said.append(Usage(MODEL, 0, read + written + plain, cached=read, cache_write=written, completion=5))
    return lab(*said, model=MODEL)


def sizes(run: PolicyRun) -> list[int]:
    return [point.tokens for point in run.points]


HELD = [(0, 3_000, 10), (3_000, 400, 10), (3_400, 400, 10), (3_800, 400, 10)]
LOST = [*HELD[:2], (0, 3_800, 10), HELD[3]]


def test_a_cache_that_the_provider_lost_is_lost_under_every_policy() -> None:
    source = session(LOST)
    then, now = source.run_policy(RECORDED), source.run_policy("confirm")
    assert sizes(then) == sizes(now)
    assert [point.cache_read for point in now.points] == [0, 3_000, 0, 3_800]
    assert then.cost == now.cost
    assert source.recorded_cache.losses == 1
    masked = source.run_policy("workbench", (*KEEP_ONE, "masking.min_tokens=0", "masking.batch_tokens=0"))
    assert masked.tokens < then.tokens
    assert masked.points[2].cache_read == 0


def test_an_agent_that_marks_nothing_for_the_cache_has_none_under_any_policy() -> None:
    source = session([(0, 0, 3_010), (0, 0, 3_410), (0, 0, 3_810)])
    made = source.run_policy("confirm")
    assert [(point.cache_read, point.cache_written) for point in made.points] == [(0, 0)] * 3
    assert made.cost == source.run_policy(RECORDED).cost


def test_what_was_too_short_to_be_cached_shows_how_short_is_too_short() -> None:
    uses = [CacheUse(0, 0, 3_900), CacheUse(0, 5_000, 3), CacheUse(5_000, 800, 3)]
    cache = RecordedCache(
        [ReportedRequest(use, shared) for use, shared in zip(uses, (0, 3_900, 5_000), strict=True)], 5
    )
    assert cache.use_of(3, 3_800, 3_500) == CacheUse(0, 0, 3_800)
    assert cache.use_of(3, 4_500, 4_200).read == 4_200


def test_after_a_compaction_of_the_agent_the_cache_of_others_is_whole() -> None:
    """A request that shares less with the one before reads less, and that is no loss."""
    cache = RecordedCache([ReportedRequest(CacheUse(9_000, 1_000, 0), 9_000)], 5)
    assert cache.losses == 0
    assert cache.use_of(1, 60_000, 59_000) == CacheUse(59_000, 1_000)


@given(st.lists(st.tuples(tokens, tokens, tokens, st.integers(0, 100), tokens), min_size=1), tokens, tokens)
def test_the_same_request_uses_the_cache_as_recorded_and_any_other_in_full(
    told: list[tuple[int, int, int, int, int]], size: int, shared: int
) -> None:
    requests = []
    for read, written, plain, hours, before in told:
        report = Usage(
            "m", 0, read + written + plain, cached=read, cache_write=written, cache_hour=written * hours // 100
        )
        requests.append(
            ReportedRequest(reported_use(report, read + written + plain), min(before, read + written + plain))
        )
    cache = RecordedCache(requests, 5)
    for number, then in enumerate(requests, 1):
        assert cache.use_of(number, sum(then.use[:3]), then.shared) == then.use
        use = cache.use_of(number, size, min(size, shared))
        assert sum(use[:3]) == size
        assert min(use) >= 0
        assert use.hour <= use.written
        if then.is_lost:
            assert use.read <= then.use.read


@pytest.mark.parametrize("file", file_cases())
def test_in_every_recording_what_sends_the_same_costs_the_same(file: Path) -> None:
    with Services() as services:
        for source in services.sources(str(file))[:20]:
            made = LabSource(services, Options(), source)
            then = made.run_policy(RECORDED)
            for policy in ("confirm", "window"):
                now = made.run_policy(policy)
                if not (decided(source) or now.cut or now.masked or now.dropped or now.compactions):
                    # An answer may be sent again with other blanks between the arguments of its calls.
                    assert sizes(now) == pytest.approx(sizes(then), rel=0.002)
                    assert now.cost == pytest.approx(then.cost, abs=0.005)
                if sizes(now) == sizes(then) and not now.compactions:
                    assert now.cost == pytest.approx(then.cost, abs=0.005)
                    assert [point[:6] for point in now.points] == [point[:6] for point in then.points]


def decided(source: Source) -> bool:
    """Whether its agent or user made room: no policy does that in the same way."""
    return any(isinstance(event.body, Compaction | Override | Revert) for event in source.events)
