"""The full screen in a browser: a real server, a real page, a real socket."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from support.waiting import GIVE_UP, patiently
from workbench.cli import serve
from workbench.cli.main import main

pytest.importorskip("textual_serve")

import aiohttp
from aiohttp.test_utils import make_mocked_request

from support.pages import open_page
from workbench.cli.web import WebPage


class Served:
    """A server in a process of its own."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "workbench", "serve", "--port", "0", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline()
        found = re.search(r"http://\S+", self.said)
        assert found is not None, self.process.communicate(timeout=GIVE_UP)
        self.address = found[0]
        self.root = self.address.partition("?")[0]

    def end(self) -> tuple[int, str]:
        """As ctrl+c does; the exit code, and what was complained about."""
        self.process.send_signal(signal.SIGINT)
        complaints = self.process.communicate(timeout=GIVE_UP)[1]
        return self.process.returncode, complaints


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """The program on a free port, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    made = Served()
    yield made
    made.process.kill()
    made.process.communicate()


async def test_a_page_with_no_other_host_and_a_socket_with_the_screen(served: Served) -> None:
    async with patiently(), aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
        async with client.get(served.address) as answer:
            assert answer.status == 200
            page = await answer.text()
        assert "//" not in page.replace("// ", ""), "a reference to another host"
        assert served.address.partition("token=")[2] not in page
        needed = re.findall(r"\"(/static/[^\"]+)\"", page)
        assert {Path(each).suffix for each in needed} == {".css", ".js", ".ttf"}
        for each in needed:
            async with client.get(served.root.rstrip("/") + each) as answer:
                assert answer.status == 200, each
        async with client.ws_connect(f"{served.root}ws?width=100&height=30", origin=served.root.rstrip("/")) as screen:
            seen = b""
            while b"Chat" not in seen:
                message = await screen.receive()
                assert message.type == aiohttp.WSMsgType.BINARY, message
                seen += message.data
            await screen.send_json(["stdin", "\x11"])
            async for _ in screen:  # until the program has ended, and the server closes
                pass
            assert screen.close_code == aiohttp.WSCloseCode.OK
    assert await asyncio.to_thread(served.end) == (0, "")


async def test_ctrl_c_says_goodbye_to_the_pages_and_nothing_to_the_terminal(served: Served) -> None:
    async with patiently(), aiohttp.ClientSession() as client:
        address = f"{served.root}ws?width=100&height=30&{urlsplit(served.address).query}"
        async with client.ws_connect(address) as drawn, client.ws_connect(address) as starting:
            assert (await drawn.receive()).type == aiohttp.WSMsgType.BINARY
            ending = asyncio.create_task(asyncio.to_thread(served.end))
            for each in (drawn, starting):
                async for _ in each:
                    pass
                assert each.close_code == aiohttp.WSCloseCode.GOING_AWAY
            assert await ending == (0, "")


@pytest.fixture
async def page() -> AsyncIterator[WebPage]:
    """A page in this process; its screen prints one word."""
    async with open_page(sys.executable, "-c", "print('hello')") as made:
        yield made


async def test_nobody_else_gets_in(page: WebPage) -> None:
    root, _, token = page.address.partition("?")
    own, evil = {"Origin": root.rstrip("/")}, {"Origin": "http://evil.example"}
    async with patiently(), aiohttp.ClientSession() as client:
        for path, headers, status in (
            ("", {}, 403),
            ("?token=guessed", {}, 403),
            ("ws", own, 403),
            ("ws", evil, 403),
            (f"ws?{token}", evil, 403),
            (f"?{token}", {"Host": "evil.example"}, 403),
            (f"?{token}", {}, 200),
            ("static/js/textual.js", {}, 200),
        ):
            async with client.get(root + path, headers=headers) as answer:
                assert answer.status == status, (path, headers)
                assert bool(answer.cookies) is (status == 200 and path.startswith("?"))
        async with client.ws_connect(f"{root}ws?{token}", headers=own) as screen:
            assert not screen.closed


async def test_the_page_can_be_held_by_no_other_and_fetches_from_nowhere_else(page: WebPage) -> None:
    async with patiently(), aiohttp.ClientSession() as client, client.get(page.address) as answer:
        allowed = answer.headers["Content-Security-Policy"]
        text = await answer.text()
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert answer.headers["Cache-Control"] == "no-store"
        (cookie,) = answer.cookies.values()
        assert (cookie["httponly"], cookie["samesite"]) == (True, "Strict")
    assert "default-src 'none'" in allowed
    assert "frame-ancestors 'none'" in allowed
    assert not re.search(r"https?:|wss?:|\*|unsafe-eval", allowed)
    (nonce,) = re.findall(r"'nonce-([^']+)'", allowed)
    assert re.findall(r"<script(?! src)([^>]*)>", text) == [f' nonce="{nonce}"']
    assert not re.search(r"\son[a-z]+=", text), "a handler in the markup, which the browser would not run"


async def test_two_servers_of_one_machine_do_not_take_each_others_cookie(page: WebPage) -> None:
    jar = aiohttp.CookieJar(unsafe=True)
    async with open_page(sys.executable) as other, aiohttp.ClientSession(cookie_jar=jar) as client:
        for each in (page, other):
            assert (await client.get(each.address)).status == 200
        for each in (page, other):
            assert (await client.get(each.public_url)).status == 200


async def test_at_all_addresses_a_page_may_come_by_any_name() -> None:
    with socket.create_server(("0.0.0.0", 0)) as listening:
        made = WebPage(["true"], "0.0.0.0", listening)
        assert socket.gethostname() in made.address
        token = made.address.partition("token=")[2]
        for host, origin, fine in (("a:1", "http://a:1", True), ("a:1", "http://b:1", False)):
            asked = make_mocked_request("GET", f"/?token={token}", headers={"Host": host, "Origin": origin})
            assert made._is_ours(asked) is fine


def test_only_loopback_goes_without_a_warning() -> None:
    served = Served("--host", "0.0.0.0")
    port = urlsplit(served.address).port
    token = urlsplit(served.address).query
    assert urlopen(f"http://127.0.0.1:{port}/?{token}", timeout=GIVE_UP).status == 200
    code, complaints = served.end()
    assert code == 0
    assert complaints.startswith("workbench: 0.0.0.0 is no loopback address")
    assert complaints.count("\n") == 1


@pytest.mark.parametrize(
    ("host", "shown"), [("LocalHost", "localhost"), ("127.1", "127.0.0.1"), ("0:0:0:0:0:0:0:1", "[::1]")]
)
def test_the_address_is_printed_as_browsers_write_it(host: str, shown: str) -> None:
    try:
        socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError:
        pytest.skip(f"this machine has no {host}")
    served = Served("--host", host)
    try:
        port = urlsplit(served.address).port
        assert served.root == f"http://{shown}:{port}/"
        assert urlopen(served.address, timeout=GIVE_UP).status == 200
    finally:
        outcome = served.end()
    assert outcome == (0, ""), "there is no warning"


async def test_the_case_of_a_host_makes_no_difference() -> None:
    with socket.create_server(("localhost", 0)) as listening:
        made = WebPage(["true"], "localhost", listening)
        token, host = made.address.partition("token=")[2], f"LOCALHOST:{listening.getsockname()[1]}"
        asked = make_mocked_request("GET", f"/?token={token}", headers={"Host": host, "Origin": f"http://{host}"})
        assert made._is_ours(asked)


def test_without_the_extra_it_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(serve, "EXTRA", "no_such_package")
    assert main(["serve"]) == 2
    assert capsys.readouterr().err.strip() == (
        "workbench serve: expected the package textual-serve; install workbench with its extra `serve`"
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [(["nothing-there"], "nothing-there: no such file"), (["--port", "99999999"], "cannot be opened")],
)
def test_what_is_wrong_is_told_in_a_line(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", *arguments]) != 0
    said = capsys.readouterr().err
    assert complaint in said
    assert said.count("\n") == 1


def test_each_visit_starts_the_program_anew() -> None:
    assert serve.visit_command("")[-2:] == ["-m", "workbench.cli.web_process"]
    assert serve.visit_command("a talk.json")[-2:] == ["open", "a talk.json"]
