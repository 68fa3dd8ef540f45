"""A program runs to its end, and what it writes goes where the caller wants it."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from workbench.agent.tools import process
from workbench.agent.tools.process import run_process

BOTH = [sys.executable, "-c", "import sys; print('out', flush=True); print('err', file=sys.stderr); sys.exit(3)"]


@pytest.fixture(autouse=True, params=[True, False], ids=["by the loop", "by threads"])
def _reading(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pipes are read by the event loop, or as on Windows by threads."""
    monkeypatch.setattr(process, "LOOPS_READ_PIPES", request.param)


async def test_standard_error_is_part_of_the_output_unless_it_is_wanted_apart(tmp_path: Path) -> None:
    together: list[bytes] = []
    ended = await run_process(BOTH, cwd=tmp_path, seconds=60, output=together.append)
    assert (ended.status, ended.timed_out) == (3, False)
    assert b"".join(together).splitlines() == [b"out", b"err"]
    output: list[bytes] = []
    errors: list[bytes] = []
    await run_process(BOTH, cwd=tmp_path, seconds=60, output=output.append, errors=errors.append)
    assert (b"".join(output).strip(), b"".join(errors).strip()) == (b"out", b"err")


async def test_a_program_reads_what_it_is_given(tmp_path: Path) -> None:
    found: list[bytes] = []
    repeats = [sys.executable, "-c", "import sys; print(repr(sys.stdin.read()))"]
    await run_process(repeats, cwd=tmp_path, seconds=60, output=found.append, stdin=b"hello")
    await run_process(repeats, cwd=tmp_path, seconds=60, output=found.append)
    assert b"".join(found).splitlines() == [b"'hello'", b"''"]


async def test_a_process_that_left_the_group_and_keeps_the_pipe_is_not_waited_for(tmp_path: Path) -> None:
    found: list[bytes] = []
    leaves = "import subprocess; print(subprocess.Popen(['sleep', '1000'], start_new_session=True).pid, flush=True)"
    ended = await run_process([sys.executable, "-c", leaves], cwd=tmp_path, seconds=60, output=found.append)
    os.kill(int(b"".join(found)), signal.SIGKILL)
    assert (ended.status, ended.timed_out, ended.left_behind) == (0, False, False)
