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
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from bench import children, material
from bench.harness import Row, Scale, Target, absolute
from bench.memory import MIB, used
from bench.turns import agent, setup_for
from workbench.context.setup import Setup, Wishes
from workbench.log.session import Session
from workbench.log.store import Store
from workbench.models.gateway import Gateway
from workbench.models.rehearsal.script import Script

WISHES = Wishes(model="rehearsal", window=3_000, reserve=500)
"""A small window: the requests soon grow no more, so that their size does not hide what else does."""
SLACK = 1.0
"""MiB that may come and go with the allocator's pages and SQLite's cache."""


class Grown(NamedTuple):
    """In MiB."""

    quarter: float
    """Resident after a quarter of the turns, when what is kept for good is there."""
    end: float
    log: float
    """What the events since the quarter take, with their place in the planner, when they are read anew."""


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
    expected = found.quarter + found.log
    quarter = f"after {scale.turns // 4:,} turns"
    yield absolute(f"resident {quarter}", found.quarter, unit="MiB")
    yield absolute(f"held by the log, {scale.turns // 4:,} to {scale.turns:,} turns", found.log, unit="MiB")
    target = Target("at most", expected + SLACK, "ours")
    name = f"resident after {scale.turns:,} turns"
    yield Row(name, found.end, "MiB", expected, f"{quarter} + log", found.end / expected, target)


def _child(turns: int) -> Grown:
    setup = setup_for(WISHES)
    with tempfile.TemporaryDirectory() as name, Store.open(Path(name) / "workbench.db") as store:
        with store.create() as session:
            quarter, end, length = asyncio.run(_talk(session, setup, Path(name), turns))
        stored = store.session(session.id, write=False)
        return Grown(quarter, end, _held(stored, setup) - _held(stored, setup, length))


async def _talk(session: Session, setup: Setup, folder: Path, turns: int) -> tuple[float, float, int]:
    """All turns: the memory after a quarter of them and at the end, and the events at the quarter."""
    gateway = Gateway()
    await gateway.warm()
    await gateway.rehearse(Script([{"reply": "That is all there is to say about it.", "repeat": turns}]))
    talking = agent(session, setup, folder, gateway)
    quarter, length = 0.0, 0
    for number in range(turns):
        if number == turns // 4:
            quarter, length = _resident(), len(session)
        async for _ in talking.turn(f"And what about number {number}?"):
            pass
    end = _resident()
    await gateway.close()
    return quarter, end, length


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
