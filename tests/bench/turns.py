"""Turns and streams over HTTP, beside litellm called by hand with the same request.

litellm is imported by the gateway when the first of these runs; it takes seconds.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bench.harness import Row, Scale, Work, Yardstick, beside, in_units, now, often, rounds, wall
from bench.pace import on_one_processor
from bench.serving import CHUNK, served
from workbench.agent.approvals import Approvals
from workbench.agent.loop import Agent
from workbench.agent.steps import RequestPlanned
from workbench.agent.tools.registry import Toolbox
from workbench.agent.turn_services import TurnServices
from workbench.config.settings import Settings
from workbench.context.render import render_request
from workbench.context.setup import PlanOptions, Setup, set_up
from workbench.log.session import Session
from workbench.log.store import Store
from workbench.models.catalogue import Catalogue
from workbench.models.endpoints import Endpoint
from workbench.models.gateway import Gateway
from workbench.models.reply_parts import TextPiece

PEER = "bare litellm"
MODEL = "rehearsal-over-http"
KEY, PROVIDER = "none", "openai"
QUESTION = "What does this project do, and where does it begin?"
TURN = 1.5
"""What a turn with its commits may take, as a multiple of litellm's own time."""
FIRST_TOKEN = 1.5
"""The same for the first token."""
PAUSE = 10
"""For how long the caller's loop may stand still, as a multiple of what it does beside a busy thread. A screen that
stands still for a twentieth of a second is seen to stutter."""
SPINNING, SPINS = 0.1, 8
"""Seconds for which that thread is busy, and how often."""
TICK = 0.001
SHORT_ROUNDS, IN_A_ROUND = 2, 15
"""A short answer takes a few milliseconds, of which the machine decides some; so there are many, also in each round."""


def setup_for(options: PlanOptions) -> Setup:
    """What the program would have with no settings of the user's."""
    return set_up(options, Settings(), Catalogue())


def agent(session: Session, setup: Setup, folder: Path, gateway: Gateway) -> Agent:
    """An agent with all its tools, which nobody calls here."""
    return Agent(session, setup, TurnServices(gateway, Toolbox(folder), Approvals()))


def turn(scale: Scale) -> Iterator[Row]:
    """A whole turn, the first of a conversation, commits to disk included."""
    with ready(1) as (runner, gateway), tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Store.open(folder / "workbench.db") as store:
            setup, sent = setup_for(PlanOptions(model=MODEL)), dict[str, Any]()

            async def ours() -> float:
                with store.create() as session:  # in one that grows, each turn is more work than the one before
                    talking = agent(session, setup, folder, gateway)
                    start = wall()
                    async for step in talking.turn(QUESTION):
                        if isinstance(step, RequestPlanned):
                            plan = step.plan
                    spent = wall() - start
                sent.update(render_request(plan))
                return spent

            async def peer() -> float:
                """What the turn before has sent, sent again."""
                start = wall()
                async for _ in _bare(gateway, sent):
                    pass
                return wall() - start

            works = _works(runner, ours=ours, peer=peer)
            found = rounds(_short(works), scale.repeats * SHORT_ROUNDS)
            yield beside("turn over HTTP, answer of one chunk", found, "ours", "peer", PEER, TURN)


def stream(scale: Scale) -> Iterator[Row]:
    """The first token of a short answer; the cost of a long one, and how the caller's loop fares meanwhile."""
    asked = {"model": MODEL, "messages": [{"role": "user", "content": QUESTION}]}
    with ready(1) as (runner, gateway):
        first = {"ours": partial(_first, _texts, gateway, asked), "peer": partial(_first, _bare, gateway, asked)}
        found = rounds(_short(_works(runner, **first)), scale.repeats * SHORT_ROUNDS)
        yield beside("first token over HTTP", found, "ours", "peer", PEER, FIRST_TOKEN)

    pauses: dict[str, list[float]] = {"ours": [], "peer": []}
    with ready(scale.chunks) as (runner, gateway):

        async def cost(who: str, texts: Texts) -> float:
            gc.collect()  # what the one before left behind
            async with pauses_noted(pauses[who]):
                start = now()
                size = sum([len(text) async for text in texts(gateway, asked)])
                spent = now() - start
            assert size == scale.chunks * CHUNK
            return spent

        long = {"ours": partial(cost, "ours", _texts), "peer": partial(cost, "peer", _bare)}
        # With the collector on: its work is part of what a stream costs, and makes pauses.
        found = rounds(_works(runner, **long), scale.slow_repeats, gc_on=True, warm_up=False, yardstick=BUSY)
        name = f"stream of {scale.chunks:,} chunks"
        yield beside(f"{name}, processor time", found, "ours", "peer", PEER, at_most=1.1)
        yield in_units(f"{name}, longest pause", found.also("pause", pauses["ours"]), "pause", PAUSE)


