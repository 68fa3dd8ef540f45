"""An error that nobody expected is told, with a report to find; the program and the turn go on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import pytest
from textual.geometry import Size
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from tui.play import Script, answer, full_screen, program, settle, shown, told, typed, until
from workbench.models.reply_parts import ReplyPart, TextPiece
from workbench.session.fault_reports import latest_report
from workbench.sources.services import Services
from workbench.tui.chat.composer import Composer
from workbench.tui.main.screen import MainScreen

pytestmark = pytest.mark.usefixtures("project")
Faults = list[BaseException]


class Broken(Widget):
    """Fails in one way."""

    DEFAULT_CSS = "Broken { width: 1fr; height: auto; dock: top; }"

    def __init__(self, way: str) -> None:
        super().__init__()
        self._way = way

    def fail(self, way: str) -> None:
        """Where this is the way."""
        if self._way == way:
            raise type(way, (ValueError,), {})(f"broken while {way} \x1b[31m sk-abcdefghijklmnop")

    async def work(self) -> None:
        """As a worker."""
        self.fail("working")

    def on_mount(self) -> None:
        """All ways begin here."""
        self.set_timer(0.001, lambda: self.fail("waiting"))
        self.run_worker(self.work())
        self.call_after_refresh(self.fail, "refreshing")
        if self._way == "in a callback of the loop":
            asyncio.get_running_loop().call_soon(self.fail, self._way)
        self.fail("mounting")

    def render_line(self, y: int) -> Strip:
        """One line."""
        self.fail("drawing")
        return Strip.blank(self.size.width)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Of one line."""
        self.fail("measuring")
        return 1


WAYS = ("mounting", "working", "waiting", "refreshing", "drawing", "measuring", "in a callback of the loop")


async def test_an_error_anywhere_on_the_screen_is_told_and_the_turn_goes_on(
    services: Services, monkeypatch: pytest.MonkeyPatch, expected_faults: Faults
) -> None:
    gate = threading.Event()
    Script([TextPiece("half"), gate, *answer(" whole")]).play(monkeypatch)
    async with program(services) as (pilot, screen):
        screen.model.send("go")
        await until(lambda: screen.model.state.live is not None)
        for way in WAYS:
            await screen.mount(Broken(way))
            await until(lambda way=way: f"broken while {way}" in told(pilot.app))  # type: ignore[misc]
        gate.set()
        await settle(pilot)
        assert "half whole" in shown(pilot.app)
        await pilot.press("h", "i")
        await until(lambda: screen.query_one(Composer).text == "hi")
    assert len({str(error) for error in expected_faults}) == len(WAYS)


async def test_a_report_is_found_and_has_neither_keys_nor_escapes_in_it(
    services: Services, expected_faults: Faults
) -> None:
    async with program(services) as (pilot, screen):
        await typed(pilot, "/report")
        assert "nothing has gone wrong" in told(pilot.app)
        await screen.mount(Broken("mounting"))
        await until(lambda: "broken while mounting" in told(pilot.app))
        path = latest_report()
        assert path is not None
        assert str(path) in told(pilot.app)
        text = path.read_text()
        assert "test_faults.py" in text
        assert "\x1b" not in text + told(pilot.app)
        assert "sk-abc" not in text + told(pilot.app)
        await typed(pilot, "/report")
        await until(lambda: "Traceback" in shown(pilot.app))
        await pilot.press("escape")
        await until(lambda: isinstance(pilot.app.screen, MainScreen))


async def test_where_there_is_nothing_to_go_on_with_the_program_ends_with_a_line(
    services: Services, expected_faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = full_screen(services)

    def load() -> None:
        raise ValueError("no panes today")

    monkeypatch.setattr(app, "_load", load)
    async with app.run_test():
        await until(lambda: app._exit)
    assert "no panes today" in str(app.return_value)


async def test_an_error_in_a_turn_is_told_and_the_next_turn_goes_on(
    services: Services, monkeypatch: pytest.MonkeyPatch, expected_faults: Faults
) -> None:
    class Odd(Script):
        async def stream(self, body: Mapping[str, Any], **more: object) -> AsyncGenerator[ReplyPart, None]:
            if not self.requests:
                self.requests.append(body)
                raise KeyError("nobody expects this")
            async for part in super().stream(body, **more):
                yield part

    Odd(answer("all is well")).play(monkeypatch)
    async with program(services) as (pilot, _):
        await typed(pilot, "go")
        await until(lambda: bool(expected_faults))
        await settle(pilot)
        await typed(pilot, "again")
        await until(lambda: "all is well" in shown(pilot.app))


async def test_a_screen_that_is_left_twice_takes_no_other_with_it(services: Services) -> None:
    async with program(services) as (pilot, screen):
        over: Screen[None] = Screen()
        await pilot.app.push_screen(over)
        over.dismiss()
        over.dismiss()
        await settle(pilot)
        assert pilot.app.screen is screen


async def test_keys_that_come_while_the_program_ends_are_no_errors(services: Services, tmp_path: Path) -> None:
    async with program(services) as (pilot, _):
        await pilot.press("ctrl+o")
        for key in ("ctrl+o", "escape", "ctrl+p", "pagedown"):
            pilot.app.simulate_key(key)
    assert latest_report() is None
