"""The embedded model `local`: its own process, started on demand, shared by all callers, ended with the program."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

from workbench.config.errors import WorkbenchError, WrongCall
from workbench.config.variables import without_keys
from workbench.models.catalogue import ModelInfo
from workbench.models.endpoints import Endpoint
from workbench.models.families import tokenizer_for
from workbench.models.local.serve import ALIAS, ANSWER_SHARE, HOST
from workbench.models.local.weights import find_weights, require_engine

PROVIDER = "openai"
"""The dialect of the server, by litellm's name."""

SMALLEST = 256
"""A smaller window cannot hold a conversation."""

_KEPT = 16_384
"""Bytes of the process's errors that are kept, to explain a failure."""

_GRACE = 2.0
"""Seconds that the process has to end by itself."""


class LocalFailure(WorkbenchError):
    """The embedded model did not start."""


class _RunningServer(NamedTuple):
    process: Process
    reader: asyncio.Task[None]
    endpoint: Endpoint


class LocalModel:
    """A small model that runs in its own process. It belongs to the event loop it was first started on."""

    def __init__(self, path: str | Path | None = None, ctx: int = 4096, deadline: float = 60.0) -> None:
        if ctx < SMALLEST:
            raise WrongCall(f"the window of the model `local` is {ctx}: expected at least {SMALLEST} tokens")
        self.path = path
        self.window = ctx
        """In tokens; after the start, the window that the server really provides, which the model may limit."""
        self.deadline = deadline
        """Seconds the server has to start. Loading a large file from a slow disk takes long."""
        self._launch: asyncio.Task[_RunningServer] | None = None

    @property
    def info(self) -> ModelInfo:
        """The catalogue's entry for it: no tools, no price, and a window that we set ourselves."""
        tokenizer, exact, note = tokenizer_for(ALIAS)
        return ModelInfo(
            name=ALIAS,
            window=self.window,
            window_source="catalogue",
            input_only=False,
            max_output=self.window // ANSWER_SHARE,
            input_price=0.0,
            output_price=0.0,
            cached_price=0.0,
            cache_write_price=0.0,
            cache_hour_price=0.0,
            capabilities=frozenset(),
            provider=PROVIDER,
            tokenizer=tokenizer,
            tokenizer_exact=exact,
            tokenizer_note=note,
        )

    @property
    def pid(self) -> int | None:
        """The process's id while it answers."""
        running = self._running()
        return running.process.pid if running else None

    async def start(self) -> Endpoint:
        """Return the model's endpoint. The first call starts it; later calls start it again if it has ended."""
        launch = self._launch
        if launch is None or (launch.done() and self._running() is None):
            launch = self._launch = asyncio.create_task(self._start())
        try:
            # Shielded: a caller that gives up must not stop the start for the others.
            return (await asyncio.shield(launch)).endpoint
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if launch.cancelled() and task is not None and not task.cancelling():
                raise LocalFailure("the model `local` was stopped before it had started") from None
            raise

    async def stop(self) -> None:
        """End the process. A start in progress is cancelled."""
        launch, self._launch = self._launch, None
        if launch is None:
            return
        launch.cancel()
        await asyncio.wait([launch])
        if not launch.cancelled() and launch.exception() is None:
            running = launch.result()
            await _end(running.process, running.reader)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def _running(self) -> _RunningServer | None:
        launch = self._launch
        if launch is None or not launch.done() or launch.cancelled() or launch.exception() is not None:
            return None
        running = launch.result()
        return running if running.process.returncode is None else None

    async def _start(self) -> _RunningServer:
        """Start the process and wait until it answers."""
        require_engine()
        path = find_weights(self.path)
        key = secrets.token_urlsafe(32)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "workbench.models.local.serve"),  # -P: no modules from the user's folder
            *("--model", str(path), "--ctx", str(self.window)),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=without_keys(),
            start_new_session=True,  # Ctrl-C in the terminal is for us; the pipe ends the process
        )
        errors = bytearray()
        reader = asyncio.create_task(_keep_errors(process, errors))
        try:
            ready = await asyncio.wait_for(_introduce(process, key), self.deadline)
            if not ready:
                await reader
                raise LocalFailure(f"the model `local` did not start: {path}: {_reason(errors)}")
        except TimeoutError:
            await _end(process, reader)
            raise LocalFailure(f"the model `local` did not start within {self.deadline:g} s: {path}") from None
        except BaseException:
            await _end(process, reader)
            raise
        found = json.loads(ready)
        self.window = int(found["window"])
        endpoint = Endpoint(f"http://{HOST}:{found['port']}/v1", key, PROVIDER, plain=True)
        return _RunningServer(process, reader, endpoint)


async def _introduce(process: Process, key: str) -> bytes:
    """Send the key and wait for the line that says where the server listens; empty if the process ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(ConnectionError):  # a process that ended at once reports the reason itself
        process.stdin.write(key.encode() + b"\n")
        await process.stdin.drain()
    return await process.stdout.readline()


async def _keep_errors(process: Process, errors: bytearray) -> None:
    """Keep the end of the process's errors, and its pipe empty."""
    assert process.stderr is not None
    while chunk := await process.stderr.read(4096):
        errors += chunk
        del errors[:-_KEPT]


def _reason(errors: bytearray) -> str:
    """The engine's first error, which explains the others; otherwise the last line."""
    lines = [line.strip() for line in errors.decode("utf-8", "replace").splitlines() if line.strip()]
    complaints = [line.partition(" E ")[2] for line in lines if " E " in line]
    return next(iter(complaints or lines[-1:]), "it ended without a word")


async def _end(process: Process, reader: asyncio.Task[None]) -> None:
    """Close the pipe, which ends the process; kill it if it does not end."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), _GRACE)
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    await reader
