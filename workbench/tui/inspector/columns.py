"""The columns of the inspector: how wide each is, their heads, what stands in them for an item, and in which styles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from textual.reactive import var
from textual.strip import Strip
from textual.widget import Widget

from workbench.config.text import percent, printable
from workbench.context.compare import Mark
from workbench.context.items import SIGNS, Item, state_words
from workbench.context.tool_lines import LOOKED_AT, item_line
from workbench.tui.inspector.order import TOOLS, Grouping, RowGroup, RowLines, Sorting, group_name
from workbench.tui.widgets.cells import fit, fit_end, number
from workbench.views.values import Live

WIDE = 110
"""From this width on there is room for the column of original sizes and for wider ones."""
BLOCKS = " ▏▎▍▌▋▊▉█"
BESIDE = 40
"""From this width on the last column has room for a reason beside the text."""
ROOM_WITH_SHARES = 20
"""Cells that must be left for what a row says, or the bars of the shares are not shown."""
ROOM_WITH_STATES = 14
"""Cells that must be left for it, or a state is its letter without the word."""
CHARS_PER_TOKEN = 4
"""For an answer that is still coming in: near enough, and marked as such."""
ASIDES = ("usage", "snapshot", "error")
MARKS: dict[Mark, str] = {"added": "+", "changed": "±", "gone": "−"}
"""A sign for what became of an item between two requests."""
NO_MARKS: Mapping[str, Mark] = {}


class Columns(NamedTuple):
    """Widths in cells; a column of none is left out."""

    seq: int
    who: int
    tokens: int
    original: int
    share: int
    state: int
    what: int
    gap: int
    mark: int = 0
    """For the signs of what changed between two requests; none where nothing is compared."""


class Cells(NamedTuple):
    """One row's cells, each as wide as its column."""

    seq: str
    who: str
    tokens: str
    original: str
    share: str
    pin: str
    state: str
    text: str
    """What it says."""
    why: str = ""
    """What became of it, beside what it says; empty where nothing did, or where there is no room."""
    mark: str = ""


def lay_out(width: int, events: int, marked: bool = False) -> Columns:
    """The columns of a line of so many cells, for a log of so many events."""
    wide = width >= WIDE
    gap = 2 if wide else 1
    seq = max(3, len(str(events)))
    who, tokens, share = (18, 9, 10) if wide else (14, 8, 5)
    original = 8 if wide else 0
    state = 12
    mark = 1 if marked else 0
    used = seq + mark * (1 + gap) + who + tokens + original + share + 1 + state + gap * (7 if wide else 6)
    if width - used < ROOM_WITH_SHARES:
        used, share = used - share - gap, 0
    if width - used < ROOM_WITH_STATES:
        used, state = used - state + 1, 1
    return Columns(seq, who, tokens, original, share, state, max(0, width - used), gap, mark)


ARROWS: dict[Sorting, str] = {"": "", "largest": "▼", "smallest": "▲"}


def heads(columns: Columns, sort: Sorting = "") -> str:
    """The line above the rows; the column they are sorted by has an arrow."""
    words = [
        "#".rjust(columns.seq),
        *([" "] if columns.mark else []),
        fit("who", columns.who),
        f"tokens{ARROWS[sort]}".rjust(columns.tokens),
        *(["original".rjust(columns.original)] if columns.original else []),
        *(
            [fit("of request" if columns.share >= len("of request") else "share", columns.share)]
            if columns.share
            else []
        ),
        " ",
        _state("  state", columns),
        fit("what", columns.what),
    ]
    return (" " * columns.gap).join(words)


def cells(row: Item, columns: Columns, share: str, mark: Mark | None = None) -> Cells:
    """What a row shows; `share` is the bar of its share."""
    about = "" if row.exact else "~"
    changed = row.original_tokens != row.tokens
    text, why = _what(row, columns)
    return Cells(
        ("–" if row.seq is None else str(row.seq)).rjust(columns.seq),
        fit(printable(_who(row)), columns.who),
        (about + number(row.tokens, columns.tokens - len(about))).rjust(columns.tokens),
        (number(row.original_tokens, columns.original) if changed else "").rjust(columns.original),
        share,
        "⚑" if row.pinned else " ",
        _state(f"{SIGNS[row.state]} {state_words(row.state)}", columns),
        text,
        why,
        MARKS[mark] if mark else " " * columns.mark,
    )


def _state(said: str, columns: Columns) -> str:
    """A sign and a word; where there is no room for words, the sign."""
    return said[:1] if columns.state == 1 else fit(said, columns.state)


def _who(row: Item) -> str:
    """Who it is from; of what is never sent, what it is, where its text begins with that.

    The definition of a tool must not look like a result of it.
    """
    if row.slot == "tools":
        return f"tool {row.who}"
    if row.kind != "aside":
        return row.who
    first = row.original.partition(" ")[0].rstrip(":")
    return first if first in ASIDES else row.who


def head_cells(group: RowGroup, by: Grouping, folded: bool, columns: Columns, total: int) -> Cells:
    """What the head of a group shows: its name and its sums."""
    name = group_name(by, group.key)
    count = "1 row" if len(group.rows) == 1 else f"{len(group.rows):,} rows"
    about = f"{percent(group.tokens / total, 1)} of the request" if total > 0 else ""
    if not by and group.key == TOOLS:
        name, count, about = f"{len(group.rows):,} tools", "", printable(group.about[:LOOKED_AT])
    changed = group.original_tokens != group.tokens
    return Cells(
        ("▸" if folded else "▾").rjust(columns.seq),
        fit(name, columns.who),
        number(group.tokens, columns.tokens).rjust(columns.tokens),
        (number(group.original_tokens, columns.original) if changed else "").rjust(columns.original),
        share_bar(group.tokens, total, columns.share),
        " ",
        _state(f"  {count}", columns),
        fit(about, columns.what),
        mark=" " * columns.mark,
    )


