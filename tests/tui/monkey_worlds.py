"""What a monkey finds when it begins: nothing, a session, another agent's file that grows, or an agent at a proxy.

In each there are sessions of other agents on this machine, a project and settings full of strange names, and a model
that answers at random. In some every text is hostile.
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
from support.hostile_text import CLIPBOARD, CONTROLS, MARKS, MARKUP, SURROGATES, TEXTS, hostile_text, poisoned
from tui.play import until
from tui.recorded.long_run import FIXED, as_file, run, step
from tui.screens.test_proxy_policy import Agent, agent
from workbench.config.paths import config_dir
from workbench.log.codec import encode_event
from workbench.models.endpoints import Endpoint
from workbench.models.failures import ModelFailure
from workbench.models.reply_parts import CallPiece, ReplyFinished, ReplyPart, ReportedUsage, TextPiece
from workbench.sources.services import Services
from workbench.sources.source import number_events
from workbench.tui.demo import recording_lines
from workbench.tui.themes import shipped_folder

ANSWERS = (
    "A short answer.",
    "# Title\n\n- one\n- two\n  - three\n\n> quoted\n\n```python\ndef f(x):\n    return x\n```\n",
    "| a | b |\n|---|---|\n| 1 | 語語語 |\n\n1. first\n2. second **bold** `code` [link](https://example.org)\n",
    "word " * 400,
    *(f"about {text}" for text in (*MARKUP, *CONTROLS, *MARKS, *SURROGATES)),
)
TOOLS = ("read_file", "list_files", "no_such_tool", "run_command", "[b]tool[/b", f"tool{CLIPBOARD}")
STEPS = 6
"""Of another agent's session, before it grows."""
GROWS = 1.0
"""Seconds between two steps of it."""


STRANGE_SETTINGS = {
    "policies/[b]mine.toml": 'extends = "workbench"\ndescription = "[@click=app.quit()]X \\u001b]52;c;eA=="\n',
    "policies/broken.toml": '"[/]" = 1\n',
    "themes/strange.toml": 'name = "[b]strange[/b \\u001b[31m"\n',
}
"""Files of the config folder, by name."""


class World(NamedTuple):
    """What to open."""

    ref: str = ""
    follow: bool = False


class RandomModel:
    """Answers at random: text, calls of tools, failures, and now and then nothing for a while."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self.endpoint = Endpoint()

    async def stream(self, body: Mapping[str, Any], **_: object) -> AsyncGenerator[ReplyPart, None]:
        """One answer."""
        random = self._random
        dice = random.random()
        if dice < 0.15:
            raise ModelFailure(
                "authentication" if dice < 0.08 else "bad_request", f"the server said {random.choice(TEXTS)}"
            )
        if dice < 0.45:
            tool = random.choice(TOOLS)
            given = random.choice(('{"path": "note.txt"}', "{}", "not JSON", '{"command": "echo hello"}'))
            yield CallPiece(0, f"call-{random.random()}", tool, given)
            yield ReplyFinished("tool_calls")
            return
        text = random.choice(ANSWERS)
        for at in range(0, len(text), 40):
            yield TextPiece(text[at : at + 40])
            await asyncio.sleep(random.choice((0, 0, 0.02)))
        yield ReportedUsage(100, 10)
        yield ReplyFinished("stop")

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
        with suppress(asyncio.CancelledError, TimeoutError, aiohttp.ClientError):
            await task


@asynccontextmanager
async def nothing(services: Services) -> AsyncIterator[World]:
    """As on the first day."""
    yield World()


@asynccontextmanager
async def demo(services: Services) -> AsyncIterator[World]:
    """A session with a past, that can be changed."""
    with services.store.import_events(recording_lines(), "demo") as session:
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
                file.writelines(f"{encode_event(event)}\n" for event in number_events(bodies)[before:])

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
        with suppress(aiohttp.ClientError, TimeoutError):  # nobody may let it go for minutes
            await asking.ask(steps)


@asynccontextmanager
async def hostile_session(services: Services) -> AsyncIterator[World]:
    """A session of the store in which every name, title and text is a stranger's."""
    chance = Random(7)
    bodies = poisoned(run(STEPS), chance)
    with services.store.create(bodies, title=hostile_text(chance)) as session:
        yield World(session.id)


@asynccontextmanager
async def hostile_file(services: Services) -> AsyncIterator[World]:
    """A file of the same kind, which nothing can be changed in, with halves of characters."""
    path = Path(as_file(Path.cwd(), poisoned(run(STEPS), Random(8))))
    path.write_text(path.read_text("utf-8").replace("[/]", "[/]\\ud800"), "utf-8")
    yield World(str(path))


@asynccontextmanager
async def held_request(services: Services) -> AsyncIterator[World]:
    """Nothing is open, while an agent with a strange name waits at a breakpoint for its first answer."""
    async with agent(0, "every") as (asking, _), _meanwhile(_ask_on(asking)):
        yield World()


WORLDS = (nothing, demo, growing_file, agent_at_a_proxy, hostile_session, hostile_file, held_request)


def furnish(project: Path) -> None:
    """A file to read, the sessions of other agents, and names, themes and policies as a stranger would write them."""
    (project / "note.txt").write_text("the milk is in the fridge\n")
    (project / "[b]note[b").write_text(f"{CLIPBOARD}\n")
    (project / f"note{CLIPBOARD}\u202e.txt").write_text("[@click=app.quit()]X[/]\n")
    (project / "AGENTS.md").write_text("\n".join(TEXTS), "utf-8")
    for name, text in STRANGE_SETTINGS.items():
        path = config_dir() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    ink = (shipped_folder() / "ink.toml").read_text("utf-8")
    strange = ink.replace('name = "ink"', 'name = "[@click=app.quit()]X"')
    (config_dir() / "themes" / "strange-name.toml").write_text(strange, "utf-8")
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
