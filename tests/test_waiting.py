"""Waits of tests give up if nothing moves, and not because a machine is slow."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from support import waiting
from support.waiting import WaitLimit, patiently, processor_share


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, in its only element."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def seconds_until_over(clock: list[float], step: float) -> float:
    limit, began = WaitLimit(), clock[0]
    while not limit.is_over:
        clock[0] += step
    return clock[0] - began


def test_a_quiet_machine_gets_two_minutes(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "processor_share", lambda: 1.0)
    assert seconds_until_over(clock, 0.01) == pytest.approx(120, abs=1)


def test_a_loaded_machine_gets_more(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "processor_share", lambda: 0.1)
    assert seconds_until_over(clock, 0.01) == pytest.approx(1200, abs=10)


def test_a_process_that_was_not_run_does_not_lose_that_time(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "processor_share", lambda: 1.0)
    assert seconds_until_over(clock, 60) > 120 * 60


@pytest.mark.parametrize(
    ("text", "share"), [("9.1 8 7 1/900 77", 1.0), ("9.1 8 7 40/900 77", 0.05), ("nothing", 1.0), ("a b c x/y", 1.0)]
)
def test_the_share_of_a_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, share: float) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    (tmp_path / "loadavg").write_text(text)
    assert processor_share(tmp_path / "loadavg") == share
    assert processor_share(tmp_path / "missing") == 1.0


async def test_what_never_comes_ends_in_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_QUIET_LIMIT", -1)
    with pytest.raises(TimeoutError):
        async with patiently():
            await asyncio.Event().wait()


async def test_what_comes_in_time_is_left_alone() -> None:
    async with patiently():
        await asyncio.sleep(0)
