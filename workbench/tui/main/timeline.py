"""The timeline: a column for each request of the session, with compactions between them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import ClassVar, NamedTuple

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from workbench.compaction.undo import NestedCompaction
from workbench.config.errors import Refused, WrongCall
from workbench.config.text import counted, whole_number
from workbench.sources.requests import RequestMark, not_sent
from workbench.tui.messages import Travel, Walk
from workbench.tui.observing import Observing, observed
from workbench.tui.widgets.hints import Hints
from workbench.views.context_view import ContextView

HINTS: Hints = (
    *(("← →", "walk"), ("Home", "first"), ("End", "newest"), ("t", "by number"), ("/", "search"), ("Esc", "input")),
    ("?", "all keys"),
)
LETTERS = frozenset(
    ("earlier", "later", "earliest", "newest", "go-to", "side-requests", "request", "ledger", "help", "input")
)
"""The commands whose letter keys work here. Others do not, so that a slip changes nothing."""
EIGHTHS = "▁▂▃▄▅▆▇█"
MADE, UNDONE, CLEARED, NEXT, UNKNOWN, NOT_SENT = "◆", "◇", "▾", "▷", "·", "○"
"""A compaction, an undone one, something removed without one (results cleared or masked, messages left out), the next
request, a request of unknown size, and one that was not sent."""
SIGNS = (MADE, UNDONE, CLEARED)
"""If there is room for only one sign, the first of these."""
SMALLER = 0.9
"""A request smaller than this share of the one before has lost something."""
FAR = 1_000_000
"""A step larger than any number of requests: to the first or the newest."""


class TimeColumn(NamedTuple):
    """One column of cells."""

    place: int
    """The index of a request; after the last one: the next request."""
    mark: str = ""
    """The sign of a compaction or a clearing, which has its own column."""
    size: int = 0
    """0: unknown, or the next request."""
    side_only: bool = False
    """Whether it contains only side requests."""
    sent: bool = True
    """Whether any of its requests reached the model."""


def time_columns(requests: Sequence[RequestMark], changes: Sequence[tuple[int, str]]) -> list[TimeColumn]:
    """The columns from the first request to the next one.

    `changes`: events that changed the requests after them, each with its sign.
    """
    found: list[TimeColumn] = []
    waiting = sorted(changes)
    before: RequestMark | None = None
    has_sign, unsent = False, not_sent(requests)
    for place, mark in enumerate(requests):
        while waiting and waiting[0][0] < mark.seq:
            found.append(TimeColumn(place, waiting.pop(0)[1]))
            has_sign = True
        is_side, is_sent = mark.purpose != "turn", mark.seq not in unsent
        if not is_side and is_sent:
            if before is not None and not has_sign and _is_smaller(before, mark):
                found.append(TimeColumn(place, CLEARED))
            before, has_sign = mark, False
        found.append(TimeColumn(place, "", mark.tokens, is_side, is_sent))
    found += [TimeColumn(len(requests), sign) for _, sign in waiting]
    found.append(TimeColumn(len(requests)))
    return found


def _is_smaller(before: RequestMark, after: RequestMark) -> bool:
    """Whether a request is smaller than the one before. Counts of different models are not compared."""
    is_less = 0 < after.tokens < SMALLER * before.tokens
    return is_less and before.model == after.model and (before.reported is None) == (after.reported is None)


def squeezed(found: Sequence[TimeColumn], width: int) -> Sequence[TimeColumn]:
    """At most `width` columns: if there are more, several are merged. A compaction is never lost, and the largest size
    counts."""
    if len(found) <= width or width < 1:
        return found
    ends = [at * len(found) // width for at in range(width + 1)]
    return [_merged(found[start:end]) for start, end in pairwise(ends)]


def _merged(several: Sequence[TimeColumn]) -> TimeColumn:
    mark = min((one.mark for one in several if one.mark), key=SIGNS.index, default="")
    sizes = [one for one in several if not one.mark]
    side_only = bool(sizes) and all(one.side_only for one in sizes)
    sent = not sizes or any(one.sent for one in sizes)
    return TimeColumn(several[-1].place, mark, max((one.size for one in sizes), default=0), side_only, sent)


def column_of(columns: Sequence[TimeColumn], place: int) -> int:
    """The column of a request."""
    at = bisect_left([column.place for column in columns], place)
    while at + 1 < len(columns) and columns[at].mark and columns[at + 1].place == place:
        at += 1
    return min(at, len(columns) - 1)


def all_compactions(history: Sequence[NestedCompaction]) -> Iterator[tuple[int, str]]:
    """Every compaction with its sign, including replaced ones."""
    for node in history:
        yield node.entry.event.seq, UNDONE if node.entry.status == "reverted" else MADE
        yield from all_compactions(node.inside)


class Timeline(Observing, Widget, can_focus=True):
    """Selects a request with keys or mouse; chat, rows and curve follow."""

    BINDING_GROUP_TITLE = "Timeline"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "step(-1)", "the request before", id="timeline.before"),
        Binding("right,l", "step(1)", "the request after", id="timeline.after"),
        Binding("home,g", f"step(-{FAR})", "the first request", id="timeline.first"),
        Binding("end,G", f"step({FAR})", "the newest", id="timeline.newest"),
        Binding("pageup", "step(-10)", "ten requests back", id="timeline.ten-back"),
        Binding("pagedown", "step(10)", "ten requests on", id="timeline.ten-on"),
        Binding("slash", "search", "search the rows of this request", id="timeline.search"),
    ]

    shown = observed(lambda session: session.shown)
    compaction = observed(lambda session: session.compaction)
    alone: reactive[bool] = reactive(False)
    """Whether to skip side requests and sub-agents."""

    class SearchWanted(Message):
        """Search the rows of the selected request."""

    _made_from: tuple[list[RequestMark], list[tuple[int, str]]] | None = None
    """What the columns were made from."""
    _made: Sequence[TimeColumn] = ()
    _squeezed: tuple[Sequence[TimeColumn], int, Sequence[TimeColumn]] = ((), 0, ())
    """Columns, a width, and the columns merged to that width."""

    def watch_shown(self, shown: ContextView | None) -> None:
        """Show the timeline once there are requests."""
        self.display = shown is not None and bool(shown.requests)

    # Drawing

    def _columns(self, label: Content) -> Sequence[TimeColumn]:
        """The columns, made again only if they change: a long session has tens of thousands of requests."""
        assert self.shown is not None
        view = self.compaction
        changes = [] if view is None else [*all_compactions(view.history), *((seq, CLEARED) for seq in view.cleared)]
        made_from = ([*self.shown.requests], changes)
        if made_from != self._made_from:
            self._made_from, self._made = made_from, time_columns(*made_from)
        width = self.content_size.width - label.cell_length
        if self._squeezed[0] is not self._made or self._squeezed[1] != width:
            self._squeezed = (self._made, width, squeezed(self._made, width))
        return self._squeezed[2]

    def _label(self) -> Content:
        assert self.shown is not None
        count = len(self.shown.requests)
        here = selected_index(self.shown)
        number = "next" if here == count else f"{here + 1:,}"
        return Content.assemble((f"{number:>{max(4, len(f'{count:,}'))}}", "bold"), (f" of {count:,} ", "$quiet"))

    def render(self) -> Content:
        """The number of the request, then the columns."""
        if self.shown is None or not self.shown.requests or not self.content_size.width:
            return Content()
        label = self._label()
        columns = self._columns(label)
        here = column_of(columns, selected_index(self.shown))
        top = max(1, *(column.size for column in columns))
        parts = []
        for at, column in enumerate(columns):
            height = max(0, min(7, column.size * 8 // top - (column.size == top)))
            sign = column.mark or (NOT_SENT if not column.sent else EIGHTHS[height] if column.size else UNKNOWN)
            is_quiet = column.side_only or not column.sent
            style = "bold $slot-summaries" if column.mark else "$quiet" if is_quiet else "$primary"
            if column.place == len(self.shown.requests) and not column.mark:
                sign = NEXT
            parts.append((sign, f"{style} reverse" if at == here else style))
        return Content.assemble(label, *parts)

    # Moving

    def action_search(self) -> None:
        self.post_message(self.SearchWanted())

    def action_step(self, by: int) -> None:
        """Step back or forward; after the last request is the next one."""
        shown = self.shown
        if shown is None:
            return
        if not shown.requests:
            raise Refused("no request was made yet: there is nothing to go back to")
        self.post_message(Walk(by, self.alone))

    def toggle_alone(self) -> None:
        """Skip side requests, or stop at them again."""
        hidden = sum(mark.purpose != "turn" for mark in self.shown.requests) if self.shown is not None else 0
        if not hidden:
            raise Refused("this session has no side requests to skip")
        self.alone = not self.alone
        passed = "passing over" if self.alone else "stopping at"
        self.notify(f"{passed} {counted(hidden, 'side request')}", markup=False)

    def go_to(self, number: str) -> None:
        """Select a request by its number, as typed."""
        count = len(self.shown.requests) if self.shown is not None else 0
        wanted = whole_number(number) if number.isdecimal() else 0
        if not 1 <= wanted <= count:
            raise WrongCall(f"{number}: expected the number of a request, from 1 to {count:,}")
        self._go(wanted - 1)

    def _go(self, place: int) -> None:
        assert self.shown is not None
        self.post_message(Travel(None if place == len(self.shown.requests) else place))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Select the request under the mouse, and start to drag."""
        self.capture_mouse()
        self._to_mouse(event.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self.app.mouse_captured is self:
            self._to_mouse(event.x)

    def on_mouse_up(self) -> None:
        self.release_mouse()

    def _to_mouse(self, x: int) -> None:
        if self.shown is None or not self.shown.requests:
            return
        label = self._label()
        columns = self._columns(label)
        at = x - self.gutter.left - label.cell_length
        if at >= 0:
            self._go(columns[min(at, len(columns) - 1)].place)


def selected_index(shown: ContextView) -> int:
    """The index of the selected request; after the last one is the next."""
    return len(shown.requests) if shown.at is None else shown.at
