"""The memory that a long conversation takes, beside what its log holds: nothing else may grow with it.

In a process of its own, with the rehearsal model in it, so that gateway, litellm and loop are all measured.
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
from bench.harness import Row, Scale, absolute
from bench.memory import MIB, used
from bench.turns import agent
from workbench.config.settings import Settings
from workbench.context.setup import Wishes, set_up
from workbench.log.events import Event
from workbench.log.store import Store
from workbench.models.catalogue import Catalogue
from workbench.models.gateway import Gateway

MODEL = "rehearsal"
QUESTION = "Hello again, this is question {number}."


class Grown(NamedTuple):
    """In MiB."""

    quarter: float
    """Resident after a quarter of the turns, when all caches are filled."""
    end: float
    log: float
    """What the events since the quarter, and their place in the planner, take when they are read from disk."""


def run(scale: Scale) -> Iterator[Row]:
    """A short conversation that goes on and on."""
    done = subprocess.run(
        children.command("growth", str(scale.turns)),
        env=children.environment(),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = Grown(*json.loads(done.stdout))
    yield absolute(f"resident after {scale.turns // 4:,} turns", found.quarter, unit="MiB")
    yield absolute(f"resident after {scale.turns:,} turns", found.end, unit="MiB")
    yield absolute("held by the log in between", found.log, unit="MiB")


def _child(turns: int) -> Grown:
    with tempfile.TemporaryDirectory() as name, Store.open(Path(name) / "workbench.db") as store:
        with store.create() as session:
            talk = _talk(store.session, session)
    return talk


if __name__ == "__main__":
    print(json.dumps(_child(int(sys.argv[1]))))
