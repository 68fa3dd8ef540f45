"""A request stays with its server, and an answer has an end: over real HTTP, in both dialects, through litellm."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator

import pytest

from support.hostile import DIALECTS, KEY, Bytes, Dialect, OpenAI, endpoint, forever, head, hostile, redirect
from workbench.models import event_stream, http_guard
from workbench.models.endpoints import Endpoint
from workbench.models.failures import ModelFailure
from workbench.models.gateway import Gateway, SilenceLimits
from workbench.models.reply_parts import ReplyPart, TextPiece

pytestmark = [pytest.mark.xdist_group("litellm"), pytest.mark.parametrize("dialect", DIALECTS)]

PATIENT = SilenceLimits(600, 600)
"""What is endless ends by its size here, never by the clock."""


async def asked(dialect: Dialect, where: Endpoint) -> tuple[str, ModelFailure | None]:
    """The text that came, and the failure behind it."""
    request = {"model": dialect.model, "messages": [{"role": "user", "content": "my secret plan"}]}
    parts: list[ReplyPart] = []
    failure = None
    try:
        async for part in Gateway(where).stream(request, patience=PATIENT):
            parts.append(part)
    except ModelFailure as found:
        failure = found
    return "".join(part.text for part in parts if isinstance(part, TextPiece)), failure


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_to_another_port_is_refused_by_name_and_nothing_reaches_it(
    dialect: Dialect, status: int
) -> None:
    with hostile(head() + dialect.says("stolen")) as thief, hostile(redirect(f"{thief.url}/v1/x", status)) as server:
        text, failure = await asked(dialect, endpoint(dialect, server))
        assert thief.requests == []
    assert (text, failure and failure.category) == ("", "redirected")
    assert server.url in str(failure)
    assert thief.url in str(failure)


@pytest.mark.parametrize("location", ["http://localhost:{port}/v1/x", "https://127.0.0.1:{port}/x", "//evil.test/x"])
async def test_another_host_or_scheme_is_another_server(dialect: Dialect, location: str) -> None:
    with hostile(b"") as server:
        server.answers[:] = [redirect(location.format(port=server.server_address[1]))]
        _, failure = await asked(dialect, endpoint(dialect, server))
        assert len(server.requests) == 1
    assert failure is not None
    assert failure.category == "redirected"
    assert "which is another server" in failure.detail


async def test_a_key_in_the_address_of_a_redirect_is_not_told(dialect: Dialect) -> None:
    with hostile(redirect(f"http://other.test/?key={KEY}")) as server:
        _, failure = await asked(dialect, endpoint(dialect, server))
    assert failure is not None
    assert "other.test" in failure.detail
    assert KEY not in str(failure)


async def test_a_redirect_on_the_same_server_is_followed(dialect: Dialect) -> None:
    with hostile(redirect("/moved/here"), head() + dialect.says("found")) as server:
        assert await asked(dialect, endpoint(dialect, server)) == ("found", None)
        assert server.requests[1].path == "/moved/here"
        assert server.requests[1].raw == server.requests[0].raw


async def test_a_circle_of_redirects_is_called_one(dialect: Dialect) -> None:
    with hostile(redirect("/again")) as server:
        _, failure = await asked(dialect, endpoint(dialect, server))
        assert len(server.requests) == http_guard.MOST_REDIRECTS + 1
    assert failure is not None
    assert failure.category == "redirected"
    assert "in a circle" in failure.detail
    assert "Nothing answers" not in str(failure)


MOST_EVENT, MOST_BYTES = 2**20, 2**23
A = b"a" * 65_536
ENDLESS: dict[str, tuple[Callable[[], Bytes], str]] = {
    "header": (forever(A, b"HTTP/1.1 200 OK\r\nx-a: "), "no HTTP"),
    "headers": (forever(b"x-a: b\r\n" * 999, b"HTTP/1.1 200 OK\r\n"), "no HTTP"),
    "status line": (forever(A, b"HTTP/1.1 200 "), "no HTTP"),
    "line": (forever(A, head() + b"data: "), f"{MOST_EVENT:,} bytes"),
    "event": (forever(b"data: " + A + b"\n", head()), f"{MOST_EVENT:,} bytes"),
    "comments": (forever(b":" + A + b"\n\n", head()), f"{MOST_BYTES:,} bytes"),
    "plain text": (forever(A + b"\n", head(kind="text/plain")), "bytes"),
    "short lines": (forever(b":\n" * 9_999, head()), f"{MOST_BYTES:,} bytes"),
    "gzip bomb": (lambda: bomb(b": " + A + b"\n"), f"{MOST_BYTES:,} bytes"),
    "gzip of nothing": (lambda: bomb(b""), f"{MOST_BYTES:,} bytes"),
}


def bomb(piece: bytes) -> Iterator[bytes]:
    """What unpacks to the piece again and again; it is packed a thousand to one."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    yield head(Content_Encoding="gzip") + packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    packed = packer.compress(piece * 64) + packer.flush(zlib.Z_FULL_FLUSH)
    while True:
        yield packed if piece else packed * 4_096