Texts = Callable[[Gateway, Mapping[str, Any]], AsyncIterator[str]]
"""Sends a request and gives the texts of the answer as they come."""


async def _texts(gateway: Gateway, asked: Mapping[str, Any]) -> AsyncIterator[str]:
    async for part in gateway.stream(asked):
        if isinstance(part, TextPiece):
            yield part.text


async def _bare(gateway: Gateway, asked: Mapping[str, Any]) -> AsyncIterator[str]:
    """litellm by hand, in the caller's own loop; the gateway only says where."""
    litellm = importlib.import_module("litellm")
    answer = await litellm.acompletion(
        **asked,
        stream=True,
        stream_options={"include_usage": True},
        max_retries=0,
        api_base=gateway.endpoint.api_base,
        api_key=KEY,
        custom_llm_provider=PROVIDER,
    )
    async for chunk in answer:
        if chunk.choices and chunk.choices[0].delta.content:
            yield chunk.choices[0].delta.content


async def _first(texts: Texts, gateway: Gateway, asked: Mapping[str, Any]) -> float:
    """Seconds to the first text; the rest is read, too, so that the connection is free for the next."""
    start = wall()
    came = [wall() - start async for _ in texts(gateway, asked)]
    return came[0]


@asynccontextmanager
async def pauses_noted(pauses: list[float]) -> AsyncIterator[None]:
    """Notes the longest time between two turns of a task that wants to run every millisecond."""
    gaps: list[float] = []

    async def tick() -> None:
        last = wall()
        while True:
            await asyncio.sleep(TICK)
            gaps.append(wall() - last)
            last += gaps[-1]

    ticking = asyncio.ensure_future(tick())
    yield
    await asyncio.sleep(2 * TICK)  # a pause at the very end ends with the tick after it
    ticking.cancel()
    pauses.append(max(gaps))


async def _pause_beside_a_busy_thread() -> float:
    """The shortest of a few: what is longer is the machine's."""

    def spin() -> None:
        end = wall() + SPINNING
        while wall() < end:
            pass

    pauses: list[float] = []
    with on_one_processor():  # on two, the pause is shorter, and where threads run is chance
        for _ in range(SPINS):
            async with pauses_noted(pauses):
                await asyncio.to_thread(spin)
    return min(pauses)


BUSY = Yardstick("the pause beside a busy thread", lambda: asyncio.run(_pause_beside_a_busy_thread()), waits=True)
"""For how long a loop stands still."""


@contextmanager
def ready(chunks: int) -> Iterator[tuple[asyncio.Runner, Gateway]]:
    """A loop, and a gateway to a server that answers in so many chunks; litellm is loaded and has made a call."""
    with served(chunks) as url, asyncio.Runner() as runner:
        gateway = Gateway(Endpoint(url, KEY, PROVIDER))
        runner.run(gateway.warm())
        try:
            yield runner, gateway
        finally:
            runner.run(gateway.close())


def _works(runner: asyncio.Runner, **works: Callable[[], Any]) -> dict[str, Work]:
    return {name: partial(_run, runner, work) for name, work in works.items()}


def _short(works: Mapping[str, Work]) -> dict[str, Work]:
    return {name: often(work, IN_A_ROUND) for name, work in works.items()}


def _run(runner: asyncio.Runner, work: Callable[[], Any]) -> float:
    spent: float = runner.run(work())
    return spent
