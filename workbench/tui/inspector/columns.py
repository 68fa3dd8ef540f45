"""The columns of the inspector: their widths and heads, and the text and styles of the cells."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from workbench.config.text import counted, percent, printable
from workbench.context.compare import Mark
from workbench.context.items import SIGNS, Item, state_words
from workbench.context.tool_lines import LOOKED_AT, item_line
from workbench.tui.inspector.order import TOOLS, Grouping, RowGroup, RowLines, Sorting, group_name
from workbench.tui.widgets.cells import fit_cells, fit_cells_end, short_number
from workbench.views.values import LiveAnswer

if TYPE_CHECKING:
    from workbench.views.item_effects import ItemEffect, ItemEffects

WIDE = 110
"""From this width on, there is a column of original sizes, and columns are wider."""
BLOCKS = " ▏▎▍▌▋▊▉█"
LEAST_SEQ = 3
"""The width of the column of sequence numbers, while they are short."""
ROOM_WITH_REASONS = 40
"""From this width on, the last column has a reason next to the text."""
ROOM_WITH_SHARES = 20
"""Share bars are shown only if this many cells are left for the text."""
ROOM_WITH_STATES = 14
"""State names are shown only if this many cells are left for the text; otherwise only the letter."""
EFFECT = len("no effect alone")
EFFECT_WITH_INTERVAL = len("one of several -100 % to 100 %")
CHARS_PER_TOKEN = 4
"""An estimate for a streaming answer, marked as such."""
ASIDES = ("usage", "snapshot", "error")
MARKS: dict[Mark, str] = {"added": "+", "changed": "±", "gone": "−"}
"""Signs for the change of an item between two requests."""
NO_MARKS: Mapping[str, Mark] = {}


class Columns(NamedTuple):
    """Widths in cells; a column of width 0 is left out."""

    seq: int
    who: int
    tokens: int
    original: int
    share: int
    state: int
    what: int
    gap: int
    mark: int = 0
    """The width of the change signs; 0 if nothing is compared."""
    effect: int = 0
    """The width of the effects; 0 if no explanation exists, or without room."""


class RowCells(NamedTuple):
    """One row's cells, each as wide as its column."""

    seq: str
    who: str
    tokens: str
    original: str
    share: str
    pin: str
    state: str
    text: str
    """The text of the item."""
    why: str = ""
    """Why it is not sent whole; empty if it is, or if there is no room."""
    mark: str = ""
    effect: str = ""


def columns_for_width(width: int, seq: int, marked: bool = False, explained: bool = False) -> Columns:
    """The columns of a line of `width` cells; `seq`: the width of the first one."""
    wide = width >= WIDE
    gap = 2 if wide else 1
    who, tokens, share = (18, 9, 10) if wide else (14, 8, 5)
    original = 8 if wide else 0
    state = 12
    mark = 1 if marked else 0
    used = seq + mark * (1 + gap) + who + tokens + original + share + 1 + state + gap * (7 if wide else 6)
    effect = _effect_width(width - used - gap, share + gap) if explained else 0
    used += effect + gap if effect else 0
    if width - used < ROOM_WITH_SHARES:
        used, share = used - share - gap, 0
    if width - used < ROOM_WITH_STATES:
        used, state = used - state + 1, 1
    return Columns(seq, who, tokens, original, share, state, max(0, width - used), gap, mark, effect)


def _effect_width(room: int, share: int) -> int:
    """The width of the effects, if so much room is left for them and the text; the share bars may go for them."""
    if room + share - EFFECT_WITH_INTERVAL >= ROOM_WITH_SHARES:
        return EFFECT_WITH_INTERVAL
    return EFFECT if room + share - EFFECT >= ROOM_WITH_STATES else 0


ARROWS: dict[Sorting, str] = {"": "", "largest": "▼", "smallest": "▲"}


def column_heads(columns: Columns, sort: Sorting = "") -> str:
    """The line above the rows; the sorted column has an arrow."""
    words = [
        "#".rjust(columns.seq),
        *([" "] if columns.mark else []),
        fit_cells("who", columns.who),
        f"tokens{ARROWS[sort]}".rjust(columns.tokens),
        *(["original".rjust(columns.original)] if columns.original else []),
        *(
            [fit_cells("of request" if columns.share >= len("of request") else "share", columns.share)]
            if columns.share
            else []
        ),
        " ",
        _state("  state", columns),
        *([fit_cells("effect", columns.effect)] if columns.effect else []),
        fit_cells("what", columns.what),
    ]
    return (" " * columns.gap).join(words)


