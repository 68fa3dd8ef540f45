"""The lines of the inspector: all rows in order, or filtered, sorted and grouped. Independent of the screen.

The plain order needs no pass over the rows. Any other takes one pass over all rows, in a thread, and makes an array of
row numbers; after that, folding a group only touches the groups.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Literal, NamedTuple

from workbench.context.items import SIGNS, SLOTS, Item, state_words
from workbench.context.plan import ContextPlan
from workbench.context.plan_items import PlanItems
from workbench.tui.inspector.filters import Filter
from workbench.views.context_view import COUNTING

Grouping = Literal["", "slot", "turn", "state"]
Sorting = Literal["", "largest", "smallest"]

GROUPINGS: tuple[Grouping, ...] = ("", "slot", "turn", "state")
SORTINGS: tuple[Sorting, ...] = ("", "largest", "smallest")


REST = "unattributed"
"""The id of the row for tokens that are in no other row."""
TOOLS = "tools"
"""The key of the group of tool definitions in the order of the request."""
AS_SENT = frozenset({TOOLS})
"""The groups that are folded in the order of the request."""
CHECK_EVERY = 256
"""After how many rows a pass checks whether it is still wanted."""
NEAR = 64
"""How far from its old index an item is searched in a new plan; summaries and notices move it by a few rows."""


class RowOrder(NamedTuple):
    """How to show the rows."""

    filter: Filter = Filter()
    group: Grouping = ""
    sort: Sorting = ""
    all: bool = False
    """Whether to list items that are never sent (usage, snapshots), too."""

    @property
    def is_plain(self) -> bool:
        """Whether it needs no pass over the rows."""
        return not (self.filter or self.group or self.sort)


AS_THEY_ARE = RowOrder()


class RowGroup(NamedTuple):
    """Rows under one head."""

    key: str
    """Empty: rows without a head."""
    rows: Sequence[int]
    tokens: int = 0
    original_tokens: int = 0
    about: str = ""
    """The text of its head after the figures."""


def listed_items(plan: ContextPlan, rest: str, everything: bool = False) -> PlanItems:
    """The rows of a plan. Tokens that are in no row get a row after those that are in every request."""
    tokens, rows = plan.unattributed, plan.items if everything else plan.items.candidates()
    if not tokens:
        return rows
    exact = plan.reported is not None
    who = COUNTING if plan.whole else "not in file" if tokens > 0 else "not reported"
    text = f"{rest}.\n\n{_explained(plan)}"
    row = Item(
        REST, None, 0, "unattributed", who, "message", None, "sent", tokens, tokens, exact, False, (), text, text
    )
    return rows.with_fixed(row)


def _explained(plan: ContextPlan) -> str:
    """Explains the number of tokens that are in no row."""
    tokens, rows = plan.unattributed, plan.totals.tokens
    if plan.reported is None:
        return (
            f"Nothing was reported for this request. Its rows have {rows:,} tokens by our count; "
            f"requests that were reported had about {tokens:,} more."
        )
    reported = f"The provider reported {plan.reported:,} tokens for this request; its rows have {rows:,} by our count."
    if plan.whole:
        more = "more" if tokens > 0 else "fewer"
        return f"{reported} All that was sent is in them: the {abs(tokens):,} {more} are a difference in counting."
    if tokens < 0:
        return f"{reported} The {-tokens:,} too many are the difference between its way of counting and ours."
    if plan.known_rest.tokens:
        return (
            f"{reported} The other {tokens:,} were sent as well, but are not in the file: what they consist of is an "
            "estimate, learnt from how the reports grow."
        )
    return f"{reported} The other {tokens:,} were sent as well, but nothing that was recorded says what they are."


class RowLines:
    """The lines of the list: row numbers, and groups for their heads."""

    def __init__(
        self,
        plan: ContextPlan,
        rows: Sequence[Item],
        wish: RowOrder,
        groups: Sequence[RowGroup],
        folded: frozenset[str],
    ) -> None:
        """A group with an empty key has no head."""
        self.plan = plan
        self.total = plan.size
        """Tokens of the whole request."""
        self.rows = rows
        self.wish = wish
        self.groups = groups
        self.folded = folded
        sizes = (_head(group) + (0 if group.key in folded else len(group.rows)) for group in groups)
        self._starts = [0, *accumulate(sizes)]
        self._counts = [0, *accumulate(len(group.rows) for group in groups)]

    def __len__(self) -> int:
        return self._starts[-1]

    def __getitem__(self, line: int) -> int | RowGroup:
        """The row number of a line, or the group whose head it is."""
        at = bisect_right(self._starts, line) - 1
        group = self.groups[at]
        within = line - self._starts[at] - _head(group)
        return group if within < 0 else group.rows[within]

    def between(self, first: int, end: int) -> Iterator[Item | RowGroup]:
        """The items and the heads of groups on some lines that follow each other."""
        at = bisect_right(self._starts, first) - 1
        while first < end:
            group, start = self.groups[at], self._starts[at] + _head(self.groups[at])
            if first < start:
                yield group
                first = start
            at += 1
            stop = min(end, self._starts[at])
            rows = group.rows[first - start : stop - start]
            if isinstance(rows, range):
                yield from self.rows[rows.start : rows.stop]
            else:
                yield from (self.rows[row] for row in rows)
            first = max(first, stop)

    @property
    def matches(self) -> int:
        """The number of rows, including folded ones."""
        return self._counts[-1]

    def position(self, line: int) -> int:
        """The index of a line's row among all matching rows; for a head, the index of its first row."""
        at = bisect_right(self._starts, line) - 1
        return self._counts[at] + max(0, line - self._starts[at] - _head(self.groups[at]))

    def group_at(self, position: int) -> RowGroup:
        """The group of a matching row."""
        return self.groups[bisect_right(self._counts, position) - 1]

    def line_at(self, position: int) -> int:
        """The line of a matching row; the head of its group if that is folded."""
        at = bisect_right(self._counts, position) - 1
        if self.groups[at].key in self.folded:
            return self._starts[at]
        return self._starts[at] + _head(self.groups[at]) + position - self._counts[at]

    def item(self, line: int) -> Item | None:
        """The item of a line; None for a head or a line that does not exist."""
        if not 0 <= line < len(self):
            return None
        row = self[line]
        return self.rows[row] if isinstance(row, int) else None

    def line_of(self, row: int) -> int | None:
        """The line of a row; the head of its group if that is folded; None if it is filtered out."""
        for start, group in zip(self._starts, self.groups, strict=False):
            try:
                within = group.rows.index(row)
            except ValueError:
                continue
            return start if group.key in self.folded else start + _head(group) + within
        return None

    def fold(self, folded: frozenset[str]) -> RowLines:
        """The same lines with other groups folded."""
        return RowLines(self.plan, self.rows, self.wish, self.groups, folded)


