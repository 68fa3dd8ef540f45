"""A very long log: how soon it can be read and typed into on the screen, and how long its first compaction takes; and
what a question costs that no litellm is needed for."""

from __future__ import annotations

import asyncio
import resource
import subprocess
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import material
from bench.children import environment
from bench.harness import Row, Scale, absolute, beside, collector, now, rounds, wall
from bench.screen import OURS, QUIT
from bench.turns import pauses_noted, setup_for
from support.terminal import WORKBENCH, Terminal
from workbench.compaction.compactor import Compactor
from workbench.context.setup import PlanOptions
from workbench.log.events import Event, UserMessage
from workbench.log.store import Store
from workbench.models.gateway import Gateway
from workbench.rehearsal.in_process import rehearse

END = "so-it-ends-here"
"""Stands in the last message of the log."""
TYPED = "typed-meanwhile"
READ = 1.0
"""Seconds after the first frame."""
COMPACTED = 5.0
STILL = 0.1
"""Seconds for which a screen may stand still."""
ASKED = 1.0
"""Seconds of processor's time."""


def asking(scale: Scale) -> Iterator[Row]:
    """A turn with a tool by the rehearsal model, as text and as JSON."""
    with TemporaryDirectory() as folder:
        places = {**environment(), "WORKBENCH_DATA_DIR": f"{folder}/data", "WORKBENCH_CONFIG_DIR": f"{folder}/config"}
        Path(folder, "a.txt").write_text("a line\n")
        for name, form in (("ask, by the rehearsal model", ()), ("the same as JSON", ("--json",))):
            spent = min(_asked(folder, places, form) for _ in range(scale.slow_repeats))
            yield absolute(f"{name}, processor time", spent, below=ASKED)


def _asked(folder: str, places: Mapping[str, str], form: tuple[str, ...]) -> float:
    before = _children()
    command = [*WORKBENCH, "ask", "-m", "rehearsal", "read a.txt", *form]
    subprocess.run(command, cwd=folder, env=dict(places), check=True, capture_output=True)
    return _children() - before


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def opening(scale: Scale) -> Iterator[Row]:
    """From the first frame to the end of the conversation, and to what was typed: beside a short log."""
    with TemporaryDirectory() as folder:
        places = {**environment(), "WORKBENCH_DATA_DIR": f"{folder}/data", "WORKBENCH_CONFIG_DIR": f"{folder}/config"}
        names = {}
        with Store.open(Path(folder, "data", "workbench.db")) as store:
            for size in (scale.few, scale.stored):
                log = chain(islice(material.messages(), size), [UserMessage(END)])
                names[str(size)] = store.create(log, title=f"log {size}").id
        works = {size: partial(_read_and_typed, ref, places) for size, ref in names.items()}
        found = rounds(works, scale.slow_repeats, warm_up=False)
    few, many = names
    yield absolute(f"log of {scale.stored:,} events, read and typed into", found[many], below=READ)
    yield beside(f"log of {scale.stored:,} events, by a short one", found, many, few, f"of {scale.few:,}", at_most=2.0)


def _read_and_typed(ref: str, places: Mapping[str, str]) -> float:
    terminal = Terminal("open", ref, **places)
    try:
        terminal.wait_for(OURS)
        start = wall()
        terminal.press(TYPED)
        terminal.wait_for(END)
        terminal.wait_for(TYPED)
        return wall() - start
    finally:
        terminal.press(QUIT)
        terminal.end()


def compaction(scale: Scale) -> Iterator[Row]:
    """The first compaction, from the preview to the plan with it, in a session that is planned."""
    events = list(material.log(scale.stored))
    rehearse()
    for who, gateway in (("the digest", None), ("the rehearsal model", Gateway())):
        pauses: list[float] = []
        with collector(on=True):
            times = [asyncio.run(_compacted(events, gateway, pauses)) for _ in range(max(1, scale.slow_repeats // 2))]
        name = f"compaction of {scale.stored:,} events by {who}"
        yield absolute(f"{name}, processor time", min(times), below=COMPACTED)
        yield absolute(f"{name}, longest pause", max(pauses), below=STILL)


async def _compacted(events: list[Event], gateway: Gateway | None, pauses: list[float]) -> float:
    digest = gateway is None
    setup = setup_for(PlanOptions(policy="workbench", model="rehearsal"))
    planner = setup.planner(events)
    compactor = Compactor(setup, gateway)
    async with pauses_noted(pauses):
        start = now()
        moment = planner.at_this_moment()
        preview = await asyncio.to_thread(compactor.preview, events, "manual", digest=digest, planner=moment)
        draft = await compactor.draft(events, preview, digest=digest)
        event = Event(len(events) + 1, "compaction", 0, compactor.body(draft))
        await asyncio.to_thread(planner.append_event, event)
        assert planner.plan().size == draft.tokens_after
        return now() - start
