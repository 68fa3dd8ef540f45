"""A provider of models on loopback that says what a test scripted: OpenAI's dialect over real HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from aiohttp import web


class Pause(NamedTuple):
    """Silence, until the other side goes or the test opens the gate."""

    gate: asyncio.Event
    heartbeat: bytes = b""
    """Sent twenty times a second meanwhile: a provider that keeps the connection alive and says nothing."""


class Raw(NamedTuple):
    """Bytes as they are, for what is no chunk."""

    data: bytes


class Drop(NamedTuple):
    """The connection is cut, in the middle of the answer."""


Step = dict[str, Any] | Pause | Raw | Drop


@dataclass(slots=True)
class Answer:
    """What one request is answered with."""

    steps: Sequence[Step] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    """A whole body in place of a stream."""
    content_type: str = "text/event-stream"
    before: Literal["answer", "close"] = "answer"
    """`close`: the connection is closed before a status line."""
    silence: asyncio.Event | None = None
    """Not even headers before this opens."""
    done: bool = True
    """Whether `[DONE]` ends the stream."""


class Received(NamedTuple):
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.raw)
        return parsed


class Provider:
    """Serves its answers in turn, the last one again and again; `async with Provider(...) as provider`."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.requests: list[Received] = []
        self.arrived = asyncio.Event()
        """A request came in whole."""
        self.gone = asyncio.Event()
        """The other side closed a connection before its answer was over."""
        self._serving: set[asyncio.Task[Any]] = set()
        app = web.Application(client_max_size=2**26)
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, auto_decompress=False)

    async def __aenter__(self) -> Provider:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port: int = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._serving:
            task.cancel()
        await self._runner.cleanup()

    async def _serve(self, incoming: web.Request) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        headers = {name.lower(): value for name, value in incoming.headers.items()}
        self.requests.append(Received(incoming.path, headers, await incoming.read()))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        self.arrived.set()
        try:
            response = await self._answer(answer, incoming)
        except (ConnectionError, asyncio.CancelledError):
            self.gone.set()
            raise asyncio.CancelledError from None
        if response is None:
            raise asyncio.CancelledError  # aiohttp sends what was written and closes the connection
        return response

    async def _answer(self, answer: Answer, incoming: web.Request) -> web.StreamResponse | None:
        """What aiohttp is to finish; None where the connection is cut."""
        if answer.silence is not None:
            await answer.silence.wait()
        if answer.before == "close":
            return None
        headers = {"content-type": answer.content_type, **answer.headers}
        if answer.body is not None:
            return web.Response(status=answer.status, headers=headers, body=answer.body)
        response = web.StreamResponse(status=answer.status, headers=headers)
        response.force_close()
        await response.prepare(incoming)
        for step in answer.steps:
            match step:
                case Drop():
                    return None
                case Pause(gate, heartbeat):
                    while not gate.is_set():
                        await response.write(heartbeat)
                        with suppress(TimeoutError):
                            await asyncio.wait_for(gate.wait(), 0.05 if heartbeat else None)
                case Raw(data):
                    await response.write(data)
                case _:
                    await response.write(b"data: " + json.dumps(step).encode() + b"\n\n")
        if answer.done:
            await response.write(b"data: [DONE]\n\n")
        return response


def piece(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """One chunk of a streamed answer."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **more}


def text(*words: str) -> list[Step]:
    """Chunks of text, one per word, as an assistant starts to speak."""
    return [piece({"role": "assistant", "content": ""}), *(piece({"content": word}) for word in words)]


def usage(prompt: int, completion: int, **more: Any) -> dict[str, Any]:
    """The chunk that comes last."""
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion, **more}
    return {**piece(), "choices": [], "usage": counts}


def refusal(status: int, message: str, headers: dict[str, str] | None = None, **more: Any) -> Answer:
    """An error in OpenAI's form."""
    body = json.dumps({"error": {"message": message, "type": "error", "code": None, **more}}).encode()
    return Answer(status=status, body=body, headers=headers or {}, content_type="application/json")
