"""A long session on the screen: how much work opening it is until nothing is left to do, in a real pseudo-terminal."""

from __future__ import annotations

import json
import shutil
from collections import deque
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench.children import environment, processor_time, spent_by_all
from bench.harness import Row, Scale, Work, in_units, rounds, wall
from bench.large_files import transcript
from bench.pace import sample_anew, sampler, step_aside
from bench.screen import ONE_WORD, QUIT
from support.terminal import WORKBENCH, Terminal
from support.waiting import WaitLimit
from workbench.log.store import Store

TITLE = "long.jsonl"
"""Of the session, as the file that it was imported from: on the screen once it is open."""
SETTLED = 16.7
"""5 s of the processor where the app with one word takes 0.3 s."""
CALM = 0.08
"""The share of a processor below which nothing but the cursor is at work."""
WINDOW = 2.0
"""Seconds for which it has to be calm."""


def run(scale: Scale) -> Iterator[Row]:
    """An imported session of an agent, opened for the first time, when nothing of it is counted, and once more."""
    with TemporaryDirectory() as folder:
        file, known, new = (Path(folder, name) for name in (TITLE, "known", "new"))
        file.write_text("".join(json.dumps(line) + "\n" for line in transcript(scale.lines)), "utf-8")
        places = {**environment(), "WORKBENCH_CONFIG_DIR": f"{folder}/config"}
        processor_time((*WORKBENCH, "import", str(file)), {**places, "WORKBENCH_DATA_DIR": str(new)}, folder)
        with Store.open(new / "workbench.db") as store:
            (session,) = store.list()

        def first() -> float:
            shutil.rmtree(known, ignore_errors=True)
            shutil.copytree(new, known)
            return again()

        again = partial(_settled, session.id, {**places, "WORKBENCH_DATA_DIR": str(known)})
        works: dict[str, Work] = {"first": first, "again": again}
        found = rounds(works, scale.slow_repeats, warm_up=False, yardstick=ONE_WORD)
        name = f"session of {scale.lines:,} lines on the screen, until at rest"
        yield in_units(name, found, "first", SETTLED)
        yield in_units(f"{name}, opened again", found, "again", SETTLED)


class _Moment(NamedTuple):
    """What was seen of the program at one moment."""

    at: float
    spent: float
    """Seconds of the processor so far."""
    pace: float
    """The machine's so far."""


def _settled(session: str, places: Mapping[str, str]) -> float:
    """The processor's time from the start until the program is calm for a while."""
    limit = WaitLimit()
    terminal = Terminal("open", session, **places)
    step_aside()
    sample_anew()

    def moment() -> _Moment:
        return _Moment(wall(), spent_by_all(terminal.process.pid), sampler().so_far())

    try:
        terminal.wait_for(TITLE)
        seen = deque([moment()])
        while seen[-1].at - seen[0].at < WINDOW or seen[-1].spent - seen[0].spent > CALM * WINDOW:
            assert not limit.is_over, "the program is still at work"
            terminal.watch(0.1)
            seen.append(moment())
            while seen[-1].at - seen[1].at >= WINDOW:
                seen.popleft()
        sampler().end(seen[0].pace)
        return seen[0].spent
    finally:
        terminal.press(QUIT)
        terminal.end()
