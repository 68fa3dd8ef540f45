"""Text for a terminal: nothing in it acts, and nothing is wider than it may be."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from workbench.config.text import fit, printable, printable_lines, table, width


@given(st.text())
def test_nothing_acts_on_the_terminal(text: str) -> None:
    for shown in [printable(text), *printable_lines(text)]:
        acting = {char for char in shown if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
        assert acting <= {"\u200c", "\u200d"}


def test_controls_show_as_pictures() -> None:
    assert printable("a\x1b[31mb\x7f\x9b\u202e") == "a␛[31mb␡��"
    assert printable("one\n\ttwo  three ") == "one two three"


def test_lines_keep_their_white_space() -> None:
    assert printable_lines("a  b\r\n\tc\rd\n") == ["a  b", "    c␍d", ""]


@given(st.text(st.sampled_from("ab测デ\u0301\u200d🙂")), st.integers(1, 40))
def test_a_fitted_text_is_never_too_wide(text: str, columns: int) -> None:
    made = fit(text, columns)
    assert width(made) <= columns
    assert made == text or made.endswith("…")


def test_columns_are_counted_as_terminals_draw_them() -> None:
    assert [width(text) for text in ("abc", "测试", "e\u0301", "")] == [3, 4, 1, 0]


def test_a_table_is_aligned_and_cut_at_its_end() -> None:
    lines = table(("n", "what"), [("1", "a long text that is cut"), ("10", "short")], frozenset({0}), 14)
    assert lines == [" n  what", " 1  a long te…", "10  short"]