def row_cells(
    row: Item, columns: Columns, share: str, mark: Mark | None = None, effect: ItemEffect | None = None
) -> RowCells:
    """The cells of a row; `share` is its share bar."""
    about = "" if row.exact else "~"
    changed = row.original_tokens != row.tokens
    text, why = _what(row, columns)
    return RowCells(
        ("–" if row.seq is None else str(row.seq)).rjust(columns.seq),
        fit_cells(printable(_who(row)), columns.who),
        (about + short_number(row.tokens, columns.tokens - len(about))).rjust(columns.tokens),
        (short_number(row.original_tokens, columns.original) if changed else "").rjust(columns.original),
        share,
        "⚑" if row.pinned else " ",
        _state(f"{SIGNS[row.state]} {state_words(row.state)}", columns),
        text,
        why,
        MARKS[mark] if mark else " " * columns.mark,
        fit_cells(_effect_words(effect, columns.effect), columns.effect) if effect else " " * columns.effect,
    )


def _effect_words(effect: ItemEffect, width: int) -> str:
    """What was found, and its interval if there is room."""
    verdict = printable(effect.found.verdict)
    return verdict if width < EFFECT_WITH_INTERVAL else f"{verdict} {printable(effect.found.interval)}"


def _state(word: str, columns: Columns) -> str:
    """The sign and the word of a state; only the sign if there is no room."""
    return word[:1] if columns.state == 1 else fit_cells(word, columns.state)


def _who(row: Item) -> str:
    """The speaker; for an item that is never sent, its kind, if its text starts with it.

    The definition of a tool must not look like a result of the tool.
    """
    if row.slot == "tools":
        return f"tool {row.who}"
    if row.kind != "aside":
        return row.who
    first = row.original.partition(" ")[0].rstrip(":")
    return first if first in ASIDES else row.who


def head_cells(group: RowGroup, by: Grouping, folded: bool, columns: Columns, total: int) -> RowCells:
    """The cells of a group's head: its name and its sums."""
    name = group_name(by, group.key)
    count = counted(len(group.rows), "row")
    about = f"{percent(group.tokens / total, 1)} of the request" if total > 0 else ""
    if not by and group.key == TOOLS:
        name, count, about = f"{len(group.rows):,} tools", "", printable(group.about[:LOOKED_AT])
    changed = group.original_tokens != group.tokens
    return RowCells(
        ("▸" if folded else "▾").rjust(columns.seq),
        fit_cells(name, columns.who),
        short_number(group.tokens, columns.tokens).rjust(columns.tokens),
        (short_number(group.original_tokens, columns.original) if changed else "").rjust(columns.original),
        share_bar(group.tokens, total, columns.share),
        " ",
        _state(f"  {count}", columns),
        fit_cells(about, columns.what),
        mark=" " * columns.mark,
        effect=" " * columns.effect,
    )


def live_cells(live: LiveAnswer, columns: Columns) -> RowCells:
    """The cells of the streaming answer; its tokens are an estimate until it is in the log."""
    size = len(live.text) + len(live.reasoning) + sum(len(call.arguments) for call in live.calls)
    text = live.text or live.reasoning
    if live.calls:
        text = f"{live.calls[-1].tool} {live.calls[-1].arguments}"
    return RowCells(
        "…".rjust(columns.seq),
        fit_cells("assistant", columns.who),
        (f"~{short_number(-(-size // CHARS_PER_TOKEN), columns.tokens - 1)}" if size else "").rjust(columns.tokens),
        " " * columns.original,
        " " * columns.share,
        " ",
        _state("▸ coming", columns),
        fit_cells(fit_cells_end(printable(text[-LOOKED_AT:]), columns.what), columns.what),
        mark=" " * columns.mark,
        effect=" " * columns.effect,
    )


