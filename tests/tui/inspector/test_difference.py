"""What was cut: the pieces give both texts back, whatever they are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support.logs import texts
from workbench.tui.inspector.difference import MOST, DiffPiece, text_difference

lines = st.lists(st.sampled_from(["a", "b", "a longer line of text", "测试内容", ""]), max_size=30).map("\n".join)
many = st.one_of(texts(), lines)


@given(many, many)
def test_the_pieces_give_both_texts_back(original: str, sent: str) -> None:
    pieces = text_difference(original, sent)
    assert "".join(piece.text for piece in pieces if piece.kind != "added") == original
    assert "".join(piece.text for piece in pieces if piece.kind != "removed") == sent


@given(lines, lines, lines)
def test_a_cut_in_the_middle_is_the_only_thing_told(head: str, cut: str, tail: str) -> None:
    pieces = text_difference(f"{head}\nX{cut}Y\n{tail}", f"{head}\n[truncated]\n{tail}")
    assert [piece.kind for piece in pieces if piece.kind != "same"] == ["removed", "added"]


def test_a_long_cut_is_told_whole_and_at_once() -> None:
    original = "".join(f"line {at}\n" for at in range(50_000))
    kept = "".join(f"line {at}\n" for at in range(100))
    pieces = text_difference(original, kept + "[truncated]\n")
    assert pieces[0] == DiffPiece("same", kept)
    assert [piece.kind for piece in pieces] == ["same", "removed", "added"]


def test_a_header_put_first_does_not_hide_what_stayed() -> None:
    head = "".join(f"line {at}\n" for at in range(100))
    rest = "".join(f"more {at}\n" for at in range(MOST + 1))
    pieces = text_difference(head + rest, f"Total output lines: 501\n{head}[... omitted 401 of 501 lines ...]\n")
    assert [piece.kind for piece in pieces] == ["added", "same", "removed", "added"]
    assert pieces[1].text == head


def test_what_is_the_same_is_one_piece() -> None:
    assert text_difference("a\nb", "a\nb") == [DiffPiece("same", "a\nb")]
    assert text_difference("", "") == []
