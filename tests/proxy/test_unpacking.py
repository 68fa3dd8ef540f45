"""A body is unpacked in steps and up to a limit, whatever it is packed with and however often."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zlib
from collections.abc import Callable, Mapping
from typing import Final

import brotli  # type: ignore[import-untyped]
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from workbench.proxy.routes import ProxySettings
from workbench.proxy.unpacking import (
    LARGEST,
    MIB,
    MOST_VALUES,
    BodyTooLarge,
    checked_size,
    read_body,
    unpacked_body,
    values_in,
)


def _raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(body) + packer.flush()


PACK: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": lambda body: bytes(brotli.compress(body, quality=1)),
    "zstd": zstandard.ZstdCompressor().compress,
}
NAMES = st.lists(st.sampled_from([*PACK, "identity", "x-gzip"]), max_size=4)
LIMIT = MIB


def packed(body: bytes, names: list[str]) -> bytes:
    for name in names:
        body = PACK.get(name.removeprefix("x-"), bytes)(body)
    return body


@given(st.binary(max_size=300).map(lambda text: text * 700), NAMES)
def test_what_was_packed_comes_back_whole(body: bytes, names: list[str]) -> None:
    assert unpacked_body(packed(body, names), ", ".join(names)) == body


@pytest.mark.parametrize("size", [64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, 640 * 1024])
@pytest.mark.parametrize("name", PACK)
def test_no_byte_is_lost_between_two_steps(name: str, size: int) -> None:
    assert unpacked_body(packed(b"a" * size, [name]), name) == b"a" * size


def test_deflate_without_its_header_and_gzip_of_several_members_are_read() -> None:
    assert unpacked_body(_raw_deflate(b"look"), "deflate") == b"look"
    assert unpacked_body(gzip.compress(b"lo") + gzip.compress(b"ok"), "gzip") == b"look"
    assert unpacked_body(gzip.compress(b"look") + b"\0\0", "gzip") == b"look"
    frames = zstandard.ZstdCompressor()
    assert unpacked_body(frames.compress(b"lo") + frames.compress(b"ok"), "zstd") == b"look"


@pytest.mark.parametrize(
    "names", [["gzip"], ["deflate"], ["br"], ["zstd"], ["gzip", "br"], ["zstd", "deflate", "gzip"]]
)
def test_a_body_that_unpacks_to_more_than_the_limit_is_given_up_at_the_limit(names: list[str]) -> None:
    bomb = packed(b"\0" * (30 * MIB), names)
    tracemalloc.start()
    with pytest.raises(BodyTooLarge, match="unpacks to more than 1 MiB"):
        unpacked_body(bomb, ", ".join(names), LIMIT)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < len(bomb) + 8 * LIMIT


def test_a_body_may_be_as_large_as_the_limit() -> None:
    assert len(unpacked_body(b"a" * LIMIT, "", LIMIT)) == LIMIT
    assert len(unpacked_body(gzip.compress(b"a" * LIMIT), "gzip", LIMIT)) == LIMIT
    with pytest.raises(BodyTooLarge, match="larger than 1 MiB"):
        unpacked_body(b"a" * (LIMIT + 1), "", LIMIT)


def test_a_body_is_not_unpacked_any_number_of_times() -> None:
    with pytest.raises(BodyTooLarge, match="packed 1000 times"):
        unpacked_body(b"", ",".join(["gzip"] * 1000))


@given(st.sampled_from([*PACK]), st.binary(max_size=200), st.integers(0, 200))
def test_of_what_is_damaged_or_cut_off_as_much_is_given_as_can_be_read(name: str, junk: bytes, cut: int) -> None:
    body = json.dumps({"text": "words " * 1000}).encode()
    assert body.startswith(unpacked_body(packed(body, [name])[:cut], name))
    unpacked_body(junk, name)


@pytest.mark.parametrize(
    "body", [b'{"a": [' + b"[]," * MIB, b'{"a": [' + b"1," * MIB, b'{"a":' * MIB], ids=["lists", "numbers", "objects"]
)
def test_json_of_very_many_values_is_not_read(body: bytes) -> None:
    with pytest.raises(BodyTooLarge, match="JSON values"):
        read_body(body, {})


def test_json_that_is_nested_too_deeply_is_no_body() -> None:
    assert read_body(b"[" * 100_000, {}) == {}
    assert read_body(b'{"a":' * 100_000 + b"1" + b"}" * 100_000, {}) == {}


def test_commas_in_a_message_are_no_values() -> None:
    text = json.dumps({"messages": [{"content": 'a, "b", [c], {d}\n' * 60_000}]})
    assert values_in(text) > MOST_VALUES
    assert checked_size(text) == text
    assert checked_size(text.encode()) == text.encode()
    with pytest.raises(BodyTooLarge):
        checked_size(json.dumps({"messages": [{}] * MOST_VALUES}))


def test_without_settings_the_limit_is_that_of_the_settings() -> None:
    assert ProxySettings().largest == LARGEST
