"""Run a program in its own process group, with a time limit; none of its processes outlives the call.

Python's own asyncio subprocesses are not used: a call that is cancelled while they start leaves children behind, and in
some versions their `wait` does not return while a grandchild holds the pipe.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

from workbench.config.background import background, in_background
from workbench.config.ending import at_quit, finished_before_quit
from workbench.config.system import end_group, group_runs, own_group
from workbench.config.variables import without_keys

GRACE = 2.0
"""Seconds between asking a group to end (SIGTERM) and killing it (SIGKILL)."""
_DRAIN = 0.5
"""Seconds to wait for the rest of the output, if a process that left the group still holds the pipe."""
_POLL = 0.02
_CHUNK = 1 << 16
LOOPS_READ_PIPES = sys.platform != "win32"
"""Whether event loops can read the pipes that `os.pipe` makes. Else threads read them."""


class EndedProcess(NamedTuple):
    status: int
    """The exit status; negative: the signal that ended it."""
    timed_out: bool
    left_behind: bool
    """Whether other processes of the group were still running when the program ended. They were ended."""


Sink = Callable[[bytes], None]


async def run_process(
    argv: Sequence[str],
    *,
    cwd: Path,
    seconds: float,
    output: Sink,
    errors: Sink | None = None,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
) -> EndedProcess:
    """Run a program until it ends, its time is up or the call is cancelled; then its whole group is gone.

    `output` is called with the output as it arrives, including standard error unless `errors` is given. `env`: by
    default our own environment without keys. Raises OSError or ValueError if the program cannot be started.
    """
    with ExitStack() as stack:
        pipes = [await _Pipe.open(output, stack)]
        if errors is not None:
            pipes.append(await _Pipe.open(errors, stack))
        source = stack.enter_context(tempfile.TemporaryFile())
        source.write(stdin)
        source.seek(0)
        with finished_before_quit():
            process = subprocess.Popen(
                argv,
                cwd=cwd,
                env=without_keys() if env is None else env,
                stdin=source if stdin else subprocess.DEVNULL,
                stdout=pipes[0].writing,
                stderr=pipes[-1].writing,
                **own_group(),
            )
            stack.enter_context(at_quit(lambda: end_group(process.pid, at_once=True)))
        for pipe in pipes:
            pipe.release()
        return await _to_the_end(process, pipes, seconds)


async def _to_the_end(process: subprocess.Popen[bytes], pipes: Sequence[_Pipe], seconds: float) -> EndedProcess:
    ended = asyncio.ensure_future(in_background(process.wait))
    timed_out = left_behind = False
    try:
        done, _ = await asyncio.wait((ended,), timeout=seconds)
        timed_out = not done
    finally:
        left_behind = await _end_all(process)
    status = await ended
    await asyncio.wait([pipe.closed for pipe in pipes], timeout=_DRAIN)
    return EndedProcess(status, timed_out, left_behind and not timed_out)


async def _end_all(process: subprocess.Popen[bytes]) -> bool:
    """End the remaining processes of a group: SIGTERM first, then SIGKILL. Return whether there were any."""
    if not end_group(process.pid):
        return False
    clock = asyncio.get_running_loop().time
    deadline = clock() + GRACE
    try:
        while clock() < deadline and group_runs(process.pid):
            await asyncio.sleep(_POLL)
    finally:  # also if cancelled a second time
        end_group(process.pid, at_once=True)
    return True


class _Pipe(asyncio.Protocol):
    """The reading end of a pipe in the event loop, and the writing end for the child."""

    def __init__(self, sink: Sink, writing: int) -> None:
        self._sink = sink
        self.writing = writing
        self._released = False
        self._loop = asyncio.get_running_loop()
        self.closed: asyncio.Future[None] = self._loop.create_future()

    @classmethod
    async def open(cls, sink: Sink, stack: ExitStack) -> _Pipe:
        """A pipe that is closed with the stack."""
        reading, writing = os.pipe()
        pipe = cls(sink, writing)
        stack.callback(pipe.release)
        if LOOPS_READ_PIPES:
            file = stack.enter_context(os.fdopen(reading, "rb", buffering=0))
            transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: pipe, file)
            stack.callback(transport.close)
        else:
            background(lambda: pipe.read_in_thread(reading))
            stack.callback(pipe.stop)
        return pipe

    def read_in_thread(self, reading: int) -> None:
        """Pass on to the loop what arrives, up to the end of the output, and close the pipe."""
        with os.fdopen(reading, "rb", buffering=0) as file, suppress(RuntimeError):  # the loop was closed
            while data := file.read(_CHUNK):
                self._loop.call_soon_threadsafe(self.data_received, data)
            self._loop.call_soon_threadsafe(self.connection_lost, None)

    def stop(self) -> None:
        """Pass nothing on any more. The thread ends when the last process closes the pipe."""
        self._sink = lambda data: None

    def release(self) -> None:
        """Close the writing end, once: while we hold it, the output does not end."""
        if not self._released:
            self._released = True
            os.close(self.writing)

    def data_received(self, data: bytes) -> None:
        self._sink(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)
