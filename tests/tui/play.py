"""The whole program with a model that says what a test wants, and ways to wait for things."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest
from textual._context import active_app
from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen

from support.waiting import GIVE_UP, WaitLimit, patiently
from tui.small_app import screen_of
from workbench.config.errors import WorkbenchError
from workbench.models.endpoints import Endpoint
from workbench.models.failures import ModelFailure
from workbench.models.reply_parts import CallPiece, ReplyFinished, ReplyPart, ReportedUsage, TextPiece
from workbench.session import connection
from workbench.session.model import SessionModel
from workbench.session.observable import Notice, SessionState
from workbench.session.open_session import OpenSession
from workbench.session.questions import NoSessionWanted
from workbench.sources import compactors
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.tui.app import WorkbenchApp
from workbench.tui.commands.registry import WorkbenchScreen
from workbench.tui.main.screen import MainScreen

T = TypeVar("T")

ASKING = (connection, compactors)
"""The modules that ask a model: for a turn, and to summarise."""
SMALL = (90, 30)
ONE_PANE = (99, 30)
"""Screens with one pane at a time, which are drawn faster."""

Said = ReplyPart | ModelFailure | threading.Event
"""A part of the answer, how it breaks off, or a gate that the test opens."""


def answer(text: str, prompt: int = 100, completion: int = 10) -> list[Said]:
    """A whole answer."""
    return [TextPiece(text), ReportedUsage(prompt, completion), ReplyFinished("stop")]


def call(tool: str, arguments: str, number: int = 0) -> list[Said]:
    """An answer that calls a tool."""
    return [CallPiece(number, f"call-{tool}-{number}", tool, arguments), ReplyFinished("tool_calls")]


class Script:
    """Answers, one for each request; stands in for a gateway."""

    def __init__(self, *answers: Sequence[Said]) -> None:
        self.answers = [list(each) for each in answers]
        self.requests: list[Mapping[str, Any]] = []
        self.endpoint = Endpoint()

    async def stream(self, body: Mapping[str, Any], **_: object) -> AsyncGenerator[ReplyPart, None]:
        """The next answer."""
        self.requests.append(body)
        for said in self.answers.pop(0) if self.answers else answer("nothing more to say"):
            if isinstance(said, threading.Event):
                await asyncio.to_thread(said.wait, GIVE_UP)
            elif isinstance(said, ModelFailure):
                raise said
            else:
                yield said

    def play(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """From now on every model is this one."""
        for module in ASKING:
            monkeypatch.setattr(module, "serving", self.serving)

    @asynccontextmanager
    async def serving(self, *_: object, **__: object) -> AsyncIterator[Script]:
        """This model, for any."""
        yield self


def newest(services: Services) -> str:
    """The session that a test put into the store last: it is of no folder, so that it has to be named."""
    found = services.store.list(limit=1)
    return found[0].id if found else ""


class Watcher:
    """A model without a screen, and what it has shown so far."""

    def __init__(self, services: Services, ref: str = "", **options: Any) -> None:
        self.seen: list[tuple[str, Any]] = []
        self.notices: list[Notice] = []
        self.unsent: list[str] = []
        self.model = SessionModel(services, Options(**options), asyncio.get_running_loop())
        self.model.observe(self._observe)
        self.model.listen(self.notices.append)
        self.model.listen_for_unsent(self.unsent.append)
        self.model.start(ref or newest(services))
        self._sending: set[asyncio.Task[None]] = set()

    def send(self, text: str) -> None:
        """Send a message as the screen does: one that is refused is in the input again."""
        task = asyncio.create_task(self._deliver(text, self.model.send(text).result_later()))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _deliver(self, text: str, sending: Awaitable[None]) -> None:
        try:
            await sending
        except NoSessionWanted:
            self.unsent.append(text)
        except WorkbenchError as error:
            self.unsent.append(text)
            self.notices.append(Notice(str(error), "error"))

    def _observe(self, before: SessionState, after: SessionState) -> None:
        values = [(name, getattr(before, name), getattr(after, name)) for name in SessionState.__struct_fields__]
        self.seen += [(name, new) for name, old, new in values if new is not old]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model.state, name)

    async def ask(self, question: Callable[[OpenSession], T]) -> T:
        """Something about what is open."""
        return await self.model.call_with_session(question)

    async def settled(self) -> None:
        """Wait until nothing goes on."""
        async with patiently():
            await self.model.settled()

    @property
    def said(self) -> list[tuple[str, str]]:
        """The conversation: who, and what."""
        entries = [self.transcript[at] for at in range(len(self.transcript))]
        return [(entry.kind, entry.text) for entry in entries if entry.kind not in ("notice",)]

    @property
    def told(self) -> str:
        """All notices."""
        return " | ".join(notice.text for notice in self.notices)


@asynccontextmanager
async def opened(services: Services, ref: str = "", **options: Any) -> AsyncIterator[Watcher]:
    """A model on a session, settled."""
    watcher = Watcher(services, ref, **options)
    try:
        await watcher.settled()
        yield watcher
    finally:
        await watcher.model.close()


async def until(true: Callable[[], bool], why: Callable[[], str] | None = None) -> None:
    """Wait for something; the screen's loop goes on meanwhile. What draws the whole screen is asked less often.

    A wait that gives up says `why`: by default the notices that there were meanwhile, and what is on the screen.
    """
    limit, began = WaitLimit(), time.perf_counter()
    app, notices = active_app.get(None), dict[str, None]()
    while not true():
        if app is not None:  # a notice is gone long before a wait gives up
            notices.update((notice.message, None) for notice in app._notifications)
        assert not limit.is_over, why() if why is not None else _seen_instead(app, notices)
        await asyncio.sleep(max(0.005, 2 * (time.perf_counter() - began)))
        began = time.perf_counter()


def _seen_instead(app: App[Any] | None, notices: Iterable[str]) -> str:
    seen = f"; notices: {' '.join(notices) or 'none'}; the screen:\n{shown(app)}" if app is not None else ""
    return f"what was waited for did not come{seen}"


def top(pilot: Pilot[Any]) -> Screen[Any]:
    """The screen that is seen."""
    return pilot.app.screen


def main_screen(app: App[Any]) -> MainScreen:
    """The screen that everything else lies over."""
    return next(screen for screen in app.screen_stack if isinstance(screen, MainScreen))


async def settle(pilot: Pilot[Any]) -> None:
    """Wait until the model is at rest and everything is drawn."""
    await until(lambda: any(isinstance(screen, MainScreen) for screen in pilot.app.screen_stack))
    screen = main_screen(pilot.app)
    await pilot.pause()
    async with patiently():
        await screen.model.settled()
    await pilot.pause()
    if not screen.model.is_settled:  # what was drawn had something to say
        await settle(pilot)


def full_screen(services: Services, ref: str = "", **options: Any) -> WorkbenchApp:
    """The app that users start, over these services."""
    named = ref or newest(services)
    return WorkbenchApp(services.settings, lambda: lambda: WorkbenchScreen(services, Options(**options), named))


@asynccontextmanager
async def program(
    services: Services, size: tuple[int, int] = ONE_PANE, ref: str = "", **options: Any
) -> AsyncIterator[tuple[Pilot[Any], MainScreen]]:
    """The program on a screen of this size, settled. Options with which no session can be opened fail at once."""
    app = full_screen(services, ref, **options)
    async with app.run_test(size=size, notifications=True) as pilot:
        await settle(pilot)
        main = main_screen(app)
        assert main.model.state.fatal is None, f"the program ended: {main.model.state.fatal}"
        yield pilot, main


shown = screen_of
NAMES = {" ": "space", "/": "slash", "-": "minus", "=": "equals_sign", ".": "full_stop", "_": "underscore"}


async def typed(pilot: Pilot[Any], text: str) -> None:
    """Type a text, and Enter."""
    await pilot.press(*(NAMES.get(each, each) for each in text))
    await pilot.press("enter")
    await settle(pilot)


def told(app: App[Any]) -> str:
    """What the notices in the corner say."""
    return " ".join(notice.message for notice in app._notifications)  # no public way to read them
