"""What fills the context, in groups and their items, the largest first: what the treemap draws. Knows no widget."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from workbench.config.text import counted, printable
from workbench.context.items import SIGNS, Item, State
from workbench.context.plan import ContextPlan
from workbench.context.tool_lines import item_line
from workbench.tui.inspector.order import LOOK_UP, REST, Grouping, group_name, listed

FRAMING = "message framing"


class Part(NamedTuple):
    """Something with tokens: a group, an item, or all that is too small to be shown."""

    name: str
    tokens: int
    state: State = "sent"
    """That of the most tokens in it."""
    signs: str = ""
    """The letters of all states in it but `sent`."""
    about: str = ""
    row: int | None = None
    """The item's row; None for more than one."""
    inside: TokenGroup | None = None
    """What it opens into."""


class TokenGroup(NamedTuple):
    """Parts of the context, the largest first; each is made when it is looked at."""

    title: str
    weights: Sequence[int]
    part: Callable[[int], Part]
    tokens: int

    def others(self, count: int) -> Part:
        """All but the first so many, as one."""
        weights, tokens = self.weights[count:], sum(self.weights[count:])
        name = counted(len(weights), "other")
        return Part(name, tokens, inside=TokenGroup(name, weights, lambda at: self.part(at + count), tokens))


class _Gathered:
    """The items of a group as they are found."""

    def __init__(self) -> None:
        self.rows: array[int] = array("L")
        self.sizes: array[int] = array("L")
        self.states: Counter[State] = Counter()

    def add(self, number: int, row: Item) -> None:
        self.rows.append(number)
        self.sizes.append(row.tokens)
        self.states[row.state] += row.tokens

    def part(self, name: str, rows: Sequence[Item]) -> Part:
        order = sorted(range(len(self.rows)), key=self.sizes.__getitem__, reverse=True)
        sizes = array("L", (self.sizes[at] for at in order))
        numbers = array("L", (self.rows[at] for at in order))
        tokens = sum(sizes)
        if len(numbers) == 1:
            return leaf(numbers[0], rows[numbers[0]], name)
        signs = "".join(SIGNS[state] for state in SIGNS if state in self.states and state != "sent")
        inside = TokenGroup(name, sizes, lambda at: leaf(numbers[at], rows[numbers[at]]), tokens)
        return Part(name, tokens, self.states.most_common(1)[0][0], signs, counted(len(numbers), "item"), None, inside)


def leaf(number: int, row: Item, name: str = "") -> Part:
    """One item; `name`: it is all there is of a group."""
    said = name or (row.who if row.seq is None else f"#{row.seq} {row.who}")
    return Part(printable(said), row.tokens, row.state, SIGNS[row.state].strip(), item_line(row), number)


def token_groups(
    plan: ContextPlan, by: Grouping = "", rest: str = "", stop: Callable[[], bool] = lambda: False
) -> TokenGroup | None:
    """All that has tokens in the request, by what it is or as the rows are grouped: one pass over all rows.

    None where `stop` said that nobody wants it any more.
    """
    rows = listed(plan, rest)
    found: dict[str, _Gathered] = {}
    for number, row in enumerate(rows):
        if not number % LOOK_UP and stop():
            return None
        if row.tokens > 0:
            name = group_name(by, str(getattr(row, by))) if by else kind_of(row)
            if name not in found:
                found[name] = _Gathered()
            found[name].add(number, row)
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


def kind_of(row: Item) -> str:
    """What tells most about what fills a context: results by their tool, all else by who said it."""
    if row.id == REST or row.slot in ("instructions", "memory"):
        return row.who
    if row.slot == "system":
        return "system prompt"
    if row.kind == "tool_result":
        return f"{row.tool or 'tool'} results"
    return _KINDS.get(row.kind) or row.role or row.kind
