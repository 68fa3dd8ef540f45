"""Pictures of the screen, compared by pytest-textual-snapshot's `snap_compare`, which writes a report of differences.

`snap_compare` starts an app, takes one picture of it and keeps it beside the test. It does not wait for threads, and
shows differences of the clock and of ids as well; so what is built on it here takes any number of pictures of an app
that a test has started, waits until the app is at rest, and sets clock and ids. In other sizes it looks without
pictures: the words that matter must be seen, nothing may stick out of its place, and everything must be readable.

A test module asks for the fixture with `pytest_plugins = ["tui.snapshots"]`.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pytest_textual_snapshot import SVGImageExtension, node_to_report_path  # type: ignore[import-untyped]
from textual import constants
from textual import screen as textual_screen
from textual.app import App
from textual.geometry import Region
from textual.message_pump import MessagePump
from textual.pilot import Pilot
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input, TextArea

from support.waiting import WaitLimit
from tui.contrast import faint_texts
from tui.play import shown
from workbench.config import text
from workbench.log import ids, rows
from workbench.tui.chat.window import TranscriptWindow
from workbench.tui.main.screen import MainScreen

Size = tuple[int, int]

SIZES: Sequence[Size] = ((80, 24), (120, 40))
LARGE: Size = (200, 60)
"""Takes longer to draw than the others together."""
CALM = 3
"""Looks in a row that must find nobody at work."""
WAITING = ("commands", "leave", "ask")
"""Workers that may wait for the user: commands, the question before a loss, and what a screen asks in another."""
NOON = 1_767_268_800_000
"""New Year's Day 2026, in milliseconds since 1970: whatever a test writes into a log was written then."""


DAYS_LATER = 2 * 24 * 3600
"""Seconds after which the pictures are taken: what has an age is two days old."""


IF_MEANT = "if this is meant: uv run pytest -n 0 --snapshot-update, with the path of this test"
GROUND = re.compile(r'<rect fill="(\S+)" x="(\S+)" y="(\S+)" width="(\S+)" height="\S+" shape-rendering="crispEdges"/>')
"""What is behind a piece of a line, as an SVG has it."""

BORDERS = str.maketrans("│┃╎▌", "    ")
"""What stands between two lines of a text in a box."""


class Pictures:
    """What the screen shows, against what somebody found good."""

    def __init__(self, snap_compare: Callable[..., bool], sizes: Sequence[Size], report: Path) -> None:
        self._snap_compare = snap_compare
        self._report = report
        """Where `snap_compare` writes its part of the report: of each test only the last picture."""
        self.sizes = sizes
        """Where one app shows many things, each is looked at in these; the large one is among the wide cases."""
        self.different: list[str] = []
        """The names of those that differ; the test goes on, and fails at its end."""

    async def compare_now(self, pilot: Pilot[Any], name: str, words: Sequence[str], *, is_busy: bool = False) -> None:
        """Compare what an app shows that goes on afterwards; `name` is the picture's in its test."""
        await self.look_now(pilot, words, is_busy=is_busy)
        taken = pilot.app.export_screenshot(simplify=True)
        inspect.getclosurevars(self._snap_compare).nonlocals["snapshot"](name=name)  # of the next one it compares
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("textual._doc.take_svg_screenshot", lambda **_: taken)
            if not self._snap_compare(pilot.app):
                self.different.append(name)
                self._report.rename(self._report.with_name(f"{self._report.name}_{name}"))

    async def compare_at(self, size: Size, pilot: Pilot[Any], name: str, words: Sequence[str]) -> None:
        """Compare what an app shows if it has this size, and only look at it in others."""
        if pilot.app.size == size:
            await self.compare_now(pilot, name, words)
        else:
            await self.look_now(pilot, words)

    async def look_now(self, pilot: Pilot[Any], words: Sequence[str], *, is_busy: bool = False) -> None:
        """What must hold without a picture, at the size and in the theme of now."""
        await self.resize(pilot, pilot.app.size, is_busy=is_busy)
        check_look(pilot.app, words)
        assert faint_texts(pilot.app) == [], f"hardly readable in {pilot.app.theme}"

    async def resize(self, pilot: Pilot[Any], size: Size, *, is_busy: bool = False) -> None:
        """Another size of the terminal, and all that follows from it. `is_busy`: nobody waits for the session."""

        def at_rest() -> bool:
            mains = [screen for screen in pilot.app.screen_stack if isinstance(screen, MainScreen)]
            return is_busy or all(hasattr(main, "model") and main.model.is_settled for main in mains)

        await still(pilot, at_rest)
        if pilot.app.size != size:
            await pilot.resize_terminal(*size)
            await still(pilot, at_rest)
        assert pilot.app.screen._compositor.size == size


def joined_grounds(svg: str) -> str:
    """A picture in which neighbours of one colour are one rectangle: nobody sees where a line is divided."""
    joined: list[tuple[str, str, float, float]] = []
    for colour, x, y, width in GROUND.findall(svg):
        start, end = float(x), float(x) + float(width)
        if joined and joined[-1][:2] == (colour, y) and round(joined[-1][3]) == round(start):
            start = joined.pop()[2]
        joined.append((colour, y, start, end))
    grounds = "\n".join(f"{colour} {y} {round(start)} {round(end)}" for colour, y, start, end in joined)
    return f"{GROUND.sub('', svg)}\n{grounds}"


