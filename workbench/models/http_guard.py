"""Limits on what a server can do to us: every answer to one of our clients, including litellm's, passes here.

A request, with its key, stays with the server it was meant for; and an answer has a maximum size. Other clients in the
process are unchanged httpx clients. Imported only where httpx is needed anyway: it takes a tenth of a second.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial, wraps
from importlib import import_module
from typing import Any

import httpx

from workbench.models.event_stream import EventStream
from workbench.models.failures import ModelFailure

MOST_BYTES = 64 * 2**20
"""The limit for one answer, unpacked. A model's longest answer takes some forty million bytes, with framing."""
MOST_OF_ERROR = 64 * 2**10
"""Bytes of an error that are read; its first sentences are enough."""
MOST_REDIRECTS = 5
_LINE = 32
"""How many bytes a line ending counts as, because of the work that a line causes."""
_PIECE = 64 * 2**10
"""Bytes that are unpacked at a time."""


class GuardedClient(httpx.AsyncClient):
    """A client that enforces the limits."""

    async def send(self, request: httpx.Request, **how: Any) -> httpx.Response:
        """Send a request; the answer stays within its limits."""
        return await _send_guarded(self, request, **how)


def guard_client(client: httpx.AsyncClient) -> httpx.AsyncClient:
    """Make a client that another library made enforce the limits; return the same client."""
    if not isinstance(client, GuardedClient):
        client.send = partial(_send_guarded, client)  # type: ignore[method-assign]  # of this one client
    return client


def guard_litellm() -> None:
    """Make the clients that litellm uses from now on enforce the limits.

    litellm accepts no client for all providers: `aclient_session` is for OpenAI's dialect only, and the argument
    `client` is another class for each provider. So the three places where its completions get their clients return
    guarded ones. They belong to litellm; nothing in httpx or openai changes.
    """
    handler = import_module("litellm.llms.custom_httpx.http_handler").AsyncHTTPHandler
    openai_like = import_module("litellm.llms.openai.common_utils").BaseOpenAILLM
    text_completions: Any = import_module("litellm.llms.openai.completion.handler")
    if getattr(handler.create_client, "__wrapped__", None) is None:
        handler.create_client = _making_guarded(handler.create_client)
        openai_like._get_async_http_client = staticmethod(_making_guarded(openai_like._get_async_http_client))
        text_completions.AsyncOpenAI = _guarded_openai(text_completions.AsyncOpenAI)
        # Clients that the process used before are not guarded, and litellm would use them again.
        import_module("litellm").in_memory_llm_clients_cache.flush_cache()


def _making_guarded(make: Callable[..., httpx.AsyncClient]) -> Callable[..., httpx.AsyncClient]:
    @wraps(make)
    def made(*given: Any, **named: Any) -> httpx.AsyncClient:
        return guard_client(make(*given, **named))

    return made


def _guarded_openai(base: Any) -> Any:
    """OpenAI's client, for the one place where litellm lets it make its own connections."""

    class GuardedOpenAI(base):  # type: ignore[misc]  # openai is imported late
        def __init__(self, **named: Any) -> None:
            super().__init__(**named)
            guard_client(self._client)

    return GuardedOpenAI


async def _send_guarded(
    client: httpx.AsyncClient,
    request: httpx.Request,
    *,
    stream: bool = False,
    auth: Any = httpx.USE_CLIENT_DEFAULT,
    follow_redirects: Any = httpx.USE_CLIENT_DEFAULT,
) -> httpx.Response:
    follow = client.follow_redirects if follow_redirects is httpx.USE_CLIENT_DEFAULT else bool(follow_redirects)
    for _ in range(MOST_REDIRECTS + 1):
        request.headers["accept-encoding"] = "gzip"
        response = await _answer(client, request, auth)
        if not follow or response.next_request is None:
            break
        await response.aclose()
        request = _within(request, response.next_request)
    else:
        raise ModelFailure("redirected", f"{_origin(request.url)} sends requests on in a circle.")
    response.stream = _Bounded(response)
    if not stream:
        await response.aread()
    return response


