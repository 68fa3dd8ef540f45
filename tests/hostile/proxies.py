"""Servers of the program in processes of their own, a provider for a proxy, and how much memory was taken."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psutil
from aiohttp import web

MOST = 300 * 2**20
"""Bytes that a server may take beyond its ordinary size."""


class RunningProgram:
    """A command that serves, as users start it."""

    def __init__(self, process: asyncio.subprocess.Process, first_line: str, address: str, errors: Path) -> None:
        self.process = process
        self.first_line = first_line
        self.address = address
        self.port = int(address.split(":")[2].split("/")[0])
        self._errors = errors
        self._ordinary = self._peak()

    def _peak(self) -> int:
        """Of the proxy and its recorder."""
        return sum(map(_peak_of, (self.process.pid, *self.recorders)))

    @property
    def recorders(self) -> list[int]:
        """The processes that record for it: one."""
        return [child.pid for child in psutil.Process(self.process.pid).children()]

    @property
    def grown(self) -> int:
        """Bytes that it took at its peak beyond what it took when it began."""
        return self._peak() - self._ordinary

    @property
    def errors(self) -> str:
        return self._errors.read_text(encoding="utf-8", errors="replace")

    async def stop(self, number: int = signal.SIGTERM) -> None:
        if self.process.returncode is None:
            self.process.send_signal(number)
        async with asyncio.timeout(30):
            await self.process.wait()


def _peak_of(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


@asynccontextmanager
async def started(
    folder: Path, to: str, *options: str, environment: Mapping[str, str] = MappingProxyType({})
) -> AsyncIterator[RunningProgram]:
    """A proxy to an address."""
    async with running(folder, "proxy", "--json", "--to", to, *options, environment=environment) as program:
        yield program


@asynccontextmanager
async def running(
    folder: Path, *words: str, environment: Mapping[str, str] = MappingProxyType({})
) -> AsyncIterator[RunningProgram]:
    """A command that serves, and that prints its address in its first line. `environment`: more of it."""
    folder.mkdir(parents=True, exist_ok=True)
    errors = folder / "errors"
    own = {"WORKBENCH_DATA_DIR": str(folder / "data"), "NO_PROXY": "127.0.0.1"}
    with errors.open("wb") as told:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "workbench", *words),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=told,
            env={**os.environ, **own, **environment},
            limit=2**20,
        )
        assert process.stdout is not None
        try:
            line = (await process.stdout.readline()).decode()
            found = re.search(r"http://[^\s\",]+", line)
            assert found, f"it did not start: {line}{errors.read_text(encoding='utf-8')[-300:]}"
            yield RunningProgram(process, line, found[0], errors)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


@asynccontextmanager
async def provider(handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]) -> AsyncIterator[str]:
    options: dict[str, Any] = {"access_log": None, "auto_decompress": False, "handler_cancellation": True}
    runner = web.ServerRunner(web.Server(handler, **options), shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()
