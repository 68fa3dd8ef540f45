"""The memory of a long session: its events, its planner and a plan, beyond interpreter and tokenizer.

Measured in a process of its own, once by what Python allocates (tracemalloc) and once by what the system gives it
(resident set); never both at once, because tracing needs memory too.
"""

from __future__ import annotations

import gc
import resource
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from bench import children, material
from bench.harness import Row, Scale, Target
from workbench.context.planner import Planner
from workbench.log.codec import encode_event
from workbench.log.store import Store

MIB = 1024 * 1024
LIMIT = 6
"""As a multiple of the session as JSON."""
HOW = {"traced": "allocated by Python", "resident": "resident set"}


def run(scale: Scale) -> Iterator[Row]:
    """Open a session from disk in a new process, plan it, and see what that took."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "workbench.db"
        with Store.open(path) as store:
            session = store.create(islice(material.messages(), scale.some))
            ref, size = session.id, sum(len(encode_event(event).encode()) for event in session.events()) / MIB
        for mode, how in HOW.items():
            grown = _in_child(path, ref, mode)
            name, target = f"memory, {scale.some:,} messages, {how}", Target("at most", LIMIT)
            yield Row(name, grown, "MiB", size, "the same as JSON", grown / size, target)


def _in_child(path: Path, ref: str, mode: str) -> float:
    done = subprocess.run(
        children.command("memory", str(path), ref, mode),
        env=children.environment(),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return float(done.stdout)


def _child(path: Path, ref: str, mode: str) -> float:
    """MiB that a session takes when it is opened and planned."""
    policy = material.policy("workbench")
    limits = material.model_limits(policy)
    counter = material.fresh_counter()
    counter.count(material.text("log", material.LARGE_SIZE, 1))  # the tokenizer takes its working memory now
    with Store.open(path) as store:
        session = store.session(ref, write=False)
        session.last(1)
        gc.collect()
        if mode == "traced":
            tracemalloc.start()
        before = used(mode)
        events = session.events()
        planner = Planner(policy, limits, counter, model=material.MODEL, events=events)
        plan = planner.plan()
        gc.collect()
        grown = used(mode) - before
        assert plan.items[-1].seq == len(events)
    return grown / MIB


def used(mode: str) -> int:
    """Bytes that this process has: `traced` by Python, or `resident`."""
    if mode == "traced":
        return tracemalloc.get_traced_memory()[0]
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * resource.getpagesize()
    # Elsewhere only the peak is at hand; in bytes on macOS.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    print(_child(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
