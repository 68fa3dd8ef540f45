"""A provider of models on loopback that says what a test scripted: OpenAI's dialect over real HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

REASONS = {200: "OK", 400: "Bad Request", 429: "Too Many Requests", 503: "Service Unavailable"}


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
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Provider:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=2**24)
        self.port: int = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._receive(reader)
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            self.arrived.set()
            answering = asyncio.ensure_future(self._answer(answer, writer))
            leaving = asyncio.ensure_future(reader.read())
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                self.gone.set()
            for task in (answering, leaving):
                task.cancel()
            await asyncio.gather(answering, leaving, return_exceptions=True)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.gone.set()
        finally:
            writer.close()

    async def _receive(self, reader: asyncio.StreamReader) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        self.requests.append(Received(first.split()[1], headers, raw))

    async def _answer(self, answer: Answer, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):  # the client went away, as some tests want it to
            await self._write(answer, writer)

    async def _write(self, answer: Answer, writer: asyncio.StreamWriter) -> None:
        if answer.silence is not None:
            await answer.silence.wait()
        if answer.before == "close":
            return
        headers = {"content-type": answer.content_type, "connection": "close", **answer.headers}
        if answer.body is not None:
            headers["content-length"] = str(len(answer.body))
        lines = [f"HTTP/1.1 {answer.status} {REASONS.get(answer.status, 'Status')}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if answer.body is None:
            lines.append("transfer-encoding: chunked")
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        if answer.body is not None:
            writer.write(answer.body)
        else:
            for step in answer.steps:
                if isinstance(step, Drop):
                    await writer.drain()
                    return
                await self._step(step, writer)
            _chunk(writer, b"data: [DONE]\n\n" if answer.done else b"")
            writer.write(b"0\r\n\r\n")
        await writer.drain()

    async def _step(self, step: dict[str, Any] | Pause | Raw, writer: asyncio.StreamWriter) -> None:
        match step:
            case Pause(gate, heartbeat):
                while not gate.is_set():
                    _chunk(writer, heartbeat)
                    await writer.drain()
                    try:
                        await asyncio.wait_for(gate.wait(), 0.05)
                    except TimeoutError:
                        continue
            case Raw(data):
                _chunk(writer, data)
            case _:
                _chunk(writer, b"data: " + json.dumps(step).encode() + b"\n\n")
        await writer.drain()


def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    if data:
        writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


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
