"""A very long log: how soon it can be read and typed into on the screen, and how long its first compaction takes; and
what a question costs that no litellm is needed for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import material
from bench.children import environment, processor_time, spent_by
from bench.harness import STARTING, Row, Scale, Work, beside, in_units, now, rounds
from bench.pace import end_samples, sample_anew, step_aside
from bench.screen import ONE_WORD, OURS, QUIT
from bench.turns import BUSY, pauses_noted, setup_for
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
READ = 3.0
"""After the first frame."""
COMPACTED = 400
STILL = 20
"""For which a screen may stand still, as a multiple of the pause beside a busy thread."""
ASKED = 1.7
"""Six tenths of what it took when the limit was set."""


def asking(scale: Scale) -> Iterator[Row]:
    """A turn with a tool by the rehearsal model, as text and as JSON."""
    with TemporaryDirectory() as folder:
        places = {**environment(), "WORKBENCH_DATA_DIR": f"{folder}/data", "WORKBENCH_CONFIG_DIR": f"{folder}/config"}
        Path(folder, "a.txt").write_text("a line\n")
        command = (*WORKBENCH, "ask", "-m", "rehearsal", "read a.txt")
        works = {
            "ask, by the rehearsal model": partial(processor_time, command, places, folder),
            "the same as JSON": partial(processor_time, (*command, "--json"), places, folder),
        }
        found = rounds(works, scale.slow_repeats, warm_up=scale.repeats > 1, yardstick=STARTING)
        for name in works:
            yield in_units(f"{name}, processor time", found, name, ASKED)


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
        found = rounds(works, scale.slow_repeats, warm_up=False, yardstick=ONE_WORD)
        few, many = names
        yield in_units(f"log of {scale.stored:,} events, read and typed into", found, many, READ)
        yield beside(
            f"log of {scale.stored:,} events, by a short one", found, many, few, f"of {scale.few:,}", at_most=2.0
        )


def _read_and_typed(ref: str, places: Mapping[str, str]) -> float:
    """The processor's time from the first frame on."""
    terminal = Terminal("open", ref, **places)
    step_aside()
    try:
        terminal.wait_for(OURS)
        sample_anew()
        start = spent_by(terminal.process.pid)
        terminal.press(TYPED)
        terminal.wait_for(END)
        terminal.wait_for(TYPED)
        spent = spent_by(terminal.process.pid) - start
        end_samples()
        return spent
    finally:
        terminal.press(QUIT)
        terminal.end()


def compaction(scale: Scale) -> Iterator[Row]:
    """The first compaction, from the preview to the plan with it, in a session that is planned."""
    events = list(material.log(scale.stored))
    rehearse()
    for who, gateway in (("the digest", None), ("the rehearsal model", Gateway())):
        pauses: list[float] = []
        works: dict[str, Work] = {"ours": partial(_spent, events, gateway, pauses), BUSY.name: BUSY.work}
        found = rounds(works, scale.slow_repeats, gc_on=True, warm_up=False, waits=[BUSY.name]).also("pause", pauses)
        name = f"compaction of {scale.stored:,} events by {who}"
        yield in_units(f"{name}, processor time", found, "ours", COMPACTED)
        yield beside(f"{name}, longest pause", found, "pause", BUSY.name, BUSY.name, STILL)


def _spent(events: list[Event], gateway: Gateway | None, pauses: list[float]) -> float:
    return asyncio.run(_compacted(events, gateway, pauses))


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
