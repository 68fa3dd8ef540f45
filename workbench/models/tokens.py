"""Token counts: exact if possible, marked as approximate if not, and never counted twice."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from functools import cache
from hashlib import blake2b
from itertools import pairwise
from threading import Lock
from typing import Protocol
from weakref import ref

from msgspec import Struct

from workbench.config.errors import WrongCall
from workbench.models import text_pieces
from workbench.models.encoders import TOKENIZERS, Encoder, RoughEncoder, load_encoder
from workbench.models.families import tokenizer_for
from workbench.models.text_pieces import NO_LIMIT, PieceIndex, measure_text

__all__ = [
    "CountStore",
    "TokenCount",
    "TokenCounter",
    "counter_for",
    "counter_named",
    "tokenizer_for",
]

STORED_FROM = text_pieces.PIECE
"""Shorter texts are faster to encode than to look up on disk."""

REMEMBERED = 256 * 1024 * 1024
"""Characters kept in memory as keys, including overhead. The log holds most of these texts anyway."""

_ENTRY = 200
"""The overhead of an entry in addition to its text, in characters."""

_SURROGATE = re.compile("[\ud800-\udfff]")

_NOTES = {
    "o200k_base": "o200k_base, OpenAI's own",
    "cl100k_base": "cl100k_base, OpenAI's own",
    "claude": "Anthropic's own, for the Claude models before 3",
    "rough": "a quarter of the bytes, because no tokenizer was asked for",
}


class TokenCount(Struct, frozen=True, gc=False):
    """A number of tokens, and whether it is exact."""

    tokens: int
    exact: bool
    """False if another model's tokenizer or a hard cut made it approximate."""


class CountStore(Protocol):
    """A store that keeps counts after the process ends."""

    def load_count(self, tokenizer: str, digest: bytes) -> tuple[int, bool] | None:
        """The tokens of the text with this digest, and whether no hard cut or broken character affects them."""
        ...

    def save_counts(self, rows: Iterable[tuple[str, bytes, int, bool]]) -> None:
        """Store rows of tokenizer, digest, tokens and whether they are exact, in one transaction."""
        ...


class _Counts(dict[str, TokenCount]):
    """The counts of texts. One that is not in memory is counted when it is asked for."""

    def __init__(self, counter: TokenCounter) -> None:
        super().__init__()
        self._counter = ref(counter)  # weak: a cycle would keep all texts until the next collection

    def __missing__(self, text: str) -> TokenCount:
        counter = self._counter()
        assert counter is not None, "the counter of these counts is gone"
        return counter._count_new(text)


