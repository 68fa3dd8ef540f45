"""A headless Chromium, where one is installed, driven over its own protocol. Tests with it are skipped without one."""

from __future__ import annotations

import base64
import itertools
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next((found for name in PROGRAMS if (found := shutil.which(os.environ.get("CHROMIUM") or name))), "")
needs_browser = pytest.mark.skipif(not BROWSER, reason="needs chromium")
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--disable-background-networking", "--disable-extensions", "--remote-debugging-port=0", "--hide-scrollbars"),
)


class Tab:
    """One page. What it logs, what its policy refuses and what it asks of the network is kept."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.logged: list[str] = []
        self.asked: list[str] = []
        """The addresses that the page loaded, its own file among them."""
        self._loaded = False

    async def command(self, method: str, **values: Any) -> dict[str, Any]:
        """Send a command of the protocol, and wait for its answer."""
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": values})
        while True:
            said = await self._socket.receive_json(timeout=120)
            if said.get("id") == number:
                assert "error" not in said, said["error"]
                found: dict[str, Any] = said["result"]
                return found
            self._note(said)

    def _note(self, said: dict[str, Any]) -> None:
        values = said.get("params", {})
        match said.get("method"):
            case "Runtime.consoleAPICalled":
                self.logged.append(" ".join(str(each.get("value", each.get("description"))) for each in values["args"]))
            case "Runtime.exceptionThrown":
                self.logged.append(str(values["exceptionDetails"]))
            case "Log.entryAdded":
                self.logged.append(values["entry"]["text"])
            case "Network.requestWillBeSent":
                self.asked.append(values["request"]["url"])
            case "Page.loadEventFired":
                self._loaded = True

    async def open_file(self, path: Path) -> None:
        """Open a file, and wait until it is loaded."""
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.command(f"{domain}.enable")
        await self.command("Page.navigate", url=path.as_uri())
        while not self._loaded:
            self._note(await self._socket.receive_json(timeout=120))

    async def run(self, script: str) -> Any:
        """The value of an expression on the page. The page's own policy does not hold for it."""
        said = await self.command("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in said, said["exceptionDetails"]
        return said["result"].get("value")

    async def show(self, width: int, height: int, *, dark: bool = False) -> None:
        """Give the page another size, and prefer dark or light."""
        await self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.command("Emulation.setEmulatedMedia", features=[scheme])

    async def picture(self) -> bytes:
        """What is seen, as PNG."""
        return base64.b64decode((await self.command("Page.captureScreenshot", format="png"))["data"])


@contextmanager
def running_browser() -> Iterator[str]:
    """A browser, and the address at which tabs are opened. It ends with the block."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        command = [BROWSER, *FLAGS, f"--user-data-dir={home}", "about:blank"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                yield f"http://127.0.0.1:{_port(Path(home) / 'DevToolsActivePort', process)}/json"
            finally:
                process.kill()


@asynccontextmanager
async def browser_tab(browser: str) -> AsyncIterator[Tab]:
    """A new tab of a browser, which is closed with the block."""
    async with aiohttp.ClientSession() as session:
        async with session.put(f"{browser}/new?about:blank") as answer:
            opened = await answer.json()
        async with session.ws_connect(opened["webSocketDebuggerUrl"], max_msg_size=0) as socket:
            yield Tab(socket)
        async with session.get(f"{browser}/close/{opened['id']}"):
            pass


def _port(file: Path, process: subprocess.Popen[bytes]) -> int:
    """The port of a browser that starts: it writes a file once it listens."""
    while process.poll() is None:
        with suppress(FileNotFoundError, IndexError, ValueError):
            return int(file.read_text().splitlines()[0])
        time.sleep(0.02)
    raise AssertionError(f"{BROWSER} ended with {process.returncode}")
