"""The memory that a long conversation takes, beside what its log holds: nothing else may grow with it.

In a process of its own, with the rehearsal model in it, so that agent, gateway and litellm are all measured.
"""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bench import children, material
from bench.harness import Row, Scale, Target, absolute
from bench.memory import MIB, used
from bench.turns import agent, setup_for
from workbench.config.values import replace
from workbench.context.setup import PlanOptions, Setup
from workbench.log.session import Session
from workbench.log.store import Store
from workbench.models.gateway import Gateway
from workbench.rehearsal.in_process import rehearse
from workbench.rehearsal.script import Script

OPTIONS = PlanOptions(
    model="rehearsal",
    window=3_000,
    reserve=500,
    sets=("compaction.mode=off", "compaction.headless_mode=off"),
)
"""A small window: the requests soon grow no more, so that their size does not hide what else does. No compaction, for
the same reason: it plans the log several times over at once, and the allocator keeps the pages of such a peak."""
SLACK = 1.01
"""For the allocator's pages, SQLite's cache and the memo of counts, which fills with the notices of every turn up
to its bound."""
SHARES = (0.1, 0.3, 1)
"""When the memory is looked at, as shares of the turns. At the second what is kept for good is there."""


class Grown(NamedTuple):
    """In MiB."""

    resident: list[float]
    """At each share of the turns."""
    log: float
    """What the events since the second share take, with their place in the planner, when they are read anew."""


def run(scale: Scale) -> Iterator[Row]:
    """A conversation of short messages that goes on and on."""
    done = subprocess.run(
        children.command("growth", str(scale.turns)),
        env=children.environment(),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = Grown(*json.loads(done.stdout))
    early, settled, end = (f"after {mark:,} turns" for mark in _marks(scale.turns))
    expected = found.resident[1] + found.log
    yield absolute(f"resident {early}", found.resident[0], unit="MiB")
    yield absolute(f"resident {settled}", found.resident[1], unit="MiB")
    yield absolute("held by the log since then", found.log, unit="MiB")
    target = Target("at most", SLACK)
    last = found.resident[2]
    yield Row(f"resident {end}", last, "MiB", expected, f"{settled} + log", last / expected, target)


def _marks(turns: int) -> list[int]:
    """The numbers of turns at which the memory is looked at; all different, also where there are few."""
    return [max(int(share * turns), number) for number, share in enumerate(SHARES, 1)]


def _child(turns: int) -> Grown:
    setup = setup_for(OPTIONS)
    with tempfile.TemporaryDirectory() as name, Store.open(Path(name) / "workbench.db") as store:
        with store.create() as session:
            resident, length = asyncio.run(_talk(session, setup, Path(name), _marks(turns)))
        stored = store.session(session.id, write=False)
        return Grown(resident, _held(stored, setup) - _held(stored, setup, length))


async def _talk(session: Session, setup: Setup, folder: Path, marks: list[int]) -> tuple[list[float], int]:
    """All turns: the memory at the marks, and the events at the second."""
    gateway = Gateway()
    await gateway.warm()
    rehearse(Script([{"reply": "That is all there is to say about it.", "repeat": marks[-1]}]))
    talking = agent(session, setup, folder, gateway)
    resident: list[float] = []
    length = 0
    for number in range(1, marks[-1] + 1):
        async for _ in talking.turn(f"And what about number {number}?"):
            pass
        if number in marks:
            resident.append(_resident())
            length = len(session) if number == marks[1] else length
    await gateway.close()
    return resident, length


def _resident() -> float:
    gc.collect()
    return used("resident") / MIB


def _held(session: Session, setup: Setup, upto: int | None = None) -> float:
    """MiB of the events, read from disk, and of a planner over them with counts of its own."""
    setup = replace(setup, counter=material.fresh_counter())
    gc.collect()
    tracemalloc.start()
    planner = setup.planner(session.events(upto=upto), live=True)
    planner.plan()
    gc.collect()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return held / MIB


if __name__ == "__main__":
    print(json.dumps(_child(int(sys.argv[1]))))
