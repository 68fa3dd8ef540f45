"""A proxy that holds the requests of an agent, and the way to one of them on the screen."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from textual.pilot import Pilot

from proxy.conftest import called, claude, result, user
from support.provider import Answer, Provider
from tui.play import until
from tui.screens.looking import listed, look, values
from workbench.proxy.control import registered_proxy
from workbench.proxy.gate import Gate
from workbench.proxy.routes import Upstreams
from workbench.proxy.server import ProxyServer
from workbench.tui.main.screen import MainScreen
from workbench.tui.screens.held import HeldScreen

LONG = "a.txt is a file of this folder\n" * 200
ASK = claude(
    user("list it"),
    called("c1", path="."),
    result("c1", LONG),
    {"role": "assistant", "content": [{"type": "text", "text": "There are many."}]},
    user("and now [b]what[/b]?"),
)
SAID = {"id": "m", "model": "claude-sonnet-4-5", "content": [{"type": "text", "text": "done"}], "usage": {}}


class Between:
    """A proxy before a provider, and an agent that asks through it."""

    def __init__(self, address: str, gate: Gate, provider: Provider, client: aiohttp.ClientSession) -> None:
        self.gate, self.provider = gate, provider
        self._address, self._client = address, client

    def ask(self, body: dict[str, Any]) -> asyncio.Task[dict[str, Any]]:
        async def ask() -> dict[str, Any]:
            async with self._client.post(f"{self._address}/v1/messages", json=body) as came:
                answer: dict[str, Any] = await came.json()
                return answer

        return asyncio.create_task(ask())


@asynccontextmanager
async def between(*rules: str) -> AsyncIterator[Between]:
    answer = Answer(body=json.dumps(SAID).encode(), content_type="application/json")
    gate = Gate(rules, client="pi")
    async with (
        Provider(answer) as provider,
        ProxyServer(Upstreams(provider.url.removesuffix("/v1")), gate=gate) as server,
        aiohttp.ClientSession() as client,
    ):
        with registered_proxy(server.control, "pi"):
            yield Between(server.address, gate, provider, client)


async def opened(
    pilot: Pilot[Any], screen: MainScreen, proxy: Between, body: dict[str, Any]
) -> asyncio.Task[dict[str, Any]]:
    """Have an agent ask, and open its request, which waits."""
    asking = proxy.ask(body)
    await until(lambda: bool(proxy.gate.held))
    await look(pilot, screen, "break")
    await pilot.press("enter")
    await until(lambda: isinstance(pilot.app.screen, HeldScreen))
    await listed(pilot)
    return asking


async def back(pilot: Pilot[Any], screen: MainScreen, proxy: Between) -> None:
    """Nothing is held any more, and nothing lies over the main screen."""
    await until(lambda: not proxy.gate.held and not isinstance(pilot.app.screen, HeldScreen))
    if pilot.app.screen is not screen:
        await pilot.press("escape")
    await until(lambda: pilot.app.screen is screen)


async def at(pilot: Pilot[Any], path: str) -> None:
    """Go to an item."""
    finder = await listed(pilot)
    finder.found.highlighted = values(finder).index(path)
    await pilot.pause()
