"""kill -9 at random points while anything is written: sessions, exports, results, settings, policies, approvals.

A fault: an event that was acknowledged is not there or another one; a draft that was acknowledged is not in the log
once; a database is not sound; the log does not plan into a request that providers take; nobody can go on writing; a
file is neither the old one nor the new one, or older than what was acknowledged.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

from hostile import kill_files
from hostile.kill_values import Killed, Place, Say
from hostile.tally import Tally
from support.agents import agent
from support.talk import COUNTER, ROOMY, preset
from support.validity import problems
from workbench.agent import reply as replies
from workbench.agent.steps import EventAppended
from workbench.compaction.undo import redo_change, undo_change
from workbench.context.planner import plan
from workbench.context.render import render_messages
from workbench.log.drafts import Draft
from workbench.log.events import AssistantMessage, Event, Override, ToolResult, UserMessage
from workbench.log.ids import new_id
from workbench.log.session import Session
from workbench.log.store import Store
from workbench.models.endpoints import Endpoint
from workbench.models.reply_parts import CallPiece, ReplyFinished, ReplyPart, TextPiece

FRESH = 20
"""Kills after which a writer gets another folder, so that checking it does not take ever longer."""
SHARE = 3
"""Of so many kills, one hits a writer of files."""


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    tally = Tally("kill -9 in every writer")
    sessions, files = SESSIONS, kill_files.KINDS
    done: Counter[str] = Counter()
    places: dict[str, Place] = {}
    left = 0
    for number in range(tries):
        kinds = files if number % SHARE == SHARE - 1 else sessions
        kind = kinds[(number // SHARE) % len(kinds)] if kinds is files else chance.choice(kinds)
        if done[kind.name] % FRESH == 0:
            places[kind.name] = _place(folder / f"{kind.name}-{number}")
        done[kind.name] += 1
        place = places[kind.name]
        with tally.watching(kind.name):
            heard = _killed(kind, place, chance)
            kind.check(place, heard)
            _check(place, heard)
            left += _left_behind(place.folder)
    told = ", ".join(f"{what} {number:,}" for what, number in done.items())
    tally.told = f"{told}; {left:,} hidden files left by the kills"
    return tally


def _place(folder: Path) -> Place:
    for name in ("config", "data", "cache"):
        os.environ[f"WORKBENCH_{name.upper()}_DIR"] = str(folder / name)
    path = folder / "data" / "workbench.db"
    with Store.open(path) as store, store.create([UserMessage("go")]) as session:
        return Place(folder, path, session.id, {event.seq: event.id for event in session.events()})


def _left_behind(folder: Path) -> int:
    """Files that were being written, which nobody can remove for a process that is killed; they are removed here."""
    found = list(folder.rglob(".workbench-*.tmp"))
    assert len(found) <= 1, "one kill has left several files"
    for path in found:
        assert path.stat().st_mode & 0o077 == 0, "others can read what was left behind"
        path.unlink()
    return len(found)


def _killed(kind: Killed, place: Place, chance: random.Random) -> list[str]:
    """Let a process write until it is killed; what it acknowledged. A fork, because starting Python takes longer."""
    for name in ("config", "data", "cache"):
        os.environ[f"WORKBENCH_{name.upper()}_DIR"] = str(place.folder / name)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            kind.write(place, lambda line: _write(writing, line))
        finally:
            os._exit(1)
    os.close(writing)
    heard = b""
    with open(reading, "rb", buffering=0) as stream:
        try:
            for _ in range(chance.randrange(kind.least, kind.most)):
                heard += stream.read(200)
            time.sleep(chance.random() * kind.seconds)
        finally:  # also where it takes too long
            os.kill(child, signal.SIGKILL)
        while more := stream.read(65536):
            heard += more
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"the writer ended by itself: {heard[-300:]!r}"
    return heard.decode().split("\n")[:-1]  # the last may be cut short


def _write(pipe: int, line: str) -> None:
    os.write(pipe, f"{line}\n".encode())


def _check(place: Place, heard: list[str]) -> None:
    """Of every writer: the store is sound, has what was acknowledged, and can be written."""
    known = place.known
    known.update({int(line.split()[1]): line.split()[2] for line in heard if line.startswith("event ")})
    with Store.open(place.store) as store, store.session(place.session) as session:
        assert session.writable, session.why_read_only
        events = session.events()
        assert [event.seq for event in events] == list(range(1, len(events) + 1)), "the numbers have gaps"
        here = {event.seq: event.id for event in events}
        lost = {seq for seq in known if here.get(seq) != known[seq]}
        assert not lost, f"acknowledged and lost: {sorted(lost)[:5]}"
        _check_drafts(events, heard)
        made = plan(events, preset("workbench"), ROOMY, COUNTER)
        assert not problems(render_messages(made)), problems(render_messages(made))[:1]
        (event,) = session.append(UserMessage("it goes on"))
        known[event.seq] = event.id
    with closing(sqlite3.connect(place.store)) as db:
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


def appending(place: Place, say: Say) -> None:
    """Small events and large ones, alone and together."""
    session = _opened(place)
    for number in count():
        large = [ToolResult(f"c{number}", f"{number} " * 3_000)] if number % 5 == 0 else []
        for event in session.append(UserMessage(f"number {number}"), *large):
            say(f"event {event.seq} {event.id}")


def drafting(place: Place, say: Say) -> None:
    """Answers that come in bit by bit, and are whole at some time."""
    session = _opened(place)
    for number in count():
        reply, text = new_id(), ""
        for piece in range(3 + number % 9):
            text += f"word {piece} " * 40
            if session.keep_draft(Draft(reply, "m", "", f"word {piece} " * 40)):
                say(f"draft {reply} {len(text)}")
        for event in session.append(AssistantMessage(text, reply, model="m"), UserMessage("and?")):
            say(f"event {event.seq} {event.id}")


def undoing(place: Place, say: Say) -> None:
    """Overrides that are undone and redone, as `undo` does it."""
    session = _opened(place)
    for number in count():
        override = Override("exclude" if number % 2 else "pin", 1 + number % 7, 1 + number % 7)
        for event in session.append(override):
            say(f"event {event.seq} {event.id}")
        for change in (undo_change, redo_change, undo_change):
            for event in session.append(*(each.revert for each in change(session.events()))):
                say(f"event {event.seq} {event.id}")


class _Writer:
    """A model that writes a file, then says so at length; asked for a summary, it says the same."""

    def __init__(self, pause: float = 0) -> None:
        """`pause`: seconds between two words."""
        self._requests = count()
        self._pause = pause
        self.endpoint = Endpoint()

    async def stream(self, body: Mapping[str, Any], **_: object) -> AsyncGenerator[ReplyPart, None]:
        number = next(self._requests)
        if number % 2 == 0 and body.get("tools"):
            yield CallPiece(0, f"call-{new_id()}", "write_file", f'{{"path": "a.txt", "content": "{number}"}}')
            yield ReplyFinished("tool_calls")
        else:
            for word in range(30):
                yield TextPiece(f"I wrote the file, number {word}. ")
                if self._pause:
                    await asyncio.sleep(self._pause)
            yield ReplyFinished("stop")


def turning(place: Place, say: Say) -> None:
    """Whole turns with a tool, and a compaction after every third."""
    asyncio.run(_turn(place, say, _Writer()))


def compacting(place: Place, say: Say) -> None:
    """A compaction after every turn, of which the model writes the summary."""
    asyncio.run(_turn(place, say, _Writer(0.0001), every=1, digest=False))


def streaming(place: Place, say: Say) -> None:
    """Answers that come in slowly, of which drafts are kept all the time."""
    replies.KEPT_EVERY = 0.001  # type: ignore[misc]  # in a process that is about to die
    keep, lengths = Session.keep_draft, Counter[str]()

    def kept(session: Session, draft: Draft) -> bool:
        done = keep(session, draft)
        if done:
            lengths[draft.reply] += len(draft.text)
            say(f"draft {draft.reply} {lengths[draft.reply]}")
        return done

    Session.keep_draft = kept  # type: ignore[assignment, method-assign]
    asyncio.run(_turn(place, say, _Writer(0.0005)))


async def _turn(place: Place, say: Say, model: _Writer, every: int = 3, digest: bool = True) -> None:
    session, project = _opened(place), place.folder / "project"
    project.mkdir(exist_ok=True)
    runs: Any = agent(session, project, model, allow=("write_file",))  # type: ignore[arg-type]  # all that is asked of it
    for number in count():
        making = runs.compact(digest=digest) if number % every == every - 1 else None
        for steps in (runs.turn(f"write it {number}"), making):
            if steps is not None:
                async for step in steps:
                    if isinstance(step, EventAppended):
                        say(f"event {step.event.seq} {step.event.id}")


def _opened(place: Place) -> Session:
    return Store.open(place.store).session(place.session)


SESSIONS = tuple(Killed(write) for write in (appending, drafting, streaming, turning, compacting, undoing))
