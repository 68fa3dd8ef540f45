"""Decompresses and parses JSON bodies, up to a limit, because a small body may decompress to gigabytes."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

from workbench.log.events import DialectName
from workbench.wire.dialects import from_stream
from workbench.wire.streams import parsed_json

T = TypeVar("T", str, bytes)

MIB: Final = 1 << 20
LARGEST: Final = 16 * MIB
"""The default limit in bytes of a body that is read, after decompression. Reading and storing takes up to fifteen times
as much memory."""
MOST_VALUES: Final = 120_000
"""The limit of JSON values in one body. Each takes up to two kilobytes of memory, and perhaps two bytes on the wire."""
MOST_LAYERS: Final = 4
"""The limit of nested encodings of one body."""
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)  # possessive: no backtracking
_PIECE: Final = 64 * 1024
PER_VALUE: Final = 100
"""Bytes of memory for one value, in addition to its text."""
_SMALL: Final = 256 * 1024
"""Bytes of JSON up to which values are not counted."""


class BodyTooLarge(Exception):
    """Raised for a body that is passed on without being read; the text names the exceeded limit."""


def read_body(body: bytes, headers: Mapping[str, str], largest: int = LARGEST) -> dict[str, Any]:
    """The JSON object in a body; empty if it has none. Raises BodyTooLarge."""
    found = parsed_json(checked_size(unpacked_body(body, headers.get("Content-Encoding", ""), largest)))
    return found if isinstance(found, dict) else {}


def unpack_answer(
    dialect: DialectName, body: bytes, headers: Mapping[str, str], largest: int = LARGEST
) -> dict[str, Any]:
    """An answer as one body; for a stream, as much as arrived. Raises BodyTooLarge."""
    text = checked_size(unpacked_body(body, headers.get("Content-Encoding", ""), largest))
    found = None if "event-stream" in headers.get("Content-Type", "") else parsed_json(text)
    return found if isinstance(found, dict) else from_stream(dialect, text)


def unpacked_body(body: bytes, encoding: str, largest: int = LARGEST) -> bytes:
    """Decompress a body as far as possible. With an unknown encoding it is returned unchanged. Raises BodyTooLarge."""
    names = [name.strip().lower() for name in encoding.split(",")]
    layers = [_UNPACK[name] for name in reversed(names) if name in _UNPACK]
    if not layers:
        if len(body) > largest:
            raise BodyTooLarge(too_large(largest))
        return body
    if len(layers) > MOST_LAYERS:
        raise BodyTooLarge(f"it is packed {len(layers)} times")
    pieces: Iterator[bytes] = (body[at : at + _PIECE] for at in range(0, len(body), _PIECE))
    for layer in layers:
        pieces = _limited(layer(pieces), largest)
    return b"".join(pieces)


def too_large(largest: int) -> str:
    """The error text for a body that is larger than the limit."""
    return f"it is larger than {_size(largest)}"


def _limited(pieces: Iterable[bytes], largest: int) -> Iterator[bytes]:
    size = 0
    try:
        for piece in pieces:
            size += len(piece)
            if size > largest:
                raise BodyTooLarge(f"it unpacks to more than {_size(largest)}")
            yield piece
    except BodyTooLarge:
        raise
    except Exception:  # truncated, or not in the declared encoding; brotli and zstd raise their own errors
        return


def checked_size(text: T) -> T:
    """Return the JSON text unchanged if it has few enough values to parse. Raises BodyTooLarge."""
    check_count(len(text), lambda: values_in(text), lambda: values_outside_strings(text))
    return text


def check_count(size: int, most: Callable[[], int], exact: Callable[[], int] | None = None) -> None:
    """Check that a body of this size has few enough values. Raises BodyTooLarge.

    `most` gives an upper bound; only if that is too large, `exact` counts slowly.
    """
    if size > _SMALL and most() > MOST_VALUES and (exact is None or exact() > MOST_VALUES):
        raise BodyTooLarge(f"it has more than {MOST_VALUES:,} JSON values")


def values_in(text: str | bytes) -> int:
    """An upper bound for the number of values in JSON text."""
    if isinstance(text, bytes):
        return len(text) - len(text.translate(None, b",[{\n"))  # takes half the time of counting each
    return sum(map(text.count, ",[{\n"))


def values_outside_strings(text: str | bytes) -> int:
    """The number of values in JSON text. Commas and brackets in the text of a message do not count."""
    if isinstance(text, str):
        text = text.encode(errors="surrogatepass")
    return values_in(_STRING.sub(b"", text))


def memory_of(text: bytes) -> int:
    """An estimate of the memory in bytes for JSON text and its parsed values."""
    return len(text) + PER_VALUE * values_in(text)


def _size(number: int) -> str:
    return f"{number // MIB} MiB" if number >= MIB else f"{number:,} bytes"


# One function per encoding: compressed pieces to decompressed pieces


def _gunzip(pieces: Iterable[bytes]) -> Iterator[bytes]:
    return _inflate(pieces, zlib.MAX_WBITS | 32)


def _inflate(pieces: Iterable[bytes], window: int) -> Iterator[bytes]:
    stream = zlib.decompressobj(window)
    for piece in pieces:
        while piece:
            got = stream.decompress(piece, _PIECE)
            yield got
            piece = stream.unconsumed_tail
            while len(got) == _PIECE and not piece and not stream.eof:  # zlib may have more output
                got = stream.decompress(b"", _PIECE)
                yield got
            if stream.eof:
                piece = stream.unused_data
                if not piece.startswith(b"\x1f\x8b"):
                    return
                stream = zlib.decompressobj(window)  # a gzip file may have several members


def _deflate(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Decompress deflate, with zlib's header as in the standard, or without one, as some servers send it."""
    pieces = iter(pieces)
    first = next(pieces, b"")
    has_header = len(first) > 1 and first[0] & 15 == 8 and (first[0] * 256 + first[1]) % 31 == 0

    def whole() -> Iterator[bytes]:
        yield first
        yield from pieces

    return _inflate(whole(), zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS)


def _brotli(pieces: Iterable[bytes]) -> Iterator[bytes]:
    import brotli  # type: ignore[import-untyped]  # imported here: few answers need it

    stream = brotli.Decompressor()
    for piece in pieces:
        got = stream.process(piece, output_buffer_limit=_PIECE)
        yield got
        while (got or not stream.can_accept_more_data()) and not stream.is_finished():
            got = stream.process(b"", output_buffer_limit=_PIECE)
            yield got


def _zstd(pieces: Iterable[bytes]) -> Iterator[bytes]:
    import zstandard  # imported here: few answers need it

    reader = zstandard.ZstdDecompressor(max_window_size=LARGEST).stream_reader(
        _Pieces(pieces),  # type: ignore[arg-type]  # zstandard only calls `read`
        read_size=_PIECE,
        read_across_frames=True,
    )
    while piece := reader.read(_PIECE):
        yield piece


class _Pieces:
    """A file-like object for zstandard."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)

    def read(self, _: int) -> bytes:
        return next((piece for piece in self._pieces if piece), b"")


_UNPACK: Final[Mapping[str, Callable[[Iterable[bytes]], Iterator[bytes]]]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
