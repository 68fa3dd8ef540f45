"""The range that a compaction would summarise, as text: row by row, and one row in full."""

from __future__ import annotations

from functools import partial
from itertools import islice

from workbench.compaction.values import SelectedRange
from workbench.config.text import fit_columns, printable
from workbench.context.items import Item
from workbench.context.tool_lines import item_line
from workbench.tui.widgets.reader import BoxedText
from workbench.tui.widgets.text_view import TextLine, TextPage, text_page

ROW = 70
"""The most characters of a row to show."""
HEAD = 46
"""Cells before the text of a row."""


def source_page(selected: SelectedRange, most: int = 0) -> TextPage:
    """The rows of the range in order: those that are summarised, and those that are kept."""
    kept = {item.id for item in selected.staying}
    rows = sorted((*selected.items, *selected.staying), key=lambda item: item.unit)
    lines = [
        TextLine(_row(item, item.id in kept), "quiet" if item.id in kept else "text", hang=HEAD)
        for item in _few(rows, most)
    ]
    head = [
        TextLine(f"summarised  the summary of event {event.seq}, which this one replaces", "head")
        for event in selected.previous
    ]
    made = [*head, *lines]
    return TextPage(made, "\n".join(line.text for line in made))


def _few(rows: list[Item], most: int) -> list[Item]:
    return list(islice(rows, most // ROW)) if most else rows


def _row(item: Item, kept: bool) -> str:
    """A row; a word says whether it is kept, because colour alone is not enough."""
    word = "kept" if kept else "summarised"
    seq = "" if item.seq is None else str(item.seq)
    text = fit_columns(item_line(item), ROW)
    return f"{word:<10} {seq:>6}  {printable(item.who, 16):<16} {item.tokens or item.original_tokens:>8,}  {text}"


def seqs_of(selected: SelectedRange) -> dict[str, int]:
    """The sequence numbers of the rows, by event id."""
    found = {item.id: item.seq for item in (*selected.items, *selected.staying) if item.seq is not None}
    return {**found, **{event.id: event.seq for event in selected.previous}}


def source_screen(selected: SelectedRange, seq: int) -> BoxedText:
    """One row of the range in full."""
    text = next((item.original for item in (*selected.items, *selected.staying) if item.seq == seq), "")
    return BoxedText(f"event {seq}", partial(text_page, text), len(text))