def _what(row: Item, columns: Columns) -> tuple[str, str]:
    """The text, and why it is not sent whole. For an item that is never sent there is no reason to show."""
    width = columns.what
    text = item_line(row)
    if not row.edits or row.state == "aside" or width < ROOM_WITH_REASONS:
        return fit_cells(text, width), ""
    why = printable(row.edits[-1].why[:LOOKED_AT])
    if not columns.original and row.tokens != row.original_tokens:
        why = f"{row.original_tokens:,} → {row.tokens:,}: {why}"
    shown = fit_cells(why, min(cell_len(why), width // 2))
    return fit_cells(text, width - cell_len(shown) - 3), f" · {shown}"


def share_bar(part: int, whole: int, width: int) -> str:
    """A bar in eighths of a cell."""
    return _bar(min(round(max(0, part) * width * 8 / whole), width * 8) if whole > 0 else 0, width)


@cache
def _bar(eighths: int, width: int) -> str:
    full, rest = divmod(eighths, 8)
    return (BLOCKS[8] * full + (BLOCKS[rest] if rest else "")).ljust(width)


class ColumnHeads(Widget):
    """The line above the rows, which does not scroll."""

    seq_width: reactive[int] = reactive(LEAST_SEQ)
    marks: reactive[Mapping[str, Mark]] = reactive(NO_MARKS)
    sort: reactive[Sorting] = reactive("")
    effects: reactive[ItemEffects | None] = reactive(None)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        columns = columns_for_width(width - 1, self.seq_width, bool(self.marks), bool(self.effects))
        return Strip([Segment(fit_cells(f" {column_heads(columns, self.sort)}", width), self.rich_style)], width)


class LineState(NamedTuple):
    """Everything that a drawn line depends on; equal values are drawn the same, so lines can be cached."""

    what: Item | RowGroup | LiveAnswer | str
    columns: Columns
    share: str = ""
    """The share bar; it changes less often than the total."""
    total: int = 0
    """Tokens of the whole request, for the head of a group."""
    chosen: bool = False
    """Whether the cursor is on this line."""
    selected: bool = False
    mark: Mark | None = None
    by: Grouping = ""
    folded: bool = False
    effect: ItemEffect | None = None


class ListState(NamedTuple):
    """Everything that all lines depend on."""

    lines: RowLines | None
    marks: Mapping[str, Mark]
    effects: ItemEffects | None
    empty: str
    cursor: int
    chosen: range
    columns: Columns
    live: LiveAnswer | None
    """The last line; no row depends on it."""

    def row_looks(self, first: int, end: int) -> list[LineState]:
        """What each of some lines with a row or a head depends on."""
        lines, columns, effects, marks = self.lines, self.columns, self.effects, self.marks
        if lines is None:
            return []
        total, found = lines.total, list[LineState]()
        for at, what in enumerate(lines.between(first, end), first):
            here, chosen = at == self.cursor, at in self.chosen
            share = share_bar(what.tokens, total, columns.share)
            if isinstance(what, RowGroup):
                folded = what.key in lines.folded
                state = LineState(what, columns, share, total, here, chosen, None, lines.wish.group, folded)
            else:
                effect = effects.of_item(what) if effects else None
                state = LineState(what, columns, share, 0, here, chosen, marks.get(what.id), "", False, effect)
            found.append(state)
        return found

    def look_below(self, away: int) -> LineState:
        """What a line below the rows depends on: first the streaming answer; `away`: how far below."""
        if self.live is not None and not away:
            return LineState(self.live, self.columns)
        return LineState("" if self.lines or away else self.empty, self.columns)


def styled_pieces(line: LineState) -> list[tuple[str, str]]:
    """The pieces of a line, each with its style names."""
    what, columns = line.what, line.columns
    plain = state = ""
    if isinstance(what, Item):
        made = row_cells(what, columns, line.share, line.mark, line.effect)
        plain = "" if what.in_request else "quiet"
        state = what.state
    elif isinstance(what, RowGroup):
        made = head_cells(what, line.by, line.folded, columns, line.total)
        plain = state = "group"
    else:
        assert isinstance(what, LiveAnswer)
        made = live_cells(what, columns)
        state = "live"
    gap = " " * columns.gap
    return [
        ("▌" if line.chosen else "┃" if line.selected else " ", "share"),
        (made.seq + gap, "quiet"),
        (made.mark + gap if columns.mark else "", line.mark or ""),
        (made.who + gap + made.tokens + gap, plain),
        (made.original + gap if columns.original else "", "quiet"),
        (made.share + gap if columns.share else "", "share"),
        (made.pin + gap, "pin"),
        (made.state + gap, state),
        (made.effect + gap if columns.effect else "", _effect_style(line.effect)),
        (made.text, plain),
        (made.why, "quiet why"),
    ]


def _effect_style(effect: ItemEffect | None) -> str:
    return "effect" if effect and effect.found.verdict in ("needed", "one of several") else "quiet"
