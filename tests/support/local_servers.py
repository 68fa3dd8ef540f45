"""Model servers of this machine, played on a free port of loopback: the lists of each kind, and OpenAI's dialect."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import pytest

from workbench.models.local import offers

WINDOW = 6_144
"""What each server says its models have."""


SAID = "said"
"""Among the answers: the text of every chat and its finish reason, where they are others than usual."""


class Asked(NamedTuple):
    """A request for an answer, as it arrived."""

    key: str
    body: dict[str, Any]


class LocalServer(ThreadingHTTPServer):
    """Answers in threads of its own, so that a whole command can run against it."""

    daemon_threads = True

    def __init__(self, answers: Mapping[str, Any]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = answers
        self.asked: list[Asked] = []

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class _Handler(BaseHTTPRequestHandler):
    server: LocalServer

    def do_GET(self) -> None:
        self._answer(self.server.answers.get(self.path))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/v1/chat/completions":
            self.server.asked.append(Asked(self.headers["Authorization"], body))
            self._stream(body["model"])
        else:
            self._answer(self.server.answers.get(self.path))

    def _answer(self, found: Any) -> None:
        data = json.dumps(found).encode()
        self.send_response(404 if found is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, model: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": model}
        said, end = self.server.answers.get(SAID, ("at your service", "stop"))
        for delta, finish in (({"role": "assistant", "content": said}, None), ({}, end)):
            chunk = {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        usage = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
        self.wfile.write(f"data: {json.dumps({**head, 'choices': [], 'usage': usage})}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class calls it so
        pass


def ollama(*names: str) -> dict[str, Any]:
    """What Ollama answers."""
    listed = {"models": [{"name": name} for name in names]}
    return {"/api/tags": listed, "/api/ps": {}, "/api/show": {"parameters": f"num_ctx {WINDOW}"}}


def llamacpp(*names: str) -> dict[str, Any]:
    """What llama.cpp answers."""
    listed = [{"id": name, "owned_by": "llamacpp"} for name in names]
    return {"/v1/models": {"data": listed}, "/props": {"default_generation_settings": {"n_ctx": WINDOW}}}


def lmstudio(*names: str) -> dict[str, Any]:
    """What LM Studio answers."""
    return {
        "/api/v0/models": {"data": [{"id": name, "type": "llm", "loaded_context_length": WINDOW} for name in names]}
    }


def vllm(*names: str) -> dict[str, Any]:
    """What vLLM answers."""
    return {"/v1/models": {"data": [{"id": name, "owned_by": "vllm", "max_model_len": WINDOW} for name in names]}}


KINDS = {"ollama": ollama, "llamacpp": llamacpp, "lmstudio": lmstudio, "vllm": vllm}


@contextmanager
def serving(answers: Mapping[str, Any]) -> Iterator[LocalServer]:
    """A server while the block lasts."""
    with LocalServer(answers) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def patiently(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers are waited for as long as a busy machine needs, whatever the program would allow them."""
    look_around = offers.look_around
    for module in ("workbench.models.model_routes", "workbench.cli.info"):
        monkeypatch.setattr(f"{module}.look_around", lambda ports, timeout=0.0: look_around(ports, 60))
