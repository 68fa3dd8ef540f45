"""The tokens of a picture, computed from its size by the provider's documented rule, never from its base64 text."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from math import ceil, floor, sqrt
from urllib.parse import unquote

from workbench.models.families import bare_name
from workbench.models.tokens import TokenCount

UNKNOWN_SIZE = (1024, 1024)
"""The size assumed for a picture that is behind a web address, or in a format that we do not know."""

_TILES = (
    (re.compile(r"gpt-4o-mini"), 2833, 5667),
    (re.compile(r"gpt-5(-|$)"), 70, 140),
    (re.compile(r"o[13](-|$)"), 75, 150),
    (re.compile(r"computer-use"), 65, 129),
    (re.compile(r"gpt-4(o|\.1|\.5|-|$)|chatgpt-4o"), 85, 170),
)
"""OpenAI's models that count tiles of 512 by 512 pixels: name, tokens for the picture itself, tokens for each tile."""

_UNDOCUMENTED = (85, 170)
"""The same two numbers for models whose cost of pictures is not documented: those of gpt-4o."""

_PATCHES = (
    (re.compile(r"(gpt-4\.1|gpt-5)-mini"), 1.62),
    (re.compile(r"(gpt-4\.1|gpt-5)-nano"), 2.46),
    (re.compile(r"o4-mini"), 1.72),
)
"""OpenAI's models that count patches of 32 by 32 pixels, at most `_MAX_PATCHES`: name, tokens for each patch."""

_MAX_PATCHES = 1536

_MAX_SEGMENTS = 1000
"""How many segments of a JPEG are read at most to find its size; a real one has a few dozen."""

Read = Callable[[int, int], bytes]
"""Takes an offset and a length, and returns these bytes of a picture; fewer at its end."""


def image_tokens(model: str, url: str, detail: str = "auto") -> TokenCount:
    """The tokens of a picture; exact if the rule is documented, the size known and the level of detail chosen."""
    size = image_size(url)
    width, height = size or UNKNOWN_SIZE
    name = bare_name(model)
    if "claude" in name:
        return TokenCount(_anthropic(width, height), False)
    if "gemini" in name:
        return TokenCount(_gemini(width, height), size is not None)
    for pattern, factor in _PATCHES:
        if pattern.match(name):
            return TokenCount(ceil(_exactly(_patches(width, height) * factor)), size is not None)
    for pattern, base, tile in _TILES:
        if pattern.match(name):
            return _tiled(base, tile, size, detail)
    return TokenCount(_tiled(*_UNDOCUMENTED, size, detail).tokens, False)


def _tiled(base: int, tile: int, size: tuple[int, int] | None, detail: str) -> TokenCount:
    """The tokens for a model that counts tiles. For detail `auto` we assume high detail, so they are not exact."""
    if detail == "low":
        return TokenCount(base, True)
    return TokenCount(base + tile * _tiles(*(size or UNKNOWN_SIZE)), size is not None and detail == "high")


def _tiles(width: int, height: int) -> int:
    """The number of tiles, after the picture is shrunk to fit 2048 by 2048, and its shorter side to at most 768."""
    scale = min(1.0, 2048 / max(width, height))
    scale = min(scale, 768 / min(width, height)) if min(width, height) * scale > 768 else scale
    return ceil(_exactly(width * scale) / 512) * ceil(_exactly(height * scale) / 512)


def _exactly(product: float) -> float:
    """Remove floating-point noise, which could add a tile or a token when the product is rounded up."""
    return round(product, 6)


def _patches(width: int, height: int) -> int:
    """The number of patches; a picture with more than `_MAX_PATCHES` is shrunk first."""
    if ceil(width / 32) * ceil(height / 32) <= _MAX_PATCHES:
        return ceil(width / 32) * ceil(height / 32)
    shrink = sqrt(_MAX_PATCHES * 32 * 32 / (width * height))
    across, down = width * shrink / 32, height * shrink / 32
    shrink *= min(max(floor(across), 1) / across, max(floor(down), 1) / down)
    patches = ceil(_exactly(width * shrink / 32)) * ceil(_exactly(height * shrink / 32))
    return min(patches, _MAX_PATCHES)