def live_cells(live: Live, columns: Columns) -> Cells:
    """What the row of the answer that is coming in shows; its tokens are a guess until the log has it."""
    size = len(live.text) + len(live.reasoning) + sum(len(call.arguments) for call in live.calls)
    text = live.text or live.reasoning
    if live.calls:
        text = f"{live.calls[-1].tool} {live.calls[-1].arguments}"
    return Cells(
        "…".rjust(columns.seq),
        fit("assistant", columns.who),
        (f"~{number(-(-size // CHARS_PER_TOKEN), columns.tokens - 1)}" if size else "").rjust(columns.tokens),
        " " * columns.original,
        " " * columns.share,
        " ",
        _state("▸ coming", columns),
        fit(fit_end(printable(text[-LOOKED_AT:]), columns.what), columns.what),
        mark=" " * columns.mark,
    )


def _what(row: Item, columns: Columns) -> tuple[str, str]:
    """What it says, and beside it why it is not sent so. That something is never sent is no news."""
    width = columns.what
    text = item_line(row)
    if not row.edits or row.state == "aside" or width < BESIDE:
        return fit(text, width), ""
    why = printable(row.edits[-1].why[:LOOKED_AT])
    if not columns.original and row.tokens != row.original_tokens:
        why = f"{row.original_tokens:,} → {row.tokens:,}: {why}"
    shown = fit(why, min(cell_len(why), width // 2))
    return fit(text, width - cell_len(shown) - 3), f" · {shown}"


def share_bar(part: int, whole: int, width: int) -> str:
    """A bar in eighths of a cell."""
    eighths = min(round(max(0, part) * width * 8 / whole), width * 8) if whole > 0 else 0
    full, rest = divmod(eighths, 8)
    return (BLOCKS[8] * full + (BLOCKS[rest] if rest else "")).ljust(width)


class Heads(Widget):
    """The line above the rows; it stands still while they scroll."""

    events_count: var[int] = var(0)
    marks: var[Mapping[str, Mark]] = var(NO_MARKS)
    sort: var[Sorting] = var("")

    def watch_sort(self) -> None:
        """An arrow comes or goes."""
        self.refresh()

    def watch_events_count(self, old: int, new: int) -> None:
        """The first column may be wider."""
        if len(str(old)) != len(str(new)):
            self.refresh()

    def watch_marks(self) -> None:
        """There is one column more, or fewer."""
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """The columns' names, where the rows have their columns."""
        width = self.size.width
        columns = lay_out(width - 1, self.events_count, bool(self.marks))
        return Strip([Segment(fit(f" {heads(columns, self.sort)}", width), self.rich_style)], width)


class Look(NamedTuple):
    """Everything a line's picture is made of: as long as it is the same, the picture is."""

    what: Item | RowGroup | Live | str
    columns: Columns
    share: str = ""
    """The bar of a row's share: it changes less often than the sum it is a share of."""
    total: int = 0
    """The whole request, for the head of a group."""
    chosen: bool = False
    """The cursor is here."""
    selected: bool = False
    mark: Mark | None = None
    by: Grouping = ""
    folded: bool = False


class ListState(NamedTuple):
    """What is to be seen in all lines."""

    lines: RowLines | None
    marks: Mapping[str, Mark]
    empty: str
    cursor: int
    chosen: range
    columns: Columns
    live: Live | None
    """The last one: no row depends on it."""

    def look(self, at: int) -> Look:
        """One line."""
        lines, columns = self.lines, self.columns
        count = 0 if lines is None else len(lines)
        if lines is not None and at < count:
            what, total = lines[at], lines.plan.size
            here, chosen = at == self.cursor, at in self.chosen
            if isinstance(what, RowGroup):
                share = share_bar(what.tokens, total, columns.share)
                folded = what.key in lines.folded
                return Look(what, columns, share, total, here, chosen, None, lines.wish.group, folded)
            row = lines.rows[what]
            share = share_bar(row.tokens, total, columns.share)
            return Look(row, columns, share, 0, here, chosen, self.marks.get(row.id))
        if self.live is not None and at == count:
            return Look(self.live, columns)
        return Look(self.empty if at == 0 else "", columns)


def picture(look: Look) -> list[tuple[str, str]]:
    """The pieces of a line, each with the names of its styles."""
    what, columns = look.what, look.columns
    plain = state = ""
    if isinstance(what, Item):
        made = cells(what, columns, look.share, look.mark)
        plain = "" if what.in_request else "quiet"
        state = what.state
    elif isinstance(what, RowGroup):
        made = head_cells(what, look.by, look.folded, columns, look.total)
        plain = state = "group"
    else:
        assert isinstance(what, Live)
        made = live_cells(what, columns)
        state = "live"
    gap = " " * columns.gap
    return [
        ("▌" if look.chosen else "┃" if look.selected else " ", "share"),
        (made.seq + gap, "quiet"),
        (made.mark + gap if columns.mark else "", look.mark or ""),
        (made.who + gap + made.tokens + gap, plain),
        (made.original + gap if columns.original else "", "quiet"),
        (made.share + gap if columns.share else "", "share"),
        (made.pin + gap, "pin"),
        (made.state + gap, state),
        (made.text, plain),
        (made.why, "quiet why"),
    ]
