"""A provider that means no good, in threads of its own: whatever bytes a test wants, in both dialects."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from workbench.models.endpoints import Endpoint

KEY = "sk-unit-0123456789abcdef"

Bytes = Iterable[bytes]


class Request(NamedTuple):
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.raw)
        return found


class Hostile(socketserver.ThreadingTCPServer):
    """Gives its answers in turn, the last one again and again; each is bytes, written until the other side goes."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, answers: Iterable[bytes | Callable[[], Bytes]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = list(answers)
        self.requests: list[Request] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(socketserver.StreamRequestHandler):
    server: Hostile

    def handle(self) -> None:
        path = self.rfile.readline().split()[1].decode()
        headers: dict[str, str] = {}
        while (line := self.rfile.readline().decode().strip()) != "":
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        raw = self.rfile.read(int(headers.get("content-length", 0)))
        self.server.requests.append(Request(path, headers, raw))
        answers = self.server.answers
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        try:
            for piece in [answer] if isinstance(answer, bytes) else answer():
                self.wfile.write(piece)
        except OSError:
            pass  # the other side has had enough


@contextmanager
def hostile(*answers: bytes | Callable[[], Bytes]) -> Iterator[Hostile]:
    """A server while the block lasts."""
    with Hostile(answers) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def head(status: int = 200, kind: str = "text/event-stream", **headers: str) -> bytes:
    """The beginning of an answer that ends with the connection."""
    lines = {"Content-Type": kind, "Connection": "close", **{k.replace("_", "-"): v for k, v in headers.items()}}
    return f"HTTP/1.1 {status} X\r\n{''.join(f'{k}: {v}{chr(13)}{chr(10)}' for k, v in lines.items())}\r\n".encode()


def whole(status: int, body: Any, **headers: str) -> bytes:
    """An answer in one piece: JSON, or bytes as they are."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return head(status, "application/json", Content_Length=str(len(data)), **headers) + data


def redirect(location: str, status: int = 307) -> bytes:
    return head(status, Content_Length="0", Location=location)


def events(*bodies: Mapping[str, Any] | str) -> bytes:
    """An event stream; Anthropic's events have a type, which is their name too."""
    found = []
    for body in bodies:
        name = f"event: {body['type']}\n" if isinstance(body, Mapping) and "type" in body else ""
        found.append(f"{name}data: {body if isinstance(body, str) else json.dumps(body)}\n\n")
    return "".join(found).encode()


class Call(NamedTuple):
    """A tool call as a model makes it."""

    call_id: Any
    tool: str = "read_file"
    arguments: str = '{"path": "a.py"}'


class OpenAI:
    """OpenAI's dialect."""

    model = "openai/m"
    path = "/v1"

    @staticmethod
    def says(*texts: Any, calls: Iterable[Call] = (), finish: str = "", usage: Any = None) -> bytes:
        """The body of an answer."""
        calls = list(calls)
        deltas: list[Any] = [{"role": "assistant", "content": text} for text in texts]
        for index, call in enumerate(calls):
            function = {"name": call.tool, "arguments": call.arguments}
            deltas.append({"tool_calls": [{"index": index, "id": call.call_id, "function": function}]})
        ending = finish or ("tool_calls" if calls else "stop")
        chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": ending}]})
        counts = usage or {"prompt_tokens": 50, "completion_tokens": 2, "total_tokens": 52}
        return events(*({"id": "c", "model": "m", **chunk} for chunk in [*chunks, {"choices": [], "usage": counts}]))

    @staticmethod
    def refuses(status: int, message: str, **headers: str) -> bytes:
        return whole(status, {"error": {"message": message, "type": "error", "code": None}}, **headers)


class Anthropic:
    """Anthropic's dialect."""

    model = "anthropic/claude-unheard-of"
    path = ""

    @staticmethod
    def says(*texts: Any, calls: Iterable[Call] = (), finish: str = "", usage: Any = None) -> bytes:
        """The body of an answer."""
        calls = list(calls)
        blocks: list[tuple[dict[str, Any], dict[str, Any]]] = [
            ({"type": "text", "text": ""}, {"type": "text_delta", "text": text}) for text in texts
        ]
        for call in calls:
            start = {"type": "tool_use", "id": call.call_id, "name": call.tool, "input": {}}
            blocks.append((start, {"type": "input_json_delta", "partial_json": call.arguments}))
        counts = usage or {"input_tokens": 50, "output_tokens": 2}
        opening: Any = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "c", "usage": counts}
        found: list[dict[str, Any]] = [{"type": "message_start", "message": opening}]
        for index, (start, delta) in enumerate(blocks):
            found.append({"type": "content_block_start", "index": index, "content_block": start})
            found.append({"type": "content_block_delta", "index": index, "delta": delta})
            found.append({"type": "content_block_stop", "index": index})
        ending = finish or ("tool_use" if calls else "end_turn")
        found.append({"type": "message_delta", "delta": {"stop_reason": ending}, "usage": {"output_tokens": 2}})
        return events(*found, {"type": "message_stop"})

    @staticmethod
    def refuses(status: int, message: str, **headers: str) -> bytes:
        error = {"type": "invalid_request_error", "message": message}
        return whole(status, {"type": "error", "error": error}, **headers)


Dialect = type[OpenAI] | type[Anthropic]
DIALECTS: tuple[Dialect, ...] = (OpenAI, Anthropic)


def endpoint(dialect: Dialect, server: Hostile) -> Endpoint:
    return Endpoint(server.url + dialect.path, KEY)


def forever(piece: bytes, before: bytes = b"") -> Callable[[], Bytes]:
    """The same piece again and again."""

    def pieces() -> Iterator[bytes]:
        yield before
        while True:
            yield piece

    return pieces
