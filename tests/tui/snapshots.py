"""Pictures of the screen: SVG files beside the tests, every feature at three sizes, in a dark and in a light theme.

A test starts one app, brings it to where the feature is seen, and has it compared; the app is walked through sizes and
themes. A test module asks for the fixture with `pytest_plugins = ["tui.snapshots"]`.
"""

from __future__ import annotations

import asyncio
import re
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from textual import constants
from textual.app import App
from textual.message_pump import MessagePump
from textual.pilot import Pilot
from textual.timer import Timer
from textual.widgets import Input, TextArea

from tui.play import DEADLINE
from workbench.log import ids, rows
from workbench.tui.chat.window import Window

Size = tuple[int, int]

SIZES: Sequence[Size] = ((80, 24), (120, 40), (200, 60))
THEMES = ("ink", "paper")
CALM = 3
"""Looks in a row that must find nobody at work."""
WAITING = ("commands", "leave", "ask")
"""Workers that may wait for the user: commands, the question before a loss, and what a screen asks in another."""
TERMINAL = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "TZ": "UTC"}
NOT_OURS = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")
"""What a terminal may say that would be seen in a picture."""
NOON = 1_767_268_800_000
"""New Year's Day 2026, in milliseconds since 1970: whatever a test writes into a log was written then."""

LINE = 24.4
"""Height of a line of the screen in a picture, of which a background is a little more."""
BACKGROUND = re.compile(
    r'<rect fill="(#\w+)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="24\.65" shape-rendering="crispEdges"/>'
)


class Drawing(SingleFileSnapshotExtension):
    """One file per picture, named by what it shows, at a third of the length that Rich gives it."""

    _file_extension = "svg"
    _write_mode = WriteMode.TEXT

    @classmethod
    def get_snapshot_name(cls, *, index: int | str = 0, **_: Any) -> str:
        """Without the name of the test, which speaks of a rule."""
        return str(index)

    @classmethod
    def write_snapshot(cls, **given: Any) -> None:
        """Without a warning for each name."""
        with warnings.catch_warnings(action="ignore"):
            super().write_snapshot(**given)

    def serialize(self, *args: Any, **kwargs: Any) -> str:
        """What is kept, and what is compared."""
        return smaller(str(super().serialize(*args, **kwargs)))


