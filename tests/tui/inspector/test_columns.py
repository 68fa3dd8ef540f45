"""The columns: every row is exactly as wide as the line, and no text gets through that a terminal would act on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from support.logs import texts
from tui.inspector.sample import SAMPLE, item
from workbench.context.compare import Mark
from workbench.context.items import SIGNS, Edit, State
from workbench.tui.inspector.columns import (
    LEAST_SEQ,
    MARKS,
    ROOM_WITH_STATES,
    RowCells,
    column_heads,
    columns_for_width,
    head_cells,
    live_cells,
    row_cells,
    share_bar,
)
from workbench.tui.inspector.order import RowGroup
from workbench.views.values import LiveAnswer, LiveCall


def width_of(made: RowCells, gap: int, wide: bool, marked: bool = False) -> int:
    shown = [made.seq, made.who, made.tokens, made.pin, made.state]
    shown += [*([made.share] if made.share else []), *([made.mark] if marked else [])]
    columns = [*shown, made.original] if wide else shown
    return sum(map(cell_len, columns)) + gap * len(columns) + cell_len(made.why + made.text)


@given(texts(), texts(), st.integers(0, 3_000_000), st.booleans(), st.integers(45, 250), st.integers(3, 7))
def test_a_row_is_as_wide_as_the_line(text: str, why: str, tokens: int, edited: bool, width: int, seq: int) -> None:
    edits = (Edit("mask", "masked", 1, 1, why),) if edited else ()
    row = item(1, text, tool=text, tokens=tokens, edits=edits, exact=False)
    columns = columns_for_width(width, seq)
    made = row_cells(row, columns, share_bar(tokens, 1_000, columns.share))
    assert width_of(made, columns.gap, columns.original > 0) == width
    assert all(part.isprintable() or "\u200d" in part for part in made)


@given(st.integers(45, 250), st.integers(3, 7))
def test_the_heads_are_as_wide_as_the_rows(width: int, seq: int) -> None:
    assert cell_len(column_heads(columns_for_width(width, seq))) == width


@pytest.mark.parametrize("state", SIGNS)
def test_a_state_has_a_letter_and_a_word(state: State) -> None:
    made = row_cells(item(1, state=state), columns_for_width(80, LEAST_SEQ), "")
    assert made.state.rstrip() == f"{SIGNS[state]} {'not sent' if state == 'aside' else state}"


@pytest.mark.parametrize(
    ("terminal", "inside", "marked", "words"),
    [(100, 51, False, False), (110, 57, False, True), (120, 62, False, True), (120, 62, True, True)],
)
def test_in_the_split_states_have_words_from_110_columns_on(
    terminal: int, inside: int, marked: bool, words: bool
) -> None:
    columns = columns_for_width(inside, LEAST_SEQ, marked)
    made = row_cells(SAMPLE[5], columns, "")
    assert made.state.strip() == ("t truncated" if words else "t"), f"in a terminal of {terminal} columns"
    assert columns.what >= (14 if words else 17)
    assert row_cells(item(1, tool="exec_command", kind="tool_call"), columns, "").who.strip() == "exec_command()"


def test_a_reason_stands_beside_the_text_and_never_in_its_place() -> None:
    narrow, middle, wide = (row_cells(SAMPLE[5], columns_for_width(width, LEAST_SEQ), "") for width in (80, 105, 200))
    assert all(made.text.startswith("import sqlite3") for made in (narrow, middle, wide))
    assert narrow.why == "", "the state says that it was cut, and there is no room for more"
    assert middle.why.startswith(" · 5,213 → 800: over the ca")
    assert wide.why.startswith(" · over the cap of 800 tokens")
    assert wide.original.strip() == "5,213"


def test_a_masked_row_shows_what_it_said_and_not_its_marker() -> None:
    assert row_cells(SAMPLE[6], columns_for_width(200, LEAST_SEQ), "").text.startswith("FAILED tests/test_login.py")


def test_flags_and_marks() -> None:
    columns = columns_for_width(80, LEAST_SEQ)
    assert row_cells(SAMPLE[2], columns, "").pin == "⚑"
    assert row_cells(SAMPLE[1], columns, "").tokens.strip() == "~10"
    assert row_cells(SAMPLE[4], columns, "").who.strip() == "read_file()"
    assert row_cells(item(1)._replace(seq=None), columns, "").seq.strip() == "–"


@pytest.mark.parametrize(
    ("part", "whole", "bar"), [(0, 100, "    "), (50, 100, "██  "), (100, 100, "████"), (1, 32, "▏   "), (5, 0, "    ")]
)
def test_the_share_is_drawn_in_eighths(part: int, whole: int, bar: str) -> None:
    assert share_bar(part, whole, 4) == bar


@given(st.integers(60, 250), st.booleans(), st.sampled_from([None, *MARKS]))
def test_a_mark_takes_a_column_of_its_own(width: int, wide: bool, mark: Mark | None) -> None:
    columns = columns_for_width(width, LEAST_SEQ, marked=True)
    made = row_cells(SAMPLE[5], columns, " " * columns.share, mark)
    assert width_of(made, columns.gap, columns.original > 0, True) == width
    assert cell_len(column_heads(columns)) == width
    assert made.mark == (MARKS[mark] if mark else " ")


@given(st.integers(60, 250), texts())
def test_the_answer_that_comes_in_is_as_wide_as_the_line(width: int, text: str) -> None:
    columns = columns_for_width(width, LEAST_SEQ)
    for live in (LiveAnswer("1", text=text), LiveAnswer("1", calls=(LiveCall("c", text, text, "writing"),))):
        made = live_cells(live, columns)
        assert width_of(made, columns.gap, columns.original > 0) == width
        assert all(part.isprintable() or "\u200d" in part for part in made)


def test_the_head_of_a_group_has_its_sums() -> None:
    columns = columns_for_width(120, LEAST_SEQ)
    made = head_cells(RowGroup("3", range(12), 500, 2_000), "turn", False, columns, 1_000)
    assert (made.seq.strip(), made.who.strip(), made.tokens.strip()) == ("▾", "turn 3", "500")
    assert (made.original.strip(), made.state.strip(), made.text.strip()) == (
        "2,000",
        "12 rows",
        "50.0 % of the request",
    )
    folded = head_cells(RowGroup("0", range(1), 5, 5), "turn", True, columns, 1_000)
    assert (folded.seq.strip(), folded.who.strip(), folded.state.strip()) == ("▸", "before turn 1", "1 row")


def test_what_is_never_sent_says_what_it_is_not_that_it_is_not_sent() -> None:
    row = SAMPLE[3]._replace(edits=(Edit("fold", "aside", 10, 0, "not sent: kept for reading"),))
    made = row_cells(row, columns_for_width(120, LEAST_SEQ), "")
    assert (made.why, made.text.strip()) == ("", "Let me think.")


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("usage: prompt 12", "usage"),
        ("error (rate_limit): wait", "error"),
        ("an event of the unknown kind 'x'", "aside"),
    ],
)
def test_what_is_beside_the_conversation_says_what_it_is(text: str, who: str) -> None:
    row = item(1, text, role=None, kind="aside", state="aside")
    assert row_cells(row, columns_for_width(120, LEAST_SEQ), "").who.strip() == who


@given(st.integers(60, 250), st.integers(3, 4), st.booleans())
def test_what_a_row_says_always_has_room(width: int, seq: int, marked: bool) -> None:
    assert columns_for_width(width, seq, marked).what >= ROOM_WITH_STATES


def test_in_a_narrow_pane_the_bars_go_before_the_words_and_the_sign_of_the_state_stays() -> None:
    made = [columns_for_width(width, LEAST_SEQ) for width in (80, 66, 56)]
    assert [(columns.share, columns.state) for columns in made] == [(5, 12), (0, 12), (0, 1)]
    assert "share" not in column_heads(columns_for_width(66, LEAST_SEQ))
    masked = row_cells(item(1, "said", state="masked"), columns_for_width(56, LEAST_SEQ), "")
    assert (masked.state, masked.text.rstrip()) == ("m", "said")


def test_the_definition_of_a_tool_does_not_look_like_its_result() -> None:
    columns = columns_for_width(120, LEAST_SEQ)
    made = [row_cells(item(1, slot=slot, tool="run_command"), columns, "").who.strip() for slot in ("tools", "history")]
    assert made == ["tool run_command", "run_command"]
