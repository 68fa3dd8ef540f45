"""An answer that is arriving, from any sender: litellm, a model in this process, or a server in OpenAI's dialect."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Protocol

Json = Mapping[str, Any]
Answering = Callable[[Json], AsyncGenerator[Json, None]]
"""A model that needs no litellm: it takes a request and yields chunks as OpenAI does, or raises `ProviderRefusal`."""


class ProviderRefusal(Exception):
    """A provider's error instead of an answer, or in the middle of one; `diagnose` finds out what it means."""

    def __init__(
        self, status: int | None, message: str, headers: Json | None = None, *, in_stream: bool = False
    ) -> None:
        self.status_code = status
        self.litellm_response_headers = headers or {}
        self.in_stream = in_stream
        super().__init__(message)


class AnswerStream(Protocol):
    """Chunks in OpenAI's format, and what is known after they have been read."""

    @property
    def usages(self) -> Sequence[Any]:
        """The usage reported so far."""

    @property
    def content_type(self) -> str:
        """The content type of the server's answer."""

    @property
    def word(self) -> str | None:
        """The finish reason that the provider sent, if it has sent one."""

    def __aiter__(self) -> AsyncIterator[Any]: ...

    async def aclose(self) -> None:
        """Close the connection."""


class PlainStream:
    """Chunks as their sender made them."""

    content_type = ""

    def __init__(self, chunks: AsyncGenerator[Json, None]) -> None:
        self._chunks = chunks
        self.usages: list[Any] = []
        self.word: str | None = None

    async def __aiter__(self) -> AsyncIterator[Json]:
        async for chunk in self._chunks:
            if chunk.get("usage") is not None:
                self.usages.append(chunk["usage"])
            for choice in chunk.get("choices") or ():
                self.word = choice.get("finish_reason") or self.word
            yield chunk

    async def aclose(self) -> None:
        await self._chunks.aclose()


class LitellmStream:
    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.usages = stream.chunks = _Usages()

    def __aiter__(self) -> AsyncIterator[Any]:
        found: AsyncIterator[Any] = aiter(self._stream)
        return found

    async def aclose(self) -> None:
        await self._stream.aclose()

    @property
    def word(self) -> str | None:
        """The provider's own finish reason. The chunks do not show it: litellm writes `stop` if there was none."""
        names = ("received_finish_reason", "intermittent_finish_reason")
        return next((word for name in names if (word := getattr(self._stream, name, None))), None)

    @property
    def content_type(self) -> str:
        """The content type of the server's answer."""
        return str((getattr(self._stream, "_response_headers", None) or {}).get("content-type", ""))


class _Usages(list[Any]):
    """Replaces litellm's list of chunks and keeps their usage.

    With the chunks at hand, litellm would make up a usage if the provider sends none, build the whole answer a second
    time, and stop a model that repeats the same word a hundred times.
    """

    def append(self, chunk: Any) -> None:
        if getattr(chunk, "usage", None) is not None:
            super().append(chunk.usage)
