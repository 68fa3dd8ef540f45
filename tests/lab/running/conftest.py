"""A cluster for the tests that need one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.running.cluster_sample import Cluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Of one worker, ready or about to be: tasks wait for it."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    made = Cluster(folder, 1)
    yield made
    made.close()
