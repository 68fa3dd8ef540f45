"""Values of the panel made from real logs, and the panel alone on a small screen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any

from textual import on
from textual.app import ComposeResult
from textual.pilot import Pilot

from support.drafts import setup
from support.logs import number
from support.session_state import SetSession, StateField
from tui.compaction.long_talk import talk
from tui.small_app import SmallApp
from workbench.config.values import replace
from workbench.context.setup import Setup
from workbench.log.events import Body, Compaction, Event, Revert
from workbench.session.observable import ObservableSession
from workbench.tui.compaction import panel as panel_module
from workbench.tui.compaction.panel import CompactionPanel
from workbench.tui.messages import RunCommand
from workbench.views.compaction_values import CompactionView
from workbench.views.compaction_view import CompactionInputs, LogFigures, compaction_panel_view

FOLDER = Path(panel_module.__file__).parents[1]
SHEETS: list[str | PurePath] = [FOLDER / "compaction" / "compaction.tcss", FOLDER / "widgets" / "dialogs.tcss"]
SETUP = setup()


def figures_of(events: Sequence[Event], *, step: int = 1) -> LogFigures:
    """Taken in a few events at a time."""
    figures = LogFigures()
    for end in range(0, len(events), step):
        figures.catch_up(events[:end])
    figures.catch_up(events)
    return figures


def seen(events: Sequence[Event], made: Setup = SETUP, **changes: Any) -> CompactionView:
    """What the panel shows of a log."""
    figures = figures_of(events, step=max(1, len(events)))
    inputs = CompactionInputs(
        made.plan(events),
        made,
        made.loaded.policy.name,
        figures.events(),
        figures,
        940.0,
        "",
        True,
        None,
        made.planner(events),
    )
    return compaction_panel_view(replace(inputs, **changes))


def summary(first: int, last: int, text: str = "so far", **noted: Any) -> Compaction:
    """A compaction as the compactor writes it."""
    known = {"trigger": "threshold", "made_by": "scripted", "tokens_before": 45_000, "tokens_after": 6_900}
    known |= {"source_tokens": 41_200, "summary_tokens": 3_150, "ratio": 13.079, "facts_kept": 46, "facts_lost": 3}
    return Compaction(first, last, text, meta={**known, **noted})


def nested() -> list[Body]:
    """Three compactions: one replaced by the next, which stands, and one that was undone."""
    bodies = talk(6)
    bodies += [summary(3, 11), *talk(2)[2:], summary(3, 21), *talk(1)[2:]]
    bodies += [summary(3, 40), Revert(len(bodies) + 1)]
    return bodies


def log(bodies: Sequence[Body]) -> list[Event]:
    """Bodies as a log."""
    return number(bodies)


class Host(SmallApp):
    """The panel over a state that a test sets; what it asks for is kept."""

    compaction = StateField()

    def __init__(self, shown: CompactionView | None = None, theme: str = "ink") -> None:
        super().__init__(theme)
        self.asked: list[tuple[str, str]] = []
        self.session: ObservableSession = SetSession(compaction=shown)

    def compose(self) -> ComposeResult:
        """The panel alone."""
        yield CompactionPanel(self.session)

    def on_mount(self) -> None:
        """Its keys work at once."""
        self.panel.take_focus()

    @property
    def panel(self) -> CompactionPanel:
        """The panel under test."""
        return self.query_one(CompactionPanel)

    @on(RunCommand)
    def _run(self, message: RunCommand) -> None:
        self.asked.append((message.name, message.argument))


async def settle(pilot: Pilot[Any]) -> None:
    """Wait until everything is taken in and drawn."""
    await pilot.pause()
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()
