"""Rows in columns: always as wide as the list, whatever stands in them."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from workbench.tui.widgets.columns import Column, header_line, row_line

COLUMNS = (Column("name"), Column("tokens", 7, right=True), Column("model", 12, least=60))


@given(st.tuples(st.text(), st.text(), st.text()), st.integers(30, 200))
def test_a_row_has_exactly_the_width_of_the_list(cells: tuple[str, str, str], width: int) -> None:
    assert row_line(COLUMNS, cells, width).cell_length == width
    assert header_line(COLUMNS, width).cell_length == width


@given(st.text())
def test_nothing_that_a_terminal_acts_on_reaches_the_list(text: str) -> None:
    said = row_line(COLUMNS, (f"\x1b[31m{text}\n", "", ""), 50).plain
    assert not any(unicodedata.category(char) in ("Cc", "Zl", "Zp") for char in said)


def test_a_column_goes_where_there_is_no_room_for_it() -> None:
    assert "model" not in header_line(COLUMNS, 59).plain
    assert "model" in header_line(COLUMNS, 60).plain


def test_numbers_stand_at_the_right() -> None:
    assert row_line(COLUMNS, ("a", "12", ""), 40).plain.endswith("     12")
