"""Markdown as lines: nothing is wider than it may be, nothing is lost, nothing is markup."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.content import Content

from workbench.tui.chat.markdown import render_markdown

MARKED = st.text(alphabet=st.sampled_from(list("ab 漢é*_`#>-+|[]()!~.1\n\t😀")), max_size=300)


def plain(text: str, width: int = 40) -> list[str]:
    return [line.plain.rstrip() for line in render_markdown(text, width)]


def styles(line: Content) -> dict[str, str]:
    """By the text of each span: its style."""
    return {line.plain[span.start : span.end]: str(span.style) for span in line.spans}


@given(MARKED, st.integers(2, 60))
def test_no_line_is_ever_wider_than_it_may_be(text: str, width: int) -> None:
    for line in render_markdown(text, width):
        assert line.cell_length <= width
        assert "\n" not in line.plain


@settings(max_examples=40)  # six renders each
@given(st.lists(st.from_regex(r"[a-z漢字]{1,12}", fullmatch=True), min_size=1, max_size=40), st.integers(4, 50))
def test_every_word_is_there_whatever_the_width(words: list[str], width: int) -> None:
    text = " ".join(words)
    for given_text in (text, f"- {text}", f"> {text}", f"# {text}", f"```\n{text}\n```", f"| {text} |\n|---|\n| b |"):
        shown = "".join(line.plain for line in render_markdown(given_text, width))
        # Tables and code break words where they must; so letters are held against letters.
        assert "".join(words) in re.sub(r"[^a-z漢字]", "", shown)


def test_blocks_are_set_apart_by_a_blank_line() -> None:
    assert plain("# Head\n\nA paragraph\nin two lines.\n\n---") == [
        "Head",
        "",
        "A paragraph in two lines.",
        "",
        "─" * 40,
    ]


def test_lists_hang_and_nest() -> None:
    text = "1. one that is too long for a single line\n2. two\n   - inner\n   - other\n\nend"
    assert plain(text, 24) == [
        *("1. one that is too long", "   for a single line", "2. two"),
        *("   ◦ inner", "   ◦ other", "", "end"),
    ]
    assert plain("9. nine\n10. ten") == [" 9. nine", "10. ten"]
    assert plain("- a\n\n- b") == ["• a", "", "• b"]
    assert plain("-\n- b") == ["•", "• b"]


def test_code_keeps_its_blanks_and_goes_on_in_the_next_line() -> None:
    assert plain("```python\ndef f():\n\n    return 1\n```") == [" def f():", "", "     return 1"]
    assert plain("    indented") == [" indented"]
    long = plain("```\n" + "x" * 25 + "\n```", 12)
    assert long == [" " + "x" * 10, " " + "x" * 10, " " + "x" * 5]
    assert plain("```\n```") == [""]


def test_code_is_coloured_by_its_grammar_but_not_when_it_is_huge() -> None:
    small = render_markdown("```python\nimport os\n```", 30)[0]
    huge = render_markdown("```python\n" + "import os\n" * 3_000 + "```", 30)[0]
    assert len(small.spans) > len(huge.spans)
    assert not any("underline" in str(span.style) for span in small.spans)
    assert plain("```nosuchlanguage\nx\n```") == [" x"]


def test_a_table_shares_the_width() -> None:
    text = "| name | what |\n|---|---|\n| a | a cell that needs more room than there is |\n| b |"
    assert plain(text, 24) == [
        *("name │ what", "─────┼──────────────────"),
        *("a    │ a cell that needs", "     │ more room than", "     │ there is", "b    │"),
    ]


def test_quotes_have_a_bar_on_the_left() -> None:
    assert plain("> one\n>\n> > two") == ["▎ one", "▎", "▎ ▎ two"]


@pytest.mark.parametrize(
    ("text", "shown", "style"),
    [
        ("*it*", "it", "italic"),
        ("**bold**", "bold", "bold"),
        ("~~gone~~", "gone", "strike"),
        ("`code`", "code", "bold $accent"),
        ("***both***", "both", "italic bold"),
    ],
)
def test_emphasis(text: str, shown: str, style: str) -> None:
    assert styles(render_markdown(text, 40)[0]) == {shown: style}


def test_addresses_are_shown_and_cannot_be_clicked() -> None:
    line = render_markdown("see [the docs](http://example.org) and ![a cat](cat.png) or <http://a.b>", 100)[0]
    assert line.plain == "see the docs (http://example.org) and [image: a cat] (cat.png) or http://a.b"
    assert "@click" not in line.markup
    assert plain("![](x.png)") == ["[image: no title] (x.png)"]


def test_a_break_that_is_meant_is_kept() -> None:
    assert plain("one  \ntwo\nthree") == ["one", "two three"]


def test_brackets_and_html_are_text() -> None:
    text = "[/] [b] [red]x[/red] <b>bold</b> [@click=app.quit]y[/]"
    assert plain(text, 80) == [text]
    assert render_markdown(text, 80)[0].spans == []
