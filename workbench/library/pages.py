"""What a notebook shows: a small table and a bar. Every text is escaped; nothing in it runs or loads anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Final

from workbench.config.text import printable
from workbench.context.items import Item, state_words
from workbench.context.plan import ContextPlan

MOST_ROWS: Final = 40
"""Rows of a table: the first and the last ones of a long list."""
_TEXT: Final = 120
_SLOTS: Final = {
    "system": "#7c6fae",
    "instructions": "#8a83b8",
    "memory": "#a59fc8",
    "tools": "#5b8db8",
    "summaries": "#c08b3e",
    "history": "#6a9a6a",
    "turn": "#3f7f5f",
}
_FREE: Final = "#8883"
_CELL: Final = "padding:1px 8px;text-align:left;vertical-align:top"
_NUMBER: Final = "padding:1px 8px;text-align:right;vertical-align:top"


@dataclass(slots=True)
class Page:
    """A piece of HTML, made line by line from texts that may be anything."""

    lines: list[str] = field(default_factory=list)

    def heading(self, text: str) -> None:
        """Add a line in bold."""
        self.lines.append(f"<div><b>{_safe(text)}</b></div>")

    def line(self, text: str) -> None:
        """Add a line."""
        self.lines.append(f"<div>{_safe(text)}</div>")

    def bar(self, parts: Iterable[tuple[str, int, str]], whole: int) -> None:
        """Add a bar: the name, the size and the colour of each part of a whole."""
        made = "".join(
            f'<span title="{_safe(name)}: {size:,}" style="display:inline-block;height:12px;'
            f'width:{100 * size / max(1, whole):.2f}%;background:{colour}"></span>'
            for name, size, colour in parts
            if size > 0
        )
        box = "width:100%;max-width:640px;white-space:nowrap;overflow:hidden;font-size:0"
        self.lines.append(f'<div style="{box};background:{_FREE}">{made}</div>')

    def table(self, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Add a table. Of many rows the first and the last are shown."""
        left_out = len(rows) - MOST_ROWS
        half = MOST_ROWS // 2
        shown = [*rows[:half], *rows[-half:]] if left_out > 0 else list(rows)
        made = ["".join(f'<th style="{_CELL}">{_safe(name)}</th>' for name in header)]
        for at, row in enumerate(shown):
            if left_out > 0 and at == half:
                made.append(f'<td style="{_CELL}" colspan="{len(header)}">… {left_out:,} more</td>')
            made.append("".join(_cell(value) for value in row))
        self.lines.append("<table>" + "".join(f"<tr>{row}</tr>" for row in made) + "</table>")

    def __str__(self) -> str:
        return "<div>" + "".join(self.lines) + "</div>"


def _cell(value: Any) -> str:
    if value is None:
        return f'<td style="{_CELL}"></td>'
    if isinstance(value, bool | str):
        return f'<td style="{_CELL}">{_safe(str(value))}</td>'
    shown = f"{value:,}" if isinstance(value, int) else f"{value:,.4f}"
    return f'<td style="{_NUMBER}">{shown}</td>'


def _safe(text: str) -> str:
    """Text that is only text in HTML; characters that a terminal or a browser would act on are visible."""
    short = printable(text[: 4 * _TEXT])
    return escape(short[:_TEXT] + ("…" if len(short) > _TEXT or len(text) > 4 * _TEXT else ""), quote=True)


def plan_page(plan: ContextPlan) -> Page:
    """A plan: how full the window is and with what, and its items."""
    page = Page()
    verdict = "fits" if plan.verdict.fits else "does not fit"
    page.heading(f"{plan.policy}: {plan.size:,} of {plan.limits.window:,} tokens, {verdict}")
    sizes = Counter[str]()
    for item in plan.items.without_reasons():
        sizes[item.slot] += item.tokens
    page.bar(((slot, sizes[slot], colour) for slot, colour in _SLOTS.items()), plan.limits.window)
    page.line(plan.verdict.why)
    items = plan.items.candidates()
    page.table(("id", "who", "tokens", "of", "state", "why", "text"), _Rows(items))
    return page


class _Rows(Sequence[tuple[Any, ...]]):
    """The rows of items, made on access: a plan may have ten thousand."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [_row(item) for item in self._items[index]]
        return _row(self._items[index])


def _row(item: Item) -> tuple[Any, ...]:
    text = item.text if item.text is not None else item.original
    before = item.original_tokens if item.original_tokens != item.tokens else None
    return item.id, item.who, item.tokens, before, state_words(item.state), item.why, text


def session_page(name: str, model: str, rows: Sequence[tuple[Any, ...]], compactions: int) -> Page:
    """A session: its requests and how large they were."""
    page = Page()
    page.heading(f"{name}{f' · {model}' if model else ''}")
    page.line(f"{len(rows):,} requests, {compactions:,} compactions")
    largest = max((row[3] or row[2] for row in rows), default=0)
    shown = rows[-MOST_ROWS:]
    for number, _, tokens, reported, _ in shown:
        size = reported or tokens
        page.bar([(f"request {number}", size, _SLOTS["history"])], largest)
    page.table(("request", "model", "tokens", "reported", "purpose"), rows)
    return page


_FIGURES: Final = ("policy", "tokens", "peak", "overflows", "compactions", "misses", "cache_read", "cost")


def lab_page_of(name: str, rows: Sequence[dict[str, Any]]) -> Page:
    """A session under several policies."""
    page = Page()
    page.heading(name)
    largest = max((row["tokens"] for row in rows), default=0)
    for row in rows:
        page.line(row["policy"])
        page.bar([("input tokens", row["tokens"], _SLOTS["history"])], largest)
    page.table(_FIGURES, [[row[name] for name in _FIGURES] for row in rows])
    return page


def compaction_page(why: str, before: int, after: int, made_by: str, summary: str, lost: Sequence[str]) -> Page:
    """A compaction: what it freed and what its summary lost."""
    page = Page()
    page.heading(f"{before:,} to {after:,} tokens, by {made_by}" if made_by else "no compaction was made")
    page.line(why)
    page.bar([("after", after, _SLOTS["summaries"]), ("freed", before - after, _FREE)], before)
    page.table(("summary",), [[line] for line in summary.splitlines() if line.strip()])
    if lost:
        page.table(("lost facts",), [[fact] for fact in lost])
    return page
