"""The inspector: what it costs depends on what is in view, not on how many rows there are.

In a terminal that is none, in processor time: mounting the pane, and painting it again when the session grows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median

from textual.app import App, ComposeResult
from textual.pilot import Pilot

import workbench.tui
from bench import material
from bench.harness import Row, Scale, absolute, beside, in_units, now, often, rounds
from bench.screen import ONE_WORD
from support.session_state import SetSession, StateField
from workbench.context.planner import Planner
from workbench.log.events import Event
from workbench.session.observable import ObservableSession
from workbench.tui.inspector.pane import InspectorPane
from workbench.tui.inspector.row_list import RowList
from workbench.tui.textual_patches import patch_textual
from workbench.tui.themes import VARIABLES
from workbench.views.context_view import ContextView
from workbench.views.values import LiveAnswer

SIZE = (120, 40)
MOUNTS = 3
"""In a round."""
APPENDS = 30
"""At most; where all is repeated less often, there are fewer."""
LIMIT = 0.01
"""Of the work of an app with one word until its first frame: 3 ms where that takes 0.3 s."""


FOLDER = Path(workbench.tui.__file__).parent


class Host(App[None]):
    """A screen with the pane, or with its list of rows alone."""

    CSS_PATH = [FOLDER / "inspector" / "inspector.tcss", FOLDER / "widgets" / "text.tcss"]  # noqa: RUF012 - Textual types it as an instance's own

    shown, live = StateField(), StateField()

    def __init__(self, shown: ContextView, whole: bool) -> None:
        patch_textual()
        super().__init__()
        self.session: ObservableSession = SetSession(shown=shown)
        self._whole = whole

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return VARIABLES

    def compose(self) -> ComposeResult:
        yield InspectorPane(self.session) if self._whole else RowList(self.session)


class StreamingLines:
    """A session whose plans are made beforehand: planning is measured elsewhere."""

    def __init__(self, events: Sequence[Event]) -> None:
        policy = material.policy("workbench")
        limits, counter = material.model_limits(policy), material.shared_counter()
        self._planner = Planner(policy, limits, counter, model=material.MODEL, events=events)
        self._length = len(events)
        self.first = self._shown()

    def _shown(self) -> ContextView:
        return ContextView(self._planner.plan(), "workbench", "", self._length)

    def more(self, count: int) -> list[ContextView]:
        """What is shown after each of so many events."""
        found = []
        for event in material.number(islice(material.messages(7), count), self._length):
            self._planner.append_event(event)
            self._length += 1
            found.append(self._shown())
        return found


def run(scale: Scale) -> Iterator[Row]:
    """Few rows beside very many; then one more row, at the end of each."""
    sessions = {str(size): StreamingLines(material.log(size)) for size in (scale.few, scale.many)}
    works = {name: often(partial(_mounted, session.first), MOUNTS) for name, session in sessions.items()}
    found = rounds(works, scale.repeats)
    few, many = works
    yield absolute(f"mount the inspector, {scale.few:,} rows", found[few])
    yield beside(f"mount the inspector, {scale.many:,} rows", found, many, few, f"{scale.few:,} rows", at_most=2)
    for name, session in sessions.items():
        steps = session.more(min(APPENDS, 4 * scale.repeats))
        works = {what: partial(_growing, session.first, steps, *how) for what, how in HOWS.items()}
        found = rounds(works, scale.repeats, warm_up=False, yardstick=ONE_WORD)
        row, pane, piece = HOWS
        yield in_units(f"{row}, {int(name):,} rows", found, row, LIMIT)
        yield absolute(f"{pane}, {int(name):,} rows", found[pane])
        yield in_units(f"{piece}, {int(name):,} rows", found, piece, LIMIT)


HOWS = {
    "one more row": (False, False),
    "the same with title, bar and verdict": (True, False),
    "one more piece of an answer": (False, True),
}
"""Whether the whole pane is there, and whether an answer streams in rather than rows."""


def _growing(first: ContextView, steps: Sequence[ContextView], whole: bool, live: bool) -> float:
    return asyncio.run(_grown(first, steps, whole, live))


def _mounted(shown: ContextView) -> float:
    return asyncio.run(_mount(shown))


async def _mount(shown: ContextView) -> float:
    app = Host(shown, whole=True)
    start = now()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        return now() - start


async def _grown(first: ContextView, steps: Sequence[ContextView], whole: bool, live: bool) -> float:
    """The work that one step makes, beyond that of waiting for a screen on which nothing happens."""
    app = Host(first, whole)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        idle, busy = [], []
        for number, shown in enumerate(steps):
            idle.append(await _waited(pilot, lambda: None))
            step = partial(
                setattr, app, *(("live", LiveAnswer("1", text="word " * number)) if live else ("shown", shown))
            )
            busy.append(await _waited(pilot, step))
    return max(median(busy) - median(idle), 1e-6)


async def _waited(pilot: Pilot[None], step: Callable[[], None]) -> float:
    start = now()
    step()
    await pilot.pause()
    return now() - start