def smaller(svg: str) -> str:
    """The same picture: fonts of this machine, no clipping of lines, backgrounds in few pieces, a line per text."""
    svg = re.sub(r"\s*(@font-face \{.*?\}|<!--.*?-->)", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\bterminal-(\d+-)?", "", svg)
    svg = re.sub(r'\s*<clipPath id="line-\d+">.*?</clipPath>', "", svg, flags=re.DOTALL)
    svg = re.sub(r' clip-path="url\(#line-\d+\)"', "", svg)
    svg = svg.replace("&#160;", "\u00a0").replace("</text><text", "</text>\n<text")
    svg = svg.replace("<style>", "<style>\n    rect { shape-rendering: crispEdges }", 1)
    found = BACKGROUND.search(svg)
    if found is None:
        return svg
    pieces = "\n".join(_pieces(BACKGROUND.findall(svg)))
    return svg[: found.start()] + pieces + BACKGROUND.sub("", svg[found.start() :])


def _pieces(found: Sequence[tuple[str, str, str, str]]) -> Iterator[str]:
    """Backgrounds of one colour as one piece: first along the lines, then from line to line."""
    runs: list[tuple[str, float, float, float]] = []
    for fill, *numbers in found:
        x, y, width = map(float, numbers)
        if runs and runs[-1][0] == fill and runs[-1][2] == y:
            _, x, _, _ = before = runs.pop()
            width += before[3]
        runs.append((fill, x, y, width))
    open_: dict[tuple[str, str, str], list[float]] = {}
    for fill, x, y, width in runs:
        key = (fill, f"{x:g}", f"{width:g}")
        last = open_.get(key)
        if last is not None and abs(last[1] + LINE - y) < 0.1:
            last[1] = y
            continue
        if last is not None:
            yield _piece(key, *last)
        open_[key] = [y, y]
    for key, last in open_.items():
        yield _piece(key, *last)


def _piece(key: tuple[str, str, str], first: float, last: float) -> str:
    fill, x, width = key
    return f'<rect fill="{fill}" x="{x}" y="{first:g}" width="{width}" height="{last - first + LINE + 0.25:g}"/>'


class Pictures:
    """What the screen shows, against what somebody found good."""

    sizes = SIZES
    themes = THEMES

    def __init__(self, snapshot: SnapshotAssertion, folder: Path) -> None:
        """`folder`: where pictures go that are not as they should be."""
        self._snapshot = snapshot.use_extension(Drawing)
        self._folder = folder
        self._wrong: list[str] = []

    async def compare(
        self, pilot: Pilot[Any], name: str, sizes: Sequence[Size] = SIZES, at_rest: Callable[[], bool] = lambda: True
    ) -> None:
        """Every size in every theme. `at_rest` says what the app alone does not know."""
        themes = THEMES
        for size in sizes:
            for theme in themes:
                await self.take(pilot, name, size, theme, at_rest)
            themes = themes[::-1]  # another theme takes longest: as few changes as there can be
        self.check()

    async def take(self, pilot: Pilot[Any], name: str, size: Size, theme: str, at_rest: Callable[[], bool]) -> None:
        """One picture."""
        app = pilot.app
        await still(pilot, at_rest)
        if app.size != size:
            await pilot.resize_terminal(*size)
        app.theme = theme
        await still(pilot, at_rest)
        assert app.screen._compositor.size == size
        picture = f"{name}-{size[0]}x{size[1]}-{theme}"
        svg = app.export_screenshot(title=picture, simplify=True)
        is_as_kept = self._snapshot(name=picture) == svg
        if not is_as_kept:
            (self._folder / f"{picture}.svg").write_text(Drawing().serialize(svg), "utf-8")
            self._wrong.append(picture)

    def check(self) -> None:
        """Fail, once all were taken, if one is not as it was."""
        place = self._snapshot.test_location
        assert not self._wrong, (
            f"{', '.join(self._wrong)}: look at {self._folder}/*.svg beside {Drawing.dirname(test_location=place)}; "
            f"if they are meant: uv run pytest -n 0 --snapshot-update {place.filepath}"
        )


async def still(pilot: Pilot[Any], at_rest: Callable[[], bool]) -> None:
    """Wait until nobody has anything left to do, and everything is drawn."""
    end, calm = time.monotonic() + DEADLINE, 0
    while calm < CALM:
        await pilot.pause(0)
        busy = "what the test waits for" if not at_rest() else next(at_work(pilot.app), "")
        calm = 0 if busy else calm + 1
        assert time.monotonic() < end, f"this did not come to an end: {busy}"
        await asyncio.sleep(0.002 if busy else 0)


def at_work(app: App[Any]) -> Iterator[str]:
    """Whoever has a message to read, a call to make, a timer that rings once, or something to work out."""
    for worker in app.workers:
        if not worker.is_finished and worker.group not in WAITING:
            yield f"worker {worker.name or worker.group}"
    for screen in app.screen_stack:
        if screen._callbacks or (screen.is_current and (screen._layout_required or screen._dirty_widgets)):
            yield f"{screen} draws"
        for window in screen.query(Window):
            if not window.is_current:
                yield "the chat takes in what came"
    for pump in _pumps(app):
        if pump.message_queue_size or pump._next_callbacks:
            yield f"{pump} has messages"
        for timer in pump._timers:
            if timer._repeat == 0 and timer._task is not None and not timer._task.done():
                yield f"{pump} has a timer: {timer}"


def _pumps(app: App[Any]) -> Iterator[MessagePump]:
    yield app
    for screen in app.screen_stack:
        yield from screen.walk_children(with_self=True)


@pytest.fixture
def pictures(snapshot: SnapshotAssertion, tmp_path: Path) -> Iterator[Pictures]:
    """The same terminal, clock and ids everywhere; nothing blinks, nothing glides."""
    with pytest.MonkeyPatch.context() as patch:
        for name in NOT_OURS:
            patch.delenv(name, raising=False)
        for name, value in TERMINAL.items():
            patch.setenv(name, value)
        patch.setenv("HOME", str(tmp_path))  # a folder is told by its way from here, whose name is another in every run
        time.tzset()
        patch.setattr(rows, "now", lambda: NOON)
        patch.setattr(ids, "time", SimpleNamespace(time_ns=lambda: NOON * 1_000_000))
        patch.setattr(ids, "secrets", SimpleNamespace(randbelow=lambda _: 0))
        patch.setattr(ids.new_id.__self__, "_last", 0)  # type: ignore[attr-defined]  # it is a method
        patch.setattr(constants, "TEXTUAL_ANIMATIONS", "none")
        # A timer that rings once does not ring at all where its first look at the clock comes late, on a busy machine:
        # it skips what it missed. Textual waits for such a one before it tells anybody of another size.
        patch.setitem(Timer.__init__.__kwdefaults__ or {}, "skip", False)
        patch.setattr(Input, "_toggle_cursor", lambda field: None)
        patch.setattr(TextArea, "_toggle_cursor_blink_visible", lambda area: None)
        yield Pictures(snapshot, tmp_path)
    time.tzset()
