"""Calls into the session's thread: awaited, they give a result or raise; left alone, their errors are notices."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from support.waiting import GIVE_UP
from tui.play import opened
from workbench.config.errors import Refused
from workbench.session.worker import SessionWorker
from workbench.sources.services import Services

pytestmark = pytest.mark.usefixtures("project")


async def test_a_call_that_is_awaited_gives_its_result_or_raises_and_nothing_is_shown(services: Services) -> None:
    async with opened(services) as on:
        await on.model.rename("another title")
        with pytest.raises(Refused, match="expected numbers from 1"):
            await on.model.decide("pin", 7, 3)
        await on.settled()
        assert (on.title, on.notices) == ("another title", [])


async def test_the_error_of_a_call_that_is_left_alone_is_a_notice_before_all_is_settled(services: Services) -> None:
    async with opened(services) as on:
        on.model.decide("pin", 7, 3)
        await on.settled()
        assert "expected numbers from 1" in on.told


async def test_to_stop_waiting_cancels_the_work(services: Services) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    async def wait(_: SessionWorker) -> None:
        loop.call_soon_threadsafe(begun.set)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            loop.call_soon_threadsafe(ended.set)

    async with opened(services) as on:
        waiting = asyncio.ensure_future(on.model.call_session(lambda session: partial(wait, session)))
        await asyncio.wait_for(begun.wait(), GIVE_UP)
        waiting.cancel()
        await asyncio.wait_for(ended.wait(), GIVE_UP)
        await on.settled()


async def test_once_the_session_is_closed_nothing_is_started(services: Services) -> None:
    async with opened(services) as on:
        pass
    on.model.rename("too late")
    with pytest.raises(asyncio.CancelledError):
        await on.model.rename("too late")
