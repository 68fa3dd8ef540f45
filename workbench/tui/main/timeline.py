"""The requests of the session in a line, a column for each; compactions stand between them. One walks along it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from workbench.compaction.undo import Node
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
"""The commands whose letters work here. No other does: who walks through the past changes nothing by a slip."""
EIGHTHS = "▁▂▃▄▅▆▇█"
MADE, UNDONE, CLEARED, NEXT, UNKNOWN, NOT_SENT = "◆", "◇", "▾", "▷", "·", "○"
"""A compaction, one that was undone, something that was taken out without one (results cleared or masked, messages left
out), the request that comes next, one of unknown size, and one that was asked and not sent."""
SIGNS = (MADE, UNDONE, CLEARED)
"""Where there is room for one only, the first of them that is there."""
SMALLER = 0.9
"""A request of less than this share of the one before has lost something."""
FAR = 1_000_000
"""More requests than there are: to the first, or to the newest."""


class TimeColumn(NamedTuple):
    """One column of cells."""

    place: int
    """Of a request, among all; behind the last one: the next."""
    mark: str = ""
    """The sign of a compaction or a clearing, which has a column of its own."""
    size: int = 0
    """0: unknown, or of the next one, which is not made yet."""
    beside: bool = False
    """Whether only requests beside the conversation are in it."""
    sent: bool = True
    """Whether any request in it reached the model."""


def time_columns(requests: Sequence[RequestMark], changes: Sequence[tuple[int, str]], width: int) -> list[TimeColumn]:
    """At most so many columns, from the first request to the next one.

    `changes`: events that changed the requests after them, each with its sign. Where there are more columns than cells,
    several share one: a compaction is never lost among them, and of sizes the largest counts.
    """
    found: list[TimeColumn] = []
    waiting = sorted(changes)
    before: RequestMark | None = None
    told, unsent = False, not_sent(requests)
    for place, mark in enumerate(requests):
        while waiting and waiting[0][0] < mark.seq:
            found.append(TimeColumn(place, waiting.pop(0)[1]))
            told = True
        is_side, is_sent = mark.purpose != "turn", mark.seq not in unsent
        if not is_side and is_sent:
            if before is not None and not told and _is_smaller(before, mark):
                found.append(TimeColumn(place, CLEARED))
            before, told = mark, False
        found.append(TimeColumn(place, "", mark.tokens, is_side, is_sent))
    found += [TimeColumn(len(requests), sign) for _, sign in waiting]
    found.append(TimeColumn(len(requests)))
    if len(found) <= width or width < 1:
        return found
    return list(_squeezed(found, width))


def _is_smaller(before: RequestMark, after: RequestMark) -> bool:
    """Counts of two models, or of two counters, are not compared."""
    kinds = [(mark.model, mark.reported is None) for mark in (before, after)]
    return kinds[0] == kinds[1] and 0 < after.tokens < SMALLER * before.tokens


def _squeezed(found: Sequence[TimeColumn], width: int) -> Iterator[TimeColumn]:
    for at in range(width):
        several = found[at * len(found) // width : (at + 1) * len(found) // width]
        mark = min((one.mark for one in several if one.mark), key=SIGNS.index, default="")
        sizes = [one for one in several if not one.mark]
        beside = bool(sizes) and all(one.beside for one in sizes)
        sent = not sizes or any(one.sent for one in sizes)
        yield TimeColumn(several[-1].place, mark, max((one.size for one in sizes), default=0), beside, sent)


def column_of(columns: Sequence[TimeColumn], place: int) -> int:
    """The column that a request is in."""
    at = bisect_left([column.place for column in columns], place)
    while at + 1 < len(columns) and columns[at].mark and columns[at + 1].place == place:
        at += 1
    return min(at, len(columns) - 1)


def all_compactions(history: Sequence[Node]) -> Iterator[tuple[int, str]]:
    """Every compaction with its sign, those that a later one replaced among them."""
    for node in history:
        yield node.entry.event.seq, UNDONE if node.entry.status == "reverted" else MADE
        yield from all_compactions(node.inside)


class Timeline(Observing, Widget, can_focus=True):
    """Where one is among the requests. Keys and mouse walk along it; chat, rows and curve follow."""

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
    """Whether side requests and sub-agents are passed over."""

    class SearchWanted(Message):
        """Search the rows of the request that is looked at."""

    def watch_shown(self, shown: ContextView | None) -> None:
        """There once there is something to walk along."""
        self.display = shown is not None and bool(shown.requests)

    # Drawing

    def _columns(self, label: Content) -> list[TimeColumn]:
        assert self.shown is not None
        view = self.compaction
        changes = [] if view is None else [*all_compactions(view.history), *((seq, CLEARED) for seq in view.cleared)]
        room = self.content_size.width - label.cell_length
        return time_columns(self.shown.requests, changes, room)

    def _label(self) -> Content:
        assert self.shown is not None
        count = len(self.shown.requests)
        here = place_of(self.shown)
        said = "next" if here == count else f"{here + 1:,}"
        return Content.assemble((f"{said:>{max(4, len(f'{count:,}'))}}", "bold"), (f" of {count:,} ", "$quiet"))

    def render(self) -> Content:
        """The place in figures, then the columns."""
        if self.shown is None or not self.shown.requests or not self.content_size.width:
            return Content()
        label = self._label()
        columns = self._columns(label)
        here = column_of(columns, place_of(self.shown))
        top = max(1, *(column.size for column in columns))
        parts = []
        for at, column in enumerate(columns):
            height = max(0, min(7, column.size * 8 // top - (column.size == top)))
            sign = column.mark or (NOT_SENT if not column.sent else EIGHTHS[height] if column.size else UNKNOWN)
            is_quiet = column.beside or not column.sent
            style = "bold $slot-summaries" if column.mark else "$quiet" if is_quiet else "$primary"
            if column.place == len(self.shown.requests) and not column.mark:
                sign = NEXT
            parts.append((sign, f"{style} reverse" if at == here else style))
        return Content.assemble(label, *parts)

    # Walking

    def action_search(self) -> None:
        """Where the rows are."""
        self.post_message(self.SearchWanted())

    def action_step(self, by: int) -> None:
        """Back through the requests, or forth; behind the last one is the next."""
        shown = self.shown
        if shown is None:
            return
        if not shown.requests:
            raise Refused("no request was made yet: there is nothing to go back to")
        self.post_message(Walk(by, self.alone))

    def toggle_alone(self) -> None:
        """Pass over requests beside the conversation, or stop at them again."""
        hidden = sum(mark.purpose != "turn" for mark in self.shown.requests) if self.shown is not None else 0
        if not hidden:
            raise Refused("no request is beside the conversation: there is nothing to pass over")
        self.alone = not self.alone
        passed = "passing over" if self.alone else "stopping at"
        self.notify(f"{passed} {counted(hidden, 'side request')}", markup=False)

    def go_to(self, number: str) -> None:
        """To a request by its number, however it was typed."""
        count = len(self.shown.requests) if self.shown is not None else 0
        wanted = whole_number(number) if number.isdecimal() else 0
        if not 1 <= wanted <= count:
            raise WrongCall(f"{number}: expected the number of a request, from 1 to {count:,}")
        self._go(wanted - 1)

    def _go(self, place: int) -> None:
        assert self.shown is not None
        self.post_message(Travel(None if place == len(self.shown.requests) else place))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """To the column under the mouse, and along with it."""
        self.capture_mouse()
        self._to_mouse(event.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """While the button is held."""
        if self.app.mouse_captured is self:
            self._to_mouse(event.x)

    def on_mouse_up(self) -> None:
        """There."""
        self.release_mouse()

    def _to_mouse(self, x: int) -> None:
        if self.shown is None or not self.shown.requests:
            return
        label = self._label()
        columns = self._columns(label)
        at = x - self.gutter.left - label.cell_length
        if at >= 0:
            self._go(columns[min(at, len(columns) - 1)].place)


def place_of(shown: ContextView) -> int:
    """Among the requests; behind the last one is the next."""
    return len(shown.requests) if shown.at is None else shown.at
