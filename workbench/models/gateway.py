"""The access to every provider: takes a request, yields typed parts, and fails in a small closed set of ways."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping
from functools import partial
from typing import Any

from msgspec import Struct

from workbench.config.errors import WorkbenchError
from workbench.models.answer_streams import Answering, AnswerStream, LitellmStream, PlainStream
from workbench.models.chunk_reader import ChunkReader, coalesce_parts, reported_usage
from workbench.models.diagnose import diagnose
from workbench.models.endpoints import NO_KEY, Endpoint
from workbench.models.engine import Engine, SilenceTimer, ThreadPipe, engine
from workbench.models.failures import ModelFailure
from workbench.models.openai_server import ask_server
from workbench.models.reply_parts import ReplyPart

_AFTER_FINISH = 5.0
"""Seconds to wait for the usage after the answer is complete; then it counts as missing."""
_CLOSING = 2.0
"""Seconds that connections have to close when the gateway does."""


class SilenceLimits(Struct, frozen=True):
    """How long a provider may be silent, in seconds. Keep-alive messages without content do not count."""

    first: float = 60
    """From the request to the first part of the answer."""
    between: float = 60
    """From one part to the next."""


class Gateway:
    """Sends requests to one endpoint. All gateways share litellm's thread."""

    def __init__(
        self, endpoint: Endpoint | None = None, patience: SilenceLimits | None = None, *, absent: str = ""
    ) -> None:
        """`absent`: why the model could not be started; every request then fails with this reason."""
        self._absent = absent
        self.endpoint = endpoint or Endpoint()
        self.patience = patience or SilenceLimits()
        """For every request without its own `patience`."""
        self._live: set[asyncio.Task[Any]] = set()
        """The tasks in litellm's thread; used only there."""

    async def warm(self) -> None:
        """Load litellm and make its first call, which takes seconds; best after the first frame is on the screen."""
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(engine().warm(), engine().loop))

    async def stream(
        self, request: Mapping[str, Any], *, patience: SilenceLimits | None = None
    ) -> AsyncGenerator[ReplyPart, None]:
        """Send the request; yield the parts of the answer as they arrive, `ReplyFinished` last.

        Raises ModelFailure. Closing the generator, or cancelling its reader, closes the connection.
        """
        if self._absent:
            raise ModelFailure("unknown_model", self._absent)
        pipe = ThreadPipe(asyncio.get_running_loop())
        pump = _Pump(engine(), self.endpoint, pipe, patience or self.patience, self._live)
        running = asyncio.run_coroutine_threadsafe(pump.run_request(request), engine().loop)
        try:
            while True:
                taken = await pipe.take_items()
                end = taken.pop() if taken[-1] is None or isinstance(taken[-1], WorkbenchError) else pipe
                for part in coalesce_parts(taken):
                    yield part
                if isinstance(end, WorkbenchError):
                    raise end
                if end is None:
                    return
        finally:
            running.cancel()

    async def close(self) -> None:
        """Close every connection of this gateway. Answers that are still being read fail."""
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._close(), engine().loop))

    async def _close(self) -> None:
        live = tuple(self._live)
        for task in live:
            task.cancel()
        if live:
            await asyncio.wait(live, timeout=_CLOSING)


