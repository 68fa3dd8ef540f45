"""Real files, a real store, and a project without instructions."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Hashable, Iterable, Iterator
from itertools import groupby
from typing import Any

import pytest
from textual import events
from textual import markup as textual_markup
from textual import screen as textual_screen
from textual.app import App
from textual.content import Content
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.message_pump import MessagePump
from textual.pilot import Pilot

from workbench.models.keys import KeyOrigin
from workbench.models.model_routes import ModelRoutes
from workbench.session.fault_reports import FaultReports
from workbench.tui.textual_patches import PATCHES, text_as_it_is

pytest.register_assert_rewrite("tui.snapshots")  # some tests import it before pytest knows it as a plug-in

PARSED: dict[Hashable, list[RuleSet]] = {}
"""The rules of all styles that any app of this process has used."""

TERMINAL = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
NOT_OURS = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")
"""What a terminal may say that would be seen on the screen."""

FRAMES = 10
"""How often in a second the screen is drawn at most. With sixty, the tests of the screen take a seventh longer."""

LOOK = 0.01
"""Seconds between two looks whether a process is at work. A test of the screen waits some forty times."""


@pytest.fixture(autouse=True)
def styles_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every app reads the same styles. To parse them for each takes a fifth of the time of its start."""
    parse = Stylesheet._parse_rules

    def parse_rules(sheet: Stylesheet, css: str, *where: Any, **more: Any) -> list[RuleSet]:
        key = (frozenset(sheet._variables.items()), css, *where, *more.items())
        if key not in PARSED:
            PARSED[key] = parse(sheet, css, *where, **more)
        return PARSED[key]

    monkeypatch.setattr(Stylesheet, "_parse_rules", parse_rules)


@pytest.fixture(autouse=True)
def rules_hashed_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Textual asks each rule of its styles for a hash, for each widget; in both cases it is the rule's identity."""
    monkeypatch.setattr(RuleSet, "__hash__", object.__hash__)


@pytest.fixture(autouse=True)
def same_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal with all colours, whatever the tester's has. To show sixteen takes a tenth longer."""
    for name in NOT_OURS:
        monkeypatch.delenv(name, raising=False)
    for name, value in TERMINAL.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(autouse=True)
def few_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes that come one soon after the other are drawn once."""
    monkeypatch.setattr(textual_screen, "UPDATE_PERIOD", 1 / FRAMES)


def is_busy(pump: MessagePump) -> bool:
    """Whether it has something to do, or has begun to: otherwise it waits for its next message."""
    ready: Any = pump._message_queue.ready_event
    return ready.is_set() or not ready._waiters or bool(pump._next_callbacks)


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pilot waits after every key until the process does nothing at all, or a second.

    The session's own thread keeps it from doing nothing, so that would be a second a key. Less than half of the time
    at work is idle enough: what a test waits for beyond the key it names itself. Letters arrive as fast as from a
    quick typist, with one wait after the last of them. And Pilot sends a message to every widget, to wait for the
    answers, three times a key: where all of them wait for messages themselves, nobody is asked.
    """
    press, wait_for_screen = App._press_keys, Pilot._wait_for_screen

    async def press_keys(app: App[Any], keys: Iterable[str]) -> None:
        for is_letter, some in groupby(keys, key=lambda key: len(key) == 1):
            *first, last = some
            if is_letter:
                for key in first:
                    app._driver.send_message(events.Key(key, key).set_sender(app))  # type: ignore[union-attr]
            else:
                await press(app, first)
            await press(app, [last])

    async def wait_for_busy_screen(pilot: Pilot[Any], timeout: float = 30.0) -> bool:
        if any(map(is_busy, (pilot.app, *pilot.app.screen.walk_children(with_self=True)))):
            return await wait_for_screen(pilot, timeout)
        await asyncio.sleep(0)
        return True

    async def idle(min_sleep: float = 0, max_sleep: float = 0.3) -> None:
        started = time.monotonic()
        while True:
            used = time.process_time()
            await asyncio.sleep(LOOK)
            passed = time.monotonic() - started
            if passed >= max_sleep or (passed > min_sleep and time.process_time() - used < LOOK / 2):
                return

    monkeypatch.setattr(App, "_press_keys", press_keys)
    monkeypatch.setattr(Pilot, "_wait_for_screen", wait_for_busy_screen)
    monkeypatch.setattr("textual.app.wait_for_idle", idle)
    monkeypatch.setattr("textual.pilot.wait_for_idle", idle)


@pytest.fixture(autouse=True)
def scripted_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model of the scripts is asked in this process."""
    key = ModelRoutes.key
    monkeypatch.setattr(
        ModelRoutes, "key", lambda self, model: KeyOrigin("not needed") if model == "scripted" else key(self, model)
    )


@pytest.fixture
def expected_faults() -> list[BaseException]:
    """For tests in which something goes wrong that should not: it is here, and fails no test."""
    return []


@pytest.fixture(autouse=True)
def no_faults(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    """The program goes on after an error that nobody expected; a test does not."""
    wanted = "expected_faults" in request.fixturenames
    found: list[BaseException] = request.getfixturevalue("expected_faults") if wanted else []
    plain = FaultReports.report

    def report(reports: FaultReports, error: BaseException) -> str:
        # A client that an earlier test left, closed by the collector in this test's loop: its own is gone.
        if str(error) != "Event loop is closed":
            found.append(error)
        return plain(reports, error)

    monkeypatch.setattr(FaultReports, "report", report)
    yield
    if found and not wanted:
        raise found[0]


PALETTE = ("textual.command", "textual.fuzzy")
"""Where Textual reads the commands of the palette, and takes nothing but strings."""


@pytest.fixture(autouse=True)
def no_markup(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The wall shows a string as it is; where one reaches it, something before it should have been `Content`."""
    found: list[str] = []

    def noted(markup: str, *more: Any, **named: Any) -> Content:
        if sys._getframe(2).f_globals["__name__"] not in PALETTE:
            found.append(markup)
        return text_as_it_is(markup, *more, **named)

    monkeypatch.setitem(PATCHES, (textual_markup, "to_content"), noted)
    monkeypatch.setattr(textual_markup, "to_content", noted)
    yield
    assert found == [], "read as markup by plain Textual"
