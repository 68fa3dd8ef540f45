"""The compaction panel and its screens over a real session model, without the other panes, which take long to draw."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from inspect import isawaitable
from typing import Any, TypeVar, cast

from textual import on
from textual.app import ComposeResult
from textual.dom import DOMNode
from textual.pilot import Pilot
from textual.reactive import var
from textual.screen import Screen

from tui.compaction.long_talk import WINDOW, stored
from tui.play import DEADLINE, until
from tui.small_app import SmallApp
from workbench.config.background import background
from workbench.config.errors import WorkbenchError
from workbench.session.compaction_values import CompactionView
from workbench.session.model import SessionModel
from workbench.session.open_session import OpenSession
from workbench.session.options import Options
from workbench.session.services import Services
from workbench.session.updates import Notice
from workbench.session.values import Status
from workbench.tui.commands.registry import REGISTRY
from workbench.tui.compaction.panel import CompactionPanel
from workbench.tui.messages import Run
from workbench.tui.widgets.host import Host

T = TypeVar("T")
WAITING = ("commands", "leave")
"""Workers that may wait for the user: commands, and the question before a loss."""


class Light(Screen[None]):
    """Stands where the main screen stands."""

    AUTO_FOCUS = None

    compaction: var[CompactionView | None] = var(None)
    status: var[Status] = var(Status())
    read_only: var[str] = var("")

    def __init__(self, services: Services, ref: str, options: Mapping[str, Any]) -> None:
        super().__init__()
        self.services = services
        self._ref = ref
        self._options = options
        self.model: SessionModel
        self.told: list[str] = []
        self.jumped: list[int] = []

    def compose(self) -> ComposeResult:
        """The panel alone."""
        yield CompactionPanel().data_bind(Light.compaction)

    def on_mount(self) -> None:
        """As the main screen does it."""
        self.model = SessionModel(self.services, Options(**self._options), self._show, asyncio.get_running_loop())
        self.query_one(CompactionPanel).take_focus()
        self.model.start(self._ref)

    def _show(self, changes: Mapping[str, Any], notices: tuple[Notice, ...]) -> None:
        for name in ("compaction", "status", "read_only"):
            if name in changes:
                setattr(self, name, changes[name])
        self.told += [notice.text for notice in notices]

    def tell(self, text: str, severity: str = "information", title: str = "") -> None:
        """Keep it for the test."""
        self.told.append(text)

    @property
    def told_all(self) -> str:
        """All that was told so far."""
        return " | ".join(self.told)

    # A Host, as far as the screens need one.

    def push(self, screen: Screen[Any]) -> None:
        """Over the panel."""
        self.app.push_screen(screen)

    async def ask(self, screen: Screen[T]) -> T | None:
        """Over the panel, and wait."""
        return await self.app.push_screen_wait(screen)

    async def from_session(self, question: Callable[[OpenSession], T]) -> T:
        """From the session's thread."""
        return await asyncio.wrap_future(self.model.ask(question))

    async def in_background(self, work: Callable[[], T]) -> T:
        """In another thread."""
        return await asyncio.wrap_future(background(work))

    def follow(self, value: str, who: DOMNode, changed: Callable[..., None]) -> None:
        """As the main screen does it."""
        who.watch(self, value, changed)

    def show_event(self, seq: int, pane: str) -> None:
        """Keep it for the test."""
        self.jumped.append(seq)

    @property
    def theme(self) -> str:
        """The colours."""
        return self.app.theme

    @on(Run)
    def _run(self, message: Run) -> None:
        self.run_worker(self._carry_out(message.name, message.argument), group="commands")

    async def _carry_out(self, name: str, argument: str) -> None:
        try:
            done = REGISTRY[name].run(cast(Host, self), argument)
            if isawaitable(done):
                await done
        except WorkbenchError as error:
            self.told.append(str(error))


class LightApp(SmallApp):
    """Only what the screens need."""

    def __init__(self, main: Light) -> None:
        super().__init__()
        self._light = main

    def get_default_screen(self) -> Screen[None]:
        """The panel."""
        return self._light

    async def on_unmount(self) -> None:
        """Let go of the session."""
        await self._light.model.close()


async def rest(pilot: Pilot[Any]) -> None:
    """Wait until the model is at rest, and what the screens work out themselves is drawn."""
    main = pilot.app.screen_stack[0]
    assert isinstance(main, Light)
    for _ in range(2):
        await pilot.pause()
        async with asyncio.timeout(DEADLINE):
            await main.model.settled()
        await until(lambda: not any(each.is_running for each in pilot.app.workers if each.group not in WAITING))
    await pilot.pause()


@asynccontextmanager
async def panel(
    services: Services, size: tuple[int, int] = (110, 28), ref: str | None = None, **options: Any
) -> AsyncIterator[tuple[Pilot[Any], Light]]:
    """The panel over a session of eight turns, or another one."""
    main = Light(services, stored(services) if ref is None else ref, {"window": WINDOW, "reserve": 2_000, **options})
    app = LightApp(main)
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.pause()
        await rest(pilot)
        yield pilot, main
