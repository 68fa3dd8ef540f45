"""The facts that answers would have missed under a policy, with where each was used and where it was held."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from workbench.config.text import counted, printable
from workbench.lab.replay.needs import text_for_model
from workbench.lab.values import Miss, PolicyRun
from workbench.log.events import Event
from workbench.tui.screens.text_blocks import join_blocks, name_value_rows
from workbench.tui.widgets.cells import one_line
from workbench.tui.widgets.columns import Column, Row
from workbench.tui.widgets.finder import MOST, Finder, FinderResult
from workbench.tui.widgets.main_screen_api import MainScreenApi

AROUND = 160
"""Characters to show before and after a fact."""


class MissesScreen(Finder[int]):
    """A row per miss; its result is the event to show."""

    NAME = "missed"
    PLACEHOLDER = "filter: a part of the fact, its kind, or #event"
    COLUMNS = (
        Column("request", 7, right=True),
        Column("kind", 10, least=64),
        Column("fact"),
        Column("used", 8, right=True),
        Column("held", 8, right=True),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "show where it was used", id="misses.used", priority=True),
        Binding("ctrl+o", "held", "show where it was held", id="misses.held", priority=True),
    ]

    def __init__(self, host: MainScreenApi, name: str, run: PolicyRun, events: Sequence[Event], request: int) -> None:
        """`request`: the number of the selected request; the cursor starts there."""
        super().__init__(host)
        self.add_class("-below")
        self._title = f"{name}: {counted(len(run.misses), 'fact')} needed later and gone"
        self._misses = run.misses
        self._events = {event.seq: event for event in events}
        self._first: str | None = next((str(at) for at, miss in enumerate(run.misses) if miss.request >= request), None)
        self.EMPTY = f"{name} took nothing away that an answer used"  # type: ignore[misc]  # the policy's own

    def on_mount(self) -> None:
        self.box.border_title = one_line(self._title)

    async def search_rows(self, text: str) -> FinderResult:
        """Find rows that contain all words."""
        words = text.lower().split()
        rows = [self._row(at, miss) for at, miss in enumerate(self._misses)]
        rows = [row for row in rows if all(word in " ".join(map(str, row.cells)).lower() for word in words)]
        note = f"{MOST:,} of {len(rows):,}; type to filter" if len(rows) > MOST else ""
        first, self._first = self._first, None
        return FinderResult(rows[:MOST], note, first)

    def _row(self, at: int, miss: Miss) -> Row:
        return Row(str(at), (f"{miss.request:,}", miss.kind, miss.fact, f"#{miss.used}", f"#{miss.held}"))

    async def row_details(self, value: str) -> Content:
        """The texts of both places."""
        miss = self._misses[int(value)]
        used, held = (self._around(seq, miss.fact) for seq in (miss.used, miss.held))
        facts = [(f"used #{miss.used}", used), (f"held #{miss.held}", held)]
        return join_blocks(Content.styled(printable(miss.fact), "bold"), name_value_rows(facts, self.wide))

    def _around(self, seq: int, fact: str) -> str:
        text = " ".join(text_for_model(self._events[seq]).split()) if seq in self._events else ""
        at = max(0, text.casefold().find(fact.casefold()))
        begin, end = max(0, at - AROUND), at + len(fact) + AROUND
        return f"{'…' if begin else ''}{text[begin:end]}{'…' if end < len(text) else ''}"

    def choose_row(self, value: str) -> None:
        """Show the answer that used it."""
        self.dismiss(self._misses[int(value)].used)

    def action_held(self) -> None:
        """Show the last item that held it."""
        if self.marked is not None:
            self.dismiss(self._misses[int(self.marked)].held)
