"""Rows and plans made by hand, for what needs no planner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, cast, overload

from workbench.context.budget import Budget, Limits
from workbench.context.items import Edit, Item
from workbench.context.plan import ContextPlan, Totals, Verdict
from workbench.context.plan_items import PlanItems

BUDGET = Budget(100, 40, 0, 60, 0, 5_000, 800, 120, 0, 1_000, 2_000, 880)


def item(seq: int, text: str = "hello", **changes: Any) -> Item:
    """A user's message that is sent whole."""
    made = Item(f"e{seq:05d}", seq, 1, "history", "user", "message", None, "sent", 10, 10, True, False, (), text, text)
    return made._replace(**changes)


SAMPLE: tuple[Item, ...] = (
    item(1, "You are a careful programmer.", slot="system", role="system", tokens=100, original_tokens=100),
    item(2, '{"name": "read_file"}', slot="tools", role=None, kind="tool_definition", tool="read_file", exact=False),
    item(3, "Why does the login test fail?", pinned=True),
    item(4, "Let me think.", role="assistant", kind="reasoning", state="aside", tokens=0)._replace(text=None),
    item(5, '{"path": "auth.py"}', role="assistant", kind="tool_call", tool="read_file", call_id="call_1"),
    item(
        6,
        "import sqlite3 …",
        role="tool",
        kind="tool_result",
        tool="read_file",
        state="truncated",
        tokens=800,
        original_tokens=5_213,
        edits=(Edit("truncate", "truncated", 5_213, 800, "over the cap of 800 tokens; both ends are kept"),),
        original="import sqlite3\n" + "a line of the file\n" * 50,
    ),
    item(
        7,
        "[result masked — ~1200 tokens removed]",
        role="tool",
        kind="tool_result",
        tool="run_command",
        state="masked",
        tokens=12,
        original_tokens=1_204,
        edits=(Edit("mask", "masked", 1_204, 12, "result 3 of 9 is neither among the first 2 nor the last 5"),),
        original="FAILED tests/test_login.py",
    ),
    item(8, "", state="dropped", tokens=0, original_tokens=330)._replace(
        text=None,
        original="An old question about something else",
        edits=(Edit("history", "dropped", 330, 0, "history needs 9,000 tokens and 5,000 are left for it"),),
    ),
    item(9, "The fixture opens the database twice.", role="assistant"),
    item(10, "must support Python 3.11", slot="turn", turn=2),
)


class SampleRows(tuple[Item, ...]):
    """Rows made by hand, with what else a plan's rows can tell."""

    __slots__ = ()

    @property
    def asides(self) -> dict[str, int]:
        """By what they are."""
        return dict(Counter(row.who for row in self if row.state == "aside"))

    @property
    def tools(self) -> range:
        """Never one behind the other here."""
        return range(0)

    def candidates(self) -> SampleRows:
        """Without what is never sent."""
        return SampleRows(row for row in self if row.state != "aside")


def plan_of(rows: Sequence[Item], **changes: Any) -> ContextPlan:
    """A plan with these rows; any sequence will do."""
    given: dict[str, Any] = {
        "model": "gpt-4o",
        "limits": Limits(10_000, "catalogue", 2_000, 1_000),
        "policy": "layers",
        "verdict": Verdict("fits", "6,120 tokens + 1,000 margin + 2,000 reserve = 9,120 of 10,000"),
        "budget": BUDGET,
        "totals": Totals(6_120, 6_000, 120, 12_500),
        "items": cast(PlanItems, rows if isinstance(rows, CountedRows) else SampleRows(rows)),
    }
    return ContextPlan(**{**given, **changes})


class CountedRows(Sequence[Item]):
    """A hundred thousand rows that remember how often they were looked at."""

    def __init__(self, length: int = 100_000) -> None:
        self.length = length
        self.looks = 0

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Sequence[Item]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(self.length))]
        self.looks += 1
        return item(index + 1, f"message {index + 1}")

    def __iter__(self) -> Iterator[Item]:
        raise AssertionError("nobody may go through all rows")

    asides: ClassVar[dict[str, int]] = {}
    tools = range(0)

    def candidates(self) -> CountedRows:
        """All of them."""
        return self

    def sent_items(self) -> Iterator[Item]:
        """All are sent, and nobody may look at them all."""
        return iter(self)
