"""Clocks that jump: files from the future, from before 1970 and from the year 1, a clock that jumps between appends.

A fault: a command that does not end with success, events that are not in the order in which they were appended, or ids
that do not grow.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

from hostile.tally import Tally, call, complaint
from workbench.live.finder import AgentSessionFinder
from workbench.log.events import UserMessage
from workbench.log.store import Store

YEAR_1, YEAR_9999 = -62_135_596_800, 253_402_300_799
MOMENTS = (YEAR_1, -1, 0, 1, 2**31 - 1, 2**31, 2**32, 4_102_444_800, YEAR_9999)
"""Seconds since 1970."""
HOMES = (
    "home/.claude/projects/p",
    "home/.pi/agent/sessions/p",
    "home/.qwen/projects/p/chats",
    "home/.continue/sessions",
)


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    """`tries`: half of them homes full of odd times, half of them sessions that are written while the clock jumps."""
    tally = Tally("clocks that jump")
    for number in range(tries):
        base = folder / f"c{number}"
        base.mkdir()
        if number % 2:
            with tally.watching(f"files {number}"):
                _files(base, chance)
        else:
            with tally.watching(f"appends {number}"):
                _appends(base, chance)
        shutil.rmtree(base)
    return tally


def _moment(chance: random.Random) -> int:
    return chance.choice((*MOMENTS, int(time.time()), chance.randrange(YEAR_1, YEAR_9999)))


def _files(base: Path, chance: random.Random) -> None:
    made = 0
    for home in HOMES:
        (base / home).mkdir(parents=True)
        for number in range(3):
            path = base / home / f"a-{number}.json{'' if home.endswith('sessions') and 'continue' in home else 'l'}"
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(_moment(chance)))
            said = {"role": "user", "content": "hi"}
            path.write_text(json.dumps({"type": "user", "timestamp": stamp, "message": said}) + "\n", encoding="utf-8")
            os.utime(path, (0, _moment(chance)))
            made += 1
    found = AgentSessionFinder({"HOME": str(base / "home")}).find_sessions()
    assert len(found) == made, f"{len(found)} of {made} are listed"
    assert all(one.modified >= other.modified for one, other in pairwise(found)), "the order is wrong"
    with patch.dict(os.environ, {"HOME": str(base / "home")}):
        _succeed(["agents"], ["agents", "--json"], ["status"], ["sessions"])


def _appends(base: Path, chance: random.Random) -> None:
    said = [f"{number} {chance.random()}" for number in range(20)]
    with Store.open(base / "workbench.db") as store, store.create() as session:
        for text in said:
            now = _moment(chance)
            with patch("time.time_ns", return_value=now * 10**9), patch("time.time", return_value=float(now)):
                session.append(UserMessage(text))
        name = session.id
    with Store.open(base / "workbench.db") as store:
        assert [each.id for each in store.list()] == [name], "it is not listed"
        with store.session(name, write=False) as session:
            events = session.events()
    assert [event.body.content for event in events if isinstance(event.body, UserMessage)] == said, "the order changed"
    assert all(one.id < other.id for one, other in pairwise(events)), "the ids do not grow"
    with patch.dict(os.environ, {"WORKBENCH_DATA_DIR": str(base)}):
        _succeed(["sessions"], ["sessions", "--json"], ["plan", name], ["requests", name])


def _succeed(*calls: Sequence[str]) -> None:
    for words in calls:
        outcome = call(*words)
        wrong = complaint(outcome) or (outcome.err if outcome.code else "")
        assert not wrong, f"{words}: {wrong}"