def _matches(_: SVGImageExtension, *, serialized_data: Any, snapshot_data: Any) -> bool:
    return joined_grounds(serialized_data) == joined_grounds(snapshot_data)


def check_look(app: App[Any], words: Sequence[str]) -> None:
    """The words are there, also where a line breaks between them; no widget is larger than its place."""
    screen = shown(app)
    flat = " ".join(screen.translate(BORDERS).split())
    missing = [each for each in words if each not in flat]
    assert not missing, f"{missing} not seen at {app.size}:\n{screen}"
    assert not (out := list(sticking_out(app))), f"at {app.size}: {out}"


def sticking_out(app: App[Any]) -> Iterator[tuple[Widget, Region]]:
    """Widgets of which a part cannot be seen, though nothing scrolls there."""
    for widget in app.screen.walk_children(Widget):
        parent = widget.parent
        if not isinstance(parent, Widget) or not widget.visible or not widget.region.area or widget.is_scrollable:
            continue
        around = app.screen.region if parent is app.screen else parent.region
        if not around.contains_region(widget.region) and not _scrolls(parent):
            yield widget, widget.region


def _scrolls(widget: Widget) -> bool:
    within = (each for each in widget.ancestors_with_self if isinstance(each, Widget) and not isinstance(each, Screen))
    return any(each.allow_vertical_scroll for each in within)


async def still(pilot: Pilot[Any], at_rest: Callable[[], bool]) -> None:
    """Wait until nobody has anything left to do, and everything is drawn."""
    limit, calm = WaitLimit(), 0
    while calm < CALM:
        await pilot.pause(0)
        busy = "what the test waits for" if not at_rest() else next(at_work(pilot.app), "")
        calm = 0 if busy else calm + 1
        assert not limit.is_over, f"this did not come to an end: {busy}"
        await asyncio.sleep(0.002 if busy else 0)


def at_work(app: App[Any]) -> Iterator[str]:
    """Whoever has a message to read, a call to make, a timer that rings once, or something to work out."""
    for worker in app.workers:
        if not worker.is_finished and worker.group not in WAITING:
            yield f"worker {worker.name or worker.group}"
    for screen in _seen(app):  # what a hidden one has to draw may wait until it is shown again
        if screen._callbacks or screen._layout_required or screen._dirty_widgets:
            yield f"{screen} draws"
    for screen in app.screen_stack:
        for window in screen.query(TranscriptWindow):
            if not window.is_current:
                yield "the chat takes in what came"
    for pump in _pumps(app):
        if pump.message_queue_size or pump._next_callbacks:
            yield f"{pump} has messages"
        for timer in pump._timers:
            if timer._repeat == 0 and timer._task is not None and not timer._task.done():
                yield f"{pump} has a timer: {timer}"


def _seen(app: App[Any]) -> Iterator[Screen[Any]]:
    """The screens from the top to the first that hides those behind it; Textual calls the next one current as well."""
    for screen in reversed(app.screen_stack):
        yield screen
        if screen.styles.background.a == 1:
            return


def _pumps(app: App[Any]) -> Iterator[MessagePump]:
    yield app
    for screen in app.screen_stack:
        yield from screen.walk_children(with_self=True)


@pytest.fixture
def pictures(snap_compare: Callable[..., bool], tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Pictures]:
    """The same clock and ids everywhere; nothing blinks, nothing glides."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(textual_screen, "UPDATE_PERIOD", 1 / 60)  # a screen behind another is drawn late otherwise
        patch.setenv("TZ", "UTC")
        patch.setenv("HOME", str(tmp_path))  # a folder is told by its way from here, whose name is another in every run
        time.tzset()
        patch.setattr(rows, "now_in_ms", lambda: NOON)
        patch.setattr(text, "time", SimpleNamespace(time=lambda: NOON / 1000 + DAYS_LATER))
        patch.setattr(ids, "time", SimpleNamespace(time_ns=lambda: NOON * 1_000_000))
        patch.setattr(ids, "secrets", SimpleNamespace(randbelow=lambda _: 0))
        patch.setattr(ids.new_id.__self__, "_last", 0)  # type: ignore[attr-defined]  # it is a method
        patch.setattr(constants, "TEXTUAL_ANIMATIONS", "none")
        # A timer that rings once does not ring at all where its first look at the clock comes late, on a busy machine:
        # it skips what it missed. Textual waits for such a one before it tells anybody of another size.
        patch.setitem(Timer.__init__.__kwdefaults__ or {}, "skip", False)
        patch.setattr(Input, "_toggle_cursor", lambda field: None)
        patch.setattr(TextArea, "_toggle_cursor_blink_visible", lambda area: None)
        patch.setattr(SVGImageExtension, "matches", _matches)
        sizes = SIZES if request.config.option.markexpr else (*SIZES, LARGE)
        yield (made := Pictures(snap_compare, sizes, node_to_report_path(request.node)))
    time.tzset()
    if made.different:
        pytest.fail(f"these pictures differ: {', '.join(made.different)}; {IF_MEANT}", pytrace=False)