def _anthropic(width: int, height: int) -> int:
    """One token per 750 pixels, after the longer side is shrunk to at most 1568; never more than 1,600."""
    scale = min(1.0, 1568 / max(width, height))
    return min(1600, max(1, ceil(width * scale * height * scale / 750)))


def _gemini(width: int, height: int) -> int:
    """258 tokens for a small picture; for a larger one, 258 for each tile of 768 by 768 pixels."""
    if width <= 384 and height <= 384:
        return 258
    return 258 * ceil(width / 768) * ceil(height / 768)


def image_size(url: str) -> tuple[int, int] | None:
    """Width and height of the picture in a `data:` URL (PNG, JPEG, GIF, WebP); None if they cannot be read."""
    read = _reader(url)
    if read is None:
        return None
    try:
        start = read(0, 30)
        size = _header_size(start) or (_jpeg_size(read) if start.startswith(b"\xff\xd8") else None)
    except (binascii.Error, ValueError):
        return None
    return size if size is not None and min(size) > 0 else None


def _reader(url: str) -> Read | None:
    """A function that decodes only the requested bytes of a base64 `data:` URL; None for any other URL."""
    kind, comma, data = url.partition(",")
    if not comma or not kind.lower().startswith("data:") or not kind.lower().endswith(";base64"):
        return None
    if "%" in data[:4096]:
        data = unquote(data)
    if any(char.isspace() for char in data[:100]):
        data = "".join(data.split())
    data = data.rstrip("=")

    def read(offset: int, length: int) -> bytes:
        first = offset // 3
        part = data[first * 4 : -(-(offset + length) // 3) * 4]
        part += "=" * (-len(part) % 4)
        skip = offset - first * 3
        return base64.b64decode(part, altchars=b"-_" if "-" in part or "_" in part else None)[skip : skip + length]

    return read


def _header_size(start: bytes) -> tuple[int, int] | None:
    """Width and height for formats that have them at a fixed position: PNG, GIF, WebP."""
    if start.startswith(b"\x89PNG\r\n\x1a\n") and len(start) >= 24:
        return int.from_bytes(start[16:20], "big"), int.from_bytes(start[20:24], "big")
    if start.startswith((b"GIF87a", b"GIF89a")) and len(start) >= 10:
        return int.from_bytes(start[6:8], "little"), int.from_bytes(start[8:10], "little")
    if start.startswith(b"RIFF") and start[8:12] == b"WEBP" and len(start) >= 30:
        return _webp_size(start)
    return None


def _webp_size(start: bytes) -> tuple[int, int] | None:
    """Width and height of a WebP, which has three kinds: extended, lossy, lossless."""
    match start[12:16]:
        case b"VP8X":
            return int.from_bytes(start[24:27], "little") + 1, int.from_bytes(start[27:30], "little") + 1
        case b"VP8 ":
            return (int.from_bytes(start[26:28], "little") & 0x3FFF, int.from_bytes(start[28:30], "little") & 0x3FFF)
        case b"VP8L":
            bits = int.from_bytes(start[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return None


def _jpeg_size(read: Read) -> tuple[int, int] | None:
    """Width and height of a JPEG. Segments before the one with the size are skipped: they may hold a large preview."""
    at = 2
    for _ in range(_MAX_SEGMENTS):
        head = read(at, 9)
        if len(head) < 9 or head[0] != 0xFF:
            break
        marker = head[1]
        if marker == 0xFF:  # padding
            at += 1
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(head[7:9], "big"), int.from_bytes(head[5:7], "big")
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:  # these have no length
            at += 2
        else:
            at += 2 + int.from_bytes(head[2:4], "big")
    return None
