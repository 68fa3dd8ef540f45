"""What all agents on this machine used and cost: bars, a calendar, and the most expensive sessions."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import ClassVar, NamedTuple

from textual import work
from textual.binding import Binding, BindingType
from textual.content import Content

from workbench.config.folders import shown_folder, work_folder
from workbench.config.text import fit_columns, printable
from workbench.lab.replay.usage_waste import UsageWaste, usage_waste
from workbench.lab.waste.costs import WasteReport
from workbench.tui.screens.text_blocks import join_blocks, name_value_rows, paragraph
from workbench.tui.screens.usage_charts import bar_lines, bar_of, calendar_of, figures_in_columns
from workbench.tui.widgets.cells import one_line
from workbench.tui.widgets.columns import Column, Row
from workbench.tui.widgets.finder import MOST, Finder, FinderResult
from workbench.tui.widgets.main_screen_api import MainScreenApi
from workbench.usage.gathering import all_usage
from workbench.usage.session_titles import session_titles
from workbench.usage.usage_figures import (
    FIGURES,
    UNKNOWN,
    broken_lines,
    dollars,
    limit_lines,
    price_note,
    shown_figures,
)
from workbench.usage.usage_table import (
    DIMENSIONS,
    Dimension,
    UsageBucket,
    UsageRow,
    UsageTable,
    bucket_name,
    grouped,
    total_row,
)

BAR = 16
"""Cells of a bar in the list."""
DEAREST = 5
"""Sessions that a key opens."""
MODELS = 6
"""Models with a bar of their own."""
ALL = "\0"
"""The first row, which has all requests; no name contains this."""
READING = "reading what all agents used…"
NOTHING = (
    "No agent on this machine has recorded a request yet, in the folders that `workbench agents` searches. "
    "Requests that pass `workbench proxy` count as well, and [agents] in config.toml adds other places."
)


class _Scope(NamedTuple):
    """The requests of one row, whose sessions are listed."""

    by: Dimension
    name: str


class UsageScreen(Finder[str]):
    """A row for each day, model or other. It is closed with the reference of a session to open."""

    NAME = "usage"
    PLACEHOLDER = "a part of a name"
    EMPTY = "Nothing has this in its name."
    COLUMNS: ClassVar[Sequence[Column]] = (
        Column(""),
        Column("", BAR, least=56),
        Column("tokens", 8, right=True, least=34),
        Column("cost", 10, right=True),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "its sessions, or open", id="usage.open", priority=True),
        Binding("tab", "next(1)", "by day, week, …", id="usage.next", priority=True),
        Binding("shift+tab", "next(-1)", "back", id="usage.before", priority=True, show=False),
        Binding("alt+w", "waste", "waste", id="usage.waste", priority=True),
        Binding("ctrl+down", "read(3)", "scroll", id="usage.scroll", priority=True),
        *(
            Binding(
                f"alt+{at}", f"dearest({at})", f"open session {at}", id=f"usage.open-{at}", priority=True, show=False
            )
            for at in range(1, DEAREST + 1)
        ),
    ]

    def __init__(self, host: MainScreenApi) -> None:
        super().__init__(host)
        self._table: UsageTable | None = None
        """None: still being read."""
        self._by: Dimension = "day"
        self._scope: _Scope | None = None
        self._dearest: Sequence[UsageRow] = ()
        """Those of the marked row."""
        self._titles: dict[str, str] = {}
        self._waste: dict[str, WasteReport | None] = {}
        """Of the sessions in which it was looked for; None: it cannot be read."""

    def on_mount(self) -> None:
        """Read in the background."""
        self._read()

    @work
    async def _read(self) -> None:
        here = work_folder().path
        self._table = await self.host.in_background(partial(all_usage, self.host.services, here))
        self.refill()

    async def search_rows(self, text: str) -> FinderResult:
        """The rows whose names have the words."""
        if self._table is None:
            return FinderResult((), READING)
        whose = f" of {_shown(*self._scope)}" if self._scope else ""
        self.box.border_subtitle = one_line(f"by {self._by}{whose}")
        buckets = self._buckets()
        words = text.lower().split()
        rows = grouped(buckets, self._by)
        rows = rows[::-1] if self._by in ("day", "week") else rows
        if self._by == "session":
            await self._find_titles(rows[:MOST])
        rows = [row for row in rows if all(word in self._searched(row) for word in words)]
        most = max((_size(row) for row in rows), default=0)
        found = [self._row(row, most) for row in rows[:MOST]]
        if found and not words and self._by != "session":
            found.insert(0, self._row(total_row(buckets)._replace(name=ALL), 0))
        note = f"the first {MOST} of {len(rows):,}; type to find the others" if len(rows) > MOST else ""
        columns = type(self).COLUMNS  # the titles of sessions need the room of the bar
        self.COLUMNS = (columns[0], *columns[2:]) if self._by == "session" else columns  # type: ignore[misc]  # per instance
        return FinderResult(found, note)

    def empty(self) -> Content:
        """What to do if there is nothing."""
        if self._table is None:
            return Content.styled(READING, "$quiet")
        return super().empty() if self._table.buckets else paragraph(NOTHING)

    def _buckets(self) -> list[UsageBucket]:
        found = self._table.buckets if self._table is not None else []
        scope = self._scope
        return found if scope is None else [each for each in found if bucket_name(each, scope.by) == scope.name]

    def _buckets_of(self, value: str) -> list[UsageBucket]:
        """Those of a row."""
        return [each for each in self._buckets() if value == ALL or bucket_name(each, self._by) == value]

    def _refs(self, buckets: Iterable[UsageBucket]) -> dict[str, str]:
        """What opens the sessions of these; sessions whose files are gone are left out."""
        return {each.session: ref for each in buckets if (ref := self._ref(each.session))}

    def _row(self, row: UsageRow, most: float) -> Row:
        tokens = _short(row.sums.tokens) if row.sums.is_known else UNKNOWN
        if self._by == "session":
            title = self._titles.get(row.name, "") or shown_folder(row.folder)
            return Row(row.name, (f"{row.last_day}  {row.agent}  {printable(title)}", tokens, _cost(row)))
        bar = Content.styled(bar_of(_size(row), most, BAR) if row.name != ALL else "", "$accent")
        return Row(row.name, (_shown(self._by, row.name), bar, tokens, _cost(row)))

    async def row_details(self, value: str) -> Content:
        """The figures of a row, its models, its most expensive sessions, and the limits that are open now."""
        buckets = self._buckets_of(value)
        is_session = self._by == "session"
        self._dearest = grouped(buckets, "session")[:DEAREST]
        await self._find_titles(self._dearest)
        row = total_row(buckets)
        figures = zip((each.head for each in FIGURES), shown_figures(row), strict=True)
        title = self._titles.get(value, "") if is_session else ""
        blocks = [
            Content.styled(printable(title) or _shown(self._by, value), "bold"),
            self._about_session() if is_session else Content(),
            figures_in_columns([*figures], self.wide),
            self._waste_block(self._refs(buckets)),
        ]
        if self._by in ("day", "week"):
            blocks.append(self._calendar())
        if self._by != "model" or value == ALL:
            blocks.append(self._bars(grouped(buckets, "model")[:MODELS]))
        if not is_session:
            blocks.append(self._sessions())
        return join_blocks(*blocks, self._notes(row))

    def _calendar(self) -> Content:
        return calendar_of({row.name: _size(row) for row in grouped(self._buckets(), "day")}, self.wide)

    def _bars(self, rows: Sequence[UsageRow]) -> Content:
        words = ((_shown("model", row.name), _size(row), _cost(row)) for row in rows)
        return bar_lines([*words], self.wide)

    def _sessions(self) -> Content:
        costs = [*map(_cost, self._dearest)]
        wide = max(map(len, costs), default=0)
        lines = [Content.styled("the most expensive sessions", "$quiet")]
        for at, (row, cost) in enumerate(zip(self._dearest, costs, strict=True), 1):
            name = fit_columns(printable(self._titles.get(row.name, "")) or row.name, max(8, self.wide - wide - 9))
            lines.append(Content.assemble((f"Alt+{at}", "bold"), f"  {cost.rjust(wide)}  {name}"))
        return Content("\n").join(lines)

    def _waste_block(self, refs: Mapping[str, str]) -> Content:
        """The waste of a row's sessions, once it is known of all of them."""
        if not refs or not refs.keys() <= self._waste.keys():
            return Content()
        reports = {session: report for session in refs if (report := self._waste[session]) is not None}
        return Content("\n".join(UsageWaste(reports, len(refs) - len(reports)).total_lines(self.wide)))

    def _notes(self, row: UsageRow) -> Content:
        assert self._table is not None
        now = time.time_ns() // 1_000_000
        lines = (*limit_lines(self._table, now), *price_note(row.sums), *broken_lines(self._table))
        return Content("\n").join(paragraph(line, "$quiet") for line in lines)

    def _about_session(self) -> Content:
        rows = self._dearest[:1]
        about = ((("id", row.name), ("agent", row.agent), ("folder", shown_folder(row.folder))) for row in rows)
        return name_value_rows([pair for pairs in about for pair in pairs], self.wide)

    def _searched(self, row: UsageRow) -> str:
        """What the words are searched in."""
        return f"{row.name} {row.agent} {row.folder} {self._titles.get(row.name, '')}".lower()

    async def _find_titles(self, rows: Sequence[UsageRow]) -> None:
        missing = {row.name: self._ref(row.name) for row in rows if row.name not in self._titles}
        if missing:
            self._titles |= await self.host.in_background(partial(session_titles, self.host.services, missing))

    def _ref(self, session: str) -> str:
        return self._table.refs.get(session, "") if self._table is not None else ""

    # Keys

    def action_next(self, by: int) -> None:
        """Group by something else."""
        self._by = DIMENSIONS[(DIMENSIONS.index(self._by) + by) % len(DIMENSIONS)]
        self.field.value = ""
        self.refill()

    def choose_row(self, value: str) -> None:
        """Open a session; of any other row, list the sessions."""
        if self._by == "session":
            self._open(value)
            return
        if value != ALL:
            self._scope = _Scope(self._by, value)
        self._by = "session"
        self.field.value = ""
        self.refill()

    def action_dearest(self, at: int) -> None:
        """Open one of the most expensive sessions of the marked row."""
        if at <= len(self._dearest):
            self._open(self._dearest[at - 1].name)

    def _open(self, session: str) -> None:
        ref = self._ref(session)
        if ref:
            self.dismiss(ref)
        else:
            self.warning = "The file of this session is gone."

    def action_waste(self) -> None:
        """Look for the waste of the marked row's sessions."""
        if self.marked is not None:
            self._find_waste(self._refs(self._buckets_of(self.marked)))

    @work(group="waste", exclusive=True, description="find waste")
    async def _find_waste(self, refs: Mapping[str, str]) -> None:
        for at, (session, ref) in enumerate(refs.items(), 1):
            if session not in self._waste:
                self.warning = f"waste: session {at:,} of {len(refs):,}…"
                found = await self.host.in_background(partial(usage_waste, self.host.services, {session: ref}))
                self._waste[session] = found.reports.get(session)
        self.warning = ""
        self.reload_details()

    def action_leave(self) -> None:
        """Back from the sessions of a row to the rows; from there, close."""
        if self._scope is None:
            super().action_leave()
            return
        self._by, self._scope = self._scope.by, None
        self.refill()


def _shown(by: Dimension, name: str) -> str:
    if name == ALL:
        return "all"
    if not name:
        return "no tool" if by == "tool" else "unknown"
    return printable(shown_folder(name) if by == "folder" else name)


def _size(row: UsageRow) -> float:
    """What bars show: the cost. A row without a known price has no bar."""
    return row.sums.cost


def _cost(row: UsageRow) -> str:
    return dollars(row.sums.known_cost, row.sums.is_part_of_cost)


def _short(tokens: int) -> str:
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if tokens >= size:
            return f"{tokens / size:.1f} {unit}"
    return str(tokens)
