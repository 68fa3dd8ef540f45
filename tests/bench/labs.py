"""The lab: a long transcript under every policy, request by request."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from itertools import count

from bench import material
from bench.harness import Row, Scale, Work, beside, in_units, rounds, timed
from workbench.lab.replay.lab_source import LabSource
from workbench.lab.running.tasks import all_policies
from workbench.log.events import AssistantMessage, Body, Event, Setting, ToolCall, ToolResult, UserMessage
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.sources.source import as_source

LIMIT = 250
"""For the longer transcript under all policies."""
LINEAR = 2.5
"""Twice the length may take so many times as long."""
TEXTS = 4
"""The transcript is as long as so many of the texts that are truncated: 4 MB."""
RESULT = 3_600
"""Characters of a result: with its call about 4 KB for a request, as in the sessions of agents that were looked at."""


def _messages(seed: int) -> Iterator[Body]:
    """An agent at work: a wish, eight calls with their results, an answer."""
    rng = random.Random(seed)
    for number in count(seed * 1_800):
        place = number % 18
        if place == 0:
            yield UserMessage(material.text("prose", 300, number))
        elif place == 17:
            yield AssistantMessage(material.text("prose", 500, number), reply=f"r{number}")
        elif place % 2:
            path = f"src/part{rng.randint(0, 400)}/file{rng.randint(0, 9)}.py"
            yield ToolCall(
                f"c{number}", rng.choice(("read_file", "run_command")), f'{{"path": "{path}"}}', f"r{number}"
            )
        else:
            kind = rng.choice(("code", "json", "log"))
            yield ToolResult(f"c{number - 1}", material.text(kind, RESULT, number))


def made_events(characters: int, seed: int = 0) -> list[Event]:
    """A transcript of about so many characters; another for every seed."""
    bodies: list[Body] = [Setting("model", "gpt-4o")]
    size = 0
    for body in _messages(seed):
        bodies.append(body)
        size += RESULT if isinstance(body, ToolResult) else 200
        if size >= characters:
            break
    return material.number(iter(bodies))


def _under_all(events: list[Event]) -> float:
    """From the events on; every count is made anew, as for a file that nobody has opened before."""
    with Services() as services:
        source = as_source("made", events)

        def work() -> None:
            lab = LabSource(services, Options(), source)
            for policy in all_policies():
                lab.run_policy(policy)

        return timed(work)


def run(scale: Scale) -> Iterator[Row]:
    """A transcript of a length and one of half of it, in turns, under all presets and as it was recorded."""
    characters = TEXTS * scale.text
    works: dict[str, Work] = {
        "half": partial(_under_all, made_events(characters // 2)),
        "whole": partial(_under_all, made_events(characters)),
    }
    found = rounds(works, scale.slow_repeats)
    size = f"{characters / 1e6:g} MB under {len(all_policies())} policies"
    yield in_units(f"lab: {size}", found, "whole", LIMIT)
    yield beside(f"lab: {size}, by half of it", found, "whole", "half", "ours", LINEAR)
