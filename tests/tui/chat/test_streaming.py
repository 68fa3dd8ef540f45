"""An answer that comes in: however it is cut into chunks, the same comes out."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from textual.content import Content

from workbench.tui.chat.markdown import render_markdown
from workbench.tui.chat.streaming import BlockSplitter, GrowingText, StreamingLines
from workbench.tui.widgets.soft_wrap import copied_text

TEXTS = st.text(alphabet=st.sampled_from(list("ab 漢`~-1.\n\n#>|")), max_size=400)
CUTS = st.lists(st.integers(1, 9), min_size=1, max_size=20)
ANSWER = """First a paragraph that has
two lines.

- an item
- another

  with a paragraph of its own

1. next

```python
def f():

    return 1
```
After the code.

| a | b |
|---|---|
| 1 | 2 |

The end"""


def chunks(text: str, sizes: list[int]) -> list[str]:
    """A text in pieces of the sizes given, round and round."""
    pieces, at, turn = [], 0, 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        pieces.append(text[at : at + size])
        at, turn = at + size, turn + 1
    return pieces


def blocks_of(text: str, sizes: list[int]) -> BlockSplitter:
    blocks = BlockSplitter()
    for piece in chunks(text, sizes):
        blocks.feed(piece)
    return blocks


def growing(width: int = 40) -> StreamingLines:
    return StreamingLines(width, Content("ai    "), " " * 6)


@given(TEXTS, CUTS)
def test_the_blocks_are_always_the_text(text: str, sizes: list[int]) -> None:
    blocks = blocks_of(text, sizes)
    assert "".join(blocks.finished) + blocks.rest == text


@given(TEXTS, CUTS)
def test_where_the_chunks_are_cut_never_matters(text: str, sizes: list[int]) -> None:
    assert blocks_of(text, sizes).finished == blocks_of(text, [1_000]).finished


@given(TEXTS, CUTS, st.integers(3, 20))
def test_a_tail_is_wrapped_as_if_it_had_come_at_once(text: str, sizes: list[int], width: int) -> None:
    tail, whole = GrowingText(width), GrowingText(width)
    for piece in chunks(text, sizes):
        tail.feed(piece)
    if text:
        whole.feed(text)
    assert tail.rows == whole.rows


def test_a_block_is_finished_as_soon_as_it_has_ended() -> None:
    assert blocks_of(ANSWER, [3]).finished == [
        "First a paragraph that has\ntwo lines.\n\n",
        "- an item\n- another\n\n  with a paragraph of its own\n\n1. next\n\n",
        "```python\ndef f():\n\n    return 1\n```\n",
        "After the code.\n\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
    ]


@given(CUTS)
def test_a_fence_is_never_cut_in_two(sizes: list[int]) -> None:
    for fenced in ("```\na\n\nb\n```\n", "~~~\n```\n\nx\n~~~\n", "- a\n\n  ```\n  x\n\n  y\n  ```\n"):
        blocks = blocks_of(f"before\n\n{fenced}\nafter\n", sizes)
        assert any(fenced.strip() in block for block in blocks.finished)


def test_a_fence_ends_a_paragraph() -> None:
    assert blocks_of("text\n```\nx\n", [2]).finished == ["text\n"]
    assert blocks_of("`` ` ``` inline ```\nx\n", [2]).finished == []


@settings(max_examples=20)  # renders the answer at every chunk
@given(CUTS)
def test_finished_blocks_are_markdown_and_the_rest_is_plain(sizes: list[int]) -> None:
    lines = growing()
    text = ""
    for piece in chunks(ANSWER + " *here*", sizes):
        text += piece
        lines.feed(text)
    shown = [lines[at].plain.rstrip() for at in range(len(lines))]
    assert shown[0] == "ai    First a paragraph that has two lines."
    assert "       def f():" in shown
    assert "      a  │ b" in shown
    assert shown[-1] == "      The end *here*"


@settings(max_examples=20)  # renders the answer at every chunk
@given(CUTS)
def test_once_it_has_ended_the_lines_are_those_of_the_whole(sizes: list[int]) -> None:
    lines = growing()
    text = ""
    for piece in chunks(ANSWER + "\n\n", sizes):
        text += piece
        lines.feed(text)
    shown = [lines[at].plain[6:].rstrip() for at in range(len(lines))]
    assert shown == [*(line.plain.rstrip() for line in render_markdown(ANSWER, 40)), ""]


def test_control_characters_never_come_through_and_line_ends_may_be_cut() -> None:
    lines = growing()
    lines.feed("one\r")
    lines.feed("one\r\n\r\ntwo \x1b[31m")
    shown = [lines[at].plain for at in range(len(lines))]
    assert shown == ["ai    one", "      ", "      two ␛[31m"]


def test_what_has_settled_is_not_made_again() -> None:
    lines = growing()
    lines.feed("one\n\ntw")
    first = lines[0]
    lines.feed("one\n\ntwo and mo")
    assert lines[0] is first


def test_very_long_lines_and_wide_characters_wrap() -> None:
    lines = growing(10)
    lines.feed("漢" * 12 + " " + "x" * 25)
    assert [lines[at].plain[6:] for at in range(len(lines))] == [
        "漢" * 5,
        "漢" * 5,
        "漢漢",
        "x" * 10,
        "x" * 10,
        "x" * 5,
    ]


@given(st.lists(st.text(st.sampled_from("ab 漢\n"), max_size=30), max_size=12), st.integers(2, 20))
def test_what_is_copied_while_it_comes_in_is_the_text_without_the_breaks_of_the_screen(
    pieces: list[str], width: int
) -> None:
    tail = GrowingText(width)
    for piece in pieces:
        tail.feed(piece)
    text = "".join(pieces)
    got = copied_text([(row, 0, None) for row in tail.rows], 0) if pieces else ""
    assert [line.rstrip(" ") for line in got.split("\n")] == [line.rstrip(" ") for line in text.split("\n")]
