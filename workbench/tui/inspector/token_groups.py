"""The groups and items in the context, the largest first, for the treemap. Independent of widgets."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from workbench.config.text import counted, printable
from workbench.context.items import SIGNS, Item, State
from workbench.context.plan import ContextPlan
from workbench.context.tool_lines import item_line
from workbench.tui.inspector.order import CHECK_EVERY, REST, Grouping, group_name, listed_items

FRAMING = "message framing"


class Part(NamedTuple):
    """A group, an item, or everything that is too small to show."""

    name: str
    tokens: int
    state: State = "sent"
    """The state of most of its tokens."""
    signs: str = ""
    """The letters of all its states except `sent`."""
    about: str = ""
    """What is in it, in a few words."""
    row: int | None = None
    """The item's row; None for a group."""
    inside: TokenGroup | None = None
    """The parts inside, if it can be opened."""


class TokenGroup(NamedTuple):
    """Parts of the context, the largest first; each is made when it is read."""

    title: str
    weights: Sequence[int]
    part: Callable[[int], Part]
    tokens: int

    def others(self, count: int) -> Part:
        """All parts after the first `count`, as one."""
        weights, tokens = self.weights[count:], sum(self.weights[count:])
        name = counted(len(weights), "other")
        return Part(name, tokens, inside=TokenGroup(name, weights, lambda at: self.part(at + count), tokens))


class _Gathered:
    """Collects the items of a group."""

    def __init__(self) -> None:
        self.rows: array[int] = array("L")
        self.sizes: array[int] = array("L")
        self.states: Counter[State] = Counter()

    def add_row(self, number: int, row: Item) -> None:
        self.rows.append(number)
        self.sizes.append(row.tokens)
        self.states[row.state] += row.tokens

    def part(self, name: str, rows: Sequence[Item]) -> Part:
        order = sorted(range(len(self.rows)), key=self.sizes.__getitem__, reverse=True)
        sizes = array("L", (self.sizes[at] for at in order))
        numbers = array("L", (self.rows[at] for at in order))
        tokens = sum(sizes)
        if len(numbers) == 1:
            return leaf_part(numbers[0], rows[numbers[0]], name)
        signs = "".join(SIGNS[state] for state in SIGNS if state in self.states and state != "sent")
        inside = TokenGroup(name, sizes, lambda at: leaf_part(numbers[at], rows[numbers[at]]), tokens)
        return Part(name, tokens, self.states.most_common(1)[0][0], signs, counted(len(numbers), "item"), None, inside)


def leaf_part(number: int, row: Item, name: str = "") -> Part:
    """The part for one item; `name`: the name of its group, if it is the only item."""
    label = name or (row.who if row.seq is None else f"#{row.seq} {row.who}")
    return Part(printable(label), row.tokens, row.state, SIGNS[row.state].strip(), item_line(row), number)


def token_groups(
    plan: ContextPlan, by: Grouping = "", rest: str = "", stop: Callable[[], bool] = lambda: False
) -> TokenGroup | None:
    """Everything with tokens in the request, by kind or by a grouping, in one pass over all rows.

    `rest`: in words, which part of the request is in no row. None if `stop` returned True.
    """
    rows = listed_items(plan, rest)
    found: dict[str, _Gathered] = {}
    for number, row in enumerate(rows):
        if not number % CHECK_EVERY and stop():
            return None
        if row.tokens > 0:
            name = group_name(by, str(getattr(row, by))) if by else row_kind(row)
            if name not in found:
                found[name] = _Gathered()
            found[name].add_row(number, row)
    parts = [gathered.part(name, rows) for name, gathered in found.items()]
    if plan.totals.framing > 0:
        parts.append(Part(FRAMING, plan.totals.framing, about="what the format of messages adds"))
    parts.sort(key=lambda part: part.tokens, reverse=True)
    weights = [part.tokens for part in parts]
    return TokenGroup("the request", weights, parts.__getitem__, sum(weights))


_KINDS = {
    "tool_definition": "tool definitions",
    "tool_call": "tool calls",
    "summary": "summaries",
    "notice": "notices",
    "reasoning": "thinking",
}


def row_kind(row: Item) -> str:
    """The kind of a row: the tool for results, the speaker for all else."""
    if row.id == REST or row.slot in ("instructions", "memory"):
        return row.who
    if row.slot == "system":
        return "system prompt"
    if row.kind == "tool_result":
        return f"{row.tool or 'tool'} results"
    return _KINDS.get(row.kind) or row.role or row.kind
