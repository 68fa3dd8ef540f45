"""A policy on the way, from the screen: shown before, set for the session that is open, undone, and its worth told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from textual.pilot import Pilot

from proxy.test_policies import KNOBS, answered, results
from proxy.test_session_policies import asked
from support.provider import Provider
from support.recorder_thread import in_thread
from tui.play import ONE_PANE, program, told, until
from tui.screens.looking import listed, look, narrowed, seen, values
from workbench.config.settings import Settings
from workbench.log.store import Store
from workbench.models.catalogue import Catalogue
from workbench.proxy.control import registered_proxy
from workbench.proxy.gate import Gate
from workbench.proxy.policies import PassingPolicies, setup_maker
from workbench.proxy.routes import Upstreams
from workbench.proxy.server import ProxyServer
from workbench.proxy.sessions import ProxySessions
from workbench.sources.services import Services
from workbench.tui.main.screen import MainScreen
from workbench.tui.messages import Send
from workbench.tui.screens.held import HeldScreen
from workbench.tui.screens.proxy_policy import ProxyPolicyDialog

pytestmark = pytest.mark.usefixtures("project")

WISH = f"/policy workbench {' '.join(KNOBS)}"


class Agent:
    """Asks through a proxy that records it."""

    def __init__(self, server: ProxyServer, provider: Provider, client: aiohttp.ClientSession, gate: Gate) -> None:
        self.provider, self.gate = provider, gate
        self._address, self._client = server.address, client

    async def ask(self, steps: int) -> list[bool]:
        """Which of its results were masked on the way, after so many steps."""
        async with self._client.post(f"{self._address}/v1/messages", json=asked(steps)) as came:
            await came.read()
        return ["masked" in text for text in results("anthropic", self.provider.requests[-1].body)]


@asynccontextmanager
async def agent(batch: int, *rules: str) -> AsyncIterator[tuple[Agent, PassingPolicies]]:
    with Store.open() as store:
        recorder = in_thread(ProxySessions(lambda: store))
        policies, gate = PassingPolicies(setup_maker(Settings(), Catalogue()), batch, None, recorder), Gate(rules)
        async with (
            Provider(answered(500, 100)) as provider,
            ProxyServer(Upstreams(provider.url.removesuffix("/v1")), recorder, gate=gate, policies=policies) as server,
            aiohttp.ClientSession() as client,
        ):
            with registered_proxy(server.control, "pi"):
                yield Agent(server, provider, client, gate), policies
        await asyncio.to_thread(recorder.close)


@asynccontextmanager
async def watched(
    services: Services, batch: int, size: tuple[int, int] = ONE_PANE
) -> AsyncIterator[tuple[Pilot[Any], MainScreen, Agent, PassingPolicies]]:
    """An agent whose session is open."""
    async with agent(batch) as (asking, policies):
        await asking.ask(3)
        await until(lambda: bool(policies.listed()))
        async with program(services, size, ref=policies.listed()[0].session) as (pilot, screen):
            yield pilot, screen, asking, policies


@pytest.mark.parametrize("size", [ONE_PANE, (120, 40)], ids=["one pane", "split"])
async def test_it_is_set_after_what_it_would_change_was_shown(services: Services, size: tuple[int, int]) -> None:
    async with watched(services, 0, size) as (pilot, screen, asking, policies):
        screen.send_or_run(Send(WISH))
        await until(lambda: isinstance(pilot.app.screen, ProxyPolicyDialog))
        await seen(pilot, "masks results of tools but for the last", "2 results masked", "are not read from the cache")
        await pilot.press("enter")
        await until(lambda: not isinstance(pilot.app.screen, ProxyPolicyDialog))
        assert not policies.is_on, "the default changes nothing"
        screen.send_or_run(Send(WISH))
        await until(lambda: isinstance(pilot.app.screen, ProxyPolicyDialog))
        await pilot.press("y")
        await until(lambda: policies.is_on)
        assert await asking.ask(4) == [True, True, True, False]
        await pilot.press("f4")
        await seen(pilot, "on the way  workbench", "saved about 753 tokens in 1", "cost 400 tokens")
        now = screen.model.state.compaction
        assert now is not None
        assert now.tokens - now.curve.sizes[-1] == 753, "the next request is sent without them, too"
        await pilot.press("f2")
        await seen(pilot, "policy on the way: workbench")


async def test_undo_and_off_wait_for_the_next_batch(services: Services) -> None:
    async with watched(services, 600) as (pilot, screen, asking, policies):
        screen.send_or_run(Send(WISH))
        await until(lambda: isinstance(pilot.app.screen, ProxyPolicyDialog))
        await pilot.press("y")
        await until(lambda: policies.is_on)
        assert await asking.ask(4) == [True, True, True, False]
        await until(
            lambda: screen.model.state.compaction is not None and screen.model.state.compaction.proxy_policy is not None
        )
        await pilot.press("f9")
        await until(lambda: "undone: 3 results whole again from the next batch on" in told(pilot.app))
        assert await asking.ask(5) == [True, True, True, False, False]
        await pilot.press("f4")
        await seen(pilot, "3 results undone but still masked")
        screen.send_or_run(Send("/policy off"))
        await seen(pilot, "3 results whole again", "requests are sent unchanged")
        await pilot.press("y")
        await until(lambda: policies.listed()[0].policy is None)
        await pilot.press("f2")
        await seen(pilot, "last batch undone, 3 results whole again", "policy on the way: off")


async def test_the_list_of_policies_says_what_each_would_change_on_the_way(services: Services) -> None:
    async with watched(services, 0) as (pilot, screen, _, policies):
        await look(pilot, screen, "policy")
        await narrowed(pilot, "codex")
        await seen(pilot, "on the way", "cuts results over 256 lines or 10,240 bytes")
        await pilot.press("enter")
        await until(lambda: isinstance(pilot.app.screen, ProxyPolicyDialog))
        await pilot.press("l")
        await seen(pilot, "what-if codex")
        assert not policies.is_on, "it was only to be looked at"


async def test_a_session_that_no_proxy_writes_has_none_to_switch_off(services: Services) -> None:
    async with program(services) as (pilot, screen):
        screen.send_or_run(Send("/policy off"))
        await until(lambda: "no proxy that runs writes this session" in told(pilot.app))
        screen.send_or_run(Send("/policy masking.keep_last=1"))
        await until(lambda: "expected a policy before its knobs" in told(pilot.app))


async def test_a_result_is_pinned_on_the_held_screen(services: Services) -> None:
    async with agent(0, "text:result 2") as (asking, policies), program(services) as (pilot, screen):
        waiting = asyncio.create_task(asking.ask(3))
        await until(lambda: bool(asking.gate.held))
        await look(pilot, screen, "break")
        await pilot.press("enter")
        await until(lambda: isinstance(pilot.app.screen, HeldScreen))
        finder = await listed(pilot)
        finder.found.highlighted = values(finder).index("messages.1.0")
        await pilot.pause()
        await pilot.press("p")
        await seen(pilot, "only results of tools are masked or cut on the way")
        finder.found.highlighted = values(finder).index("messages.2.0")
        await pilot.pause()
        await pilot.press("p")
        await seen(pilot, "pinned", "no policy is on the way now: it holds once /policy sets one")
        await pilot.press("enter")
        await waiting
        await until(lambda: "1 result pinned" in told(pilot.app))
        assert policies.pinned_in("anthropic", asked(3)) == ("messages.2.0",)
