"""A held request waits as long as was said, whatever happens to the clock of the day."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from workbench.proxy import holding
from workbench.proxy.gate import Gate, HeldRequest, Release
from workbench.proxy.holding import until_released
from workbench.proxy.routes import ProxySettings, Route

DAY = 86_400
ASK = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


async def held_by(gate: Gate) -> HeldRequest:
    held, _ = await gate.decide_hold(Route("openai", "chat"), {}, lambda: ASK)
    assert held is not None
    return held


async def test_a_clock_that_jumps_forward_releases_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "ALIVE_SECONDS", 0.001)
    gate = Gate(["every"], seconds=600)
    held = await held_by(gate)
    real, signs = time.time, 0
    monkeypatch.setattr(time, "time", lambda: real() + DAY)

    async def sign() -> None:
        nonlocal signs
        signs += 1
        if signs == 5:
            held.released.set_result(Release("as_it_was"))

    assert (await until_released(gate, held, sign)).end == "as_it_was"


async def test_a_clock_that_jumps_back_makes_nobody_wait_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "ALIVE_SECONDS", 0.001)
    gate = Gate(["every"], seconds=0.05)
    held = await held_by(gate)
    real, began = time.time, time.monotonic()
    monkeypatch.setattr(time, "time", lambda: real() - DAY)

    async def sign() -> None:
        await asyncio.sleep(0)
        assert time.monotonic() - began < 60, "it waits for the clock"

    assert (await until_released(gate, held, sign)).end == "expired"


def test_a_request_waits_as_long_as_the_page_says() -> None:
    page = Path(__file__).parents[2] / "docs" / "proxy.md"
    assert f"`hold_seconds` ({ProxySettings().hold_seconds:g})" in page.read_text(encoding="utf-8")