def _head(group: RowGroup) -> int:
    """The number of lines of a group's head: 0 or 1."""
    return 1 if group.key else 0


def rows_in_order(
    plan: ContextPlan, rest: str = "", wish: RowOrder = AS_THEY_ARE, folded: frozenset[str] = AS_SENT
) -> RowLines:
    """The rows in the order of the request, with the tools under one head; `rest` describes tokens in no row."""
    rows = listed_items(plan, rest, wish.all)
    tools = rows.tools
    if len(tools) < 2:
        return RowLines(plan, rows, wish, (RowGroup("", range(len(rows))),), folded)
    made = [rows[at] for at in tools]
    sizes = sum(row.tokens for row in made), sum(row.original_tokens for row in made)
    group = RowGroup(TOOLS, tools, *sizes, ", ".join(row.who for row in made))
    before, behind = RowGroup("", range(tools.start)), RowGroup("", range(tools.stop, len(rows)))
    return RowLines(plan, rows, wish, (before, group, behind), folded)


def line_near(old: RowLines | None, new: RowLines | None, place: int) -> int:
    """The new line of an item if it is near its old line; otherwise the old line."""
    was = old.item(place) if old is not None else None
    if was is not None and new is not None:
        for away in range(NEAR):
            for at in (place - away, place + away):
                found = new.item(at)
                if found is not None and found.id == was.id:
                    return at
    return place


class GroupRows:
    """Collects the rows of a group."""

    def __init__(self) -> None:
        self.rows: array[int] = array("L")
        self.sizes: array[int] = array("Q")
        """Tokens as sent for each row; for an item that is not sent, its original tokens."""
        self.tokens = 0
        self.original_tokens = 0

    def add_row(self, number: int, row: Item) -> None:
        self.rows.append(number)
        self.sizes.append((max(0, row.tokens) << 32) + min(max(0, row.original_tokens), 0xFFFFFFFF))
        self.tokens += row.tokens
        self.original_tokens += row.original_tokens

    def group(self, key: str, sort: Sorting) -> RowGroup:
        rows = self.rows
        if sort:
            order = sorted(range(len(rows)), key=self.sizes.__getitem__, reverse=sort == "largest")
            rows = array("L", (rows[at] for at in order))
        return RowGroup(key, rows, self.tokens, self.original_tokens)


def arrange_rows(
    plan: ContextPlan,
    wish: RowOrder,
    folded: frozenset[str] = frozenset(),
    stop: Callable[[], bool] = lambda: False,
    rest: str = "",
) -> RowLines | None:
    """Filter, sort and group in one pass over all rows; None if `stop` returned True."""
    if wish.is_plain:
        return rows_in_order(plan, rest, wish, folded)
    rows = listed_items(plan, rest, wish.all or wish.filter.all)
    holds, by = wish.filter.holds, wish.group
    found: dict[str, GroupRows] = {} if by else {"": GroupRows()}
    for number, row in enumerate(rows):
        if not number % CHECK_EVERY and stop():
            return None
        if holds(row):
            key = str(getattr(row, by)) if by else ""
            if key not in found:
                found[key] = GroupRows()
            found[key].add_row(number, row)
    groups = [found[key].group(key, wish.sort) for key in (sorted(found, key=_rank) if by else found)]
    return RowLines(plan, rows, wish, groups, folded)


def group_name(by: Grouping, key: str) -> str:
    if by == "turn":
        return "before turn 1" if key == "0" else f"turn {key}"
    return state_words(key)


_RANKS: dict[str, int] = {name: at for at, name in enumerate((*SLOTS[:4], REST, *SLOTS[4:], *SIGNS))}


def _rank(key: str) -> tuple[int, int]:
    """The order of groups: slots and states in their own order, turns by number."""
    return (0, int(key)) if key.lstrip("-").isdigit() else (1, _RANKS.get(key, len(_RANKS)))


def find_rows(lines: RowLines, wanted: Filter) -> array[int]:
    """The indexes of the matching rows that a search finds, in one pass."""
    rows = lines.rows
    if lines.wish.is_plain:
        return array("L", (number for number, row in enumerate(rows) if wanted.holds(row)))
    all_rows = (rows[number] for group in lines.groups for number in group.rows)
    return array("L", (number for number, row in enumerate(all_rows) if wanted.holds(row)))


def row_sums(lines: RowLines, chosen: range) -> tuple[int, int, int]:
    """The number of rows in some lines, and their tokens as sent and in the original."""
    items = [item for item in map(lines.item, chosen) if item is not None]
    return len(items), sum(item.tokens for item in items), sum(item.original_tokens for item in items)
