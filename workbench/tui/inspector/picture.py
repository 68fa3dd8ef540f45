"""How a line of the list is drawn: what stands in it, and the names of its styles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from workbench.context.compare import Mark
from workbench.context.items import Item
from workbench.session.values import Live
from workbench.tui.inspector.columns import Columns, cells, head_cells, live_cells, share_bar
from workbench.tui.inspector.order import Group, Grouping, Lines


class Look(NamedTuple):
    """Everything a line's picture is made of: as long as it is the same, the picture is."""

    what: Item | Group | Live | str
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


class Scene(NamedTuple):
    """What is to be seen in all lines."""

    lines: Lines | None
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
            what, total = lines[at], lines.plan.totals.tokens
            here, chosen = at == self.cursor, at in self.chosen
            if isinstance(what, Group):
                share = share_bar(what.tokens, total, columns.share)
                folded = what.key in lines.folded
                return Look(what, columns, share, total, here, chosen, None, lines.wish.group, folded)
            row = lines.plan.rows[what]
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
    elif isinstance(what, Group):
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
        (made.share + gap, "share"),
        (made.pin + gap, "pin"),
        (made.state + gap, state),
        (made.why, f"{plain} why"),
        (made.text, "quiet" if made.why else plain),
    ]
