"""Opening a session: what it costs depends on what is shown, not on what is stored.

In processor time: the file was just written and is in memory, so nothing waits for the disk.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path

from bench import material
from bench.harness import Row, Scale, absolute, beside, rounds, timed
from workbench.log.store import Store

SHOWN = 50


def run(scale: Scale) -> Iterator[Row]:
    """Open the file and the session, and read the last events: a short session beside a very long one."""
    with tempfile.TemporaryDirectory() as folder:
        works = {}
        for size in (scale.few, scale.stored):
            path = Path(folder) / f"{size}.db"
            with Store.open(path) as store:
                ref = store.create(islice(material.messages(), size)).id
            works[str(size)] = partial(timed, partial(_open, path, ref))
        found = rounds(works, scale.repeats * 3)
        few, many = works
        yield absolute(f"open, last {SHOWN} of {scale.few:,} events", found[few])
        name = f"open, last {SHOWN} of {scale.stored:,} events"
        yield beside(name, found, many, few, f"of {scale.few:,}", at_most=1.5)


def _open(path: Path, ref: str) -> None:
    with Store.open(path) as store:
        assert len(store.session(ref, write=False).last(SHOWN)) == SHOWN
