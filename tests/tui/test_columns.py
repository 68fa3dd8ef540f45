"""The columns: every row is exactly as wide as the line, and no text gets through that a terminal would act on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from support.logs import texts
from tui.fakes import SAMPLE, item
from workbench.context.items import SIGNS, Edit
from workbench.tui.inspector.columns import Cells, cells, heads, lay_out, share_bar


def width_of(made: Cells, gap: int, roomy: bool) -> int:
    shown = [made.seq, made.who, made.tokens, made.share, made.pin, made.state]
    columns = [*shown, made.original] if roomy else shown
    return sum(map(cell_len, columns)) + gap * len(columns) + cell_len(made.why + made.text)


@given(texts(), texts(), st.integers(0, 3_000_000), st.booleans(), st.integers(60, 250), st.integers(0, 10**6))
def test_a_row_is_as_wide_as_the_line(text: str, why: str, tokens: int, edited: bool, width: int, events: int) -> None:
    edits = (Edit("mask", "masked", 1, 1, why),) if edited else ()
    row = item(1, text, tool=text, tokens=tokens, edits=edits, exact=False)
    columns = lay_out(width, events)
    made = cells(row, columns, 1_000)
    assert width_of(made, columns.gap, columns.original > 0) == width
    assert all(part.isprintable() or "\u200d" in part for part in made)


@given(st.integers(60, 250), st.integers(0, 10**6))
def test_the_heads_are_as_wide_as_the_rows(width: int, events: int) -> None:
    assert cell_len(heads(lay_out(width, events))) == width


@pytest.mark.parametrize("state", SIGNS)
def test_a_state_has_a_letter_and_a_word(state: str) -> None:
    made = cells(item(1, state=state), lay_out(80, 10), 100)
    assert made.state.rstrip() == f"{SIGNS[state]} {state}"


def test_a_reason_goes_before_the_text() -> None:
    narrow = cells(SAMPLE[5], lay_out(80, 10), 1_000)
    wide = cells(SAMPLE[5], lay_out(200, 10), 1_000)
    assert narrow.why.startswith("5,213 tokens are over")
    assert narrow.text == ""
    assert wide.text.startswith("import sqlite3")
    assert wide.original.strip() == "5,213"


def test_flags_and_marks() -> None:
    columns = lay_out(80, 10)
    assert cells(SAMPLE[2], columns, 100).pin == "⚑"
    assert cells(SAMPLE[1], columns, 100).tokens.strip() == "~10"
    assert cells(SAMPLE[4], columns, 100).who.strip() == "read_file()"
    assert cells(item(1)._replace(seq=None), columns, 100).seq.strip() == "–"


@pytest.mark.parametrize(
    ("part", "whole", "bar"), [(0, 100, "    "), (50, 100, "██  "), (100, 100, "████"), (1, 32, "▏   "), (5, 0, "    ")]
)
def test_the_share_is_drawn_in_eighths(part: int, whole: int, bar: str) -> None:
    assert share_bar(part, whole, 4) == bar
