"""Parts of the suite that run in a process of their own."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

import workbench


def command(module: str, *arguments: str) -> list[str]:
    """Runs a module of this folder."""
    return [sys.executable, "-m", f"bench.{module}", *arguments]


def environment() -> dict[str, str]:
    """Ours, with the suite and the program to be found from anywhere, and bytecode kept as by an installed program."""
    roots = [Path(__file__).parent.parent, Path(workbench.__path__[0]).parent]
    inherited = os.environ.get("PYTHONPATH")
    search = os.pathsep.join([*map(str, roots), *([inherited] if inherited else [])])
    return {**os.environ, "PYTHONPATH": search, "PYTHONDONTWRITEBYTECODE": ""}


def processor_time(program: Sequence[str], places: Mapping[str, str], folder: str | None = None) -> float:
    """The processor's time of a program until it has ended, with that of the processes it started."""
    before = _spent()
    subprocess.run(program, cwd=folder, env=dict(places), check=True, capture_output=True)
    return _spent() - before


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def spent_by_all(process: int) -> float:
    """The same of a process and those that it has started and that still run."""
    started = psutil.Process(process).children(recursive=True)
    return sum(map(spent_by, (process, *(each.pid for each in started))))


def spent_by(process: int) -> float:
    """Seconds of the processor that a process has used so far, all its threads together."""
    if psutil.LINUX:  # as clock_getcpuclockid(3) names it: psutil counts in hundredths
        return time.clock_gettime((~process << 3) | 2)
    used = psutil.Process(process).cpu_times()
    return float(used.user + used.system)
