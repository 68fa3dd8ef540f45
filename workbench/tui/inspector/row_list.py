"""The list of rows with its filter, search, groups and order, and the line below it."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.getters import query_one
from textual.message import Message
from textual.reactive import var

from workbench.config.background import in_background
from workbench.config.errors import WrongCall
from workbench.config.text import printable
from workbench.context.compare import Mark, RequestChanges
from workbench.session.observable import ObservableSession
from workbench.tui.inspector import foot_lines
from workbench.tui.inspector.columns import LEAST_SEQ, NO_MARKS, ColumnHeads
from workbench.tui.inspector.filters import FORMS, Filter, help_on, parse_filter
from workbench.tui.inspector.order import (
    AS_SENT,
    GROUPINGS,
    SORTINGS,
    Grouping,
    RowLines,
    RowOrder,
    Sorting,
    arrange_rows,
    find_rows,
    listed_items,
    row_sums,
    rows_in_order,
)
from workbench.tui.inspector.rows import RowsView
from workbench.tui.observing import Observing, observed
from workbench.tui.widgets.input_line import InputLine
from workbench.tui.widgets.reader import FootLine
from workbench.views.context_view import ContextView
from workbench.views.row_lookup import row_of

if TYPE_CHECKING:
    from workbench.views.item_effects import ItemEffects

NOTHING = "no messages yet"
SUMMED_AT_ONCE = 2_000
"""Tokens of up to this many rows are added up at once; of more rows in a thread."""


class RowList(Observing, Vertical):
    """Rows that can be filtered, searched, grouped and sorted."""

    BINDING_GROUP_TITLE = "Inspector"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "filter", "filter the rows", id="inspector.filter", priority=True),
        Binding("slash", "search", "search the rows", id="inspector.search", priority=True),
        Binding("n", "step(1)", "the next match", id="inspector.next"),
        Binding("N", "step(-1)", "the match before", id="inspector.previous"),
        Binding("b", "group", "group by slot, turn, state or not at all", id="inspector.group"),
        Binding("s", "sort", "largest first, smallest first, or in the order of the request", id="inspector.sort"),
        Binding("z", "fold_all", "fold or unfold all groups", id="inspector.fold-all"),
        Binding("full_stop", "hidden", "show or hide what is never sent: usage, snapshots", id="inspector.hidden"),
    ]

    shown = observed(lambda session: session.shown, repaint=False)
    found: var[RequestChanges | None] = var(None)
    """The changes since the request before, if a past request is selected."""
    lines: var[RowLines | None] = var(None)
    wish: var[RowOrder] = var(RowOrder())
    sort: var[Sorting] = var("")
    """How the lines are sorted."""
    notice: var[Content | None] = var(None)
    """A notice with priority over the other texts."""
    marks: var[Mapping[str, Mark]] = var(NO_MARKS)
    effects: var[ItemEffects | None] = var(None)
    """What `explain` found about the request; None: nothing yet."""
    seq_width: var[int] = var(LEAST_SEQ)
    """The width of the column of sequence numbers; it changes seldom, the length of the log with each event."""
    empty: var[str] = var("")

    rows = query_one(RowsView)
    ask = query_one(InputLine)
    foot = query_one(FootLine)

    @dataclass(eq=False)
    class Regrouped(Message):
        """The grouping has changed."""

        group: Grouping

    def __init__(self, session: ObservableSession) -> None:
        super().__init__(session)
        self.is_followed = False
        """Whether others show the row under the cursor: they get a message when that is in other lines."""
        self._folded: frozenset[str] = AS_SENT
        self._arranging = False
        self._wanted = Filter()
        self._matches: array[int] = array("L")
        self._searched: RowLines | None = None
        """The lines in which the matches were found."""
        self._match = -1

    def compose(self) -> ComposeResult:
        yield ColumnHeads().data_bind(RowList.seq_width, RowList.marks, RowList.sort, RowList.effects)
        yield RowsView(self.session).data_bind(
            RowList.lines, RowList.seq_width, RowList.marks, RowList.effects, RowList.empty
        )
        yield InputLine()
        yield FootLine()

    # What is shown

    def watch_shown(self, shown: ContextView | None) -> None:
        """Show a new plan: the plain order at once, any other order a little later."""
        self.seq_width = max(LEAST_SEQ, len(str(shown.events))) if shown else LEAST_SEQ
        self._arrange()

    def watch_wish(self, old: RowOrder, new: RowOrder) -> None:
        self._arrange()
        if old.group != new.group:
            self.post_message(self.Regrouped(new.group))

    def watch_found(self, found: RequestChanges | None) -> None:
        self.marks = found.marks if found else NO_MARKS
        self.update_foot()

    def watch_lines(self, lines: RowLines | None) -> None:
        """Explain an empty list."""
        self.empty = "" if lines is None or len(lines) else _nothing(lines)
        self.sort = lines.wish.sort if lines is not None else ""

    def watch_notice(self) -> None:
        self.update_foot()

    def _put(self, lines: RowLines | None) -> None:
        """Show other lines, and the text that belongs to them."""
        self.lines = lines
        self.update_foot()
        if self.is_followed:
            self.rows.post_message(RowsView.Moved())

    def _arrange(self) -> None:
        if self.shown is None:
            self._put(None)
        elif self.wish.is_plain:
            self._put(rows_in_order(self.shown.plan, self.shown.rest, self.wish, self._folded))
        elif not self._arranging:
            self._arranging = True
            self._arrange_in_thread()

    @work
    async def _arrange_in_thread(self) -> None:
        """Arrange until the lines match the latest plan and wish, which may change meanwhile."""
        while (shown := self.shown) is not None and not self.wish.is_plain:
            lines, wish = self.lines, self.wish
            if lines is not None and lines.plan is shown.plan and lines.wish is wish:
                break
            made = await in_background(self._arranged, shown, wish)
            if made is not None and wish is self.wish:
                self._put(made)
        self._arranging = False

    def _arranged(self, shown: ContextView, wish: RowOrder) -> RowLines | None:
        return arrange_rows(shown.plan, wish, self._folded, lambda: wish is not self.wish, shown.rest)

    # Filter, groups and order

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable the keys that open the input line while it is open: there they are letters.

        They have priority, so that text typed right after them goes into the line.
        """
        return not self.ask.has_focus if action in ("filter", "search") else True

    def action_filter(self) -> None:
        self.ask.open("filter", self.wish.filter.text, "filter: words, state:truncated, tool:read_file, >2000 …")
        self.update_foot()

    def action_group(self) -> None:
        group = GROUPINGS[(GROUPINGS.index(self.wish.group) + 1) % len(GROUPINGS)]
        self._folded = frozenset() if group else AS_SENT
        self.wish = self.wish._replace(group=group)

    def action_sort(self) -> None:
        at = SORTINGS.index(self.wish.sort)
        self.wish = self.wish._replace(sort=SORTINGS[(at + 1) % len(SORTINGS)])

    def as_they_are(self) -> None:
        """The rows in the order of the request."""
        self._folded = AS_SENT
        self.wish = RowOrder(all=self.wish.all)

    def action_hidden(self) -> None:
        """Show or hide items that are never sent."""
        self.wish = self.wish._replace(all=not self.wish.all)

    def fold(self, key: str) -> None:
        """Fold or unfold a group."""
        self._fold(self._folded ^ {key})

    def action_fold_all(self) -> None:
        """Fold all groups, or unfold them if all are folded."""
        if self.lines is not None:
            keys = frozenset(group.key for group in self.lines.groups if group.key)
            self._fold(frozenset() if self._folded >= keys else keys)

    def _fold(self, folded: frozenset[str]) -> None:
        self._folded = folded
        if self.lines is not None:
            self._put(self.lines.fold(folded))

    @on(InputLine.Edited)
    def _typed(self, message: InputLine.Edited) -> None:
        message.stop()
        if message.topic == "filter" and not (message.text.strip() and help_on(message.text)):
            self._filter(message.text)
        self.update_foot()

    @on(InputLine.Cancelled)
    def _left(self, message: InputLine.Cancelled) -> None:
        message.stop()
        if message.topic == "filter":
            self._filter(message.text)
        self.rows.focus()

    @on(InputLine.Entered)
    def _entered(self, message: InputLine.Entered) -> None:
        if message.topic == "filter":
            self._filter(message.text)
        elif message.topic == "search":
            self._search(message.text)
        if message.topic in ("filter", "search"):
            message.stop()
        self.rows.focus()

    def _filter(self, text: str) -> None:
        made = self._parsed(text)
        if made is not None and made.text != self.wish.filter.text:
            self.wish = self.wish._replace(filter=made)

    def _parsed(self, text: str) -> Filter | None:
        """Parse a filter; show the error and return None if it is wrong."""
        try:
            made = parse_filter(text)
        except WrongCall as error:
            self.notice = problem_line(str(error))
            return None
        self.notice = None
        return made

    # Search

    def action_search(self) -> None:
        self.ask.open("search", "", "search: words, or what a filter takes")
        self.update_foot()

    def _search(self, text: str) -> None:
        made = self._parsed(text)
        if made is not None:
            self._wanted = made
            self._searched = None
            self.action_step(0)

    @work(exclusive=True, description="action step")
    async def action_step(self, by: int) -> None:
        """Search if needed, then go to the match after (0: at or after) or before the cursor; wraps around."""
        lines = self.lines
        if lines is None or not self._wanted or not len(lines):
            self._match = -1
            return
        if not self._is_searched(lines):
            self._matches = await in_background(find_rows, lines, self._wanted)
        self._searched = lines
        found = self._matches
        if not found:
            self.notice = problem_line(f"no row holds {self._wanted.text}")
            return
        here = lines.position(self.rows.cursor)
        if by < 0:
            self._match = (bisect_left(found, here) - 1) % len(found)
        else:
            self._match = (bisect_right(found, here) if by else bisect_left(found, here)) % len(found)
        self._show(lines, found[self._match])

    def _is_searched(self, lines: RowLines) -> bool:
        """Whether the matches were found in these lines, folded or not."""
        done = self._searched
        return done is not None and done.plan is lines.plan and done.wish is lines.wish

    def _show(self, lines: RowLines, position: int) -> None:
        key = lines.group_at(position).key
        if key in lines.folded:
            self.fold(key)
        if self.lines is not None:
            self.rows.cursor = self.lines.line_at(position)
        self.update_foot()

    def reveal(self, seq: int, *, whatever: bool = True) -> None:
        """Put the cursor on the row of an event, or on the nearest one; `whatever`: remove a filter that hides it."""
        line = self._line_of(seq)
        if line is None and whatever:
            self.as_they_are()
            line = self._line_of(seq)
        if line is not None:
            self.rows.start = None
            self.rows.cursor = line

    def reveal_row(self, row: int) -> None:
        """Put the cursor on a row, by its number in the plan; do nothing if a filter hides it."""
        lines = self.lines
        if lines is None or self.shown is None or lines.plan is not self.shown.plan:
            return
        if lines.wish.all or lines.wish.filter.all:
            seq = listed_items(self.shown.plan, self.shown.rest)[row].seq
            if seq is not None:
                self.reveal(seq, whatever=False)
            return
        group = next((group for group in lines.groups if group.key in lines.folded and row in group.rows), None)
        if group is not None:
            self.fold(group.key)
        line = (self.lines or lines).line_of(row)
        if line is not None:
            self.rows.start = None
            self.rows.cursor = line

    def _line_of(self, seq: int) -> int | None:
        lines = self.lines
        if lines is None or self.shown is None or lines.plan is not self.shown.plan:
            return None
        row = row_of(lines.rows, seq)
        return None if row is None else lines.line_of(row)

    # The line under the rows

    def update_foot(self) -> None:
        """Show the most important text in the line below."""
        if self.is_mounted:
            self.foot.content = self._foot_text(max(1, self.foot.size.width))

    def _foot_text(self, width: int) -> Content:
        if self.notice is not None:
            return self.notice
        if self.ask.display and self.ask.topic == "search":
            return Content.styled(f"search: Enter starts, Esc cancels; {FORMS}", "$quiet")
        if self.ask.display and self.ask.topic == "filter" and (notice := help_on(self.ask.value)):
            return Content.styled(notice, "$quiet")
        if self.rows.start is not None and self.lines is not None:
            return self._chosen(self.lines, width)
        if self._match >= 0 and self.lines is not None and self._is_searched(self.lines):
            return Content(f"match {self._match + 1:,} of {len(self._matches):,} for {printable(self._wanted.text)}")
        if self.lines is not None and not self.lines.wish.is_plain:
            return foot_lines.arrangement_line(self.lines, width)
        if self.found is not None:
            return foot_lines.changes_line(self.found, width)
        asides = self.lines.plan.items.asides if self.lines is not None else {}
        return foot_lines.hidden_line(asides, self.wish.all, width) if asides else Content()

    def _chosen(self, lines: RowLines, width: int) -> Content:
        range_ = self.rows.chosen
        if len(range_) <= SUMMED_AT_ONCE:
            return foot_lines.chosen_line(*row_sums(lines, range_), width)
        self._sum(lines, range_)
        return foot_lines.chosen_line(len(range_), None, None, width)

    @work(exclusive=True, group="sum", description="sum")
    async def _sum(self, lines: RowLines, range_: range) -> None:
        made = await in_background(row_sums, lines, range_)
        if lines is self.lines and range_ == self.rows.chosen and self.notice is None:
            self.foot.content = foot_lines.chosen_line(*made, self.foot.size.width)

    @on(RowsView.Moved)
    def _moved(self) -> None:
        self.update_foot()

    def on_resize(self) -> None:
        self.update_foot()


def _nothing(lines: RowLines) -> str:
    """Why there are no rows, and what to do."""
    if not lines.wish.filter:
        return NOTHING
    more = "" if lines.wish.all or not lines.plan.items.asides else "; . looks through the hidden rows as well"
    return f"no row matches {printable(lines.wish.filter.text)}: Esc clears the filter, f changes it{more}"


def problem_line(text: str) -> Content:
    """A problem, for the line under the rows."""
    return Content.styled(f"! {printable(text)}", "$warning")
