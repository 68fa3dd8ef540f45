"""How long tests wait: until nothing moves any more, however slow the machine is."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

GIVE_UP = 900
"""Seconds for a wait that cannot look at the machine meanwhile. Only a test that hangs ever reaches it."""
_QUIET_LIMIT = float(os.environ.get("WAIT_SECONDS", "120"))
"""Two minutes, or what somebody says who writes a test and gets it wrong at first."""
_LOOK_EVERY = 0.25
_LOAD = Path("/proc/loadavg")


class WaitLimit:
    """The limit of one wait: two minutes on a quiet machine, or `WAIT_SECONDS`.

    Time counts less while others compete for the processors, so on a machine with a load of twenty it is twenty
    minutes. A wait that gives up has seen that nothing moves, not that the machine is slow.
    """

    def __init__(self) -> None:
        self._left: float = _QUIET_LIMIT
        self._looked = time.monotonic()

    @property
    def is_over(self) -> bool:
        """Whether to give up. Ask it again and again during the wait."""
        passed = time.monotonic() - self._looked
        if passed >= _LOOK_EVERY:
            self._looked += passed
            self._left -= min(passed, 2 * _LOOK_EVERY) * processor_share()
        return self._left < 0


def processor_share(load: Path = _LOAD) -> float:
    """How much of a processor a process gets now, up to 1, if all that are ready to run share alike."""
    try:
        ready = int(load.read_text().split()[3].partition("/")[0])
    except (OSError, ValueError, IndexError):  # not Linux
        return 1.0
    return min(1.0, (os.cpu_count() or 1) / max(1, ready))


@asynccontextmanager
async def patiently() -> AsyncIterator[None]:
    """Do something for as long as its limit allows, then raise TimeoutError."""
    limit = WaitLimit()
    async with asyncio.timeout(None) as deadline:

        async def watch() -> None:
            while not limit.is_over:
                await asyncio.sleep(_LOOK_EVERY)
            deadline.reschedule(asyncio.get_running_loop().time())

        watching = asyncio.create_task(watch())
        try:
            yield
        finally:
            watching.cancel()
