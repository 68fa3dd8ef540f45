"""A picture costs what its provider's rule says, by its size; never what its base64 would."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.models.images import image_size, image_tokens
from workbench.models.tokens import TokenCount


def data_url(data: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def png(width: int, height: int) -> bytes:
    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"\0" * 50) + chunk(b"IEND", b"")


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0" * 30


def jpeg(width: int, height: int, before: bytes = b"") -> bytes:
    frame = b"\xff\xc2\x00\x11\x08" + struct.pack(">HH", height, width) + b"\x03" + b"\0" * 9
    return b"\xff\xd8" + before + b"\xff\xc4\x00\x04\0\0" + frame + b"\xff\xda" + b"\0" * 40


def segment(length: int) -> bytes:
    """An APP1 segment, as cameras write before the picture; with false size marks inside."""
    return b"\xff\xe1" + struct.pack(">H", length + 2) + (b"\xff\xc0\x00\x11\x08\0\1\0\1" * (length // 9 + 1))[:length]


def webp(kind: bytes, width: int, height: int) -> bytes:
    body = {
        b"VP8X": b"\0" * 4 + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little"),
        b"VP8 ": b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height),
        b"VP8L": b"\x2f" + ((width - 1) | (height - 1) << 14).to_bytes(4, "little") + b"\0" * 5,
        b"VP9 ": b"\0" * 10,
    }[kind]
    return b"RIFF" + struct.pack("<I", 100) + b"WEBP" + kind + struct.pack("<I", len(body)) + body + b"\0" * 20


MADE: dict[str, Callable[[int, int], bytes]] = {
    "png": png,
    "gif": gif,
    "jpeg": jpeg,
    "jpeg with a preview": lambda width, height: jpeg(width, height, segment(60_000) + segment(60_001)),
    "jpeg with padding": lambda width, height: jpeg(width, height, b"\xff\xff\xff\xe0\x00\x02\xff\xd0"),
    "webp extended": lambda width, height: webp(b"VP8X", width, height),
    "webp lossy": lambda width, height: webp(b"VP8 ", width, height),
    "webp lossless": lambda width, height: webp(b"VP8L", width, height),
}


@pytest.mark.parametrize("kind", MADE)
@given(width=st.integers(1, 16_383), height=st.integers(1, 16_383))
def test_the_size_stands_in_the_header(kind: str, width: int, height: int) -> None:
    assert image_size(data_url(MADE[kind](width, height))) == (width, height)


@pytest.mark.parametrize(
    ("data", "least"), [(png(7, 5), 24), (gif(7, 5), 10), (webp(b"VP8X", 7, 5), 30)], ids=["png", "gif", "webp"]
)
def test_the_size_is_known_as_soon_as_its_last_byte_is_there(data: bytes, least: int) -> None:
    assert [image_size(data_url(data[:length])) for length in (least - 1, least)] == [None, (7, 5)]


def test_the_writing_of_base64_does_not_matter() -> None:
    data = jpeg(640, 480, segment(5_000))
    plain = base64.b64encode(data).decode()
    lines = "\n".join(plain[at : at + 76] for at in range(0, len(plain), 76))
    for written in (plain, plain.rstrip("="), lines, plain.replace("/", "%2F").replace("+", "%2B")):
        assert image_size(f"data:image/jpeg;base64,{written}") == (640, 480)
    assert image_size(f"DATA:image/jpeg;BASE64,{base64.urlsafe_b64encode(data).decode()}") == (640, 480)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/cat.png",
        "",
        "data:",
        "data:image/png;base64",
        "data:image/png;base64,",
        "data:image/png;base64,!!!!",
        "data:image/png;base64,ééé",
        "data:image/svg+xml,<svg width='10' height='10'/>",
        data_url(png(5, 5)[:20]),
        data_url(png(0, 5)),
        data_url(b"BM" + b"\0" * 50),
        data_url(jpeg(5, 5)[:12]),
        data_url(b"\xff\xd8" + b"\xff" * 100_000),
        data_url(b"\xff\xd8\xff\xe1\x00\x10" + b"\0" * 50),
        data_url(webp(b"VP9 ", 5, 5)),
    ],
)
def test_a_size_that_cannot_be_read_is_none_and_counts_as_1024_square(url: str) -> None:
    assert image_size(url) is None
    assert image_tokens("gpt-4o", url, "high") == TokenCount(765, False)


@given(data=st.binary(max_size=200))
def test_no_bytes_are_an_error(data: bytes) -> None:
    for start in (b"", b"\xff\xd8", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"RIFF0000WEBPVP8 "):
        size = image_size(data_url(start + data))
        assert size is None or min(size) > 0


@pytest.mark.parametrize(
    ("model", "width", "height", "detail", "tokens", "exact"),
    [
        # OpenAI's own examples
        ("gpt-4o", 1024, 1024, "high", 765, True),
        ("gpt-4o", 2048, 4096, "high", 1105, True),
        ("gpt-4o", 4096, 8192, "low", 85, True),
        ("gpt-4.1-mini", 1024, 1024, "high", 1659, True),  # 1,024 patches, 1.62 each
        ("gpt-4.1-nano", 1800, 2400, "high", 3572, True),  # shrunk to 33 by 44 patches, 2.46 each
        ("gpt-4.1-mini", 1536, 1024, "high", 2489, True),  # 1,536 patches, as many as there may be
        ("gpt-4.1-mini", 1537, 1024, "high", 2361, True),  # one column more: shrunk to 47 by 31
        ("gpt-4.1-mini", 1024, 1537, "high", 2361, True),
        # the rules
        ("openai/gpt-4o", 512, 512, "high", 255, True),
        ("gpt-4o", 512, 512, "auto", 255, False),
        ("gpt-4o-mini", 512, 512, "high", 8500, True),
        ("gpt-5", 512, 512, "high", 210, True),
        ("gpt-5.9", 512, 512, "high", 255, False),
        ("o1", 512, 512, "high", 225, True),
        ("o3", 512, 512, "low", 75, True),
        ("o4-mini", 32, 32, "high", 2, True),
        ("gpt-5-mini", 32, 32, "high", 2, True),
        ("gpt-5-nano", 64, 32, "high", 5, True),
        ("gpt-5-mini", 50_000, 40, "high", 2025, True),
        ("claude-sonnet-4-5", 1000, 1000, "auto", 1334, False),
        ("claude-sonnet-4-5", 8000, 8000, "auto", 1600, False),
        ("openrouter/anthropic/claude-opus-4.1", 3136, 750, "auto", 784, False),
        ("gemini/gemini-2.5-pro", 384, 384, "auto", 258, True),
        ("gemini/gemini-2.5-pro", 385, 100, "auto", 258, True),
        ("gemini/gemini-2.5-pro", 1000, 1000, "auto", 1032, True),
        ("nobody-knows", 512, 512, "low", 85, False),
    ],
)
def test_the_documented_rules(model: str, width: int, height: int, detail: str, tokens: int, exact: bool) -> None:
    assert image_tokens(model, data_url(png(width, height)), detail) == TokenCount(tokens, exact)


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4.1-mini", "claude-3-opus", "gemini-2.5-flash", "llava"])
@given(width=st.integers(1, 20_000), height=st.integers(1, 20_000))
def test_a_picture_always_costs_something(model: str, width: int, height: int) -> None:
    assert image_tokens(model, data_url(png(width, height)), "high").tokens > 0


def test_a_large_file_costs_no_more_than_a_small_one() -> None:
    small, large = data_url(png(512, 512)), data_url(png(512, 512) + b"\0" * 500_000)
    assert image_tokens("gpt-4o", small) == image_tokens("gpt-4o", large)
