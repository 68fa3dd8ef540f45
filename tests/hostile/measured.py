"""What the program wrote, its exit code and the most memory that it took."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hostile.forks import forked
from support.calls import Outcome

MEGABYTE = 1024 * 1024
ALLOWED = 300 * MEGABYTE
"""What a hostile input may cost beyond the memory of an ordinary run."""
_CEILING = 6_000 * MEGABYTE
"""Of a process, so that a fault does not take the machine along."""


class Measured(NamedTuple):
    """What came of a run."""

    outcome: Outcome
    peak: int
    """Bytes."""


def environment(base: Path) -> dict[str, str]:
    """Variables for a home below a folder, and none that lead elsewhere."""
    leading = ("WORKBENCH_", "XDG_", "CLAUDE_", "CODEX_", "GEMINI_", "PYTHONUNBUFFERED")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(leading)}
    own = {f"WORKBENCH_{name}_DIR": str(base / name.lower()) for name in ("CONFIG", "DATA", "CACHE")}
    return {**kept, **own, "HOME": str(base / "home")}


def measure_fork(words: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Measured:
    """Run the program in a fork of this process to its end; its peak is what it took beyond this process."""

    def settle() -> None:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.environ.clear()
        os.environ.update(env)
        os.chdir(cwd)
        _limited()

    size = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]) * resource.getpagesize()
    fork = forked(*words, before=settle)
    try:
        _, status, usage = os.wait4(fork.pid, 0)
    except BaseException:
        os.kill(fork.pid, signal.SIGKILL)
        os.waitpid(fork.pid, 0)
        raise
    return Measured(fork.said(os.waitstatus_to_exitcode(status)), usage.ru_maxrss * 1024 - size)


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (_CEILING, _CEILING))


def peak_of(pid: int) -> int:
    """The most memory that a running process took so far, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024
