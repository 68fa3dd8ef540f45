"""kill -9 at random points while a session is written.

A fault: an event that was acknowledged is not there or another one; a draft that was acknowledged is not in the log
once; the file is not sound; the log does not plan into a request that providers take; nobody can go on writing.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

from hostile.tally import Tally
from support.agents import agent
from support.talk import COUNTER, ROOMY, preset
from support.validity import problems
from workbench.agent.steps import Appended
from workbench.context.planner import plan
from workbench.context.render import messages
from workbench.log.drafts import Draft
from workbench.log.events import AssistantMessage, Event, ToolResult, UserMessage
from workbench.log.ids import new_id
from workbench.log.session import Session
from workbench.log.store import Store
from workbench.models.reply_parts import CallFragment, Finished, Part, Text

Say = Callable[[str], None]
LONGEST = 0.004
"""Seconds between the last thing the parent hears and the kill, at most: a commit takes about one."""
FRESH = 20
"""Kills after which another store is begun, so that checking it does not take ever longer."""


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    tally = Tally("kill -9 while a session is written")
    kinds = (appending, drafting, turning, turning)
    done = dict.fromkeys((kind.__name__ for kind in kinds), 0)
    path, name, known = folder, "", dict[int, str]()
    for number in range(tries):
        if number % FRESH == 0:
            path = folder / str(number) / "workbench.db"
            with Store.open(path) as store, store.create([UserMessage("go")]) as session:
                name, known = session.id, {event.seq: event.id for event in session.events()}
        kind = chance.choice(kinds)
        done[kind.__name__] += 1
        with tally.watching(kind.__name__):
            heard = _killed(kind, path, name, chance)
            _check(path, name, known, heard)
    tally.told = ", ".join(f"{what} {number:,}" for what, number in done.items())
    return tally


def _killed(kind: Callable[[Session, Path, Say], None], path: Path, name: str, chance: random.Random) -> list[str]:
    """Let a process write until it is killed; what it acknowledged. A fork, because starting Python takes longer."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            session = Store.open(path).session(name)
            kind(session, path.parent, lambda line: _write(writing, line))
        finally:
            os._exit(1)
    os.close(writing)
    heard = b""
    with open(reading, "rb", buffering=0) as stream:
        for _ in range(chance.randrange(1, 40)):
            heard += stream.read(200)
        time.sleep(chance.random() * LONGEST)
        os.kill(child, signal.SIGKILL)
        while more := stream.read(65536):
            heard += more
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"the writer ended by itself: {heard[-300:]!r}"
    return heard.decode().split("\n")[:-1]  # the last may be cut short


def _write(pipe: int, line: str) -> None:
    os.write(pipe, f"{line}\n".encode())


def _check(path: Path, name: str, known: dict[int, str], heard: list[str]) -> None:
    known.update({int(line.split()[1]): line.split()[2] for line in heard if line.startswith("event ")})
    with Store.open(path) as store, store.session(name) as session:
        assert session.writable, session.why_read_only
        events = session.events()
        assert [event.seq for event in events] == list(range(1, len(events) + 1)), "the numbers have gaps"
        here = {event.seq: event.id for event in events}
        lost = {seq for seq in known if here.get(seq) != known[seq]}
        assert not lost, f"acknowledged and lost: {sorted(lost)[:5]}"
        _check_drafts(events, heard)
        made = plan(events, preset("workbench"), ROOMY, COUNTER)
        assert not problems(messages(made)), problems(messages(made))[:1]
        (event,) = session.append(UserMessage("it goes on"))
        known[event.seq] = event.id
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("SELECT count(*) FROM drafts").fetchall() == [(0,)]


def _check_drafts(events: list[Event], heard: list[str]) -> None:
    """Each reply of which a draft was acknowledged is in the log once, with at least what came."""
    came: dict[str, int] = {}
    for line in heard:
        if line.startswith("draft "):
            came[line.split()[1]] = int(line.split()[2])
    answers = [event.body for event in events if isinstance(event.body, AssistantMessage)]
    for reply, length in came.items():
        said = [body for body in answers if body.reply == reply]
        assert len(said) == 1, f"a reply is in the log {len(said)} times"
        assert len(str(said[0].content)) >= length, "a draft has lost its end"


# What is killed. Each goes on for ever.


def appending(session: Session, _: Path, say: Say) -> None:
    """Small events and large ones, alone and together."""
    for number in count():
        large = [ToolResult(f"c{number}", f"{number} " * 3_000)] if number % 5 == 0 else []
        for event in session.append(UserMessage(f"number {number}"), *large):
            say(f"event {event.seq} {event.id}")


def drafting(session: Session, _: Path, say: Say) -> None:
    """Answers that come in bit by bit, and are whole at some time."""
    for number in count():
        reply, text = new_id(), ""
        for piece in range(3 + number % 9):
            text += f"word {piece} " * 40
            if session.keep_draft(Draft(reply, "m", "", f"word {piece} " * 40)):
                say(f"draft {reply} {len(text)}")
        for event in session.append(AssistantMessage(text, reply, model="m"), UserMessage("and?")):
            say(f"event {event.seq} {event.id}")


class _Writer:
    """A model that writes a file, then says so at length."""

    def __init__(self) -> None:
        self._requests = count()

    async def stream(self, body: Mapping[str, Any], **_: object) -> AsyncGenerator[Part, None]:
        number = next(self._requests)
        if number % 2 == 0:
            yield CallFragment(0, f"call-{new_id()}", "write_file", f'{{"path": "a.txt", "content": "{number}"}}')
            yield Finished("tool_calls")
        else:
            for word in range(30):
                yield Text(f"I wrote the file, number {word}. ")
            yield Finished("stop")


def turning(session: Session, folder: Path, say: Say) -> None:
    """Whole turns with a tool, and a compaction after every third."""
    asyncio.run(_turn(session, folder, say))


async def _turn(session: Session, folder: Path, say: Say) -> None:
    project = folder / "project"
    project.mkdir(exist_ok=True)
    runs: Any = agent(session, project, _Writer(), allow=("write_file",))  # type: ignore[arg-type]  # all that is asked of it
    for number in count():
        for steps in (runs.turn(f"write it {number}"), runs.compact(digest=True) if number % 3 == 2 else None):
            if steps is not None:
                async for step in steps:
                    if isinstance(step, Appended):
                        say(f"event {step.event.seq} {step.event.id}")
