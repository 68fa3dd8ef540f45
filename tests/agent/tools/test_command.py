"""Commands: output, status, time limit; and nothing that they started outlives them."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from support.waiting import GIVE_UP, WaitLimit
from workbench.agent.tools import process
from workbench.agent.tools.base import ToolContext, ToolLimits, ToolOutcome
from workbench.agent.tools.command import user_shell
from workbench.agent.tools.registry import Toolbox

Use = Callable[..., Awaitable[ToolOutcome]]


def is_running(pid: int) -> bool:
    """Whether a process is there and not merely waiting to be collected."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat")
        return not state.parent.parent.exists() or state.read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (ProcessLookupError, FileNotFoundError):
        return False


async def until(what: Callable[[], bool]) -> bool:
    """Wait for something, for a limited time."""
    limit = WaitLimit()
    while not what():
        if limit.is_over:
            return False
        await asyncio.sleep(0.01)
    return True


def written(path: Path, lines: int) -> list[int]:
    """The numbers in a file, once it has so many lines."""
    text = path.read_text() if path.exists() else ""
    return [int(line) for line in text.split()] if text.count("\n") >= lines else []


async def test_output_and_status_come_back(root: Path, use: Use) -> None:
    assert await use("run_command", command="pwd; echo oops >&2") == ToolOutcome(f"{root}\noops\n[exit status 0]")
    assert await use("run_command", command="printf x; exit 3") == ToolOutcome("x\n[exit status 3]", True)
    assert await use("run_command", command="true") == ToolOutcome("[exit status 0]")
    assert await use("run_command", command="kill -9 $$") == ToolOutcome("[ended by signal SIGKILL]", True)


async def test_a_command_has_no_input_and_no_terminal(use: Use) -> None:
    assert (await use("run_command", command="cat; test -t 0 || echo none")).text == "none\n[exit status 0]"


async def test_output_is_told_as_it_comes(root: Path) -> None:
    told: list[str] = []
    seen = asyncio.Event()

    def report(text: str) -> None:
        told.append(text)
        seen.set()

    command = "printf 'first\\303'; while [ ! -e go ]; do sleep 0.02; done; printf '\\251'"
    running = asyncio.create_task(
        Toolbox(root).run_tool("run_command", json.dumps({"command": command}), ToolContext(report=report))
    )
    await asyncio.wait_for(seen.wait(), GIVE_UP)
    assert "".join(told) == "first"
    (root / "go").touch()
    assert (await running).text == "firsté\n[exit status 0]"
    assert "".join(told) == "firsté"


async def test_a_flood_of_output_is_bounded(use: Use) -> None:
    outcome = await use("run_command", command="seq 1 300000", limits=ToolLimits(output_bytes=40))
    whole = "".join(f"{number}\n" for number in range(1, 300_001))
    marker = f"[... left out {len(whole) - 40} of {len(whole)} bytes ...]\n"
    assert outcome.text == f"{whole[:20]}\n{marker}{whole[-20:]}[exit status 0]"


async def test_past_its_time_a_command_is_stopped_with_all_it_started(root: Path, use: Use) -> None:
    command = "echo $$ > pids; (trap '' TERM; sh -c 'echo $$ >> pids; exec sleep 1000') & sleep 1000"
    outcome = await use("run_command", command=command, timeout=4)
    assert outcome == ToolOutcome("[stopped after 4 s, with all it had started]", True)
    pids = written(root / "pids", 2)
    assert len(pids) == 2
    assert await until(lambda: not any(map(is_running, pids)))


async def test_cancelling_ends_grandchildren_that_do_not_listen(
    root: Path, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "GRACE", 0.2)
    # A grandchild that ignores SIGTERM, in the background of a child.
    inner = "trap '' TERM; echo $$ >> pids; while :; do sleep 0.05; done"
    (root / "inner.sh").write_text(inner)
    command = "echo $$ > pids; (sh -c 'echo $$ >> pids; sh inner.sh & wait') & wait"
    running = asyncio.ensure_future(use("run_command", command=command))
    assert await until(lambda: len(written(root / "pids", 3)) == 3)
    pids = written(root / "pids", 3)
    assert all(map(is_running, pids))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await until(lambda: not any(map(is_running, pids)))


async def test_a_second_cancel_ends_it_at_once(root: Path, use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE", 3600)
    command = "trap '' TERM; echo $$ > pids; while :; do sleep 0.05; done"
    running = asyncio.ensure_future(use("run_command", command=command))
    assert await until(lambda: len(written(root / "pids", 1)) == 1)
    (pid,) = written(root / "pids", 1)
    running.cancel()
    await asyncio.sleep(0)  # the first one is on its way
    await asyncio.sleep(0)
    assert is_running(pid)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await until(lambda: not is_running(pid))


async def test_what_is_left_in_the_background_is_ended(root: Path, use: Use) -> None:
    outcome = await use("run_command", command="sleep 1000 & echo $! > pids; echo done")
    assert outcome.text == "done\n[exit status 0; processes left in the background were ended]"
    (pid,) = written(root / "pids", 1)
    assert await until(lambda: not is_running(pid))


async def test_one_that_left_the_group_and_holds_the_pipe_does_not_hold_us(root: Path, use: Use) -> None:
    command = "setsid sh -c 'echo $$ > pids; exec sleep 1000' & while [ ! -s pids ]; do sleep 0.02; done; echo done"
    outcome = await asyncio.wait_for(use("run_command", command=command), GIVE_UP)
    assert outcome.text.startswith("done\n[exit status 0")
    (pid,) = written(root / "pids", 1)
    os.kill(pid, 9)


async def test_a_command_that_cannot_start_is_an_outcome(root: Path, use: Use) -> None:
    assert (await use("run_command", command="a\0b")).text.startswith("command: cannot be started: ")
    assert (await use("run_command", command="x" * 3_000_000)).text.startswith("command: cannot be started: ")
    root.rmdir()
    assert (await use("run_command", command="true")).is_error


async def test_the_time_asked_for_has_a_limit(use: Use) -> None:
    outcome = await use("run_command", command="true", timeout=11, limits=ToolLimits(max_command_seconds=10))
    assert outcome == ToolOutcome("timeout: expected a number up to 10, got 11", True)


def test_the_model_is_told_the_time_that_it_gets_unasked(root: Path) -> None:
    limits = ToolLimits(command_seconds=120, max_command_seconds=10)
    [tool] = [each["function"] for each in Toolbox(root, limits=limits).definitions() if "timeout" in str(each)]
    assert tool["parameters"]["properties"]["timeout"]["description"] == "seconds, default 10"


def test_the_users_shell_is_used_where_it_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/bash")
    assert user_shell() == "/bin/bash"
    for other in ("/bin/false", "/nowhere/zsh", ""):
        monkeypatch.setenv("SHELL", other)
        assert user_shell() == "/bin/sh"


async def test_no_pipe_or_process_is_left_open(use: Use) -> None:
    await use("run_command", command="true")
    before = len(os.listdir("/dev/fd"))
    for _ in range(5):
        await use("run_command", command="echo x")
    assert len(os.listdir("/dev/fd")) == before
