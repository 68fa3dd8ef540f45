"""Real transcripts, where there are any: the full context answers all probes that are kept, an empty one none."""

from __future__ import annotations

from support.judged import after_summary
from support.recordings import readable_files
from workbench.config.errors import WorkbenchError
from workbench.judge.by_rule import judge_by_rule
from workbench.judge.context_text import joined_blocks
from workbench.judge.contexts import JudgedSource, judged_source
from workbench.sources.options import Options
from workbench.sources.services import Services

SMALL = 120_000
"""Bytes; larger files take seconds."""


def small_sources(services: Services) -> list[JudgedSource]:
    found = []
    for file in readable_files():
        if file.stat().st_size < SMALL:
            try:
                sources = services.sources(str(file))
            except WorkbenchError:  # some lie there to show what cannot be read
                continue
            found += [judged_source(services, Options(), source, source.events) for source in sources[:1]]
    return found


def test_the_full_context_is_perfect_and_an_empty_one_knows_nothing() -> None:
    with Services() as services:
        for source in small_sources(services):
            contexts = [
                after_summary(source, "empty", "–"),
                after_summary(source, "full", joined_blocks(source.blocks)),
            ]
            empty, full = judge_by_rule(source, contexts, 20)
            assert full.all.mean in (None, 1.0), source.name
            assert empty.all.mean in (None, 0.0), source.name
