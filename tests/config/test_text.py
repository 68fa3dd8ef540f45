"""Text for a terminal: nothing in it acts, and nothing is wider than it may be."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.config.text import (
    MOST_MARKS,
    age,
    editable,
    edited,
    escaped_json,
    fit_columns,
    percent,
    printable,
    printable_lines,
    table,
    width,
    without_controls,
)

LINES = st.lists(st.text("ab\t\x1b\u202e ", max_size=4), max_size=5)


@given(LINES, st.text("xy\t", max_size=3), LINES, st.sampled_from(["\n", "\r\n"]))
def test_what_nobody_touched_of_an_edited_text_stays_as_it_was(
    before: list[str], typed: str, behind: list[str], ending: str
) -> None:
    text = ending.join([*before, "old", *behind])
    shown = editable(text)
    assert edited(text, shown) == text
    assert not any(unicodedata.category(char) in ("Cc", "Cf") for char in shown if char not in "\t\n")
    lines = shown.split("\n")
    at = editable(ending.join([*before, "old"])).count("\n")
    wanted = ending.join([*before, typed, *behind])
    assert edited(text, "\n".join([*lines[:at], typed, *lines[at + 1 :]])) == wanted


@given(st.text())
def test_nothing_acts_on_the_terminal(text: str) -> None:
    for shown in [printable(text), *printable_lines(text)]:
        acting = {char for char in shown if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
        assert acting <= {"\u200c", "\u200d"}


def test_controls_show_as_pictures() -> None:
    assert printable("a\x1b[31mb\x7f\x9b\u202e") == "a␛[31mb␡��"
    assert printable("one\n\ttwo  three ") == "one two three"


@given(st.text(st.sampled_from("a語\u200d\u0301😀\x1b\u202e \n\t"), max_size=80), st.integers(0, 12))
def test_the_start_of_a_printable_text_is_the_same_whether_the_rest_is_looked_at_or_not(text: str, most: int) -> None:
    assert printable(text, most) == printable(text)[:most]


@given(
    st.lists(st.tuples(st.sampled_from("e語ก[\u2500"), st.sampled_from("\u0301\u200c\ufe0fั\u20dd"), st.integers(0, 99)))
)
def test_of_marks_that_take_no_column_a_character_keeps_a_few(pieces: list[tuple[str, str, int]]) -> None:
    text = "".join(letter + mark * many for letter, mark, many in pieces)
    for shown in (printable(text), "\n".join(printable_lines(text)), editable(text)):
        assert len(shown) <= len(pieces) * (1 + MOST_MARKS + 1)
        assert [char for char in shown if char in "e語ก[\u2500"] == [letter for letter, _, _ in pieces]
        assert shown.count("�") == sum(many > MOST_MARKS for _, _, many in pieces)
    few = "".join(letter + mark * min(many, MOST_MARKS) for letter, mark, many in pieces)
    assert printable(few) == few


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("👩\u200d👩\u200d👧🏽\u200d👦 ❤\ufe0f\u200d🔥", "👩\u200d👩\u200d👧🏽\u200d👦 ❤\ufe0f\u200d🔥"),
        ("क्\u200dष", "क्\u200dष"),
        ("\u200da\u200db\u200d\u200d👩 \u200d", "�a�b��👩 �"),
        ("👩\u200d", "👩�"),
    ],
)
def test_a_joiner_that_joins_nothing_is_shown(text: str, shown: str) -> None:
    assert printable_lines(text) == [shown]


def test_lines_keep_their_white_space() -> None:
    assert printable_lines("a  b\r\n\tc\rd\n") == ["a  b", "    c␍d", ""]


@given(st.text(st.sampled_from("ab测デ\u0301\u200d🙂")), st.integers(1, 40))
def test_a_fitted_text_is_never_too_wide(text: str, columns: int) -> None:
    made = fit_columns(text, columns)
    assert width(made) <= columns
    assert made == text or made.endswith("…")


def test_columns_are_counted_as_terminals_draw_them() -> None:
    assert [width(text) for text in ("abc", "测试", "e\u0301", "กั", "")] == [3, 4, 1, 1, 0]


ACTING = ("\x9b31m", "\x7f", "\u202e", "\u2066", "\u2028", "\U000e0041", "\x1b]52;c;x\x07")


@given(st.text(), st.sampled_from(ACTING))
def test_json_has_the_same_value_and_nothing_in_it_acts_on_the_terminal(text: str, more: str) -> None:
    value = {"a": [text + more, more]}
    written = escaped_json(json.dumps(value, ensure_ascii=False, indent=2))
    assert json.loads(written) == value
    acting = {char for char in written if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp")}
    assert acting <= {"\n", "\u200c", "\u200d"}
    assert escaped_json('"é 測 🙂"') == '"é 測 🙂"'


@given(st.text())
def test_what_is_left_without_controls_does_not_act(text: str) -> None:
    left = without_controls(text)
    assert without_controls(left) == left
    acting = {char for char in left if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp")}
    assert acting <= {"\u200c", "\u200d"}


def test_a_table_is_aligned_and_cut_at_its_end() -> None:
    lines = table(("n", "what"), [("1", "a long text that is cut"), ("10", "short")], frozenset({0}), 14)
    assert lines == [" n  what", " 1  a long te…", "10  short"]


def test_no_cell_of_a_table_acts_on_the_terminal() -> None:
    assert table(("n",), [("\x1b[31mred",), ("\u202eß",)], most=20) == ["n", "␛[31mred", "�ß"]


def test_an_age_is_told_in_one_unit() -> None:
    hour = 3_600
    passed = (-5, 59, 60, 59 * 60, hour, 23 * hour, 24 * hour, 6 * 24 * hour, 7 * 24 * hour, 3 * 366 * 24 * hour)
    told = [age(0, seconds) for seconds in passed]
    assert told == ["now", "now", "1 min", "59 min", "1 h", "23 h", "1 d", "6 d", "1 wk", "3 y"]


@pytest.mark.parametrize(
    ("share", "text"), [(0, "0 %"), (0.004, "0.4 %"), (-0.05, "-5.0 %"), (0.1, "10 %"), (0.876, "88 %")]
)
def test_a_small_share_has_one_digit_more(share: float, text: str) -> None:
    assert percent(share) == text
