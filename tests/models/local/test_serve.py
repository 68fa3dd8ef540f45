"""The model's own process, seen from inside and from its parent."""

from __future__ import annotations

import http.client
import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.waiting import GIVE_UP
from workbench.models.local import serve
from workbench.models.local.weights import ENGINE

KEY = "a key for this test"


def status(port: int, path: str, headers: dict[str, str]) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=GIVE_UP)
    try:
        connection.request("GET", path, headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


@contextmanager
def pipes() -> Iterator[tuple[int, int, int]]:
    """Standard input, with the key in it, and standard output; what is written there comes out of the third."""
    (stdin, parent), (line, stdout) = os.pipe(), os.pipe()
    os.write(parent, KEY.encode() + b"\n")
    try:
        yield stdin, stdout, line
    finally:
        for end in (parent, stdin, stdout, line):
            os.close(end)


def test_it_says_where_it_listens_asks_for_the_key_and_ends_with_its_input(gguf: Path) -> None:
    stdin, parent = os.pipe()
    line, stdout = os.pipe()
    codes: list[int] = []
    argv = ["--model", str(gguf), "--ctx", "512"]
    os.write(parent, KEY.encode() + b"\n")
    thread = threading.Thread(target=serve.main, args=(argv, stdin, stdout, codes.append))
    thread.start()
    with open(line, "rb") as said:
        ready = json.loads(said.readline())
    assert ready["window"] == 512
    assert status(ready["port"], "/health", {}) == 200
    assert status(ready["port"], "/props", {}) == 401
    assert status(ready["port"], "/props", {"Authorization": f"Bearer {KEY}"}) == 200
    assert codes == []
    os.close(parent)
    thread.join(timeout=GIVE_UP)
    os.close(stdin)
    os.close(stdout)
    assert codes == [0]


def test_a_file_that_cannot_be_loaded_ends_it_with_1_and_no_line(cut_gguf: Path) -> None:
    before = set(threading.enumerate())
    with pipes() as (stdin, stdout, line):
        with pytest.raises(SystemExit, match=r"^1$"):  # an orderly end, which gets the engine's reasons out
            serve.main(["--model", str(cut_gguf), "--ctx", "512"], stdin, stdout)
        assert all(thread.daemon for thread in set(threading.enumerate()) - before), "no thread holds the process up"
        os.set_blocking(line, False)
        with pytest.raises(BlockingIOError):
            os.read(line, 1)


def test_an_engine_that_cannot_be_imported_ends_it_and_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, ENGINE, None)
    with pipes() as (stdin, stdout, _), pytest.raises(SystemExit, match=r"^1$"):
        serve.main(["--model", "any.gguf", "--ctx", "512"], stdin, stdout)
    assert ENGINE in capsys.readouterr().err


def test_a_parent_that_is_gone_before_the_model_is_loaded_ends_it_too(gguf: Path) -> None:
    command = [sys.executable, "-P", "-m", "workbench.models.local.serve", "--model", str(gguf), "--ctx", "512"]
    done = subprocess.run(command, input=KEY.encode() + b"\n", capture_output=True, timeout=GIVE_UP)
    assert done.returncode == 0, done.stderr


def test_nobody_waits_for_a_server_once_the_parent_is_gone() -> None:
    over = threading.Event()
    over.set()
    assert serve.wait_until_healthy(1, over) is False


def test_a_server_that_is_still_loading_is_asked_again() -> None:
    statuses = [503, 503, 200]

    class Loading(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the name that http.server calls
            self.send_response(statuses.pop(0))
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing on standard error."""

    with http.server.HTTPServer(("127.0.0.1", 0), Loading) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert serve.wait_until_healthy(server.server_port, threading.Event()) is True
        server.shutdown()
    assert statuses == []


def test_it_listens_on_loopback_alone_with_one_slot_and_a_key(gguf: Path) -> None:
    chosen = serve.engine_parameters(serve.LocalServerOptions(str(gguf), 2048, 0, 1), KEY)
    assert chosen.hostnames == ["127.0.0.1"]
    assert chosen.api_keys == [KEY]
    assert (chosen.n_ctx, chosen.n_parallel) == (2048, 1)
    assert chosen.offline
    assert chosen.verbosity == 1, "errors, and nothing else"


def test_it_leaves_processors_to_the_rest_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    for processors, threads in ((None, 1), (1, 1), (2, 1), (3, 1), (8, 4)):
        monkeypatch.setattr(os, "cpu_count", lambda processors=processors: processors)
        assert serve.half_of_the_processors() == threads