class TokenCounter:
    """Counts with one tokenizer, and remembers the counts."""

    def __init__(self, tokenizer: str, store: CountStore | None, exact: bool, note: str) -> None:
        self.name = tokenizer
        self.exact = exact
        """Whether this is the model's own tokenizer. Becomes False if its file is missing when first needed."""
        self.note = note
        """One sentence for people: whose tokenizer this is."""
        self.even_digits = tokenizer != "claude"
        """Whether all numbers with the same number of digits cost the same: OpenAI's tokenizers split by threes."""
        self.framing = 1.0
        """Multiplies the documented framing of messages, to match the provider's actual framing as far as known."""
        self._store = store
        self._encoder: Encoder | None = None
        self._counts = _Counts(self)
        self._indexes: dict[str, PieceIndex] = {}
        self._remembered = 0
        self._short_counts: dict[int, TokenCount] = {}
        """The counts of short texts, by their tokens: there are few, and all texts with so many tokens share one."""
        self._unsaved: list[tuple[str, bytes, int, bool]] = []
        self._dropping = Lock()
        self._elder: TokenCounter | None = None
        """The counter that this one was made from, and whose counts it uses."""

    def apart(self) -> TokenCounter:
        """A counter with its own memory: it uses the counts of this one, and adds nothing to them."""
        made = TokenCounter(self.name, None, self.exact, self.note)
        made._elder = self
        return made

    def count(self, text: str) -> TokenCount:
        """How many tokens the text has."""
        return self._counts[text]

    @property
    def quick_count(self) -> Callable[[str], TokenCount]:
        """Counts as `count` does, in a fraction of the time for a text whose count is in memory."""
        return self._counts.__getitem__

    def suppose(self, text: str, tokens: int) -> None:
        """Record an upper limit as the count of a text, known from the counts of its parts."""
        if text not in self._counts:
            self._remember(text, TokenCount(tokens, False))

    def known_count(self, text: str) -> TokenCount | None:
        """The count if it is in memory; uses neither disk nor tokenizer."""
        return self._counts.get(text)

    def head(self, text: str, max_tokens: int) -> int:
        """How many characters from the start fit in `max_tokens`: never too many, nearly as many as fit."""
        known = self._counts.get(text)
        if known is not None and known.tokens <= max_tokens:
            return len(text)
        if max_tokens <= 0:
            return 0
        index = self._indexes.get(text) or self._measure(text, self._size, max_tokens)
        at = bisect_right(index.totals, max_tokens) - 1
        if at == len(index.totals) - 1:
            return len(text)
        start, end = index.offsets[at], index.offsets[at + 1]
        return start + self._fit_head(text[start:end], max_tokens - index.totals[at])

    def tail(self, text: str, max_tokens: int) -> int:
        """The offset from which the rest fits in `max_tokens`: never too early, nearly as early as fits."""
        known = self._counts.get(text)
        if known is not None and known.tokens <= max_tokens:
            return 0
        if max_tokens <= 0:
            return len(text)
        base, index = self._index_of_end(text, max_tokens)
        total = index.totals[-1]
        if total <= max_tokens:
            return 0
        at = bisect_left(index.totals, total - max_tokens)
        start, end = base + index.offsets[at - 1], base + index.offsets[at]
        piece = text[start:end]
        room = max_tokens - (total - index.totals[at])
        # A start inside a piece that ends with a hard cut moves the hard cuts after it: count up to the next place
        # (`text_pieces` says what places and hard cuts are).
        place = next(number for number in range(at, len(index.totals)) if number not in index.hard)
        while room > 0:
            offset = start + self._fit_tail(piece, room)
            if offset >= end - 1:  # the piece's last character may be the newline that makes its end a place
                break
            if place == at:
                return offset
            rest = self._measure(text[offset : base + index.offsets[place]], self._size).totals[-1]
            over = rest + total - index.totals[place] - max_tokens
            if over <= 0:
                return offset
            room -= over
        return end

    def joined(self, text: str, end: int, middle: str, start: int) -> TokenCount:
        """The count of `text[:end] + middle + text[start:]`.

        If the pieces of the text are known, only the parts next to the two cuts are encoded again.
        """
        index = self._indexes.get(text)
        if index is None or index.hard:
            return self.count(text[:end] + middle + text[start:])
        # Three characters around a position decide whether it is a place: those must be the same in the new text.
        before = max(bisect_right(index.offsets, end - 4) - 1, 0)
        after = min(bisect_left(index.offsets, start + 4), len(index.offsets) - 1)
        inner = text[index.offsets[before] : end] + middle + text[start : index.offsets[after]]
        inside = self._measure(inner, self._size)
        tokens = index.totals[before] + inside.totals[-1] + index.totals[-1] - index.totals[after]
        return TokenCount(tokens, not inside.hard and self.count(text).exact)

    def spans(self, text: str) -> list[str]:
        """The tokens as pieces of text, to be shown; joined they give the text.

        Tokens that share a character are one span.
        """
        shown = []
        for start, end in pairwise(measure_text(text, lambda piece: 1).offsets):
            piece = text[start:end]
            last = 0
            for at in self._ready().ends(_sound(piece)):
                if at > last:
                    shown.append(piece[last:at])
                    last = at
        return shown

    def flush(self) -> None:
        """Write the new counts to the store, in one transaction."""
        if self._store is not None and self._unsaved:
            rows, self._unsaved = self._unsaved, []
            self._store.save_counts(rows)

    def _count_new(self, text: str) -> TokenCount:
        """Count a text that is not in memory: from the store, otherwise by encoding it."""
        if self._elder is not None and (known := self._elder.known_count(text)) is not None:
            return known
        # Shorter than a piece, and so than what is stored.
        if len(text) < text_pieces.PIECE and self._encoder is not None and (text.isascii() or _is_sound(text)):
            tokens = self._encoder.size(text)
            found = self._short_counts.get(tokens)
            if found is None:
                found = self._short_counts[tokens] = TokenCount(tokens, self.exact)
            self._counts[text] = found
            self._remembered += len(text) + _ENTRY
            if self._remembered > REMEMBERED:
                self._forget_half()
            return found
        digest = b""
        if self._store is not None and len(text) >= STORED_FROM:
            digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            row = self._store.load_count(self.name, digest)
            if row is not None:
                return self._remember(text, TokenCount(row[0], row[1] and self.exact))
        encoder = self._encoder or self._ready()
        whole = text.isascii() or _is_sound(text)
        size = encoder.size if whole else self._size
        if len(text) <= text_pieces.REACH:  # too short for a hard cut: the whole has the count of its pieces
            tokens = size(text)
        else:
            self._indexes[text] = index = self._measure(text, size)
            tokens = index.totals[-1]
            whole = whole and not index.hard
        if digest and not isinstance(encoder, RoughEncoder):
            self._unsaved.append((self.name, digest, tokens, whole))
        return self._remember(text, TokenCount(tokens, whole and self.exact))

    def _remember(self, text: str, count: TokenCount) -> TokenCount:
        """Keep a count in memory."""
        self._counts[text] = count
        self._remembered += len(text) + _ENTRY
        if self._remembered > REMEMBERED:
            self._forget_half()
        return count

    def _forget_half(self) -> None:
        """Drop the older half of the counts in memory."""
        with self._dropping:
            for oldest in list(self._counts):
                if self._remembered <= REMEMBERED // 2:
                    break
                self._counts.pop(oldest, None)
                self._indexes.pop(oldest, None)
                self._remembered -= len(oldest) + _ENTRY

    def _size(self, piece: str) -> int:
        """The tokens of a piece of limited length, with any characters."""
        return (self._encoder or self._ready()).size(piece if piece.isascii() else _sound(piece))

    def _measure(self, text: str, size: Callable[[str], int], enough: int = NO_LIMIT) -> PieceIndex:
        """Cut and count a text of any length. A rough count is fast and rounds up, so it uses one piece."""
        if isinstance(self._ready(), RoughEncoder):
            return PieceIndex(array("Q", [0, len(text)]), array("Q", [0, size(text)]), frozenset())
        return measure_text(text, size, enough)

    def _ready(self) -> Encoder:
        """The tokenizer, loaded at the first count. Without its file, counts are rough and marked as such."""
        if self._encoder is not None:
            return self._encoder
        encoder = load_encoder(self.name)
        if encoder is None:
            encoder = RoughEncoder()
            self.exact = False
            self.note = f"a quarter of the bytes, because the file of the tokenizer {self.name} is missing"
        self._encoder = encoder
        return encoder

    def _fit_head(self, piece: str, room: int) -> int:
        """How many characters of a piece fit in `room` tokens."""
        sound = _sound(piece)
        tokens = room
        while tokens > 0:
            offset = self._ready().head(sound, tokens)
            # The start of a text is not always split like the whole text: the rest may have joined its tokens.
            over = self._size(piece[:offset]) - room
            if over <= 0:
                return offset
            tokens -= over
        return 0

    def _fit_tail(self, piece: str, room: int) -> int:
        """The first character from which a piece fits in `room` tokens."""
        sound = _sound(piece)
        tokens = room
        while tokens > 0:
            offset = self._ready().tail(sound, tokens)
            offset += piece.startswith("\n", offset)  # a newline belongs to the line before, which is cut off
            over = self._size(piece[offset:]) - room
            if over <= 0:
                return offset
            tokens -= over
        return len(piece)

    def _index_of_end(self, text: str, max_tokens: int) -> tuple[int, PieceIndex]:
        """Where an end of the text begins that holds more than `max_tokens` (or all of it), and its index."""
        index = self._indexes.get(text)
        if index is not None:
            return 0, index
        reach = max_tokens * 4 + text_pieces.PIECE
        while True:
            base = max(0, len(text) - reach)
            index = self._measure(text[base:], self._size)
            # Hard cuts of an end are not those of the text, which may fit although its end does not.
            if base == 0 or (index.totals[-1] > max_tokens and not index.hard):
                return base, index
            reach *= 2


