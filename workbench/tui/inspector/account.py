"""The ledger: our counts, the provider's reports and the cost, by request or by turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.reactive import reactive, var
from textual.widget import Widget

from workbench.config.background import in_background
from workbench.config.text import counted, percent, printable, table, when
from workbench.models.ledger import Ledger, LedgerRow, UsageTotals
from workbench.sources.requests import RequestMark
from workbench.tui.widgets.cells import join_cells
from workbench.tui.widgets.reader import TextReader, TextScreen
from workbench.tui.widgets.text_view import TextLine, TextPage
from workbench.views.context_view import ContextView

ROW_CHARS = 100
"""The approximate length of a line."""
EMPTY = "No requests yet."
COUNTING = "Counting the requests…"
BY_REQUEST = ("request", "turn", "counted", "reported", "unattributed", "cached", "answer", "cost", "time", "model")
BY_TURN = (
    *("turn", "at", "requests", "counted", "reported", "unattributed", "cached", "answer", "total", "cost", "time"),
    "compacted",
)


def exact_dollars(value: float | None) -> str:
    """A sum in dollars; a question mark if it is unknown."""
    return "?" if value is None else f"${value:.4f}"


def _spent(total: UsageTotals, unknown: str) -> str:
    """A sum in dollars, and the number of requests that are not in it, followed by `unknown`."""
    if total.known_cost is None:
        return "cost unknown"
    return exact_dollars(total.known_cost) + (unknown.format(total.uncosted) if total.uncosted else "")


def _seconds(value: float | None) -> str:
    return "" if not value else f"{value:.1f} s"


def _request(row: LedgerRow, number: int | None) -> tuple[str, ...]:
    reported = f"{row.prompt:,}" if row.reported else "nothing"
    unattributed = f"{row.unattributed:+,}" if row.reported else ""
    figures = (f"{row.cached:,}", f"{row.completion:,}", exact_dollars(row.cost), _seconds(row.seconds))
    name = f"event {row.seq}" if number is None else f"{number:,}"
    return name, str(row.turn), f"{row.estimate:,}", reported, unattributed, *figures, printable(row.model)


def _sums(name: str, total: UsageTotals, compactions: Sequence[int] | None = None) -> tuple[str, ...]:
    return (
        name,
        when(total.last_at) if total.last_at else "",
        f"{total.requests:,}",
        f"{total.estimate:,}",
        f"{total.prompt:,}",
        f"{total.unattributed:+,}",
        f"{total.cached:,}",
        f"{total.completion:,}",
        f"{total.tokens:,}",
        _spent(total, " + {} unknown"),
        _seconds(total.seconds),
        f"◆ {', '.join(map(str, compactions))}" if compactions else "",
    )


def account_page(
    ledger: Ledger | None, model: str, by: str, most: int = 0, *, requests: Sequence[RequestMark] = ()
) -> TextPage:
    """The account as text: totals and calibration, then the lines, newest first. `requests` gives their numbers."""
    if ledger is None or not ledger.rows:
        return TextPage([TextLine(EMPTY, "quiet")])
    lines = [*_summary(ledger, model, sum(not mark.usage for mark in requests)), TextLine("")]
    count = most // ROW_CHARS or len(ledger.rows)
    if by == "request":
        numbers = {mark.usage: number for number, mark in enumerate(requests, 1)}
        rows = [_request(row, numbers.get(row.seq)) for row in ledger.rows[: -count - 1 : -1]]
        alone = len({row[-1] for row in rows}) == 1
        if alone:
            lines[-1:] = [TextLine(f"all to {rows[0][-1]}", "why"), TextLine("")]
        made = _table(BY_REQUEST[:-1] if alone else BY_REQUEST, [row[:-1] if alone else row for row in rows])
    else:
        turns = sorted({*ledger.turns, *ledger.compactions}, reverse=True)[:count]
        rows = [_sums(str(turn), ledger.turns.get(turn, UsageTotals()), ledger.compactions.get(turn)) for turn in turns]
        rows.append(_sums("all", ledger.total))
        made = _table(BY_TURN, rows) if ledger.compactions else _table(BY_TURN[:-1], [row[:-1] for row in rows])
    lines += made
    return TextPage(lines, "\n".join(line.text for line in lines))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[TextLine]:
    right = frozenset(at for at, name in enumerate(head) if name != "model")
    first, *rest = table(head, rows, right)
    return [TextLine(first, "head"), *(TextLine(line) for line in rest)]


def _summary(ledger: Ledger, model: str, unreported: int) -> Iterator[TextLine]:
    total = ledger.total
    asked = counted(total.requests, "request") + (f" and {unreported:,} without a report" if unreported else "")
    spent = _spent(total, ", {} requests of unknown cost")
    if total.known_cost is None:
        spent += f": no price is known for {printable(', '.join(sorted({row.model for row in ledger.rows})))}"
    yield TextLine(f"{asked} in {counted(len(ledger.turns), 'turn')}: {spent}", "head")
    yield TextLine(
        f"counted {total.estimate:,} + unattributed {total.unattributed:+,} = reported {total.prompt:,} prompt tokens"
    )
    share = f" ({percent(total.cached / total.prompt, 0)} of the prompts)" if total.prompt else ""
    thinking = f", of that thinking {total.reasoning:,}" if total.reasoning else ""
    yield TextLine(f"cached {total.cached:,}{share}, answers {total.completion:,}{thinking}")
    yield TextLine(f"calibration: {printable(ledger.calibration_words(model))}", "why")
    growth = ledger.growth
    if growth is not None:
        yield TextLine(f"the context grows by {growth:+,.0f} tokens a turn", "why")


class AccountHead(Widget):
    """The title, and whether the lines are requests or turns."""

    by: reactive[str] = reactive("request")

    def render(self) -> Content:
        other = "turn" if self.by == "request" else "request"
        parts = [
            Content.styled("the ledger", "bold $primary"),
            Content.styled(f"[by {self.by}]", "bold $accent"),
            Content(f"t shows it by {other}"),
            Content.styled("newest first", "$quiet"),
            Content.styled("Esc closes", "$quiet"),
        ]
        return join_cells(parts, self.size.width)


class AccountScreen(TextScreen):
    """The account of the session."""

    BINDING_GROUP_TITLE = "The ledger"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "close", id="account.close"),
        Binding("t", "turns", "by request or by turn", id="account.turns"),
    ]

    by: var[str] = var("request")

    def __init__(self, shown: ContextView) -> None:
        super().__init__()
        self._shown = shown
        self._ledger = shown.ledger

    def compose(self) -> ComposeResult:
        yield AccountHead().data_bind(AccountScreen.by)
        yield TextReader()

    def action_turns(self) -> None:
        self.by = "turn" if self.by == "request" else "request"
        self._fill()

    def _fill(self) -> None:
        ledger = self._ledger
        if ledger is not None and ledger.lacks_counts:
            self.reader.show(lambda _: TextPage([TextLine(COUNTING, "quiet")]), 0)
            self._count_requests(ledger)
            return
        make: Callable[[int], TextPage] = partial(
            account_page, ledger, self._shown.plan.model, self.by, requests=self._shown.requests
        )
        self.reader.show(make, len(ledger.rows) * ROW_CHARS if ledger else 0)

    @work(exclusive=True, description="count requests")
    async def _count_requests(self, ledger: Ledger) -> None:
        self._ledger = await in_background(ledger.with_counts)
        self._fill()
