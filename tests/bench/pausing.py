"""How long the event loop stands still while a long session is compacted: a screen would be seen to stutter."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from itertools import islice

from bench import material
from bench.harness import Row, Scale, in_units, rounds
from bench.pace import on_one_processor
from bench.turns import BUSY, MODEL, PAUSE, pauses_noted, ready, setup_for
from workbench.compaction.compactor import Compactor
from workbench.compaction.values import SummaryDraft
from workbench.context.setup import PlanOptions
from workbench.log.events import Event
from workbench.models.gateway import Gateway

TEXTS = 4
"""The session is as long as so many of the texts that are truncated: 4 MB."""
WINDOW = 128_000
CHUNKS = 60
"""Of a summary."""
POLICY = "confirm"
"""Everything is summarised, and no result is cut before: the most there is to read, in many parts."""


def run(scale: Scale) -> Iterator[Row]:
    """A whole compaction, from the preview to the event: by a model over HTTP, and by the digest."""
    characters = TEXTS * scale.text
    each = material.MESSAGE_SIZE + (material.LARGE_SIZE - material.MESSAGE_SIZE) / material.LARGE_EVERY
    events = material.number(islice(material.messages(), round(characters / each)))
    size = f"compaction of {characters / 1e6:g} MB"
    with ready(CHUNKS) as (runner, gateway):
        for name, digest in (("by a model", False), ("by the digest", True)):
            pauses: list[float] = []

            def work(digest: bool = digest, pauses: list[float] = pauses) -> float:
                gc.collect()
                with on_one_processor():  # like the yardstick
                    draft = runner.run(_compacted(events, gateway, digest, pauses))
                assert draft.made_by == ("digest" if digest else MODEL), draft.problems
                return pauses[-1]

            works = {"pause": work}
            found = rounds(works, scale.slow_repeats, gc_on=True, warm_up=False, yardstick=BUSY, waits=works)
            yield in_units(f"{size}, {name}, longest pause", found, "pause", PAUSE)


async def _compacted(events: list[Event], gateway: Gateway, digest: bool, pauses: list[float]) -> SummaryDraft:
    """One compaction, with a planner and counts of its own, as when the session was just opened."""
    setup = setup_for(PlanOptions(policy=POLICY, model=MODEL, window=WINDOW))
    setup.counter.count("")  # whoever compacts a session has planned it: the tokenizer is loaded
    async with pauses_noted(pauses):
        compactor = Compactor(setup, gateway)
        preview = await asyncio.to_thread(compactor.preview, events, "manual", digest=digest)
        draft = await compactor.draft(events, preview, digest=digest)
        compactor.body(draft)
    return draft
