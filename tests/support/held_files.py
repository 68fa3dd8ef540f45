"""A file on a web server that answers only when a test lets it: its reader is in the middle of its work until then."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue

import psutil

from support.waiting import GIVE_UP


class HeldFile:
    """One file, with the readers that wait for it."""

    def __init__(self, name: str, text: str) -> None:
        self._content = text.encode()
        self._may_go = threading.Event()
        self._ports: SimpleQueue[int] = SimpleQueue()
        held = self

        class Handler(BaseHTTPRequestHandler):
            """Answers a reader of the content late, and everybody else at once."""

            def do_HEAD(self) -> None:
                self._head()

            def do_GET(self) -> None:
                if "Range" in self.headers:  # not the question whether this is a folder
                    held._ports.put(self.client_address[1])
                    held._may_go.wait()
                with suppress(ConnectionError):  # a killed reader
                    self._head()
                    self.wfile.write(held._content)

            def _head(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(held._content)))
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/{name}"

    def next_reader(self) -> psutil.Process:
        """The process that reads it next, once it does."""
        port = self._ports.get(timeout=GIVE_UP)
        for each in psutil.net_connections("tcp4"):
            if each.laddr and each.laddr.port == port and each.pid:
                return psutil.Process(each.pid)
        raise AssertionError("the reader is gone")

    def let_go(self) -> None:
        """Answer all readers, now and later."""
        self._may_go.set()


@contextmanager
def held_file(name: str, text: str) -> Iterator[HeldFile]:
    """Serve a file for as long as it lasts."""
    held = HeldFile(name, text)
    thread = threading.Thread(target=held.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield held
    finally:
        held.let_go()
        held.server.shutdown()
        held.server.server_close()
        thread.join()
