"""A screen hears no key before its widgets are there, and its workers end before they are gone."""

from __future__ import annotations

import asyncio

import pytest
from textual import work
from textual.app import App, ComposeResult
from textual.css.query import NoMatches
from textual.screen import ModalScreen
from textual.widgets import Static
from textual.worker import WorkerFailed

from tui.play import until
from workbench.tui.steady_app import SteadyApp


class Slow(Static):
    """Takes its time to go."""

    def __init__(self, waiting: asyncio.Event, gone: asyncio.Event) -> None:
        super().__init__()
        self._waiting = waiting
        self._gone = gone

    async def on_unmount(self) -> None:
        """The other widgets are gone by then."""
        self._waiting.set()
        await self._gone.wait()


class Asking(ModalScreen[None]):
    """Works something out, and shows it in a widget that goes before the others."""

    def __init__(self) -> None:
        super().__init__()
        self.answer, self.going, self.gone = asyncio.Event(), asyncio.Event(), asyncio.Event()

    def compose(self) -> ComposeResult:
        """One to show the answer in, and one that goes late."""
        yield Static(id="shown")
        yield Slow(self.going, self.gone)

    def on_mount(self) -> None:
        """Ask at once."""
        self.ask()

    @work
    async def ask(self) -> None:
        """Fails if there is nothing left to write to."""
        await self.answer.wait()
        self.query_one("#shown", Static).update("here it is")

    async def answer_late(self) -> None:
        """The answer comes when only one widget is left."""
        await self.going.wait()
        while self.query("#shown"):
            await asyncio.sleep(0)
        self.answer.set()
        for _ in range(10):  # turns of the loop, for whoever waited for the answer
            await asyncio.sleep(0)
        self.gone.set()


class Steady(SteadyApp[None]):
    """Raises what goes wrong."""

    def failed(self, error: BaseException) -> None:
        """Nothing should."""
        raise error


async def answered_late(app: App[None], by: str) -> None:
    """A screen is left, and its answer comes while it goes."""
    over = Asking()
    async with app.run_test():
        await app.push_screen(over)
        await until(lambda: any(worker.is_running for worker in app.workers))
        (worker,) = app.workers
        late = asyncio.create_task(over.answer_late())
        if by == "leaving":
            over.dismiss()
            await until(late.done)
    assert late.done()
    assert worker.is_cancelled
    assert app._exception is None  # what Textual would show after the end


@pytest.mark.parametrize("by", ["leaving", "the end of the program"])
async def test_an_answer_that_comes_while_a_screen_goes_is_not_written(by: str) -> None:
    await answered_late(Steady(), by)


async def test_plain_textual_lets_a_worker_write_to_widgets_that_are_gone() -> None:
    with pytest.raises(WorkerFailed, match="No nodes match '#shown'"):
        await answered_late(App[None](), "leaving")


class Eager(ModalScreen[None]):
    """Needs its widget at once."""

    def compose(self) -> ComposeResult:
        """One."""
        yield Static(id="shown")

    def on_mount(self) -> None:
        """Fails if the screen was left before it had any."""
        self.query_one("#shown", Static).update("here")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Fails as well."""
        return action != "look" or self.query_one("#shown", Static).display

    def action_look(self) -> None:
        """Whatever it does."""


async def test_a_key_that_comes_before_a_screen_is_there_does_nothing() -> None:
    app = Steady()
    async with app.run_test():
        eager = Eager()
        there = app.push_screen(eager)
        assert app._check_action_state("look", eager) is False
        await eager.run_action("screen.look")
        await eager.run_action("screen.dismiss")
        await there
        assert app.screen is eager
        await eager.run_action("screen.dismiss")
        await until(lambda: app.screen is not eager)
    assert app._exception is None


async def test_plain_textual_takes_keys_for_a_screen_that_has_no_widgets_yet() -> None:
    app = App[None]()
    async with app.run_test():
        eager = Eager()
        there = app.push_screen(eager)
        with pytest.raises(NoMatches):
            await eager.run_action("screen.look")
        await there
