"""What a monkey finds when it begins: nothing, a session, another agent's file that grows, or an agent at a proxy.

In each there are sessions of other agents on this machine, and a model that answers at random.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import aiohttp

from live.test_finder import SESSIONS
from tui.play import until
from tui.recorded.long_run import FIXED, as_file, run, step
from tui.screens.test_on_the_way import Agent, agent
from workbench.log.codec import encode
from workbench.models.failures import ModelFailure
from workbench.models.reply_parts import CallFragment, Finished, Part, Reported, Text
from workbench.session.services import Services
from workbench.session.source import number_events
from workbench.tui.demo import recording

ANSWERS = (
    "A short answer.",
    "# Title\n\n- one\n- two\n  - three\n\n> quoted\n\n```python\ndef f(x):\n    return x\n```\n",
    "| a | b |\n|---|---|\n| 1 | 語語語 |\n\n1. first\n2. second **bold** `code` [link](https://example.org)\n",
    "word " * 400,
)
STEPS = 6
"""Of another agent's session, before it grows."""
GROWS = 0.3
"""Seconds between two steps of it."""


class World(NamedTuple):
    """What to open."""

    ref: str = ""
    follow: bool = False


class RandomModel:
    """Answers at random: text, calls of tools, failures, and now and then nothing for a while."""

    def __init__(self, random: Random) -> None:
        self._random = random

    async def stream(self, body: Mapping[str, Any], **_: object) -> AsyncGenerator[Part, None]:
        """One answer."""
        random = self._random
        dice = random.random()
        if dice < 0.15:
            raise ModelFailure("authentication" if dice < 0.08 else "bad_request", "the server said \x1b[31mno")
        if dice < 0.45:
            tool = random.choice(("read_file", "list_files", "no_such_tool", "run_command"))
            given = random.choice(('{"path": "note.txt"}', "{}", "not JSON", '{"command": "echo hello"}'))
            yield CallFragment(0, f"call-{random.random()}", tool, given)
            yield Finished("tool_calls")
            return
        text = random.choice(ANSWERS)
        for at in range(0, len(text), 40):
            yield Text(text[at : at + 40])
            await asyncio.sleep(random.choice((0, 0, 0.02)))
        yield Reported(100, 10)
        yield Finished("stop")

    @asynccontextmanager
    async def serving(self, *_: object, **__: object) -> AsyncIterator[RandomModel]:
        """This model, for any."""
        yield self


@asynccontextmanager
async def _meanwhile(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, aiohttp.ClientError):
            await task


@asynccontextmanager
async def nothing(services: Services) -> AsyncIterator[World]:
    """As on the first day."""
    yield World()


@asynccontextmanager
async def demo(services: Services) -> AsyncIterator[World]:
    """A session with a past, that can be changed."""
    with services.store.import_events(recording(), "demo") as session:
        yield World(session.id)


@asynccontextmanager
async def growing_file(services: Services) -> AsyncIterator[World]:
    """A transcript of another agent, followed while that writes it."""
    bodies = run(STEPS)
    path = Path(as_file(Path.cwd(), bodies))

    async def grow() -> None:
        for at in count(STEPS + 1):
            await asyncio.sleep(GROWS)
            before = len(bodies)
            bodies.extend(step(at, FIXED + at * 410))
            with path.open("a", encoding="utf-8") as file:
                file.writelines(f"{encode(event)}\n" for event in number_events(bodies)[before:])

    async with _meanwhile(grow()):
        yield World(str(path), follow=True)


@asynccontextmanager
async def agent_at_a_proxy(services: Services) -> AsyncIterator[World]:
    """Its session is open; each of its further requests is held at a breakpoint."""
    async with agent(0) as (asking, policies):
        await asking.ask(3)
        await until(lambda: bool(policies.listed()))
        asking.gate.set_rules(["every"])
        async with _meanwhile(_ask_on(asking)):
            yield World(policies.listed()[0].session)


async def _ask_on(asking: Agent) -> None:
    for steps in count(4):
        with suppress(aiohttp.ClientError):
            await asking.ask(steps)


WORLDS = (nothing, demo, growing_file, agent_at_a_proxy)


def furnish(project: Path) -> None:
    """A file to read, and the sessions of other agents."""
    (project / "note.txt").write_text("the milk is in the fridge\n")
    for place, lines in SESSIONS.values():
        path = Path.home() / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")


@contextmanager
def own_folders() -> Iterator[None]:
    """Nothing of the user's own is touched."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        project = Path(place, "project")
        (project / ".git").mkdir(parents=True)
        folders = {f"WORKBENCH_{name}_DIR": f"{place}/{name.lower()}" for name in ("DATA", "CONFIG", "CACHE")}
        os.environ.update(folders, HOME=f"{place}/home")
        os.chdir(project)
        try:
            furnish(project)
            yield
        finally:
            os.chdir(before)
