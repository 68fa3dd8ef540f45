"""Tokenizers, reduced to two questions: how many tokens does this piece have, and where does each of them end?

All of them work offline: OpenAI's rank files and Anthropic's vocabulary are in litellm's wheel. tiktoken is the
reference. splintr runs them all: it gives the same ids in half the time or less (tests compare it with tiktoken). If it
is not installed, or fails a trial when it is loaded, tiktoken runs them.
"""

from __future__ import annotations

import os
import unicodedata
from binascii import b2a_base64
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from struct import pack
from threading import Lock
from typing import TYPE_CHECKING, Protocol

import msgspec

from workbench.config.foreign_files import read_regular_file
from workbench.models.litellm_data import tokenizer_folder

if TYPE_CHECKING:
    import splintr
    import tiktoken

TOKENIZERS = ("o200k_base", "cl100k_base", "claude", "rough")
"""The names a user may give in `[models]`."""

RANK_FILES = {
    "o200k_base": (
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}
"""tiktoken's name for the cached file, and its SHA-256. tiktoken deletes a file that does not match and downloads it
again, so we check first."""

TRIAL = (
    "I'll SHOW you'Re:\r\n\n\t  x_1 = 1234567.89e-10;  // naïve “ﬁ” ½ …\u00a0 <|endoftext|><|im_start|>"
    "模型看到，かなカナ 가각 👩\u200d👩\u200d👧🏽❤\ufe0f e\u0301 \x00\u2028 AAAAaaaaBbbb====zzzz/path\n/\n\n  end   \n"
)
"""A text that splintr must encode as tiktoken does, each time it is loaded."""

TRIAL_IDS = {
    "o200k_base": "4d990aa8c415b288159dc7a9aefb7ef5343bd58643f5114ea113f46a7ab9f7a7",
    "cl100k_base": "4803ed6dd5b9d3e3b707cbb25867a26bb8cff809b1e055d0deda9ab43af90ece",
    "claude": "8c4a9e90a94af30291f53f16e2877749395934532fabfa63315352ebe22e5f18",
}
"""SHA-256 of the ids that tiktoken gives for the trial, four bytes each, little-endian."""

SPECIAL = "<|"
"""The beginning of every special token."""
_SPECIAL_SIGN = "|"
"""One character is found in a fraction of the time for two, and few texts have this one."""

CLAUDE_FILE = "anthropic_tokenizer.json"

_CLAUDE_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
"""How GPT-2's tokenizer, and also Anthropic's, splits a text before merging, in tiktoken's syntax."""

_LEAD_BYTES = bytes(0 if 0x80 <= byte < 0xC0 else 1 for byte in range(256))
"""For `bytes.translate`: 1 where a character starts in UTF-8, 0 inside it."""

_loading = Lock()


class Encoder(Protocol):
    """A tokenizer, for pieces of limited length without lone surrogates."""

    def size(self, text: str) -> int:
        """How many tokens the text has."""
        ...

    def head(self, text: str, tokens: int) -> int:
        """How many whole characters are in the first tokens."""
        ...

    def tail(self, text: str, tokens: int) -> int:
        """The first character from which the text is completely in the last tokens."""
        ...

    def ends(self, text: str) -> list[int]:
        """For each token the offset in characters where it ends; the last one is the length of the text.

        A token that ends inside a character has the same end as the token before it: tokens with equal ends belong
        together.
        """
        ...


class RoughEncoder:
    """Counts four bytes of UTF-8 as a token: used if no tokenizer is available."""

    def size(self, text: str) -> int:
        """A quarter of the bytes, rounded up."""
        return (len(text if text.isascii() else text.encode()) + 3) // 4

    def head(self, text: str, tokens: int) -> int:
        """The whole characters in the first bytes."""
        return _whole_characters(text.encode()[: tokens * 4])

    def tail(self, text: str, tokens: int) -> int:
        """Where the whole characters in the last bytes begin."""
        return len(text) - _whole_characters(text.encode()[-tokens * 4 :])

    def ends(self, text: str) -> list[int]:
        """Every fourth byte."""
        length = len(text.encode())
        return _char_ends(text, (min(4, length - start) for start in range(0, length, 4)))


class TokenizerLibrary(Protocol):
    """What we need from a library that runs byte pair tokenizers."""

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of a text; a special token in it is treated as plain text."""
        ...

    def decode_bytes(self, tokens: Sequence[int]) -> bytes: ...


class QuickLibrary(TokenizerLibrary, Protocol):
    """What splintr has in addition."""

    def encode_flat(self, text: str) -> bytes:
        """The ids in one block of memory, four bytes each; a special token in the text is one token."""
        ...


class PairEncoder:
    """A byte pair tokenizer."""

    def __init__(self, library: TokenizerLibrary, *, nfkc: bool = False) -> None:
        # tiktoken would panic here on a run of about a million blanks; pieces are limited in length.
        self._encode = library.encode_ordinary
        self._decode = library.decode_bytes
        self._nfkc = nfkc

    def size(self, text: str) -> int:
        """How many tokens the text has; a special token in it counts as plain text."""
        if self._nfkc and not text.isascii():
            text = unicodedata.normalize("NFKC", text)
        return len(self._encode(text))

    def head(self, text: str, tokens: int) -> int:
        """How many whole characters are in the first tokens."""
        if self._nfkc and not unicodedata.is_normalized("NFKC", text):
            return self.ends(text)[:tokens][-1]
        return _whole_characters(self._decode(self._encode(text)[:tokens]))

    def tail(self, text: str, tokens: int) -> int:
        """The first character from which the text is completely in the last tokens."""
        if self._nfkc and not unicodedata.is_normalized("NFKC", text):
            starts = [0, *self.ends(text)]
            return starts[max(0, len(starts) - 1 - tokens)]
        return len(text) - _whole_characters(self._decode(self._encode(text)[-tokens:]))

    def ends(self, text: str) -> list[int]:
        """Where each token ends."""
        seen = unicodedata.normalize("NFKC", text) if self._nfkc else text
        ends = _char_ends(seen, (len(self._decode([token])) for token in self._encode(seen)))
        return ends if seen == text else _ends_before_nfkc(text, seen, ends)


class QuickEncoder(PairEncoder):
    """A byte pair tokenizer run by splintr, which can leave the ids in one block of memory if nobody reads them.

    That mode treats a special token in a text as one token, so a text that may contain one is encoded the other way.
    """

    def __init__(self, library: QuickLibrary, *, nfkc: bool = False) -> None:
        super().__init__(library, nfkc=nfkc)
        self._encode_flat = library.encode_flat

    def size(self, text: str) -> int:
        """How many tokens the text has: four bytes each."""
        if self._nfkc and not text.isascii():
            text = unicodedata.normalize("NFKC", text)
        if _SPECIAL_SIGN in text and SPECIAL in text:
            return len(self._encode(text))
        return len(self._encode_flat(text)) // 4


def _whole_characters(data: bytes) -> int:
    """How many characters are whole in bytes that may begin and end inside one."""
    return len(data.decode("utf-8", "ignore"))


def _char_ends(text: str, sizes: Iterable[int]) -> list[int]:
    """Turn tokens' sizes in bytes into the offsets in characters where they end."""
    if text.isascii():
        return list(accumulate(sizes))
    leads = text.encode().translate(_LEAD_BYTES)
    started = list(accumulate(leads))
    ends, last = [], 0
    for at in accumulate(sizes):
        if at == len(leads) or leads[at]:
            last = started[at - 1]
        ends.append(last)
    return ends


def _ends_before_nfkc(text: str, seen: str, ends: list[int]) -> list[int]:
    """Turn offsets in the normalised text into offsets in the text itself.

    If characters were composed across their borders (rare), the offsets are in proportion: close, not exact. Callers
    that cut at such an offset count again.
    """
    widths = list(accumulate(len(unicodedata.normalize("NFKC", char)) for char in text))
    if widths[-1] != len(seen):
        return [end * len(text) // len(seen) for end in ends]
    where = {width: at for at, width in enumerate(widths, 1)}
    found, last = [], 0
    for end in ends:
        last = where.get(end, last)
        found.append(last)
    return found


@cache
def load_encoder(tokenizer: str) -> Encoder | None:
    """The tokenizer of that name, loaded once; None if its file is not available. Never uses the network."""
    if tokenizer == "rough":
        return RoughEncoder()
    try:
        return _load_claude() if tokenizer == "claude" else _load_pretrained(tokenizer) or _load_ranks(tokenizer)
    except (ImportError, OSError, ValueError, KeyError, TypeError):
        return None


def _load_ranks(tokenizer: str) -> Encoder | None:
    folder = _rank_folder(tokenizer)
    return None if folder is None else PairEncoder(_tiktoken(tokenizer, folder))


def _rank_folder(tokenizer: str) -> Path | None:
    """The folder with a valid rank file."""
    name, digest = RANK_FILES[tokenizer]
    own = os.environ.get("TIKTOKEN_CACHE_DIR")
    for folder in filter(None, (tokenizer_folder(), Path(own) if own else None)):
        file = folder / name
        if file.is_file() and sha256(read_regular_file(file)).hexdigest() == digest:
            return folder
    return None


def _load_pretrained(tokenizer: str) -> Encoder | None:
    """One of OpenAI's tokenizers, run by splintr.

    It needs no rank file: it has the ranks in its own format, which loads in a third of the time. No other thread runs
    meanwhile, so the screen freezes for that long.
    """

    def load() -> QuickLibrary:
        library: splintr.AnyTokenizer = import_module("splintr").Tokenizer.from_pretrained(tokenizer)
        if not all(token.startswith(SPECIAL) for token in library.special_tokens()):
            raise ValueError("a special token that we would not notice in a text")
        return library

    return _tried(tokenizer, load)


def _tried(tokenizer: str, load: Callable[[], QuickLibrary], *, nfkc: bool = False) -> Encoder | None:
    """A tokenizer run by splintr; None if that is not available, or does not give tiktoken's ids."""
    try:
        library = load()
        trial = unicodedata.normalize("NFKC", TRIAL) if nfkc else TRIAL
        plain = trial.replace(SPECIAL, "")
        sound = sha256(_packed(library.encode_ordinary(trial))).hexdigest() == TRIAL_IDS[
            tokenizer
        ] and library.encode_flat(plain) == _packed(library.encode_ordinary(plain))
    except (ImportError, AttributeError, OSError, ValueError, TypeError):
        return None
    return QuickEncoder(library, nfkc=nfkc) if sound else None


def _packed(ids: list[int]) -> bytes:
    """Four bytes each, little-endian."""
    return pack(f"<{len(ids)}I", *ids)


def _tiktoken(tokenizer: str, folder: Path) -> tiktoken.Encoding:
    with _loading, _cache_folder(folder):
        import tiktoken

        return tiktoken.get_encoding(tokenizer)


@contextmanager
def _cache_folder(folder: Path) -> Iterator[None]:
    """Let tiktoken find its files here, and restore the user's own setting afterwards."""
    own = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    try:
        yield
    finally:
        if own is None:
            del os.environ["TIKTOKEN_CACHE_DIR"]
        else:
            os.environ["TIKTOKEN_CACHE_DIR"] = own


class _AddedToken(msgspec.Struct):
    content: str


class _Vocabulary(msgspec.Struct):
    vocab: dict[str, int]


class _TokenizerFile(msgspec.Struct):
    """What is needed of a file of Hugging Face's tokenizers."""

    model: _Vocabulary
    added_tokens: list[_AddedToken]


def _load_claude() -> Encoder | None:
    """Anthropic's vocabulary: the same ids as Hugging Face's tokenizers, in a sixth of the time or less.

    Its ids are in the order of its merges, as both libraries need them. The five special tokens are left out, because
    in a message they are plain text.
    """
    folder = tokenizer_folder()
    if folder is None:
        return None
    found = msgspec.json.decode(read_regular_file(folder / CLAUDE_FILE), type=_TokenizerFile)
    special = {token.content for token in found.added_tokens}
    letters = str.maketrans({letter: chr(byte) for letter, byte in _bytes_by_letter().items()})

    def ranks() -> Iterator[tuple[bytes, int]]:
        for token, rank in found.model.vocab.items():
            if token not in special:
                yield token.translate(letters).encode("latin-1"), rank

    rank_file = b"".join(b"%b %d\n" % (b2a_base64(token, newline=False), rank) for token, rank in ranks())

    def load() -> QuickLibrary:
        # GPT-2's pattern finds what Claude's does. Splintr knows its own by its exact text, and then splits without a
        # regular expression: in half the time.
        library = import_module("splintr")
        made: QuickLibrary = library.Tokenizer.from_bytes(rank_file, library.GPT2_PATTERN, {})
        return made

    quick = _tried("claude", load, nfkc=True)
    if quick is not None:
        return quick
    import tiktoken

    encoding = tiktoken.Encoding("claude", pat_str=_CLAUDE_PATTERN, mergeable_ranks=dict(ranks()), special_tokens={})
    return PairEncoder(encoding, nfkc=True)


def _bytes_by_letter() -> dict[str, int]:
    """GPT-2's way of writing bytes as letters: printable ones as themselves, the rest from U+0100 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + at): byte for at, byte in enumerate(rest)}
