"""A refusal is a notice, wherever it comes from: nothing on the screen has to catch it, and no report is written."""

from __future__ import annotations

import asyncio
import threading

import pytest
from textual import events, work
from textual.geometry import Size
from textual.message import Message
from textual.reactive import var
from textual.strip import Strip
from textual.widget import Widget

from tui.play import full_screen, program, told, until
from workbench.config.errors import Refused, WorkbenchError, WrongCall
from workbench.session.fault_reports import latest_report
from workbench.sources.services import Services

pytestmark = pytest.mark.usefixtures("project")


class Poke(Message):
    """Handled by a refusal."""


class Refusing(Widget):
    """Refuses in one way."""

    DEFAULT_CSS = "Refusing { width: 1fr; height: auto; dock: top; }"
    value = var(0)

    def __init__(self, way: str, error: WorkbenchError) -> None:
        super().__init__()
        self._way = way
        self._error = error

    def refuse(self, way: str) -> None:
        """Where this is the way."""
        if self._way == way:
            raise self._error

    @work
    async def act(self) -> None:
        """In a worker."""
        self.refuse("a worker")

    @work(thread=True)
    def act_elsewhere(self) -> None:
        """In a worker with a thread of its own."""
        self.refuse("a thread")

    async def act_later(self) -> None:
        """In a worker that was started by hand."""
        self.refuse("run_worker")

    async def in_task(self) -> None:
        """In a task that nobody waits for."""
        self.refuse("a task")

    def on_mount(self) -> None:
        """All ways begin here."""
        self.act()
        self.act_elsewhere()
        self.run_worker(self.act_later())
        self.set_timer(0.001, lambda: self.refuse("a timer"))
        self.call_after_refresh(self.refuse, "a refresh")
        self.call_later(self.refuse, "a call")
        self.post_message(Poke())
        self.post_message(events.Key("x", "x"))
        self.call_later(self.app.run_action, "refuse_it", self)
        self.begun = asyncio.create_task(self.in_task())
        self.value = 1
        self.refuse("mounting")

    def watch_value(self, value: int) -> None:
        """In a watcher."""
        if value:
            self.refuse("a watcher")

    def on_poke(self) -> None:
        """In a message handler."""
        self.refuse("a message")

    def on_key(self) -> None:
        """In a handler of keys."""
        self.refuse("a key")

    def action_refuse_it(self) -> None:
        """In an action."""
        self.refuse("an action")

    def render_line(self, y: int) -> Strip:
        """While drawing."""
        self.refuse("drawing")
        return Strip.blank(self.size.width)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """While measuring."""
        self.refuse("measuring")
        return 1


WAYS = (
    *("a worker", "a thread", "run_worker", "a timer", "a refresh", "a call", "a watcher", "a message", "a key"),
    *("an action", "mounting", "drawing", "measuring"),
)


async def test_an_error_for_the_user_is_a_notice_wherever_it_is_raised(services: Services) -> None:
    async with program(services, (90, 50)) as (pilot, screen):
        for number, way in enumerate((*WAYS, "a task")):
            kind = (Refused, WrongCall, WorkbenchError)[number % 3]
            widget = Refusing(way, kind(f"{way} says no to [b]x[/b \x1b[31m"))
            await screen.mount(widget)
            if way == "a task":  # a task tells of its error when it is gone
                await until(lambda widget=widget: widget.begun.done())  # type: ignore[misc]
                del widget.begun
            await until(lambda way=way: f"{way} says no to [b]x[/b ␛[31m" in told(pilot.app))  # type: ignore[misc]
            await widget.remove()
        assert latest_report() is None
        assert {notice.severity for notice in pilot.app._notifications} == {"error"}


async def test_a_widget_that_refuses_to_be_drawn_says_so_once(services: Services) -> None:
    async with program(services) as (pilot, screen):
        widget = Refusing("drawing", Refused("not today"))
        await screen.mount(widget)
        await until(lambda: "not today" in told(pilot.app))
        for _ in range(5):
            widget.refresh()
            await pilot.pause()
        assert told(pilot.app).count("not today") == 1


async def test_without_a_main_screen_an_error_for_the_user_ends_the_program_with_its_own_words(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = full_screen(services)

    def load() -> None:
        raise Refused("no room for a screen")

    monkeypatch.setattr(app, "_load", load)
    async with app.run_test():
        await until(lambda: app._exit)
    assert isinstance(app.return_value, Refused)
    assert str(app.return_value) == "no room for a screen"
    assert latest_report() is None


async def test_what_the_session_s_thread_refuses_is_a_notice(services: Services) -> None:
    async with program(services) as (pilot, screen):
        refused = threading.Event()

        def refuse() -> None:
            refused.set()
            raise Refused("the thread says no")

        screen.model._thread.loop.call_soon_threadsafe(refuse)
        await until(lambda: refused.is_set() and "the thread says no" in told(pilot.app))
        assert latest_report() is None


async def test_a_step_along_the_timeline_before_the_first_request_is_a_notice(services: Services) -> None:
    async with program(services) as (pilot, screen):
        await until(lambda: screen.model.state.shown is not None)
        screen.timeline.display = True
        screen.timeline.focus()
        await pilot.press("left")
        await until(lambda: "no request was made yet" in told(pilot.app))
        assert latest_report() is None
