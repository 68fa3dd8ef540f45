"""Reading the lines of a session as events, checked, beside parsing the same lines with the standard library."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

from bench import material
from bench.harness import Row, Scale, beside, rounds, timed
from workbench.log.codec import decode_event, encode_event


def run(scale: Scale) -> Iterator[Row]:
    """Typed events are not dearer than dictionaries that nobody has checked."""
    lines = [encode_event(event) for event in material.number(islice(material.messages(), scale.some))]

    def each(read: Callable[[str], object]) -> None:
        for line in lines:
            read(line)

    works = {"events": partial(timed, partial(each, decode_event)), "json": partial(timed, partial(each, json.loads))}
    found = rounds(works, scale.repeats)
    yield beside(f"read {scale.some:,} lines as events", found, "events", "json", "json.loads", at_most=1.0)
