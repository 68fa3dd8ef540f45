"""The agents that run on this machine, a lane each, with live figures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.content import Content

from workbench.config.folders import shown_folder, work_folder
from workbench.config.text import percent, printable, when
from workbench.live.status import AgentStatus, StatusReader
from workbench.sources.all_agents import running_statuses
from workbench.tui.screens.text_blocks import join_blocks, name_value_rows, paragraph
from workbench.tui.screens.usage_charts import bar_of
from workbench.tui.widgets.bar import LEVELS
from workbench.tui.widgets.cells import fit_cells, fit_cells_end
from workbench.tui.widgets.columns import Column, Row, rest_width
from workbench.tui.widgets.finder import Finder, FinderResult
from workbench.tui.widgets.main_screen_api import MainScreenApi
from workbench.usage.usage_figures import UNKNOWN, dollars
from workbench.views.alerts import AlertFigures
from workbench.views.values import WindowUse

CHECK_SECONDS = 1.0
"""Seconds between two looks at the agents."""
BAR = 10
"""Cells of a bar."""
LOOKING = "looking for agents…"
NOBODY = (
    "No agent runs on this machine now. Start one in another terminal, and it appears here: Claude Code, Codex or any "
    "other that `workbench agents` knows; any agent at all with `workbench proxy -- COMMAND`; or a program that uses "
    "the library with a store. Ctrl+O lists the sessions that are over."
)


class LanesScreen(Finder[str]):
    """A row for each agent. It is closed with the reference of a session to open."""

    NAME = "agents that run"
    PLACEHOLDER = "a part of a name, folder or title"
    EMPTY = "No agent that runs has this in its name."
    COLUMNS = (
        Column("agent", 12),
        Column("folder"),
        Column("window", BAR + 6),
        Column("last tool", 12, least=64),
        Column("cost", 8, right=True, least=50),
        Column("", 4),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "open and follow", id="lanes.open", priority=True)
    ]

    def __init__(self, host: MainScreenApi) -> None:
        super().__init__(host)
        self.add_class("-below")
        self._reader = StatusReader(host.services.catalogue, lambda: host.services.store)
        self._statuses: Sequence[AgentStatus] | None = None
        """None: not looked for yet."""
        self._is_looking = False

    def on_mount(self) -> None:
        self._check_agents()
        self.set_interval(CHECK_SECONDS, self._check_agents)

    def _check_agents(self) -> None:
        if not self._is_looking:
            self._is_looking = True
            self._read()

    @work
    async def _read(self) -> None:
        try:
            read = partial(running_statuses, self.host.services, self._reader, work_folder().path)
            found = await self.host.in_background(read)
        finally:
            self._is_looking = False
        if found != self._statuses:
            self._statuses = found
            self.host.check_alerts(map(_alert_figures, found))
            self.refill()

    async def search_rows(self, text: str) -> FinderResult:
        """The agents whose name, folder or title have the words."""
        if self._statuses is None:
            return FinderResult((), LOOKING)
        words = text.lower().split()
        room = rest_width(self.COLUMNS, self.found.scrollable_content_region.width - 1)
        return FinderResult([_row(each, room) for each in self._statuses if _has(each, words)])

    def empty(self) -> Content:
        """What to do if no agent runs."""
        if self._statuses is None:
            return Content.styled(LOOKING, "$quiet")
        return super().empty() if self._statuses else paragraph(NOBODY)

    async def row_details(self, value: str) -> Content:
        """What the row has no room for."""
        status = next((each for each in self._statuses or () if each.session.ref == value), None)
        if status is None:
            return Content("")
        session, left = status.session, status.left
        size = UNKNOWN if status.tokens is None else f"{status.tokens:,}"
        facts = [
            ("agent", printable(session.agent)),
            ("folder", printable(shown_folder(session.folder))),
            ("model", printable(session.model)),
            ("tokens", size if status.window is None else f"{size} of {status.window:,}"),
            ("compaction", "not known" if left is None else f"in {left:,} tokens"),
            ("changed", when(session.modified)),
        ]
        title = Content.styled(printable(session.title) or "without a title", "bold")
        held = Content.styled("A request waits at a breakpoint: Alt+H shows it, after Esc.", "$warning")
        return join_blocks(title, name_value_rows(facts, self.wide), *([held] if status.held else []))

    def choose_row(self, value: str) -> None:
        """Open the session."""
        self.dismiss(value)


def _has(status: AgentStatus, words: Sequence[str]) -> bool:
    session = status.session
    known = f"{session.agent} {session.folder} {session.title} {session.model}".lower()
    return all(word in known for word in words)


def _row(status: AgentStatus, room: int) -> Row:
    """`room`: cells for the folder; of a longer path the end is shown."""
    session = status.session
    return Row(
        session.ref,
        (
            session.agent,
            fit_cells_end(printable(shown_folder(session.folder)), room).rstrip() or UNKNOWN,
            _fill(status),
            status.last_tool or UNKNOWN,
            UNKNOWN if status.cost is None else dollars(status.cost),
            Content.styled("held" if status.held else "", "bold $warning"),
        ),
    )


def _fill(status: AgentStatus) -> Content:
    """A bar and the per cent; without a window, the tokens."""
    if status.share is None or status.tokens is None or not status.window:
        return Content.styled(UNKNOWN if status.tokens is None else f"{status.tokens:,} tokens", "$quiet")
    use = WindowUse(status.tokens, status.window)
    bar = fit_cells(bar_of(min(use.share, 1.0), 1.0, BAR), BAR)
    return Content.assemble((bar, LEVELS[use.level]), f" {percent(use.share, 0):>5}")


def _alert_figures(status: AgentStatus) -> AlertFigures:
    session = status.session
    name = " · ".join(filter(None, (session.agent, session.title)))
    return AlertFigures(session.ref, name, status.share, status.compactions, status.failures)
