"""An answer that streams into the chat, beside the same answer in Textual's own Markdown stream.

Both get the same pieces at the same pace, on a screen of the same size; ours as the screen gets them from a session.
What is compared is the processor's time, and how long the screen could not answer a key in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from statistics import quantiles
from typing import Any

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Markdown

from bench.harness import Row, Scale, beside, now, rounds, wall
from tui.chat.host import Host, ListTranscript, said, settle
from tui.play import until
from workbench.session.observable import ObservableSession
from workbench.views.values import Activity, LiveAnswer

PIECE = 5
"""Characters of a chunk: 20,000 in 4,000."""
PACE = 0.001
"""Seconds between two chunks."""
TICK = 0.005
SIZE = (120, 40)
PEER = "Markdown.get_stream"

PARAGRAPH = (
    "The fixture opens the database **twice**, so the second `connect` waits for a lock that nobody gives back. "
)
BLOCK = f"""{PARAGRAPH * 3}

- first, look at `conftest.py`
- then at `auth.py`, where *login* begins
- and run it again

```python
def login(user: str) -> Session:
    with connect() as database:
        return database.find(user)
```

"""


def run(scale: Scale) -> Iterator[Row]:
    """Processor time and pauses of one long answer."""
    length = scale.chunks * PIECE
    text = (BLOCK * (length // len(BLOCK) + 1))[:length]
    works = {"ours": _ours, "peer": _peer}
    pauses: dict[str, list[float]] = {name: [] for name in works}

    def answered(name: str) -> float:
        seconds, pause = asyncio.run(works[name](text))
        pauses[name].append(pause)
        return seconds

    each = {name: partial(answered, name) for name in works}
    found = rounds(each, scale.slow_repeats // 2 + 1, gc_on=True, warm_up=False)  # the peer takes its time
    name = f"chat, {length:,} characters"
    yield beside(f"{name}, processor time", found, "ours", "peer", PEER, at_most=1.0)
    paused = found.also("our pause", pauses["ours"]).also("its pause", pauses["peer"])
    yield beside(f"{name}, p95 pause", paused, "our pause", "its pause", PEER, at_most=0.35)


async def _ours(text: str) -> tuple[float, float]:
    updates = ObservableSession(asyncio.get_running_loop())
    app = Host(said(*[("you", PARAGRAPH), ("ai", BLOCK)] * 10), session=updates)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        app.activity = Activity("answering")
        async with _measured() as figures:
            for end in range(PIECE, len(text) + PIECE, PIECE):
                updates.change_state(live=LiveAnswer("1", "", text[:end]))
                await asyncio.sleep(PACE)
            entries = [*app.transcript.entries, *said(("ai", text), first=21)]
            updates.change_state(transcript=ListTranscript(entries), live=None)
            await until(lambda: updates.is_clear)
            await settle(pilot)
        assert len(app.pane.view.lines) == 21, "the answer is an entry now"
    return figures()


class _Peer(App[None]):
    """One Markdown widget that scrolls with its end."""

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Markdown()


async def _peer(text: str) -> tuple[float, float]:
    app = _Peer()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        app.query_one(VerticalScroll).anchor()
        async with _measured() as figures:
            stream = Markdown.get_stream(app.query_one(Markdown))
            for start in range(0, len(text), PIECE):
                await stream.write(text[start : start + PIECE])
                await asyncio.sleep(PACE)
            await stream.stop()
            await pilot.pause()
    return figures()


@asynccontextmanager
async def _measured() -> AsyncIterator[Callable[[], tuple[float, float]]]:
    """The processor's time of what is inside, and how late a timer of its loop fired, in nineteen of twenty cases."""
    late: list[float] = []
    figures: list[float] = []

    async def tick() -> None:
        while True:
            start, spent = wall(), now()
            await asyncio.sleep(TICK)
            late.append(max(min(wall() - start - TICK, now() - spent), 1e-6))  # what others computed does not count

    ticker: asyncio.Task[Any] = asyncio.create_task(tick())
    start = now()
    try:
        yield lambda: (figures[0], quantiles(late, n=20)[-1])
    finally:
        figures.append(now() - start)
        ticker.cancel()
