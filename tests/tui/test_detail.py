"""The detail pane tells what an item was, what is sent of it, and why."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from support.logs import texts
from tui.fakes import SAMPLE, item
from workbench.tui.inspector.detail import Line, describe


def said(lines: list[Line]) -> str:
    return "\n".join(line.text for line in lines)


def test_a_cut_item_shows_both_texts_and_the_reason() -> None:
    text = said(describe(SAMPLE[5], 100))
    assert text.startswith("tool result · read_file\nevent 6 · id e00006 · turn 1 · slot history")
    assert "t truncated: 800 of 5,213 tokens" in text
    assert "truncate, 5,213 → 800 tokens: 5,213 tokens are over the cap of 800" in text
    assert text.index("as sent\nimport sqlite3 …") < text.index("the original\nimport sqlite3\na line of the file")


def test_an_item_that_is_sent_whole_is_shown_once() -> None:
    text = said(describe(SAMPLE[2], 100))
    assert "sent, pinned: 10 tokens" in text
    assert text.count("Why does the login test fail?") == 1
    assert "sent as it is" in text


def test_an_item_that_is_not_sent_still_shows_what_it_was() -> None:
    text = said(describe(SAMPLE[7], 100))
    assert "d dropped: 0 of 330 tokens" in text
    assert "not sent; the original\nAn old question" in text


def test_ids_and_approximate_counts_are_told() -> None:
    assert "call call_1" in said(describe(SAMPLE[4], 100))
    assert "(approximate)" in said(describe(SAMPLE[1], 100))
    assert "made by the plan" in said(describe(item(1)._replace(seq=None), 100))
    assert "message · user “ann”" in said(describe(item(1, name="ann"), 100))
    assert "(empty)" in said(describe(item(1, ""), 100))


@given(texts(), texts(), st.integers(2, 120))
def test_no_line_is_too_wide_or_acts_on_the_terminal(text: str, original: str, width: int) -> None:
    lines = describe(item(1, text, original=original, tool=text), width)
    assert all(cell_len(line.text) <= width for line in lines)
    assert all(line.text.isprintable() or "\u200d" in line.text for line in lines)


def test_no_width_no_lines() -> None:
    assert describe(item(1), 0) == []