class _Pump:
    """One request, as it runs in litellm's thread: puts lists of parts in the pipe, and last None or the failure."""

    def __init__(
        self,
        engine: Engine,
        endpoint: Endpoint,
        pipe: ThreadPipe,
        patience: SilenceLimits,
        live: set[asyncio.Task[Any]],
    ) -> None:
        """`live`: contains the task of this request while it runs."""
        self._engine = engine
        self._live = live
        self._endpoint = endpoint
        self._pipe = pipe
        self._patience = patience
        self._reader = ChunkReader()

    async def run_request(self, request: Mapping[str, Any]) -> None:
        """Run the whole request. Never raises; if cancelled from outside, it closes the connection and reports it."""
        end: WorkbenchError | None = None
        task = asyncio.current_task()
        assert task is not None
        self._live.add(task)
        try:
            own = self._own_model(request)
            litellm: Any = None if own else self._engine.litellm()
            # The clock starts only now: importing litellm takes seconds.
            clock = SilenceTimer(self._patience.first, self._patience.between)
            try:
                stream: AnswerStream
                if own:
                    stream = PlainStream(own({**request, **_STREAMED}))
                else:
                    stream = LitellmStream(await litellm.acompletion(**call_of(request, self._endpoint, litellm)))
                await self._converse(stream, clock)
            except asyncio.CancelledError:
                end = _silence(clock) if clock.silent else ModelFailure("broken_stream", "the connection was closed.")
            finally:
                clock.stop()
        except WorkbenchError as failure:
            end = failure
        except BaseException as error:
            end = _diagnosed(error, self._endpoint)
        finally:
            self._live.discard(task)
        with contextlib.suppress(asyncio.CancelledError):
            self._put([end], last=True)

    def _own_model(self, request: Mapping[str, Any]) -> Answering | None:
        """The function that answers without litellm; None if litellm is used."""
        own = self._engine.answering_for(request.get("model", ""))
        return partial(ask_server, self._endpoint) if own is None and self._endpoint.plain else own

    async def _converse(self, stream: AnswerStream, clock: SilenceTimer) -> None:
        """Pass on the answer, then the usage, if any, and the reason why it ended, from the provider's own word."""
        try:
            async for chunk in stream:
                parts = self._reader.parts(chunk)
                if parts:
                    clock.note_arrival()
                    self._put(parts)
                elif stream.word:
                    clock.allow(min(self._patience.between, _AFTER_FINISH))
        except asyncio.CancelledError:
            if not (clock.silent and stream.word):
                raise
        finally:
            await stream.aclose()
        cost = reported_usage(stream.usages)
        if cost is not None:
            self._put([cost])
        self._put(self._reader.finish(stream.word, stream.content_type))

    def _put(self, items: list[Any], *, last: bool = False) -> None:
        try:
            self._pipe.add_items(items, last=last)
        except RuntimeError:  # the caller's loop is closed, so nobody reads this any more
            raise asyncio.CancelledError from None


_STREAMED: Mapping[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}


def call_of(request: Mapping[str, Any], endpoint: Endpoint, litellm: Any) -> dict[str, Any]:
    """The arguments of litellm's call: the unchanged request, and how to send it."""
    call: dict[str, Any] = {
        **request,
        "model": endpoint.model or request.get("model", ""),
        "messages": [dict(message) for message in request["messages"]],  # litellm changes them
        **_STREAMED,
        "max_retries": 0,
        "num_retries": 0,
    }
    if endpoint.provider:
        call["custom_llm_provider"] = endpoint.provider
    if endpoint.api_key:
        call["api_key"] = endpoint.api_key
    if endpoint.api_base:
        call["api_base"] = endpoint.api_base
        _fill_in(call, litellm)
    return call


def _fill_in(call: dict[str, Any], litellm: Any) -> None:
    """For a server of the user's own: use OpenAI's dialect if the name implies no other, and a dummy key if needed."""
    provider = call.get("custom_llm_provider")
    if provider is None:
        try:
            provider = litellm.get_llm_provider(model=call["model"])[1]
        except Exception:
            provider = call["custom_llm_provider"] = "openai"
    if "api_key" not in call and not litellm.validate_environment(model=f"{provider}/x")["keys_in_environment"]:
        call["api_key"] = NO_KEY


def _diagnosed(error: BaseException, endpoint: Endpoint) -> ModelFailure:
    """The failure for an error, even if it cannot be diagnosed: the reader must learn that the answer has ended."""
    try:
        return diagnose(error, endpoint)
    except Exception as mistake:
        what = f"{type(error).__name__}, which could not be read ({type(mistake).__name__})."
        return ModelFailure("bad_request", what)


def _silence(clock: SilenceTimer) -> ModelFailure:
    what = "nothing more came" if clock.began else "no answer began"
    return ModelFailure("timeout", f"{what} within {clock.silent:g} seconds.")
