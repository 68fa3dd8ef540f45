"""Whether a process still runs. Its id alone does not say so, because ids are used again."""

from __future__ import annotations

import os
import sys
from pathlib import Path

MOST_PID = 1 << 31


def process_start(pid: int) -> float:
    """When a process started, in seconds; raises ProcessLookupError if there is none.

    On Linux since the machine started: psutil's time of day moves when somebody sets the clock, and then a process that
    runs would look like another one.
    """
    if not 0 < pid < MOST_PID:
        raise ProcessLookupError(f"no process has the id {pid}")
    if sys.platform == "linux":
        try:
            fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2].split()  # a name may contain brackets
            return int(fields[19]) / os.sysconf("SC_CLK_TCK")
        except FileNotFoundError:
            if Path("/proc/self/stat").exists():
                raise ProcessLookupError(f"no process has the id {pid}") from None
    import psutil  # slow to import

    try:
        return psutil.Process(pid).create_time()
    except psutil.NoSuchProcess as error:
        raise ProcessLookupError(str(error)) from None


def is_same_process(pid: int, start: float, within: float = 1) -> bool:
    """Whether the process that started then still runs; True if it may not be looked at. `within`: seconds."""
    try:
        return abs(process_start(pid) - start) < within
    except ProcessLookupError:
        return False
    except Exception:  # it is another user's, or the system does not say
        return True
