"""Ids sort by age."""

from __future__ import annotations

import time

import pytest

from workbench.log.ids import IdSource


def test_ids_of_other_processes_sort_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    def made_at(second: int) -> str:
        monkeypatch.setattr(time, "time_ns", lambda: second * 1_000_000_000)
        return IdSource().next()

    ids = [made_at(second) for second in (1, 2, 60, 1_700_000_000)]
    assert ids == sorted(set(ids))


def test_ids_of_one_process_grow_when_the_clock_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([5_000_000_000, 5_000_000_000, 4_000_000_000, 6_000_000_000])
    monkeypatch.setattr(time, "time_ns", lambda: next(clock))
    source = IdSource()
    ids = [source.next() for _ in range(4)]
    assert ids == sorted(set(ids))
