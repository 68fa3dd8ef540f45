"""Lines that were broken for the screen are copied as the text they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.content import Content

from workbench.tui.chat import markdown
from workbench.tui.widgets.cells import wrapped_line
from workbench.tui.widgets.soft_wrap import copied_text, soft_folds, soft_lines, soft_pieces

WORDS = st.lists(st.text("abcé漢", min_size=1, max_size=9), min_size=1, max_size=12).map(" ".join)


def whole(lines: Iterator[Content] | list[Content], gutter: int = 0) -> str:
    return copied_text([(line, 0, None) for line in lines], gutter)


@pytest.mark.parametrize(
    "cut",
    [
        soft_pieces,
        lambda text, width: soft_lines(Content(text), width),
        lambda text, width: soft_folds(Content(text), width),
    ],
    ids=["plain", "wrapped", "folded"],
)
@given(text=WORDS, width=st.integers(2, 30))
def test_a_line_is_the_same_again(cut: Callable[[str, int], Iterator[Content]], text: str, width: int) -> None:
    assert whole(cut(text, width)) == text


@given(st.text("ab  \n", max_size=40), st.integers(2, 12))
def test_plain_text_is_cut_where_it_always_was(text: str, width: int) -> None:
    line = text.replace("\n", " ")
    assert [piece.plain for piece in soft_pieces(line, width)] == list(wrapped_line(line, width))


def test_line_ends_of_the_text_stay() -> None:
    text = Content("one two three\nfour five six")
    assert whole(soft_lines(text, 8)) == text.plain


def test_what_stands_before_a_line_that_goes_on_is_no_part_of_it() -> None:
    lines = [
        Content.assemble("   " if number else "1. ", line) for number, line in enumerate(soft_pieces("aa bb cc", 3))
    ]
    assert whole(lines) == "1. aa bb cc"


def test_markdown_is_copied_by_paragraphs_items_and_lines_of_code() -> None:
    prose, item, code = (
        "A paragraph that is too long for its line.",
        "an item that is too long",
        "    code = 1  # too long",
    )
    lines = markdown.render_markdown(f"{prose}\n\n- {item}\n\n```\n{code}\nend\n```", 20)
    assert max(line.cell_length for line in lines) <= 20
    assert whole(lines) == f"{prose}\n\n• {item}\n\n{code}\nend"
