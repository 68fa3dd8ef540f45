"""What all tests share: no deadline for random tests, no touching of the user's own folders, a lazy collector."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator
from pathlib import Path

import pytest
from coverage import Coverage
from hypothesis import HealthCheck, settings

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("workbench", max_examples=30, deadline=None, suppress_health_check=SLOW)
settings.register_profile("thorough", max_examples=1_000, deadline=None, suppress_health_check=SLOW)
settings.load_profile("workbench")

# A screen makes hundreds of thousands of small objects, and a test process holds millions that stay: looking through
# them as often as Python does by default is a third of the time.
gc.set_threshold(50_000, 20, 50)


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test has a config and a data folder of its own, and no knobs from the environment."""
    for name in [name for name in os.environ if name.startswith("WORKBENCH_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("WORKBENCH_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("WORKBENCH_DATA_DIR", str(tmp_path / "data"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Coverage is counted where single cases say what happens; with it, random cases and screens take twice the time.

    pytest-cov has a marker for that, but in the processes of pytest-xdist there are two counts, one below the other,
    and it stops one of them.
    """
    is_random = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    stopped: list[Coverage] = []
    if is_random or "/tui/" in item.nodeid or item.get_closest_marker("long"):
        while (count := Coverage.current()) is not None:
            count.stop()
            stopped.append(count)
    try:
        return (yield)
    finally:
        for count in reversed(stopped):
            count.start()
