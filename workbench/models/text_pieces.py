"""Long texts are encoded in pieces, cut where the tokenizer splits anyway: the sum is the count of the whole.

A tokenizer first splits a text by a pattern and never merges across such a split. If the pattern is certain to split at
a position, whatever the text around it, the text may be cut there without changing its count: such a position is a
*place*. If no place is in reach (a megabyte of one letter), the cut is *hard* and the count approximate.

The two characters before a position and the one after it decide whether it is a place. Hard cuts are `REACH` apart,
counted from the last place. Two rules follow, and the counter's `head` and `tail` depend on them:

- the hard cuts of a prefix are those of the text;
- so are those of a suffix that starts at a cut, or inside a piece that ends at a place.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import NamedTuple

from workbench.config.patterns import late_pattern

PIECE = 1024
"""A piece ends at the first place after this many characters: few enough to count a cut of a long text by encoding
little of it, and enough to make the cost of cutting negligible."""

REACH = 6144
"""How far to search for a place before a hard cut. A multiple of 3, because runs of digits are split in threes."""

_LETTERS = "A-Za-zÀ-ÖØ-öø-ľŁ-ɏЀ-ҁぁ-ゖァ-ヺ㐀-䶿一-鿿가-힣"
"""Letters that stay letters under NFKC, which Claude's tokenizer applies (Ŀ is not here: it becomes L·)."""

_MARKS = r"!-&(-/:-@\[-`{-~。，、；：！？"
"""Punctuation that ends a run of letters. Not the apostrophe: it joins contractions to their word."""

PLACE = late_pattern(
    r"(?<=\S)(?=[ \t])"  # a blank starts a new split; the run of blanks belongs to the text that follows
    r"|(?<=\S\n)(?=[^\s/])"  # a single newline never joins the next line (o200k: unless that begins with "/")
    rf"|(?<=[{_LETTERS}])(?=[{_MARKS}0-9])"  # a run of letters ends here
    r"|(?<=[0-9])(?=[A-Za-z])"
)
"""The places. Valid for the patterns of o200k, cl100k and Claude; a property test checks each."""

NO_LIMIT = 1 << 62


class PieceIndex(NamedTuple):
    """Where a text was cut and what its pieces cost: a part of it is counted without encoding the rest."""

    offsets: array[int]
    """Characters before each cut; the first is 0, the last the length of the measured text."""
    totals: array[int]
    """Tokens before each cut."""
    hard: frozenset[int]
    """The numbers of the hard cuts."""


def next_cut(text: str, start: int) -> tuple[int, bool]:
    """The end of the piece that begins at `start`, and whether it is a hard cut."""
    left = len(text) - start
    if left <= PIECE:
        return len(text), False
    place = PLACE.search(text, start + PIECE, start + REACH + 1)
    if place is not None:
        return place.start(), False
    if left <= REACH:
        return len(text), False
    earlier = [found.start() for found in PLACE.finditer(text, start + 1, start + PIECE)]
    if earlier:
        return earlier[-1], False
    cut = start + REACH
    # Never between a word and its newline: both are needed to see that the next line starts at a place.
    cut += text[cut] == "\n"
    return cut, cut < len(text)


def measure_text(text: str, size: Callable[[str], int], enough: int = NO_LIMIT) -> PieceIndex:
    """Cut a text and count its pieces with `size`, until there are more than `enough` tokens."""
    offsets, totals, hard = array("Q", [0]), array("Q", [0]), []
    start = total = tokens = step = 0
    end = len(text)
    is_hard, seen = False, ""
    while start < end and total <= enough:
        # A long run of one character gives the same hard piece again and again: count it once.
        if is_hard and text.startswith(seen, start):
            cut = start + step
        else:
            cut, is_hard = next_cut(text, start)
            tokens = size(text[start:cut])
            step = cut - start
            seen = text[start : start + REACH + 1]  # everything that the decision for this cut depends on
        total += tokens
        offsets.append(cut)
        totals.append(total)
        if is_hard and cut < end:
            hard.append(len(offsets) - 1)
        start = cut
    return PieceIndex(offsets, totals, frozenset(hard))
