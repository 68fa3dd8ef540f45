"""Text in cells: never wider than it may be, and nothing lost that need not be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.content import Content

from workbench.tui.widgets.cells import fit_cells, fit_cells_end, join_cells, short_number, wrapped_line

WORDS = st.lists(
    st.sampled_from(["alpha", "测试内容", "データ", "naïve", "x" * 30, "", "e\u0301", "\U0001f642"]), max_size=20
)
texts = WORDS.map(" ".join)


@given(texts, st.integers(0, 60))
def test_a_fitted_text_has_exactly_its_width(text: str, width: int) -> None:
    assert cell_len(fit_cells(text, width)) == width


def test_what_is_cut_ends_in_an_ellipsis() -> None:
    assert fit_cells("abcdef", 4) == "abc…"
    assert fit_cells("abc", 5) == "abc  "


@given(texts, st.integers(1, 60))
def test_a_path_is_cut_at_its_beginning(text: str, width: int) -> None:
    made = fit_cells_end(text, width)
    assert cell_len(made) <= width
    assert made == text or (made[0] == "…" and text.endswith(made[1:]))


def test_numbers_are_in_full_where_they_fit() -> None:
    assert [short_number(1_234_567, width) for width in (9, 7, 5, 4)] == ["1,234,567", "1234.6k", "1235k", "1.2M"]
    assert short_number(0, 1) == "0"


def test_the_numbers_of_a_column_are_written_alike() -> None:
    column = [14_900_000, 9_640_000, 96_000, 31_000, 0]
    assert [short_number(each, 5, column) for each in column] == ["14.9M", "9.6M", "0.1M", "31.0k", "0"]
    assert [short_number(each, 5, [177_604, 9_120]) for each in (177_604, 9_120)] == ["178k", "9k"]


@given(texts, st.integers(2, 60))
def test_wrapping_loses_nothing_but_blanks(line: str, width: int) -> None:
    pieces = list(wrapped_line(line, width))
    assert all(cell_len(piece) <= width for piece in pieces)
    assert "".join(pieces).replace(" ", "") == line.replace(" ", "")


def test_lines_break_at_blanks() -> None:
    assert list(wrapped_line("one two three", 8)) == ["one two", "three"]
    assert list(wrapped_line("it is 21 % of it", 9)) == ["it is", "21 % of", "it"]
    assert list(wrapped_line("", 8)) == [""]
    assert list(wrapped_line("abcdefghij", 4)) == ["abcd", "efgh", "ij"]


def test_a_line_holds_as_many_parts_as_fit() -> None:
    parts = [Content("one"), Content("two"), Content("three")]
    assert join_cells(parts, 9).plain == "one · two"
    assert join_cells(parts, 2).plain == "o…"
    assert join_cells([], 2).plain == ""
