"""Runs one process for each visit of the served screen.

textual-serve ignores a process that does not end or did not start. Here each process ends with its tab, and the page
shows why it did not start.
"""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import suppress

from aiohttp import WSCloseCode, web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from workbench.config.text import printable_lines

GREETING = b"__GANGLION__\n"
"""The first line that a started screen writes."""
GRACE = 10.0
"""Seconds for a screen to end after it was asked to."""

_KEPT = 16_384
"""Bytes of a screen's error output to keep."""
_MOST_CELLS = 1_000
"""The largest width and height of a terminal."""
_REASON = 123
"""The most bytes of the reason in a websocket's close frame."""


class BrowserVisit(AppService):
    """One screen and the socket that shows it."""

    def __init__(self, command: Sequence[str], socket: web.WebSocketResponse, downloads: DownloadManager) -> None:
        super().__init__(
            "",
            write_bytes=socket.send_bytes,
            write_str=socket.send_str,
            close=self._goodbye,
            download_manager=downloads,
        )
        self._words = command
        self._socket = socket

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        """Start the process without a shell, and in a session of its own: Ctrl+C in the terminal is for the server."""
        self._process = process = await asyncio.create_subprocess_exec(
            *self._words,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=self._build_environment(_cells(width), _cells(height)),
            start_new_session=os.name == "posix",
        )
        self._stdin = process.stdin
        return process

    async def set_terminal_size(self, width: int, height: int) -> None:
        await super().set_terminal_size(_cells(width), _cells(height))

    async def run(self) -> None:
        """Pass on the screen's output until it ends; then close the socket, with the reason if it failed."""
        process = self._process
        assert process is not None
        assert process.stdout is not None
        errors = bytearray()
        listening = asyncio.create_task(_keep_errors(process, errors))
        try:
            drawn = await _greets(process.stdout)
            if drawn:
                await self._pass_on(process.stdout)
            status = await process.wait()
            # Child processes of the screen may keep its error pipe open.
            await asyncio.wait([listening], timeout=1.0)
            lines = printable_lines(errors.decode("utf-8", "replace").rstrip()) if errors else []
            for line in lines:
                print(line, file=sys.stderr, flush=True)
            failed = status != 0 or not drawn
            await self._close((lines or [f"the screen ended with status {status}"])[-1] if failed else "")
        finally:
            listening.cancel()
            await _end(process)

    async def _pass_on(self, screen: asyncio.StreamReader) -> None:
        """Pass on the output until the screen has ended, even if the tab is gone."""
        deals = {b"D": self.on_data, b"M": self.on_meta, b"P": self.on_packed}
        with suppress(asyncio.IncompleteReadError):
            while True:
                head = await screen.readexactly(5)
                payload = await screen.readexactly(int.from_bytes(head[1:], "big"))
                with suppress(ConnectionError):
                    await deals[head[:1]](payload)

    async def _goodbye(self) -> None:
        """Do nothing when the screen says that it exits: `run` waits for its exit status."""

    async def _close(self, failure: str) -> None:
        code = WSCloseCode.INTERNAL_ERROR if failure else WSCloseCode.OK
        reason = failure.encode()[:_REASON].decode("utf-8", "ignore").encode()
        with suppress(ConnectionError):
            await self._socket.close(code=code, message=reason)

    async def stop(self) -> None:
        """Ask the screen to end, and kill it if it does not."""
        task, self._task = self._task, None
        if task is None:
            return
        await self._download_manager.cancel_app_downloads(app_service_id=self.app_service_id)
        await self.send_meta({"type": "quit"})
        done, _ = await asyncio.wait([task], timeout=GRACE)
        if not done:
            task.cancel()
            await asyncio.wait([task])


def _cells(number: int) -> int:
    """A width or height, limited to a sensible range; raises TypeError if it is not a number."""
    return int(min(max(number, 1), _MOST_CELLS))


async def _greets(screen: asyncio.StreamReader) -> bool:
    """Wait for the greeting of a screen and skip everything before it; False if the screen ends without one."""
    while line := await screen.readline():
        if line == GREETING:
            return True
    return False


async def _keep_errors(process: Process, errors: bytearray) -> None:
    """Read a process's error output, and keep the end."""
    assert process.stderr is not None
    while chunk := await process.stderr.read(4096):
        errors += chunk
        del errors[:-_KEPT]


async def _end(process: Process) -> None:
    """Kill the process and close its pipes: they must not outlive the event loop."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    process._transport.close()  # type: ignore[attr-defined]  # no public access
