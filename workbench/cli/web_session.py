"""Visits of the served screen: a process for each, from the first byte to the last.

textual-serve leaves a process that does not end, and one that did not start, to itself. Here each ends with its tab,
and says why it did not start.
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
"""What a screen that has started says first."""
GRACE = 10.0
"""Seconds for a screen to end by itself when it is told to."""

_KEPT = 16_384
"""Bytes of a screen's complaints to keep."""
_MOST_CELLS = 1_000
"""The width and the height of a terminal, at most."""
_REASON = 123
"""Bytes that a socket has for the reason why it is closed."""


class Visit(AppService):
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
        """Without a shell, and out of reach of ctrl+c in the terminal, which is for the server."""
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
        """Tell the screen its new size."""
        await super().set_terminal_size(_cells(width), _cells(height))

    async def run(self) -> None:
        """Pass on what the screen draws until it ends; then close the socket, with the reason if it failed."""
        process = self._process
        assert process is not None
        assert process.stdout is not None
        said = bytearray()
        listening = asyncio.create_task(_keep_errors(process, said))
        try:
            drawn = await _greets(process.stdout)
            if drawn:
                await self._pass_on(process.stdout)
            status = await process.wait()
            # What the screen itself started may hold on to its errors.
            await asyncio.wait([listening], timeout=1.0)
            lines = printable_lines(said.decode("utf-8", "replace").rstrip()) if said else []
            for line in lines:
                print(line, file=sys.stderr, flush=True)
            failed = status != 0 or not drawn
            await self._close((lines or [f"the screen ended with status {status}"])[-1] if failed else "")
        finally:
            listening.cancel()
            await _end(process)

    async def _pass_on(self, screen: asyncio.StreamReader) -> None:
        """Until the screen has ended; it draws to the end, though nobody may be there any more to see it."""
        deals = {b"D": self.on_data, b"M": self.on_meta, b"P": self.on_packed}
        with suppress(asyncio.IncompleteReadError):
            while True:
                head = await screen.readexactly(5)
                payload = await screen.readexactly(int.from_bytes(head[1:], "big"))
                with suppress(ConnectionError):
                    await deals[head[:1]](payload)

    async def _goodbye(self) -> None:
        """The screen says that it leaves. Whether it leaves well is known when its process has ended."""

    async def _close(self, failure: str) -> None:
        code = WSCloseCode.INTERNAL_ERROR if failure else WSCloseCode.OK
        reason = failure.encode()[:_REASON].decode("utf-8", "ignore").encode()
        with suppress(ConnectionError):
            await self._socket.close(code=code, message=reason)

    async def stop(self) -> None:
        """End the screen: it is told to, and killed if it does not."""
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
    """The width or height of a terminal that a screen can be drawn on; raises TypeError for what is no number."""
    return int(min(max(number, 1), _MOST_CELLS))


async def _greets(screen: asyncio.StreamReader) -> bool:
    """Whether a screen has started; what is printed before that is none of our business."""
    while line := await screen.readline():
        if line == GREETING:
            return True
    return False


async def _keep_errors(process: Process, said: bytearray) -> None:
    """Keep the end of a process's errors, and its pipe empty."""
    assert process.stderr is not None
    while chunk := await process.stderr.read(4096):
        said += chunk
        del said[:-_KEPT]


async def _end(process: Process) -> None:
    """Nothing of a process is left, its pipes included: they must not outlive the event loop."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    process._transport.close()  # type: ignore[attr-defined]  # there is no other way to it
