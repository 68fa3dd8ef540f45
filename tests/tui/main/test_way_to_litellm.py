"""How far a message travels: the calls from the composer to litellm, counted in a real one."""

from __future__ import annotations

import asyncio
import sys
from asyncio.events import Handle
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import workbench
from support.hostile import KEY, OpenAI, head, hostile
from tui.play import program, typed
from workbench.models.engine import import_litellm
from workbench.sources.services import Services
from workbench.tui.chat.composer import Composer
from workbench.tui.messages import Send

pytestmark = [pytest.mark.xdist_group("litellm"), pytest.mark.usefixtures("project")]

MOST = 12
"""Calls from the composer's to litellm's own."""
OURS = str(Path(workbench.__file__).parent)
TEXTUALS = ("steady_app.py", "textual_patches.py")
"""They replace functions of Textual, which are not counted."""

Way = tuple[str, ...]
_way: ContextVar[Way] = ContextVar("_way", default=())
"""The functions that led to the task that runs now. A new task, in whatever thread, has a copy of its maker's."""


def functions_here(frame: FrameType | None) -> Way:
    """Our functions on the stack, the outermost first, up to the step of the event loop that they run in."""
    found: list[str] = []
    while frame is not None and frame.f_code is not Handle._run.__code__:
        name = frame.f_code.co_filename
        if name.startswith(OURS) and not name.endswith(TEXTUALS):
            found.append(frame.f_code.co_qualname)
        frame = frame.f_back
    return tuple(reversed(found))


def noting_the_way(start: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, which begins a task somewhere; that task knows the way to it."""

    def started(*args: Any, **named: Any) -> Any:
        token = _way.set(_way.get() + functions_here(sys._getframe(1)))
        try:
            return start(*args, **named)
        finally:
            _way.reset(token)

    return started


async def test_a_message_is_twelve_calls_from_litellm(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    litellm = import_litellm()
    ask, post = litellm.acompletion, Composer.post_message
    ways: list[Way] = []
    composing: list[Way] = []

    async def asked(**call: Any) -> Any:
        ways.append((*composing[-1], *_way.get(), *functions_here(sys._getframe(1)), "acompletion"))
        return await ask(**call)

    def posted(composer: Composer, message: Any) -> bool:
        if isinstance(message, Send):
            composing.append(functions_here(sys._getframe(1))[-1:])
        return post(composer, message)

    with hostile(head() + OpenAI.says("Hello.")) as server:
        async with program(services, model=OpenAI.model, api_base=server.url + OpenAI.path) as (pilot, screen):
            monkeypatch.setattr(litellm, "acompletion", asked)
            monkeypatch.setattr(Composer, "post_message", posted)
            monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", noting_the_way(asyncio.run_coroutine_threadsafe))
            loop = asyncio.BaseEventLoop
            monkeypatch.setattr(loop, "create_task", noting_the_way(loop.create_task))
            await typed(pilot, "hi")
            assert screen.model.state.transcript[len(screen.model.state.transcript) - 1].text == "Hello."
    [way] = ways
    first, *calls = way
    assert first == "Composer.action_send", way
    assert len(calls) <= MOST, f"{len(calls)} calls: " + " -> ".join(way)