async def _answer(client: httpx.AsyncClient, request: httpx.Request, auth: Any) -> httpx.Response:
    """The beginning of an answer. A response that is not HTTP, or whose headers never end, is a ModelFailure."""
    try:
        return await httpx.AsyncClient.send(client, request, stream=True, auth=auth, follow_redirects=False)
    except httpx.RequestError as error:
        cause, message = error.__cause__, str(error)
        if type(cause).__name__ == "ClientResponseError":  # aiohttp's, under litellm's transport
            message = str(getattr(cause, "message", ""))
        elif not isinstance(error, httpx.RemoteProtocolError) or "disconnected" in message:
            raise
        raise ModelFailure("unreadable_answer", f"it is no HTTP: {message.partition(':')[0][:200]}.") from error


def _within(before: httpx.Request, after: httpx.Request) -> httpx.Request:
    """The request that a redirect asks for, if it stays with the same server."""
    here, there = _origin(before.url), _origin(after.url)
    if here != there:
        raise ModelFailure("redirected", f"{here} sends the request on to {there}, which is another server.")
    return after


def _origin(url: httpx.URL) -> str:
    port = url.port or {"http": 80, "https": 443}.get(url.scheme)
    return f"{url.scheme}://{url.host}:{port}"


class _Bounded(httpx.AsyncByteStream):
    """The body of an answer: unpacked by us, up to a limit; an event stream is passed on event by event."""

    def __init__(self, response: httpx.Response) -> None:
        assert isinstance(response.stream, httpx.AsyncByteStream)
        self._body = response.stream
        self._is_error = response.is_error
        self._packed = _decompressor(response)
        self._events = EventStream() if not self._is_error and _has_events(response) else None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, most = 0, MOST_OF_ERROR if self._is_error else MOST_BYTES
        async for raw in self._body:
            size += len(raw) if self._packed else 0  # data that unpacks to nothing must be limited, too
            for piece in self._unpacked(raw):
                size += len(piece) + _LINE * (piece.count(b"\n") + piece.count(b"\r"))
                if size > most and self._is_error:
                    return
                if size > most:
                    raise ModelFailure("unreadable_answer", f"it is over {most:,} bytes.")
                ready = self._events.feed(piece) if self._events else piece
                if ready:
                    yield ready
            if self._packed is not None and self._packed.eof:
                break
            await asyncio.sleep(0)  # a flood of data must not stop the clock
        if self._events:
            yield self._events.end()

    async def aclose(self) -> None:
        await self._body.aclose()

    def _unpacked(self, raw: bytes) -> Iterator[bytes]:
        if self._packed is None:
            yield raw
            return
        try:
            while raw:
                yield self._packed.decompress(raw, _PIECE)
                raw = self._packed.unconsumed_tail
        except zlib.error as error:
            raise ModelFailure("unreadable_answer", f"it cannot be unpacked: {error}.") from None


def _decompressor(response: httpx.Response) -> Any:
    """A decompressor for the body, because httpx's has no limit; None if the body is not compressed."""
    packed = [name.strip().lower() for name in response.headers.get("content-encoding", "").split(",")]
    packed = [name for name in packed if name not in ("", "identity")]
    if not packed:
        return None
    if packed not in (["gzip"], ["x-gzip"], ["deflate"]):
        raise ModelFailure("unreadable_answer", f"it is packed as {', '.join(packed)[:80]}, which was not asked for.")
    del response.headers["content-encoding"]  # otherwise httpx would unpack it again
    return zlib.decompressobj(zlib.MAX_WBITS | 32)


def _has_events(response: httpx.Response) -> bool:
    """Whether the reader treats this as an event stream: OpenAI's client does so whatever the content type."""
    if response.headers.get("content-type", "").lower().startswith("text/event-stream"):
        return True
    return "x-stainless-lang" in response.request.headers and b'"stream":true' in response.request.content
