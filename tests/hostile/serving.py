"""Requests that `serve` has to refuse: without the token, from other pages, under other names, for other files.

A fault: anything but a refusal, a cookie, the token in an answer, or a file that is not the page's. The page's own
fonts and scripts are for everybody.
"""

from __future__ import annotations

import asyncio
import logging
import random
import sys
from contextlib import suppress
from pathlib import Path

import aiohttp
from yarl import URL

from hostile.tally import Tally
from support.pages import open_page

METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "PATCH")
PATHS = (
    "", "ws", "ws?width=80&height=24", "static/../../../etc/passwd", "static/%2e%2e/%2e%2e/etc/passwd", "download/x",
    "static/..%2f..%2fpyproject.toml", "static//etc/passwd", "%2e%2e/", "index.html", "ws/../", "//evil.example/",
)  # fmt: skip
ORIGINS = (
    "http://evil.example",
    "null",
    "http://127.0.0.1:1",
    "http://localhost.evil.example",
    "https://127.0.0.1",
    "",
    "http://[",
    "http://[::1",
    "http://]:80",
    "http://\udcff",
    "http://" + "a" * 4_000,
)
HOSTS = ("evil.example", "127.0.0.1.evil.example", "localhost:1", "[::1]", "", "127.0.0.1@evil.example")

SOCKET = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


FRAMES: tuple[str | bytes, ...] = (
    "", "x", "{}", "[]", "[1]", '["stdin"]', '["stdin", 1]', '["stdin", "\\ud800"]', '["resize"]', '["resize", {}]',
    '["ping"]',
    '["resize", {"width": "x", "height": 1}]', '["resize", {"width": 1e308, "height": -1}]', "[" * 100_000, b"\x00",
    b"x" * 10**6,
    '["resize", {"width": 999999999, "height": 999999999}]', '["wat", 1]', '["blur", []]', "null", '"x"',
    '{"0": "stdin"}',
    '["ping", "' + "x" * 10**6 + '"]', '["deliver_file", "/etc/passwd"]', "\u202e",
)  # fmt: skip
"""What somebody who knows the token sends, but no page does."""
SCREEN = r"""
import os
os.write(1, b"__GANGLION__\n")
heard = b""
while b"quit" not in heard and (more := os.read(0, 65536)):
    heard = heard[-8:] + more
"""
"""A screen that starts, draws nothing, and ends when it is told to."""


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    tally = Tally("attacks on serve")
    asyncio.run(_attack(tally, tries, chance))
    return tally


async def _attack(tally: Tally, tries: int, chance: random.Random) -> None:
    complaints = _Complaints()
    logging.getLogger("aiohttp.server").addHandler(complaints)
    try:
        await _requests(tally, tries, chance)
        await _frames(tally, max(tries // 10, 3), chance)
    finally:
        logging.getLogger("aiohttp.server").removeHandler(complaints)
    for said in complaints.said:
        tally.fault(f"a traceback on standard error: {said}")


class _Complaints(logging.Handler):
    """What the server tells of errors that nobody caught."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            self.said.append(repr(record.exc_info[1])[:200])


async def _frames(tally: Tally, tries: int, chance: random.Random) -> None:
    """Frames that no page sends, over several sockets at once; after them the page still works."""
    async with open_page(sys.executable, "-c", SCREEN) as page, aiohttp.ClientSession() as client:
        root, _, query = page.address.partition("?")
        address = f"{root}ws?{query}"

        async def visit(frames: list[str | bytes]) -> None:
            async with client.ws_connect(f"{address}&width=99999999999&height=-5", max_msg_size=0) as socket:
                for frame in frames:
                    with suppress(ConnectionError):
                        await (socket.send_bytes(frame) if isinstance(frame, bytes) else socket.send_str(frame))

        for _ in range(tries):
            several = [chance.choices(FRAMES, k=chance.randint(1, 4)) for _ in range(chance.randint(1, 3))]
            with tally.watching(f"frames {[frame[:30] for frame in several[0]]}"):
                async with asyncio.timeout(50):
                    await asyncio.gather(*map(visit, several))
        async with client.ws_connect(address) as socket:
            await socket.send_json(["ping", 1])
            with tally.watching("the owner's page after that"):
                async with asyncio.timeout(50):
                    assert (await socket.receive_json()) == ["pong", 1]


async def _requests(tally: Tally, tries: int, chance: random.Random) -> None:
    async with open_page(sys.executable, "-c", "print('hello')") as page, aiohttp.ClientSession() as client:
        root, _, query = page.address.partition("?")
        token = query.partition("=")[2]
        for _ in range(tries):
            method, path, headers, named = _request(chance, token)
            headers = {name: value.replace("{port}", str(URL(root).port)) for name, value in headers.items()}
            what = f"{method} {path} {headers}"
            with tally.watching(what):
                address = URL(root + path, encoded=True)
                answering = client.request(method, address, headers=headers, allow_redirects=False)
                async with asyncio.timeout(30), answering as answer:
                    text = await answer.text(errors="replace")
                    assert answer.status in (400, 403, 404, 405), f"answered with {answer.status}"
                    assert not answer.cookies, "a cookie was given"
                    assert named or token not in text, "the token was told"
                    assert "root:" not in text, "a file was given away"
        async with client.get(page.address) as answer:
            if answer.status != 200:
                tally.fault(f"the page's owner is refused, too: {answer.status}")


def _request(chance: random.Random, token: str) -> tuple[str, str, dict[str, str], bool]:
    """Method, path, headers, and whether the right token is in it: then it is another's page, or another's name."""
    method, path = chance.choice(METHODS), chance.choice(PATHS)
    headers: dict[str, str] = {}
    named = chance.random() < 0.4
    if named:
        headers = chance.choice(({"Origin": chance.choice(ORIGINS)}, {"Host": chance.choice(HOSTS[:3])}))
        path = path.partition("?")[0] if path.startswith("static") else "ws"
        path, method = f"{path}{'&' if '?' in path else '?'}token={token}", "GET"
        return method, path, headers, named
    wrong = chance.choice(("", "guessed", token[:-1], token.swapcase(), token + "x", token[::-1], "%00"))
    path = f"{path}{'&' if '?' in path else '?'}token={wrong}" if chance.random() < 0.7 else path
    if chance.random() < 0.5:
        headers["Origin"] = chance.choice(ORIGINS)
    if chance.random() < 0.3:
        headers["Host"] = chance.choice(HOSTS)
    if chance.random() < 0.3:
        headers["Cookie"] = (
            chance.choice(("", "workbench-{port}=\udcfe; "))
            + f"token={wrong.replace('%00', '')}; workbench={wrong.replace('%00', '')}"
        )
    if chance.random() < 0.3:
        headers |= SOCKET
    return method, path, headers, named
