"""A provider in a process of its own, so that its work is not counted as ours: the rehearsal model over HTTP."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from bench import children
from bench.pace import on_other_processors
from workbench.rehearsal.script import Script
from workbench.rehearsal.server import RehearsalServer

CHUNK = 8
"""Characters of one chunk of an answer."""
MANY = 100_000
"""More requests than any benchmark makes; all get the same answer."""


@contextmanager
def served(chunks: int) -> Iterator[str]:
    """The address of a server that answers every request in so many chunks, in OpenAI's dialect."""
    with on_other_processors():
        started = subprocess.Popen(
            children.command("serving", str(chunks)),
            env=children.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
    with started as server:
        assert server.stdout is not None
        yield f"{server.stdout.readline().strip()}/v1"


async def _serve(chunks: int) -> None:
    # No two alike: litellm stops a model that repeats itself.
    reply = "".join(f"{f'w{number}':<{CHUNK}}" for number in range(chunks))
    script = Script([{"reply": reply, "chunk": CHUNK, "repeat": MANY}])
    async with RehearsalServer(script, keep=1) as server:
        print(server.url, flush=True)
        await asyncio.to_thread(sys.stdin.read)  # until whoever started us ends, in whatever way


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