@pytest.fixture
def bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Smaller than they are, so that they are soon reached."""
    assert event_stream.MOST_EVENT > MOST_EVENT
    assert http_guard.MOST_BYTES > MOST_BYTES
    monkeypatch.setattr(event_stream, "MOST_EVENT", MOST_EVENT)
    monkeypatch.setattr(http_guard, "MOST_BYTES", MOST_BYTES)


@pytest.mark.usefixtures("bounds")
@pytest.mark.parametrize("name", ENDLESS)
async def test_what_never_ends_has_an_end(dialect: Dialect, name: str) -> None:
    answer, says = ENDLESS[name]
    with hostile(answer) as server:
        text, failure = await asked(dialect, endpoint(dialect, server))
        assert len(server.requests) == 1
    assert (text, failure and failure.category) == ("", "unreadable_answer")
    assert says in str(failure)


@pytest.mark.usefixtures("bounds")
async def test_a_text_that_never_ends_is_kept_as_far_as_it_came(dialect: Dialect) -> None:
    body = dialect.says("x" * 2**16)
    start, piece = body.partition(b"x")[0], b""
    for each in body.split(b"\n\n"):
        piece = each + b"\n\n" if b"xxx" in each else piece
    opening = start.rpartition(b"\n\n")[0]
    with hostile(forever(piece, head() + opening + b"\n\n")) as server:
        text, failure = await asked(dialect, endpoint(dialect, server))
    assert failure is not None
    assert failure.category == "unreadable_answer"
    assert MOST_BYTES // 2 < len(text) <= MOST_BYTES
    assert not failure.retryable


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
async def test_a_packed_answer_is_unpacked(dialect: Dialect, pack: Callable[[bytes], bytes]) -> None:
    name = "gzip" if pack is gzip.compress else "deflate"
    packed = pack(dialect.says("small and whole"))
    with hostile(head(Content_Encoding=name) + packed) as server:
        assert await asked(dialect, endpoint(dialect, server)) == ("small and whole", None)
        assert server.requests[0].headers["accept-encoding"] == "gzip"


async def test_what_cannot_be_unpacked_is_said(dialect: Dialect) -> None:
    for encoding in ("gzip", "zstd", "br"):
        with hostile(head(Content_Encoding=encoding) + b"no such thing") as server:
            _, failure = await asked(dialect, endpoint(dialect, server))
        assert failure is not None
        assert failure.category == "unreadable_answer"
        assert "packed" in failure.detail


async def test_an_error_that_never_ends_is_told_by_its_beginning(dialect: Dialect) -> None:
    with hostile(forever(b"and on " * 999, head(401) + b"Your key is wrong, ")) as server:
        _, failure = await asked(dialect, endpoint(dialect, server))
    assert failure is not None
    assert failure.category == "authentication"
    assert "Your key is wrong, and on" in failure.detail


async def test_a_byte_order_mark_is_no_part_of_the_answer(dialect: Dialect) -> None:
    with hostile(head() + b"\xef\xbb\xbf" + dialect.says("hello")) as server:
        assert await asked(dialect, endpoint(dialect, server)) == ("hello", None)


@pytest.mark.parametrize(
    "content", [[{"type": "text", "text": "hel"}, {"type": "text", "text": "lo"}], {"text": "hello"}, ["hello"]]
)
async def test_content_that_comes_as_a_list_is_read(dialect: Dialect, content: object) -> None:
    if dialect is OpenAI:
        with hostile(head() + dialect.says(content)) as server:
            assert await asked(dialect, endpoint(dialect, server)) == ("hello", None)
