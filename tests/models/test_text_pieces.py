"""Cutting a text at a place never changes its count."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workbench.models import text_pieces

NASTY = [
    *"aBsTK09 \t\n\r'/.,\"(=<>_-|{}\\é½²Ⅷ你好かー。，、；：！？ёſ😀",
    *[
        "\u0301",
        "\u0338",
        "\u3099",
        "\u00a0",
        "\u3000",
        "\u2028",
        "\x1c",
        "\x85",
        "\u200b",
        "\u200d",
        "\ufe0f",
    ],
    *["\u037a", "\ufc5e", "¨", "ﷺ", "ﬁ", "Ŀ", "가", "ᄀ", "ᅡ", "ᆨ", "\ufffd"],
    *[
        "  ",
        "\n\n",
        "\r\n",
        " \n",
        "'s",
        "'ll",
        "'RE",
        "the",
        " the",
        "ABC",
        "1234",
        "<EOT>",
        "<|endoftext|>",
        "//",
    ],
]
"""Characters on which the tokenizers' patterns, and NFKC, turn."""

nasty_texts = st.lists(st.one_of(st.sampled_from(NASTY), st.characters(exclude_categories=["Cs"]))).map("".join)
TOKENIZERS = ["o200k_base", "cl100k_base", "claude"]


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@given(text=nasty_texts)
@example("don't stop\n/path a1b2。你，好")
def test_the_counts_between_all_places_add_up_to_the_count_of_the_whole(
    reference: dict[str, Callable[[str], list[int]]], tokenizer: str, text: str
) -> None:
    encode = reference[tokenizer]
    cuts = [0, *(found.start() for found in text_pieces.PLACE.finditer(text)), len(text)]
    parts = [encode(text[start:end]) for start, end in pairwise(cuts)]
    assert [token for part in parts for token in part] == encode(text)


def test_every_letter_of_a_place_is_a_letter_before_and_after_nfkc() -> None:
    letter = re.compile(f"[{text_pieces._LETTERS}]")
    for char in filter(letter.match, map(chr, range(0x110000))):
        assert unicodedata.category(char)[0] == "L"
        assert unicodedata.category(unicodedata.normalize("NFKC", char)[-1])[0] == "L"


def test_no_visible_character_ends_in_a_blank_after_nfkc() -> None:
    for code in range(0x110000):
        if 0xD800 <= code < 0xE000 or chr(code).isspace():
            continue
        assert not unicodedata.normalize("NFKC", chr(code))[-1].isspace()


sizes = st.sampled_from([(4, 6), (8, 12), (16, 24)])
"""Pieces so small that a short text has many."""


def measure(text: str, size: tuple[int, int]) -> text_pieces.PieceIndex:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_pieces, "PIECE", size[0])
        patch.setattr(text_pieces, "REACH", size[1])
        return text_pieces.measure_text(text, len)


runs = st.tuples(st.sampled_from([*"aB 7\n=好", "a ", "\n/"]), st.integers(1, 30)).map(lambda run: run[0] * run[1])
texts_with_runs = st.lists(st.one_of(runs, st.sampled_from(NASTY)), max_size=25).map("".join)


@given(text=texts_with_runs, size=sizes)
def test_pieces_are_bounded_and_join_to_the_text(text: str, size: tuple[int, int]) -> None:
    index = measure(text, size)
    assert index.offsets[0] == 0
    assert index.offsets[-1] == len(text) == index.totals[-1]
    assert all(0 < end - start <= size[1] + 1 for start, end in pairwise(index.offsets))


@given(text=texts_with_runs, size=sizes)
def test_a_cut_that_is_not_hard_is_a_place(text: str, size: tuple[int, int]) -> None:
    index = measure(text, size)
    places = {found.start() for found in text_pieces.PLACE.finditer(text)}
    soft = {index.offsets[at] for at in range(1, len(index.offsets) - 1) if at not in index.hard}
    assert soft <= places


@given(text=texts_with_runs, size=sizes, data=st.data())
def test_a_prefix_has_the_hard_cuts_of_the_text(text: str, size: tuple[int, int], data: st.DataObject) -> None:
    length = data.draw(st.integers(0, len(text)))
    whole, prefix = measure(text, size), measure(text[:length], size)
    hard = {whole.offsets[at] for at in whole.hard}
    assert {prefix.offsets[at] for at in prefix.hard} == {cut for cut in hard if cut < length}


@given(text=texts_with_runs, size=sizes)
def test_a_suffix_from_a_cut_has_the_hard_cuts_of_the_text(text: str, size: tuple[int, int]) -> None:
    whole = measure(text, size)
    for start in whole.offsets:
        suffix = measure(text[start:], size)
        assert {start + suffix.offsets[at] for at in suffix.hard} == {
            cut for cut in (whole.offsets[at] for at in whole.hard) if cut > start
        }


def test_measuring_stops_when_there_is_enough() -> None:
    seen: list[str] = []

    def size(piece: str) -> int:
        seen.append(piece)
        return len(piece)

    index = text_pieces.measure_text("word " * 10_000, size, 10_000)
    assert index.totals[-2] <= 10_000 < index.totals[-1]
    assert sum(map(len, seen)) < 20_000


def test_equal_pieces_in_a_run_are_encoded_once() -> None:
    seen: list[str] = []

    def size(piece: str) -> int:
        seen.append(piece)
        return 1

    index = text_pieces.measure_text("a" * 1_000_000, size)
    assert len(index.totals) > 100
    assert len(seen) == 2