def _is_sound(text: str) -> bool:
    """Whether a text has only whole characters: no lone halves of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _sound(text: str) -> str:
    """The text as it can be sent: a lone half of a surrogate pair becomes the replacement character."""
    return text if _is_sound(text) else _SURROGATE.sub("\ufffd", text)


@cache
def _shared(tokenizer: str, exact: bool, note: str) -> TokenCounter:
    return TokenCounter(tokenizer, None, exact, note)


def counter_named(
    tokenizer: str, store: CountStore | None = None, *, exact: bool | None = None, note: str = ""
) -> TokenCounter:
    """A counter for a tokenizer by name; without a store, all callers share one.

    `exact` and `note` describe how the tokenizer relates to the model (see `tokenizer_for`); by default it is its own.
    """
    if tokenizer not in TOKENIZERS:
        raise WrongCall(f"unknown tokenizer {tokenizer!r}: expected one of {', '.join(TOKENIZERS)}")
    own = (tokenizer != "rough") if exact is None else exact
    description = note or _NOTES[tokenizer]
    if store is None:
        return _shared(tokenizer, own, description)
    return TokenCounter(tokenizer, store, own, description)


def counter_for(model: str) -> TokenCounter:
    """The counter for a model, chosen by its name."""
    tokenizer, exact, note = tokenizer_for(model)
    return counter_named(tokenizer, exact=exact, note=note)
