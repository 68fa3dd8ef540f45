"""The embedded model's own process: an OpenAI-compatible server on loopback that ends with its parent.

Standard input brings the key as its first line and then stays open; when it closes, however the parent ended, this
process ends. Standard output carries one line of JSON once the server answers: `{"port": ..., "window": ...}`.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from io import FileIO
from typing import Any

from msgspec import Struct

from workbench.config.system import usable_cores
from workbench.models.local.weights import ENGINE

HOST = "127.0.0.1"
ALIAS = "local"
"""The model's name in requests, instead of the path of its file."""

ANSWER_SHARE = 4
"""An answer takes at most the window divided by this, unless the request says otherwise; a small model that falls into
a loop would continue until the window is full."""

_LOOK = 0.02
"""Seconds between two checks whether the server is ready."""


class LocalServerOptions(Struct, frozen=True):
    """The options of the command line."""

    model: str
    ctx: int
    port: int
    threads: int


def main(
    argv: Sequence[str] | None = None, stdin: int = 0, stdout: int = 1, leave: Callable[[int], object] = os._exit
) -> None:
    """Serve until standard input closes.

    `leave` ends the process at once by default: the engine's own teardown would wait for a running answer. Raises
    SystemExit if there is no server to tear down.
    """
    options = _options(argv)
    over = threading.Event()
    parent = FileIO(stdin, closefd=False)
    key = parent.readline().decode().strip()
    # Output of native code must not reach the parent: from here on, only `say` writes to it.
    output = os.dup(stdout)
    os.dup2(2, stdout)
    threading.Thread(target=_watch, args=(parent, over), daemon=True).start()
    try:
        server = load_engine(options, key)
    except (ImportError, RuntimeError) as error:
        print(error, file=sys.stderr, flush=True)
        # The engine logs in its own thread, and its messages are complete only after it has ended.
        sys.exit(1)
    port = int(server.listening_address.rsplit(":", 1)[1])
    if wait_until_healthy(port, over):
        os.write(output, json.dumps({"port": port, "window": engine_window(port, key)}).encode() + b"\n")
        over.wait()
    leave(0)


def _options(argv: Sequence[str] | None) -> LocalServerOptions:
    parser = argparse.ArgumentParser(prog="python -m workbench.models.local.serve", description=__doc__)
    parser.add_argument("--model", required=True, help="a GGUF file")
    parser.add_argument("--ctx", type=int, required=True, help="the window in tokens")
    parser.add_argument("--port", type=int, default=0, help="0 takes any free one")
    parser.add_argument("--threads", type=int, default=0, help="0 takes half of the processors")
    found = parser.parse_args(argv)
    return LocalServerOptions(found.model, found.ctx, found.port, found.threads or half_of_the_processors())


def half_of_the_processors() -> int:
    """Half of the processors. Threads that compete for a processor wait for each other at every layer: if all are in
    use, the model is several times slower as soon as anything else runs, even our own screen."""
    return max(1, usable_cores() // 2)


def load_engine(options: LocalServerOptions, key: str) -> Any:
    """Load the model and listen. Holds the interpreter's lock all the time, so nothing else runs meanwhile."""
    return import_module(ENGINE).Server(engine_parameters(options, key))


def engine_parameters(options: LocalServerOptions, key: str) -> Any:
    """The engine's parameters: one slot, loopback, a key, and nothing that is not needed."""
    chosen = import_module(ENGINE).CommonParams()
    chosen.model.path = options.model
    chosen.model_alias = {ALIAS}
    chosen.n_ctx = options.ctx
    chosen.n_parallel = 1  # each slot has its own window and memory
    chosen.n_predict = options.ctx // ANSWER_SHARE
    chosen.hostnames = [HOST]
    chosen.port = options.port
    chosen.api_keys = [key]
    chosen.cors_origins = f"http://{HOST}"  # no web page needs access
    chosen.verbosity = 1  # only errors, which explain a failed start
    chosen.offline = True
    chosen.ui = False
    chosen.endpoint_slots = False  # it would show the prompts
    chosen.cache_ram_mib = 0  # the slot's own cache is enough; this one takes gigabytes
    chosen.warmup = False
    chosen.fit_params = False
    for threads in (chosen.cpuparams, chosen.cpuparams_batch):
        threads.n_threads = options.threads
        threads.poll = 0
    return chosen


def wait_until_healthy(port: int, over: threading.Event) -> bool:
    """Wait until the server answers; False if the parent ended first. The parent watches the time limit."""
    while not over.is_set():
        try:
            status, _ = _get(port, "/health", "")
        except (OSError, http.client.HTTPException):
            status = 0
        if status == http.HTTPStatus.OK:
            return True
        over.wait(_LOOK)
    return False


def engine_window(port: int, key: str) -> int:
    """The window that the server really provides: never more than the model was trained for."""
    _, body = _get(port, "/props", key)
    return int(json.loads(body)["default_generation_settings"]["n_ctx"])


def _get(port: int, path: str, key: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(HOST, port, timeout=5)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {key}"} if key else {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def _watch(parent: FileIO, over: threading.Event) -> None:
    """Set `over` when the pipe from the parent closes."""
    try:
        while parent.read(4096):
            pass
    except OSError:
        pass  # a broken pipe counts as closed
    over.set()


if __name__ == "__main__":
    main()
